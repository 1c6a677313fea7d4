//! Machines as trees of files: a good one, a bad one, an empty one, and rubbish.

use std::{collections::BTreeSet, fs};

use nanotape_harness::{Random, Scratch};

use super::*;

/// The files of a machine that is set for short times; processors 2 and 3 are hot.
const GOOD: &[(&str, &str)] = &[
    ("proc/stat", "cpu  41633 191 6945 488284 776 0 103 0 0 0\n"),
    (
        "proc/cmdline",
        "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 skew_tick=1 rcupdate.rcu_normal_after_boot=1 mitigations=off\n",
    ),
    ("proc/cpuinfo", "processor\t: 0\nmicrocode\t: 0x2b000571\n"),
    ("proc/version", "Linux version 6.12.3 #1 SMP PREEMPT_DYNAMIC\n"),
    ("proc/self/cgroup", "0::/user.slice\n"),
    ("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"),
    ("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n"),
    ("proc/77/comm", "chronyd\n"),
    (
        "proc/77/task/77/stat",
        "77 (chronyd) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0\n",
    ),
    ("proc/77/task/77/status", "Name:\tchronyd\nCpus_allowed_list:\t0-1\n"),
    ("proc/irq/25/effective_affinity_list", "0\n"),
    ("proc/irq/25/smp_affinity_list", "0-1\n"),
    ("proc/irq/25/eth0-rx/.keep", ""),
    ("proc/irq/default_smp_affinity", "3\n"),
    ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
    ("proc/sys/kernel/timer_migration", "0\n"),
    ("proc/sys/kernel/watchdog", "0\n"),
    ("proc/sys/kernel/numa_balancing", "0\n"),
    ("proc/sys/kernel/hung_task_timeout_secs", "600\n"),
    ("proc/sys/kernel/split_lock_mitigate", "0\n"),
    ("proc/sys/net/core/busy_poll", "50\n"),
    ("proc/sys/net/core/busy_read", "50\n"),
    ("proc/sys/vm/stat_interval", "10\n"),
    ("proc/sys/vm/swappiness", "10\n"),
    ("proc/sys/vm/compaction_proactiveness", "0\n"),
    ("proc/sys/vm/dirty_writeback_centisecs", "1500\n"),
    ("proc/sys/vm/nr_hugepages", "512\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/isolated", "2-3\n"),
    ("sys/devices/system/cpu/nohz_full", "2-3\n"),
    ("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2\n"),
    ("sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "3\n"),
    ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
    ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
    ("sys/devices/system/cpu/cpu2/cpuidle/state0/latency", "0\n"),
    ("sys/devices/system/cpu/cpu2/cpuidle/state0/name", "POLL\n"),
    ("sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", "0\n"),
    ("sys/devices/system/cpu/cpu3/cpuidle/state0/latency", "0\n"),
    ("sys/devices/system/cpu/cpu3/cpuidle/state3/latency", "133\n"),
    ("sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "2\n"),
    ("sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "0\n"),
    ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
    ("sys/devices/system/node/node0/cpulist", "0-3\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/virtual/workqueue/cpumask", "3\n"),
    ("sys/kernel/debug/sched/fair_server/cpu2/runtime", "0\n"),
    ("sys/kernel/debug/sched/fair_server/cpu3/runtime", "0\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
    ("sys/kernel/mm/transparent_hugepage/defrag", "always defer madvise [never]\n"),
    ("sys/kernel/mm/ksm/run", "0\n"),
    ("sys/bus/pci/devices/0000:01:00.0/power/control", "on\n"),
    ("sys/module/pcie_aspm/parameters/policy", "default [performance] powersave\n"),
    ("sys/module/usbcore/parameters/autosuspend", "-1\n"),
    ("etc/tuned/active_profile", "network-latency\n"),
];

/// What differs from the good machine in a bad one: a check, its files, and its verdict.
type Bad = (&'static str, &'static [(&'static str, &'static str)], Verdict);
const BAD: &[Bad] = &[
    ("stolen", &[("proc/stat", "cpu  1 1 1 1 1 1 1 93 0 0\n")], Verdict::Warn),
    ("isolated", &[("sys/devices/system/cpu/isolated", "\n")], Verdict::Fail),
    (
        "smt",
        &[("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2\n")],
        Verdict::Warn,
    ),
    (
        "smt",
        &[("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2-3\n")],
        Verdict::Warn,
    ),
    ("numa", &[("sys/devices/system/node/node1/cpulist", "4-7\n")], Verdict::Info),
    (
        "mitigations",
        &[("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n")],
        Verdict::Info,
    ),
    ("cpu-quota", &[("sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n")], Verdict::Fail),
    ("pressure", &[("proc/pressure/cpu", "some avg10=89.12 avg60=0\n")], Verdict::Warn),
    (
        "fair-server",
        &[("sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000\n")],
        Verdict::Fail,
    ),
    ("foreign-threads", &[("proc/77/task/77/status", "Cpus_allowed_list:\t0-3\n")], Verdict::Warn),
    ("bound-threads", &[("proc/77/task/77/status", "Cpus_allowed_list:\t2\n")], Verdict::Warn),
    ("workqueues", &[("sys/devices/virtual/workqueue/cpumask", "f\n")], Verdict::Warn),
    ("irq-affinity", &[("proc/irq/25/effective_affinity_list", "0-3\n")], Verdict::Fail),
    ("default-irq-affinity", &[("proc/irq/default_smp_affinity", "f\n")], Verdict::Warn),
    ("irqbalance", &[("proc/77/comm", "irqbalance\n")], Verdict::Warn),
    ("nohz-full", &[("sys/devices/system/cpu/nohz_full", "(null)\n")], Verdict::Fail),
    ("rcu-nocbs", &[("proc/cmdline", "quiet\n")], Verdict::Fail),
    (
        "half-settings",
        &[
            ("proc/cmdline", "nohz_full=2-3 rcu_nocbs=2-3 nohz=off\n"),
            ("sys/devices/system/cpu/isolated", "\n"),
        ],
        Verdict::Warn,
    ),
    ("half-settings", &[("proc/cmdline", "isolcpus=2-3\n")], Verdict::Warn),
    ("quiet-words", &[("proc/cmdline", "skew_tick=1\n")], Verdict::Warn),
    ("iommu", &[("sys/kernel/iommu_groups/0/type", "DMA-FQ\n")], Verdict::Info),
    ("rt-throttle", &[("proc/sys/kernel/sched_rt_runtime_us", "950000\n")], Verdict::Warn),
    ("numa-balancing", &[("proc/sys/kernel/numa_balancing", "1\n")], Verdict::Fail),
    (
        "thp",
        &[("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")],
        Verdict::Warn,
    ),
    ("stat-interval", &[("proc/sys/vm/stat_interval", "1\n")], Verdict::Warn),
    ("swaps", &[("proc/swaps", "Filename\n/dev/sda2 partition 1 0 -2\n")], Verdict::Warn),
    ("huge-pages", &[("proc/sys/vm/nr_hugepages", "0\n")], Verdict::Info),
    ("memory-monitors", &[("proc/77/comm", "kdamond.0\n")], Verdict::Warn),
    ("balloon", &[("sys/bus/virtio/drivers/virtio_balloon/virtio3/x", "")], Verdict::Warn),
    (
        "clocksource",
        &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")],
        Verdict::Fail,
    ),
    ("time-sync", &[("proc/77/comm", "sshd\n")], Verdict::Info),
    (
        "governor",
        &[("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n")],
        Verdict::Fail,
    ),
    ("turbo", &[("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n")], Verdict::Info),
    (
        "idle-states",
        &[("sys/devices/system/cpu/cpu2/cpuidle/state3/latency", "133\n")],
        Verdict::Warn,
    ),
    (
        "idle-states",
        &[("sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "200\n")],
        Verdict::Warn,
    ),
    (
        "device-power",
        &[("sys/bus/pci/devices/0000:01:00.0/power/control", "auto\n")],
        Verdict::Warn,
    ),
    (
        "pcie-power",
        &[("sys/module/pcie_aspm/parameters/policy", "[default] performance\n")],
        Verdict::Warn,
    ),
    ("usb-power", &[("sys/module/usbcore/parameters/autosuspend", "2\n")], Verdict::Info),
    (
        "thermal",
        &[("sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "4\n")],
        Verdict::Fail,
    ),
    ("tuned", &[("proc/sys/net/core/busy_read", "0\n")], Verdict::Fail),
    ("tuned", &[("etc/tuned/active_profile", "balanced\n")], Verdict::Warn),
    (
        "tracing",
        &[
            ("sys/kernel/tracing/events/enable", "X\n"),
            ("sys/kernel/tracing/current_tracer", "function\n"),
        ],
        Verdict::Info,
    ),
    ("audit", &[("proc/77/comm", "auditd\n")], Verdict::Info),
    (
        "lockdown",
        &[("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")],
        Verdict::Info,
    ),
];

fn facts() -> Facts {
    Facts {
        hypervisor: Some("none".to_owned()),
        kernel: "6.12.3".to_owned(),
        counter: Ok(()),
        stamp_ns: 9.4,
        offset_ns: Some(12.0),
        rtprio_limit: Some(99),
        memlock_limit: None,
        is_privileged: false,
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
fn a_machine_that_is_set_has_nothing_to_mend() {
    let findings = examined(&machine(GOOD), &facts());
    // What is only told, and says nothing about good and bad.
    let told = ["microcode", "preemption"];
    for one in &findings {
        let expected = if told.contains(&one.name) { Verdict::Info } else { Verdict::Ok };
        assert_eq!(one.verdict, expected, "{one:?}");
        assert_eq!((&one.fix, &one.undo), (&None, &None), "{one:?}");
    }
    let names: BTreeSet<&str> = findings.iter().map(|one| one.name).collect();
    assert_eq!(names.len(), findings.len(), "each name occurs once");
    assert!(findings.len() >= 55, "{}", findings.len());
}

#[test]
fn each_bad_setting_is_found_with_its_mend() {
    for (name, files, verdict) in BAD {
        let scratch = machine(GOOD);
        write(&scratch, files);
        let one = finding(&examined(&scratch, &facts()), name);
        assert_eq!(one.verdict, *verdict, "{one:?}");
        let is_told_only = ["time-sync"].contains(name) || one.fix.is_some();
        assert!(is_told_only, "{one:?}");
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

/// A mend of several files is one command for each, so that it can be tried.
#[test]
fn each_file_of_a_mend_has_its_command() {
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
        assert!(Mend::of(&one, &system).is_ok(), "{one:?}");
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
fn idle_states_without_a_limit_to_write_are_a_matter_of_the_kernel_command_line() {
    let scratch = machine(GOOD);
    write(&scratch, &[("sys/devices/system/cpu/cpu2/cpuidle/state3/latency", "133\n")]);
    let limit = "sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us";
    fs::remove_file(scratch.path().join(limit)).unwrap();
    let one = finding(&examined(&scratch, &facts()), "idle-states");
    assert!(one.fix.as_ref().is_some_and(|fix| fix.contains("max_cstate=1")), "{one:?}");
    assert_eq!(one.undo, None);
    // A state that is switched off is not entered.
    write(&scratch, &[("sys/devices/system/cpu/cpu2/cpuidle/state3/disable", "1\n")]);
    assert_eq!(finding(&examined(&scratch, &facts()), "idle-states").verdict, Verdict::Ok);
}

#[test]
fn an_empty_machine_is_unknown_and_no_panic() {
    let nothing = Facts { hypervisor: None, kernel: String::new(), offset_ns: None, ..facts() };
    let findings = examined(&machine(&[]), &nothing);
    assert!(findings.iter().any(|one| one.verdict == Verdict::Unknown));
    let unread = ["isolated", "clocksource", "rcu-nocbs", "irq-affinity", "pressure"];
    for name in unread {
        let one = finding(&findings, name);
        assert_eq!(one.verdict, Verdict::Unknown, "{one:?}");
        assert!(!one.read.is_empty());
    }
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
        assert!(findings.len() >= 55, "round {round}");
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
