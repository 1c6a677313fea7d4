//! A thread whose control group has used up its share of the processors, and the cause that is
//! found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nanotape_clock::Clock;
use nanotape_harness::{Peer, Scratch, Task, eventually, listen, say, skipped};
use nanotape_host::allowed_cpus;
use nanotape_machine::{Cause, KernelTrace, Watch, WatchOptions, Watched};

const VICTIM: &str = "injected_throttling::throttled_victim";

/// How long the victim spins.
const SPIN_NS: u64 = 2_000_000_000;

/// At least this share of the times at which the kernel throttled the group is found. The rest may
/// be at the beginning and the end, and where the victim waits for other threads for longer.
const LEAST_RIGHT: f64 = 0.8;

/// Work beside the tests can preempt a victim all the time.
const ATTEMPTS: usize = 3;

/// A victim in a control group that may use a tenth of a processor.
#[test]
fn a_control_group_without_time_is_found() {
    let scratch = Scratch::folder("throttled");
    let group = match Group::with_a_tenth() {
        Ok(group) => group,
        Err(why) => return skipped(format!("throttling is not injected: {why}")),
    };
    let mut wrong = String::new();
    for _ in 0..ATTEMPTS {
        match wrong_of(&group, &scratch) {
            Err(why) => return skipped(format!("throttling is not injected: {why}")),
            Ok(None) => return,
            Ok(Some(what)) => wrong = what,
        }
    }
    panic!("in {ATTEMPTS} attempts, the last: {wrong}");
}

/// Runs a victim in the group; returns what was found too seldom.
fn wrong_of(group: &Group, scratch: &Scratch) -> Result<Option<String>, String> {
    let folder = group.0.display().to_string();
    let task = Task::new("throttled", scratch.path()).detail(&folder);
    let mut victim = Peer::start(task.command(VICTIM));
    group.take(&victim.receive()).map_err(|why| why.to_string())?;
    victim.send("begin");
    let found = victim.receive();
    println!("{found}");
    let count = |name: &str| -> u64 {
        let words: Vec<&str> = found.split([',', '=']).map(str::trim).collect();
        let place = words.iter().position(|word| *word == name).unwrap();
        words[place + 1].parse().unwrap()
    };
    let all = count("throttled");
    assert!(all >= 5, "{all}");
    for name in ["accounts", "traced"] {
        let found = count(name);
        // One may have begun before the victim spins.
        if (found as f64) < LEAST_RIGHT * all as f64 || found > all + 1 {
            return Ok(Some(format!("{name}: {found} of {all}")));
        }
    }
    Ok(None)
}

/// Spins for two seconds, and says how often it found that its group had no time; returns at once
/// in a run of the tests.
#[test]
fn throttled_victim() {
    let Some(Task { detail, .. }) = Task::of_this_process() else { return };
    // The throttles of what is before and after the time in which it spins do not count.
    let throttles = || throttles_in(Path::new(&detail));
    say(std::process::id());
    assert_eq!(listen(), "begin");
    let clock = Clock::calibrate();
    let trace = KernelTrace::start(&clock, &allowed_cpus());
    let options = WatchOptions { threshold_ns: 1_000, ..WatchOptions::default() };
    let mut watch = Watch::start(&clock, options);
    let before = throttles();
    let begin = clock.stamp();
    watch.restart();
    let mut now = begin;
    while clock.nanos_between(begin, now) < SPIN_NS {
        now = clock.stamp_unfenced();
        watch.turn(now);
    }
    let all = throttles() - before;
    let mut watched = watch.finish();
    let throttled =
        |watched: &Watched| watched.kept.iter().filter(|one| one.cause == Cause::Throttled).count();
    let accounts = throttled(&watched);
    if let Ok(mut trace) = trace {
        watched.explain(&trace.take().unwrap(), &clock);
    }
    let traced = throttled(&watched);
    say(format!("throttled={all}, accounts={accounts}, traced={traced}"));
}

/// A control group of this test, which is removed with the value.
struct Group(PathBuf);

impl Group {
    const FIRST: &str = "/sys/fs/cgroup/cpu";
    const SECOND: &str = "/sys/fs/cgroup";

    fn with_a_tenth() -> Result<Self, String> {
        let controllers = fs::read_to_string(Path::new(Self::SECOND).join("cgroup.controllers"));
        let is_second = controllers
            .is_ok_and(|all| all.split_whitespace().any(|controller| controller == "cpu"));
        let root = Path::new(if is_second { Self::SECOND } else { Self::FIRST });
        let folder = root.join(format!("nanotape-test-{}", std::process::id()));
        if is_second {
            let path = root.join("cgroup.subtree_control");
            fs::write(&path, "+cpu").map_err(|error| format!("{}: {error}", path.display()))?;
        }
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let group = Self(folder);
        let values: &[(&str, &str)] = match is_second {
            true => &[("cpu.max", "10000 100000")],
            false => &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "10000")],
        };
        for (name, value) in values {
            group.write(name, value)?;
        }
        Ok(group)
    }

    fn write(&self, name: &str, value: &str) -> Result<(), String> {
        let path = self.0.join(name);
        fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn take(&self, process: &str) -> Result<(), String> {
        self.write("cgroup.procs", process)
    }
}

/// How often the kernel has throttled a group.
fn throttles_in(group: &Path) -> u64 {
    let text = fs::read_to_string(group.join("cpu.stat")).unwrap();
    let count = text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
    count.unwrap().trim().parse().unwrap()
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just ended leaves the group some moments later.
        eventually("the group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}
