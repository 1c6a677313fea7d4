//! A second thread of the same core: how much slower it works beside a poll loop.

use std::{hint::black_box, thread};

use nanotape_clock::Clock;
use nanotape_host::System;
use nanotape_lab::rng::mix;
use nanotape_shm::Word;

use super::{
    super::{Setup, StudyError},
    line::{StopOnDrop, Way},
};

/// Steps of the work.
const STEPS: u64 = 20_000;

/// Repetitions of the work; the fastest counts, because interruptions only add time.
const REPETITIONS: usize = 5;

/// An allowed processor that shares its core with `cpu`, if the kernel shows one.
pub(super) fn of(cpu: u32, allowed: &[u32]) -> Option<u32> {
    let siblings = System::default().siblings(cpu)?;
    siblings.iter().find(|sibling| *sibling != cpu && allowed.contains(sibling))
}

/// Why there is none.
pub(super) fn why_none(cpu: u32) -> String {
    let control = System::default().read("/sys/devices/system/cpu/smt/control");
    let control = control.unwrap_or_else(|| "unknown".to_owned());
    format!(
        "no allowed processor shares a core with processor {cpu} (the kernel reports SMT as \
         {control}; a hypervisor can hide it)"
    )
}

/// The time of fixed work on the first processor while `sibling` polls, as a ratio to the time
/// while it is idle.
pub(super) fn slowdown(setup: &Setup<'_>, way: &Way, sibling: u32) -> Result<f64, StudyError> {
    let alone = setup.on_first(|| work(&setup.clock))?;
    let word = Word::new(0);
    let beside = thread::scope(|scope| {
        let _stop = StopOnDrop(&word);
        let body = || {
            let _placement = setup.place(sibling);
            way.poll_until_stopped(&word);
        };
        thread::Builder::new().spawn_scoped(scope, body).map_err(|_| StudyError::Thread)?;
        setup.on_first(|| work(&setup.clock))
    })?;
    Ok(beside / alone.max(1.0))
}

/// The shortest time of independent arithmetic, which a busy core cannot hide, in ns.
fn work(clock: &Clock) -> f64 {
    let run = |_| {
        let from = clock.stamp_start();
        let sum = (0..STEPS).fold(0, |sum: u64, step| sum ^ mix(black_box(step), 1));
        black_box(sum);
        clock.nanos_between(from, clock.stamp()) as f64
    };
    (0..REPETITIONS).map(run).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use nanotape_console::progress::Progress;

    use super::*;
    use crate::study::{pause::WAYS, tests::setup};

    #[test]
    fn a_processor_that_does_not_exist_has_no_sibling() {
        assert_eq!(of(u32::MAX, &[0, 1]), None);
        assert!(why_none(3).contains("shares a core with processor 3"));
    }

    #[test]
    fn work_beside_a_poll_loop_ends() {
        let progress = Progress::with_steps("turns", 0);
        let setup = setup(&progress);
        let sibling = *setup.cpus.last().unwrap();
        if sibling == setup.cpus[0] {
            return;
        }
        assert!(slowdown(&setup, &WAYS[1], sibling).unwrap() > 0.0);
    }
}
