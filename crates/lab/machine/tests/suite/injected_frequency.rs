//! A change of the frequency, made by its limit, and the step of the loop that it is found by.
//!
//! It changes a setting of the machine, so it runs only if the variable below allows it: as root,
//! on a machine whose kernel sets frequencies.

use std::{env, fs, path::PathBuf, thread, time::Duration};

use nanotape_clock::Clock;
use nanotape_harness::skipped;
use nanotape_host::allowed_cpus;
use nanotape_machine::{Cause, SpinOptions, WatchOptions, spin};

const ALLOWED_BY: &str = "NANOTAPE_CHANGE_FREQUENCY";

/// Changes of the limit, and the time between two of them.
const CHANGES: usize = 6;
const PAUSE: Duration = Duration::from_millis(300);

/// The limit of a processor; dropping it restores the value of before.
struct Limit {
    path: PathBuf,
    before: String,
}

impl Drop for Limit {
    fn drop(&mut self) {
        fs::write(&self.path, &self.before).expect("the limit of before can be written");
    }
}

#[test]
fn a_change_of_the_frequency_is_found() {
    let Some(&cpu) = allowed_cpus().last() else { return skipped("no processor is allowed") };
    let folder = PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq"));
    let read = |name: &str| fs::read_to_string(folder.join(name));
    let path = folder.join("scaling_max_freq");
    let (Ok(low), Ok(before)) = (read("cpuinfo_min_freq"), read("scaling_max_freq")) else {
        return skipped(format!("a change of the frequency: there is no {}", path.display()));
    };
    if env::var_os(ALLOWED_BY).is_none() {
        return skipped(format!("a change of the frequency: set {ALLOWED_BY}=1 to allow it"));
    }
    let limit = Limit { path, before };
    let changer = thread::spawn(move || {
        for change in 0..CHANGES {
            thread::sleep(PAUSE);
            let value = if change % 2 == 0 { &low } else { &limit.before };
            fs::write(&limit.path, value).expect("root can write the limit");
        }
        thread::sleep(PAUSE);
    });
    let clock = Clock::calibrate();
    let options = SpinOptions {
        cpus: vec![cpu],
        duration: PAUSE * (CHANGES as u32 + 1),
        watch: WatchOptions::default(),
        real_time_priority: None,
    };
    let mut found = spin(&clock, &options).unwrap();
    changer.join().unwrap();
    let one = &mut found[0];
    one.explain_by_speed();
    let explained = one.kept().iter().filter(|one| one.cause == Cause::Frequency).count();
    let steps = one.speed.steps.len();
    println!("{CHANGES} changes: {steps} steps, {explained} interruptions given to them");
    assert!(steps >= CHANGES - 1, "{:?}", one.speed.steps);
}
