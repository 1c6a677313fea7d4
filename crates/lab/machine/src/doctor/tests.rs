//! Machines as trees of files: a good one, a bad one, an empty one, and rubbish.

mod machines;

use std::{collections::BTreeSet, fs};

use nanotape_harness::{Random, Scratch};

use self::machines::{BAD, GOOD};
use super::*;

fn facts() -> Facts {
    Facts {
        hypervisor: Some("none".to_owned()),
        kernel: "6.12.3".to_owned(),
        counter: Ok(()),
        stamp_ns: 9.4,
        offset_ns: Some(12.0),
        rtprio_limit: Some(99),
        memlock_limit: None,
        ethtool: Ok(vec![card()]),
        is_privileged: false,
    }
}

/// A network card that is set for short times.
fn card() -> CardTexts {
    CardTexts {
        card: "eth0".to_owned(),
        coalescing: "Adaptive RX: off  TX: n/a\nrx-usecs:\t0\n".to_owned(),
        features: "generic-receive-offload: off\nlarge-receive-offload: off [fixed]\n".to_owned(),
        rings: "Pre-set maximums:\nRX:\t4096\nCurrent hardware settings:\nRX:\t512\n".to_owned(),
    }
}

fn machine(files: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::folder("machine");
    write(&scratch, files);
    scratch
}

fn write(scratch: &Scratch, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = scratch.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn examined(scratch: &Scratch, facts: &Facts) -> Vec<Finding> {
    examine(&System::at(scratch.path()), facts, &CpuList::of([2, 3]))
}

fn finding(findings: &[Finding], name: &str) -> Finding {
    findings.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("no {name}")).clone()
}

#[test]
fn a_machine_that_is_set_has_nothing_to_fix() {
    let findings = examined(&machine(GOOD), &facts());
    // Only for information: neither good nor bad.
    let info_only = ["microcode", "bios", "preemption"];
    for one in &findings {
        let expected = if info_only.contains(&one.name) { Verdict::Info } else { Verdict::Ok };
        assert_eq!(one.verdict, expected, "{one:?}");
        assert_eq!((&one.fix, &one.undo), (&None, &None), "{one:?}");
    }
    let names: BTreeSet<&str> = findings.iter().map(|one| one.name).collect();
    assert_eq!(names.len(), findings.len(), "each name occurs once");
    assert!(findings.len() >= 68, "{}", findings.len());
}

#[test]
fn each_bad_setting_is_found_with_its_fix() {
    for (name, files, verdict) in BAD {
        let scratch = machine(GOOD);
        write(&scratch, files);
        let one = finding(&examined(&scratch, &facts()), name);
        assert_eq!(one.verdict, *verdict, "{one:?}");
        let is_info_only = ["time-sync"].contains(name) || one.fix.is_some();
        assert!(is_info_only, "{one:?}");
    }
}

#[test]
fn facts_that_are_not_in_files_are_judged() {
    let good = machine(GOOD);
    let cases: [(&str, Facts, Verdict); 8] = [
        ("hypervisor", Facts { hypervisor: Some("KVM".to_owned()), ..facts() }, Verdict::Fail),
        ("hypervisor", Facts { hypervisor: None, ..facts() }, Verdict::Unknown),
        ("tsc", Facts { counter: Err("trapped".to_owned()), ..facts() }, Verdict::Fail),
        ("stamp-cost", Facts { stamp_ns: 1_200.0, ..facts() }, Verdict::Fail),
        ("tsc-offsets", Facts { offset_ns: Some(900.0), ..facts() }, Verdict::Fail),
        ("rtprio-limit", Facts { rtprio_limit: Some(0), ..facts() }, Verdict::Warn),
        ("memlock-limit", Facts { memlock_limit: Some(8 << 20), ..facts() }, Verdict::Warn),
        ("fair-server", Facts { kernel: "6.9.1".to_owned(), ..facts() }, Verdict::Ok),
    ];
    for (name, facts, verdict) in cases {
        assert_eq!(finding(&examined(&good, &facts), name).verdict, verdict, "{name}");
    }
}

#[test]
fn the_fair_server_that_cannot_be_read_fails_if_others_may_run_there() {
    let scratch = machine(GOOD);
    fs::remove_dir_all(scratch.path().join("sys/kernel/debug")).unwrap();
    // Nobody may run on the hot processors.
    assert_eq!(finding(&examined(&scratch, &facts()), "fair-server").verdict, Verdict::Ok);
    write(&scratch, &[("proc/77/task/77/status", "Cpus_allowed_list:\t0-3\n")]);
    let one = finding(&examined(&scratch, &facts()), "fair-server");
    assert_eq!(one.verdict, Verdict::Fail);
    assert!(
        one.read.contains("debugfs is not mounted") && one.read.contains("1 normal"),
        "{one:?}"
    );
}

#[test]
fn undo_has_the_value_of_now() {
    let scratch = machine(GOOD);
    write(
        &scratch,
        &[("proc/sys/vm/stat_interval", "3\n"), ("sys/devices/virtual/workqueue/cpumask", "f\n")],
    );
    let findings = examined(&scratch, &facts());
    let commands = |name: &str| {
        let one = finding(&findings, name);
        (one.fix.unwrap(), one.undo.unwrap())
    };
    let path = "/proc/sys/vm/stat_interval";
    assert_eq!(
        commands("stat-interval"),
        (format!("echo 120 > {path}"), format!("echo 3 > {path}"))
    );
    let path = "/sys/devices/virtual/workqueue/cpumask";
    assert_eq!(commands("workqueues"), (format!("echo 3 > {path}"), format!("echo f > {path}")));
}

/// A fix of several files is one command for each, so that it can be tried.
#[test]
fn each_file_of_a_fix_has_its_command() {
    let scratch = machine(GOOD);
    let (irq, pci) = ("/proc/irq", "/sys/bus/pci/devices");
    write(
        &scratch,
        &[
            ("proc/irq/25/effective_affinity_list", "2\n"),
            ("proc/irq/25/smp_affinity_list", "0-3\n"),
            ("proc/irq/26/smp_affinity_list", "3\n"),
            ("proc/irq/26/eth0-tx/.keep", ""),
            // Without a handler, and on other processors.
            ("proc/irq/27/smp_affinity_list", "2-3\n"),
            ("proc/irq/28/smp_affinity_list", "1\n"),
            ("proc/irq/28/eth0-tx/.keep", ""),
            ("sys/bus/pci/devices/0000:01:00.0/power/control", "auto\n"),
            ("sys/bus/pci/devices/0000:02:00.0/power/control", "on\n"),
            ("sys/devices/system/cpu/cpu2/cpuidle/state3/latency", "133\n"),
        ],
    );
    let system = System::at(scratch.path());
    let check = |facts: &Facts, name: &str, fix: &str, undo: &str| {
        let one = finding(&examined(&scratch, facts), name);
        assert_eq!((one.fix.as_deref(), one.undo.as_deref()), (Some(fix), Some(undo)));
        assert!(Fix::of(&one, &system).is_ok(), "{one:?}");
    };
    check(
        &facts(),
        "irq-affinity",
        &format!("echo 0-1 > {irq}/25/smp_affinity_list; echo 0-1 > {irq}/26/smp_affinity_list"),
        &format!("echo 0-3 > {irq}/25/smp_affinity_list; echo 3 > {irq}/26/smp_affinity_list"),
    );
    check(
        &facts(),
        "device-power",
        &format!("echo on > {pci}/0000:01:00.0/power/control"),
        &format!("echo auto > {pci}/0000:01:00.0/power/control"),
    );
    let limit =
        |cpu: u32| format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
    check(
        &facts(),
        "idle-states",
        &format!("echo 2 > {}", limit(2)),
        &format!("echo 0 > {}", limit(2)),
    );
    // A guest must not sleep at all.
    write(&scratch, &[("sys/devices/system/cpu/cpu3/cpuidle/state1/latency", "1\n")]);
    let guest = Facts { hypervisor: Some("KVM".to_owned()), ..facts() };
    check(
        &guest,
        "idle-states",
        &format!("echo n/a > {}; echo n/a > {}", limit(2), limit(3)),
        &format!("echo 0 > {}; echo 2 > {}", limit(2), limit(3)),
    );
}

#[test]
fn network_cards_are_judged_by_the_output_of_ethtool() {
    let scratch = machine(GOOD);
    write(&scratch, &[("sys/class/net/eth0/statistics/rx_fifo_errors", "5\n")]);
    let slow = CardTexts {
        coalescing: "Adaptive RX: on  TX: on\nrx-usecs:\t8\n".to_owned(),
        features: "generic-receive-offload: on\nlarge-receive-offload: on\n".to_owned(),
        ..card()
    };
    let commands = |ethtool: Result<Vec<CardTexts>, String>, name: &str| {
        let one = finding(&examined(&scratch, &Facts { ethtool, ..facts() }), name);
        (one.verdict, one.fix.unwrap_or_default(), one.undo.unwrap_or_default())
    };
    let text = str::to_owned;
    let cases = [
        (
            "nic-coalescing",
            Verdict::Warn,
            "ethtool -C eth0 adaptive-rx off rx-usecs 0",
            "ethtool -C eth0 adaptive-rx on rx-usecs 8",
        ),
        (
            "nic-offloads",
            Verdict::Info,
            "ethtool -K eth0 gro off lro off",
            "ethtool -K eth0 gro on lro on",
        ),
        ("nic-drops", Verdict::Warn, "ethtool -G eth0 rx 4096", "ethtool -G eth0 rx 512"),
    ];
    for (name, verdict, fix, undo) in cases {
        assert_eq!(commands(Ok(vec![slow.clone()]), name), (verdict, text(fix), text(undo)));
    }
    // A driver that reports nothing has nothing to set.
    let silent = CardTexts { card: text("eth0"), ..CardTexts::default() };
    assert_eq!(commands(Ok(vec![silent]), "nic-coalescing").0, Verdict::Ok);
    let absent = || Err(text("ethtool is not installed"));
    assert_eq!(commands(absent(), "nic-coalescing").0, Verdict::Unknown);
    assert_eq!(commands(absent(), "nic-offloads").0, Verdict::Unknown);
    assert!(commands(absent(), "nic-drops").1.contains("ethtool -G CARD rx N"));
    // A card that is down, or has no device, is none.
    write(&scratch, &[("sys/class/net/eth0/operstate", "down\n")]);
    assert_eq!(commands(absent(), "nic-coalescing").0, Verdict::Ok);
}

#[test]
fn a_card_without_a_node_is_not_judged() {
    let scratch = machine(GOOD);
    write(
        &scratch,
        &[
            ("sys/devices/system/node/node1/cpulist", "4-7\n"),
            ("sys/class/net/eth0/device/numa_node", "-1\n"),
        ],
    );
    let one = finding(&examined(&scratch, &facts()), "nic-node");
    assert_eq!(one.verdict, Verdict::Ok, "{one:?}");
    assert!(one.read.starts_with("eth0 on an unknown node"), "{one:?}");
}

#[test]
fn the_cache_is_shared_by_a_command_only_where_the_processor_can() {
    let scratch = machine(GOOD);
    fs::remove_dir_all(scratch.path().join("sys/fs/resctrl")).unwrap();
    let one = finding(&examined(&scratch, &facts()), "cache-allocation");
    assert_eq!(one.verdict, Verdict::Info);
    assert!(one.fix.as_ref().is_some_and(|fix| fix.starts_with("mount -t resctrl")), "{one:?}");
    write(&scratch, &[("proc/cpuinfo", "flags\t\t: fpu\n")]);
    assert_eq!(finding(&examined(&scratch, &facts()), "cache-allocation").verdict, Verdict::Ok);
}

#[test]
fn idle_states_without_a_limit_to_write_are_a_matter_of_the_kernel_command_line() {
    let scratch = machine(GOOD);
    write(&scratch, &[("sys/devices/system/cpu/cpu2/cpuidle/state3/latency", "133\n")]);
    let limit = "sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us";
    fs::remove_file(scratch.path().join(limit)).unwrap();
    let one = finding(&examined(&scratch, &facts()), "idle-states");
    assert!(one.fix.as_ref().is_some_and(|fix| fix.contains("max_cstate=1")), "{one:?}");
    assert_eq!(one.undo, None);
    // A limit of all processors, which tuned holds.
    write(&scratch, &[("dev/cpu_dma_latency", "\x02\0\0\0")]);
    assert_eq!(finding(&examined(&scratch, &facts()), "idle-states").verdict, Verdict::Ok);
    write(&scratch, &[("dev/cpu_dma_latency", "\0\0\0\x01")]);
    assert_eq!(finding(&examined(&scratch, &facts()), "idle-states").verdict, Verdict::Warn);
    // A state that is switched off is not entered.
    write(&scratch, &[("sys/devices/system/cpu/cpu2/cpuidle/state3/disable", "1\n")]);
    assert_eq!(finding(&examined(&scratch, &facts()), "idle-states").verdict, Verdict::Ok);
}

/// What says nothing about files.
const WITHOUT_FILES: [&str; 5] =
    ["tsc", "stamp-cost", "tsc-offsets", "rtprio-limit", "memlock-limit"];

#[test]
fn an_empty_machine_is_unknown_and_no_panic() {
    let nothing = Facts { hypervisor: None, kernel: String::new(), offset_ns: None, ..facts() };
    let findings = examined(&machine(&[]), &nothing);
    for one in findings.iter().filter(|one| !WITHOUT_FILES.contains(&one.name)) {
        assert_ne!(one.verdict, Verdict::Ok, "{one:?}");
        assert!(!one.read.is_empty());
    }
}

/// In a container other processes and cards are hidden, and parts of /proc and /sys are empty. What
/// cannot be read there is not good: it is unknown, with the path.
#[test]
fn what_a_container_hides_is_unknown_with_the_path() {
    let hidden = [
        "proc/2/comm",
        "proc/77/comm",
        "proc/77/task/77/stat",
        "proc/sys/kernel/numa_balancing",
        "proc/sys/net/core/busy_poll",
        "proc/sys/net/core/busy_read",
        "proc/sys/net/core/dev_weight",
        "proc/sys/vm/compaction_proactiveness",
        "sys/class/net/eth0/operstate",
        "sys/fs/cgroup/user.slice/cpu.max",
        "sys/kernel/mm/transparent_hugepage/enabled",
        "sys/kernel/mm/ksm/run",
        "sys/kernel/mm/lru_gen/enabled",
        "sys/kernel/security/lsm",
        "sys/kernel/tracing/events/enable",
        "sys/kernel/debug/sched/fair_server/cpu2/runtime",
        "sys/devices/system/cpu/isolated",
        "sys/devices/system/cpu/cpuidle/current_driver",
        "boot/config-6.12.3",
    ];
    let files: Vec<(&str, &str)> = GOOD
        .iter()
        .filter(|(name, _)| !hidden.contains(name) && !name.starts_with("sys/class/net/eth0"))
        .filter(|(name, _)| !name.contains("/cpuidle/") && !name.starts_with("sys/kernel/tracing"))
        .copied()
        .collect();
    let findings = examined(&machine(&files), &facts());
    let unknown = [
        ("foreign-threads", "/proc"),
        ("bound-threads", "/sys/devices/system/cpu/isolated"),
        ("fair-server", "/proc/2/comm"),
        ("irqbalance", "/proc/2/comm"),
        ("memory-monitors", "/proc/2/comm"),
        ("audit", "/proc/2/comm"),
        ("time-sync", "/proc/2/comm"),
        ("numa-balancing", "/proc/sys/kernel/numa_balancing"),
        ("busy-poll", "/proc/sys/net/core/busy_poll"),
        ("busy-read", "/proc/sys/net/core/busy_read"),
        ("compaction", "/proc/sys/vm/compaction_proactiveness"),
        ("thp", "/sys/kernel/mm/transparent_hugepage/enabled"),
        ("ksm", "/sys/kernel/mm/ksm/run"),
        ("lru-gen", "/sys/kernel/mm/lru_gen/enabled"),
        ("lockdown", "/sys/kernel/security/lockdown"),
        ("tracing", "/sys/kernel/tracing"),
        ("cpu-quota", "/sys/fs/cgroup/user.slice/cpu.max"),
        ("nic-node", "/proc/sys/net/core/dev_weight"),
        ("nic-drops", "/proc/sys/net/core/dev_weight"),
        ("nic-steering", "/proc/sys/net/core/dev_weight"),
        ("idle-states", "/sys/devices/system/cpu/cpuidle/current_driver"),
    ];
    for (name, path) in unknown {
        let one = finding(&findings, name);
        assert_eq!(one.verdict, Verdict::Unknown, "{one:?}");
        assert!(one.read.contains(path), "{one:?}");
    }
}

#[test]
fn a_kernel_that_was_built_without_it_does_not_have_it() {
    let scratch = machine(GOOD);
    // The configuration of the good machine has KSM, and not what follows.
    fs::remove_file(scratch.path().join("sys/kernel/mm/ksm/run")).unwrap();
    fs::remove_file(scratch.path().join("proc/sys/kernel/numa_balancing")).unwrap();
    let findings = examined(&scratch, &facts());
    assert_eq!(finding(&findings, "ksm").verdict, Verdict::Unknown);
    let one = finding(&findings, "numa-balancing");
    assert_eq!(one.verdict, Verdict::Ok);
    assert_eq!(one.read, "this kernel has no CONFIG_NUMA_BALANCING in /boot/config-6.12.3");
}

#[test]
fn the_configuration_that_the_kernel_shows_is_read() {
    let scratch = machine(GOOD);
    fs::remove_file(scratch.path().join("boot/config-6.12.3")).unwrap();
    let tick = || finding(&examined(&scratch, &facts()), "preemption").read;
    assert!(tick().contains("tick unknown: neither /proc/config.gz"), "{}", tick());
    let file = fs::File::create(scratch.path().join("proc/config.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, b"# CONFIG_HZ_250 is not set\nCONFIG_HZ_1000=y\n")
        .unwrap();
    packed.finish().unwrap();
    assert!(tick().ends_with("1000 ticks a second in /proc/config.gz"), "{}", tick());
}

#[test]
fn no_advice_isolates_every_processor() {
    let scratch = machine(GOOD);
    write(
        &scratch,
        &[
            ("sys/devices/system/cpu/isolated", "\n"),
            ("sys/devices/system/cpu/nohz_full", "\n"),
            ("proc/cmdline", "quiet\n"),
        ],
    );
    let system = System::at(scratch.path());
    let all = examine(&system, &facts(), &CpuList::of([0, 1, 2, 3]));
    let some = examine(&system, &facts(), &CpuList::of([2, 3]));
    for (name, word) in
        [("isolated", "isolcpus="), ("nohz-full", "nohz_full="), ("rcu-nocbs", "rcu_nocbs=")]
    {
        let (all, some) = (finding(&all, name).fix.unwrap(), finding(&some, name).fix.unwrap());
        assert!(all.starts_with("not ") && all.ends_with(TOO_MANY_HOT), "{all}");
        assert!(some.starts_with(word) && some.contains("2-3"), "{some}");
    }
}

#[test]
fn a_limit_of_real_time_threads_has_its_caution() {
    for value in ["950000\n", "-1\n"] {
        let scratch = machine(GOOD);
        write(&scratch, &[("proc/sys/kernel/sched_rt_runtime_us", value)]);
        let one = finding(&examined(&scratch, &facts()), "rt-throttle");
        assert!(one.read.contains("can hang the machine"), "{one:?}");
    }
}

#[test]
fn the_unit_of_chrony_is_that_of_the_distribution() {
    let unit = |release: &str| {
        let scratch = machine(GOOD);
        write(&scratch, &[("proc/77/comm", "sshd\n"), ("etc/os-release", release)]);
        finding(&examined(&scratch, &facts()), "time-sync").fix.unwrap()
    };
    assert_eq!(unit("NAME=x\nID=debian\n"), "systemctl enable --now chrony");
    assert_eq!(unit("ID=mint\nID_LIKE=\"ubuntu debian\"\n"), "systemctl enable --now chrony");
    assert_eq!(unit("ID=\"fedora\"\n"), "systemctl enable --now chronyd");
}

#[test]
fn rubbish_in_every_file_is_no_panic() {
    let mut random = Random::new(21);
    for round in 0..20 {
        let rubbish: Vec<(&str, String)> = GOOD
            .iter()
            .map(|(name, text)| {
                let mut bytes = text.as_bytes().to_vec();
                for _ in 0..=random.index(4) {
                    let place = random.index(bytes.len() + 1);
                    match random.index(3) {
                        0 => bytes.truncate(place),
                        1 => bytes.insert(place, random.number() as u8),
                        _ => bytes.extend(random.bytes(12)),
                    }
                }
                (*name, String::from_utf8_lossy(&bytes).into_owned())
            })
            .collect();
        let files: Vec<(&str, &str)> =
            rubbish.iter().map(|(name, text)| (*name, &**text)).collect();
        let findings = examined(&machine(&files), &facts());
        assert!(findings.len() >= 68, "round {round}");
    }
}

#[test]
fn this_machine_is_examined() {
    let clock = nanotape_clock::Clock::calibrate();
    let facts = Facts::of_this_machine(&clock, None);
    let system = System::default();
    let findings = examine(&system, &facts, &system.online());
    assert!(findings.iter().all(|one| !one.read.is_empty() && !one.good.is_empty()));
}
