//! Whether a map survives processes that are killed while they update it.
//!
//! A process updates without end and gets SIGKILL after some milliseconds. Then a new process must
//! open the map and update every key, within [`LONGEST`]. Both happen again, on the same map.

use std::{path::Path, thread, time::Duration};

use nanotape_clock::Clock;
use rivals_measure::Failure;
use serde_json::{Value, json};

use crate::{
    options::{Options, Role},
    processes::Second,
    work::{Map, Picks},
};

/// How long a new process may take to open the map and to update every key.
const LONGEST: Duration = Duration::from_secs(10);

/// The first process: kills and counts. It has the map open, and does nothing with it.
pub(crate) fn run(options: &Options, map: impl Map, path: &Path) -> Result<Value, Failure> {
    let clock = Clock::monotonic();
    let (mut survived, mut slowest_ns, mut reason) = (0, 0, Value::Null);
    for number in 0..options.kills {
        let mut victim = Second::start(Role::Victim, path)?;
        victim.next_line()?;
        thread::sleep(Duration::from_micros(20_000 + 7_919 * (number * number % 11)));
        victim.child.kill()?;
        victim.child.wait()?;
        let start = clock.stamp();
        match survivor(path, &clock) {
            Ok(()) => survived += 1,
            Err(failure) => {
                reason = format!("after kill {}: {failure}", number + 1).into();
                break;
            }
        }
        slowest_ns = clock.nanos_between(start, clock.stamp()).max(slowest_ns);
    }
    drop(map);
    Ok(json!({
        "kills": options.kills,
        "survived": survived,
        "slowest_seconds": slowest_ns as f64 / 1e9,
        "reason": reason,
    }))
}

/// Whether a new process updates every key in time.
fn survivor(path: &Path, clock: &Clock) -> Result<(), Failure> {
    let mut survivor = Second::start(Role::Survivor, path)?;
    let start = clock.stamp();
    loop {
        if let Some(status) = survivor.child.try_wait()? {
            return match status.success() {
                true => Ok(()),
                false => Err(format!("the next process ended, {status}").into()),
            };
        }
        let elapsed = Duration::from_nanos(clock.nanos_between(start, clock.stamp()));
        if elapsed > LONGEST {
            return Err(format!("the next process was not done after {LONGEST:?}").into());
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The process that is killed: updates without end.
pub(crate) fn victim(map: &mut impl Map, entries: u64) -> Result<(), Failure> {
    // Each victim stops elsewhere in another order.
    let seed = std::process::id();
    let mut picks = Picks::new(seed.into(), entries);
    loop {
        map.add(picks.next())?;
    }
}
