//! Measures whether stamps of two processors can be compared.
//!
//! Two threads, each pinned to its processor, exchange stamps over two cache lines:
//!
//! ```text
//!   reference  --t1---- ping ---------------------t4-->
//!                          \                     /
//!   other      -------------t2 --- pong --------------->
//! ```
//!
//! Protocol: (1) the reference reads `t1` and stores the number of the round; (2) the other thread
//! sees it, reads `t2`, stores that and the number; (3) the reference sees the number and reads
//! `t4`. In a common time `t1 <= t2 <= t4`, so the other's clock is ahead by at least `t2 - t4` and
//! at most `t2 - t1`. The offset lies in the intervals of all rounds. The result is the middle of
//! their intersection, with half its width as the bound, which is at most half of the shortest
//! round trip. An empty intersection shows that the clocks do not differ by a constant.
//!
//! Bounds: each pair of processors gets a number of rounds and a time; the first to run out ends
//! it. Waiting threads yield their processor, so that a busy machine is slow and does not hang.

use core::{
    fmt,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};
use std::thread;

use nanotape_host::{allowed_cpus, run_on};

use crate::{Clock, Source, Stamp};

mod estimate;

use estimate::Estimate;

/// The offset between the clocks of two processors.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Offset {
    /// The processor.
    pub cpu: u32,
    /// The processor it is compared with.
    pub reference_cpu: u32,
    /// By how much this processor's clock is ahead of the other's, in nanoseconds.
    pub offset_nanos: f64,
    /// Maximum error of the offset; infinite if no round was made.
    pub bound_nanos: f64,
    /// The shortest round trip; infinite if no round was made.
    pub round_trip_nanos: f64,
    /// Rounds made.
    pub rounds: u32,
    /// How the measurement ended.
    pub ending: Ending,
}

/// How the comparison of two processors ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ending {
    /// All rounds were made.
    Complete,
    /// The time ran out first; the result covers the rounds made.
    TimeUp,
    /// No constant offset explains all rounds: the two clocks run apart, or one was moved.
    Inconsistent,
    /// A thread could not be pinned to its processor.
    NotPinned,
    /// A thread could not be started.
    NoThread,
}

/// The effort for each pair of processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Exchanges of stamps, of some hundred nanoseconds each without interruptions.
    pub rounds: u32,
    /// Time limit of a pair.
    pub limit: Duration,
}

impl Default for Effort {
    /// 5,000 rounds, about 2 ms; a quarter of a second if other work occupies the processors.
    fn default() -> Self {
        Self { rounds: 5_000, limit: Duration::from_millis(250) }
    }
}

/// `cpu 1 against 0: +3.1 ns, within 62.4 ns, 5000 rounds of 151 ns at best, complete`
impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu {} against {}: ", self.cpu, self.reference_cpu)?;
        if self.rounds == 0 {
            return write!(f, "no rounds, {}", self.ending);
        }
        write!(
            f,
            "{:+.1} ns, within {:.1} ns, {} rounds of {:.0} ns at best, {}",
            self.offset_nanos, self.bound_nanos, self.rounds, self.round_trip_nanos, self.ending
        )
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complete => "complete",
            Self::TimeUp => "stopped at the time limit",
            Self::Inconsistent => "inconsistent: no constant offset explains all rounds",
            Self::NotPinned => "a thread could not be pinned to its processor",
            Self::NoThread => "a thread could not be started",
        })
    }
}

/// Compares each processor that this thread may use with the first of them, in separate threads.
/// Empty if there is only one, or if the kernel does not report them.
pub fn measure(clock: &Clock, effort: Effort) -> Vec<Offset> {
    let allowed = allowed_cpus();
    let Some((&reference, others)) = allowed.split_first() else { return Vec::new() };
    others.iter().map(|&cpu| compare(clock, reference, cpu, effort)).collect()
}

/// Compares two processors.
fn compare(clock: &Clock, reference: u32, cpu: u32, effort: Effort) -> Offset {
    let exchange = Exchange::default();
    let (estimate, ending) = thread::scope(|scope| {
        let exchange = &exchange;
        let source = clock.source();
        let other =
            thread::Builder::new().spawn_scoped(scope, move || exchange.answer(source, cpu));
        if other.is_err() {
            return (Estimate::default(), Ending::NoThread);
        }
        // Stops the other thread on every exit: the scope waits for it.
        let _stop = StopOnDrop(exchange);
        thread::Builder::new()
            .spawn_scoped(scope, move || exchange.run_rounds(clock, reference, effort))
            .ok()
            .and_then(|handle| handle.join().ok())
            .unwrap_or((Estimate::default(), Ending::NoThread))
    });
    let ending = if estimate.is_consistent() { ending } else { Ending::Inconsistent };
    let nanos = clock.nanos_per_tick();
    Offset {
        cpu,
        reference_cpu: reference,
        offset_nanos: estimate.offset_ticks() * nanos,
        bound_nanos: estimate.bound_ticks() * nanos,
        round_trip_nanos: estimate.round_trip_ticks() * nanos,
        rounds: estimate.rounds(),
        ending,
    }
}

/// Keeps values of different threads in different cache lines, and in different pairs of lines,
/// which some processors fetch together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// The memory that both threads share.
#[derive(Debug, Default)]
struct Exchange {
    /// The current round, from 1, or [`STOP`]; written by the reference.
    ping: Apart<AtomicU64>,
    pong: Apart<Pong>,
    /// State of the other thread, which writes it.
    state: Apart<AtomicU32>,
}

/// The answer; written by the other thread.
#[derive(Debug, Default)]
struct Pong {
    /// The round it belongs to.
    round: AtomicU64,
    ticks: AtomicU64,
}

const STOP: u64 = u64::MAX;

/// States of the other thread, 0 until it is pinned to its processor.
const READY: u32 = 1;
const NOT_PINNED: u32 = 2;

impl Exchange {
    /// The reference's side: runs rounds until the effort is spent.
    fn run_rounds(&self, clock: &Clock, cpu: u32, effort: Effort) -> (Estimate, Ending) {
        let mut estimate = Estimate::default();
        if run_on(&[cpu]).is_err() {
            return (estimate, Ending::NotPinned);
        }
        let source = clock.source();
        let mut patience = Patience::until(clock, effort.limit);
        loop {
            // SYNC(clock.state): pairs with the stores in `answer`.
            match self.state.0.load(Ordering::Acquire) {
                READY => break,
                NOT_PINNED => return (estimate, Ending::NotPinned),
                _ if patience.is_over() => return (estimate, Ending::TimeUp),
                _ => {}
            }
        }
        for round in 1..=u64::from(effort.rounds) {
            let sent = source.start_ticks();
            // SYNC(clock.ping): pairs with the load in `answer`.
            self.ping.0.store(round, Ordering::Release);
            patience.begin();
            // SYNC(clock.pong): pairs with the store in `answer`, so that the ticks are the
            // round's.
            while self.pong.0.round.load(Ordering::Acquire) != round {
                if patience.is_over() {
                    return (estimate, Ending::TimeUp);
                }
            }
            let answered = source.end_ticks();
            estimate.add(sent, self.pong.0.ticks.load(Ordering::Relaxed), answered);
            if round < u64::from(effort.rounds) && patience.is_over_at(Stamp::from_ticks(answered))
            {
                return (estimate, Ending::TimeUp);
            }
        }
        (estimate, Ending::Complete)
    }

    /// The other thread's side: answers until it is stopped.
    fn answer(&self, source: Source, cpu: u32) {
        if run_on(&[cpu]).is_err() {
            // SYNC(clock.state): pairs with the load in `run_rounds`.
            self.state.0.store(NOT_PINNED, Ordering::Release);
            return;
        }
        // SYNC(clock.state): pairs with the load in `run_rounds`.
        self.state.0.store(READY, Ordering::Release);
        let (mut answered, mut spins) = (0, 0);
        loop {
            // SYNC(clock.ping): pairs with the stores in `run_rounds` and `StopOnDrop`.
            let round = self.ping.0.load(Ordering::Acquire);
            if round == STOP {
                return;
            }
            if round == answered {
                pause(&mut spins);
                continue;
            }
            let ticks = source.end_ticks();
            self.pong.0.ticks.store(ticks, Ordering::Relaxed);
            // SYNC(clock.pong): pairs with the load in `run_rounds`.
            self.pong.0.round.store(round, Ordering::Release);
            (answered, spins) = (round, 0);
        }
    }
}

/// Stops the other thread, however the reference's side ends.
struct StopOnDrop<'a>(&'a Exchange);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        // SYNC(clock.ping): pairs with the load in `answer`.
        self.0.ping.0.store(STOP, Ordering::Release);
    }
}

/// Polls of a shared word before the thread yields: about ten microseconds, enough for an answer if
/// the other thread runs.
const SPINS: u32 = 500;

/// Waits a moment; returns true each time the thread has yielded.
fn pause(spins: &mut u32) -> bool {
    *spins += 1;
    if *spins < SPINS {
        core::hint::spin_loop();
        return false;
    }
    *spins = 0;
    thread::yield_now();
    true
}

/// A wait with a time limit.
struct Patience<'a> {
    clock: &'a Clock,
    since: Stamp,
    limit_nanos: u64,
    spins: u32,
}

impl<'a> Patience<'a> {
    fn until(clock: &'a Clock, limit: Duration) -> Self {
        let limit_nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Self { clock, since: clock.stamp(), limit_nanos, spins: 0 }
    }

    fn begin(&mut self) {
        self.spins = 0;
    }

    /// Waits a moment; returns whether the time is up, which is checked after each yield.
    fn is_over(&mut self) -> bool {
        pause(&mut self.spins) && self.is_over_at(self.clock.stamp())
    }

    fn is_over_at(&self, now: Stamp) -> bool {
        self.clock.nanos_between(self.since, now) >= self.limit_nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_other_processor_is_compared_with_the_first() {
        for clock in [Clock::calibrate(), Clock::monotonic()] {
            let before = allowed_cpus();
            let offsets = measure(&clock, Effort::default());
            assert_eq!(allowed_cpus(), before, "this thread may run where it might before");
            assert_eq!(offsets.len() + 1, before.len());
            for (offset, &cpu) in offsets.iter().zip(&before[1..]) {
                assert_eq!((offset.cpu, offset.reference_cpu), (cpu, before[0]));
                assert!(offset.bound_nanos > 0.0, "{offset:?}");
                // The bound is half of the intersection of all rounds, so at most half of one
                // round.
                assert!(offset.bound_nanos * 2.0 <= offset.round_trip_nanos, "{offset:?}");
                assert_eq!(offset.rounds == 0, offset.bound_nanos.is_infinite(), "{offset:?}");
            }
        }
    }

    #[test]
    fn the_operating_systems_clock_is_one_clock() {
        for offset in measure(&Clock::monotonic(), Effort::default()) {
            // Zero lies within the bound, plus a nanosecond of rounding.
            assert!(offset.offset_nanos.abs() <= offset.bound_nanos + 1.0, "{offset:?}");
        }
    }

    #[test]
    fn an_offset_says_how_it_was_found() {
        let offset = Offset {
            cpu: 1,
            reference_cpu: 0,
            offset_nanos: 3.06,
            bound_nanos: 62.4,
            round_trip_nanos: 151.0,
            rounds: 5_000,
            ending: Ending::Complete,
        };
        assert_eq!(
            offset.to_string(),
            "cpu 1 against 0: +3.1 ns, within 62.4 ns, 5000 rounds of 151 ns at best, complete"
        );
        let none = Offset { rounds: 0, ending: Ending::TimeUp, ..offset };
        assert_eq!(none.to_string(), "cpu 1 against 0: no rounds, stopped at the time limit");
    }

    #[test]
    fn a_processor_that_is_not_there_is_said_to_be() {
        let clock = Clock::monotonic();
        let here = allowed_cpus()[0];
        for cpu in [1 << 20, u32::MAX] {
            let offset = compare(&clock, here, cpu, Effort::default());
            assert_eq!(offset.ending, Ending::NotPinned);
            assert_eq!(compare(&clock, cpu, here, Effort::default()).ending, Ending::NotPinned);
        }
    }

    #[test]
    fn effort_is_bounded() {
        let clock = Clock::monotonic();
        let here = allowed_cpus()[0];
        // Both threads on one processor: every round needs a thread switch, and none is lost.
        let some = Effort { rounds: 3, limit: Duration::from_secs(60) };
        let offset = compare(&clock, here, here, some);
        assert_eq!((offset.rounds, offset.ending), (3, Ending::Complete));
        let endless = Effort { rounds: u32::MAX, limit: Duration::from_millis(1) };
        let offset = compare(&clock, here, here, endless);
        assert_eq!(offset.ending, Ending::TimeUp);
        // Between two processors, an answer arrives before a side gives up waiting.
        for offset in measure(&clock, endless) {
            assert_eq!(offset.ending, Ending::TimeUp);
        }
        let none = Effort { rounds: 0, limit: Duration::from_secs(60) };
        let offset = compare(&clock, here, here, none);
        assert_eq!((offset.rounds, offset.ending), (0, Ending::Complete));
        assert!(offset.bound_nanos.is_infinite());
    }
}
