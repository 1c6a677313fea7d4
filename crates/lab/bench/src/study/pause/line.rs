//! The poll loops, and round trips over one cache line between two threads.
//!
//! Protocol: the first side makes the word odd, the other side makes it even again; [`STOP`] ends
//! the other side. The word carries no other data, so relaxed accesses are enough.

use std::{hint::spin_loop, thread, time::Duration};

use nanotape_clock::Clock;
use nanotape_shm::Word;
use nanotape_trace::Histogram;

use super::super::{Setup, StudyError};

/// Ends the other side.
const STOP: u64 = u64::MAX;

/// Round trips before the first one that counts.
const WARM_UP: u64 = 128;

/// Round trips of a batch. The clock of some machines has steps of 10 ns, which a batch divides.
const BATCH: u64 = 32;

/// Round trips of a turn.
pub(super) struct RoundTrips {
    /// The time of single ones, in ns.
    pub(super) nanos: Histogram,
    /// The time of one in each batch, in ns.
    pub(super) batches: Vec<f64>,
}

/// What a poll loop does between two polls. A type for each way, so that the loop has no branch for
/// it.
pub(super) trait Wait {
    fn wait();
}

/// Nothing.
pub(super) struct Spin;

/// Some pause instructions.
pub(super) struct Pauses<const COUNT: u32>;

/// A system call that lets other threads run.
pub(super) struct Yield;

impl Wait for Spin {
    #[inline(always)]
    fn wait() {}
}

impl<const COUNT: u32> Wait for Pauses<COUNT> {
    #[inline(always)]
    fn wait() {
        pause::<COUNT>();
    }
}

impl Wait for Yield {
    #[inline(always)]
    fn wait() {
        thread::yield_now();
    }
}

/// Pauses one after the other.
#[inline(always)]
pub(super) fn pause<const COUNT: u32>() {
    for _ in 0..COUNT {
        spin_loop();
    }
}

/// A way to wait, and its loops.
pub(super) struct Way {
    pub(super) name: &'static str,
    poll: fn(&Word, u32),
    request: fn(&Word, &Clock, Duration) -> RoundTrips,
    answer: fn(&Word),
}

impl Way {
    pub(super) const fn of<W: Wait>(name: &'static str) -> Self {
        Self { name, poll: poll::<W>, request: request::<W>, answer: answer::<W> }
    }

    /// Polls until the word is [`STOP`].
    pub(super) fn poll_until_stopped(&self, word: &Word) {
        (self.answer)(word);
    }
}

/// Stops the other side, however the first one ends.
pub(super) struct StopOnDrop<'a>(pub(super) &'a Word);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(STOP);
    }
}

/// Two lines, since some processors fetch them in pairs.
#[repr(align(128))]
struct Line(Word);

/// Polls a word that does not change.
pub(super) fn poll_turns(way: &Way, word: &Word, turns: u32) {
    (way.poll)(word, turns);
}

/// Round trips between the first processor and `other`.
pub(super) fn round_trips(
    setup: &Setup<'_>,
    way: &Way,
    other: u32,
    turn: Duration,
) -> Result<RoundTrips, StudyError> {
    let line = Line(Word::new(0));
    thread::scope(|scope| {
        let _stop = StopOnDrop(&line.0);
        let body = || {
            let _placement = setup.place(other);
            (way.answer)(&line.0);
        };
        thread::Builder::new().spawn_scoped(scope, body).map_err(|_| StudyError::Thread)?;
        setup.on_first(|| (way.request)(&line.0, &setup.clock, turn))
    })
}

fn poll<W: Wait>(word: &Word, turns: u32) {
    for _ in 0..turns {
        if word.load() != 0 {
            return;
        }
        W::wait();
    }
}

fn request<W: Wait>(word: &Word, clock: &Clock, turn: Duration) -> RoundTrips {
    let mut trips = RoundTrips { nanos: Histogram::fine(), batches: Vec::new() };
    let (mut begin, mut batch) = (clock.stamp(), clock.stamp());
    let mut done = 0;
    loop {
        let odd = 2 * done + 1;
        let sent = clock.stamp_start();
        word.store(odd);
        while word.load() == odd {
            W::wait();
        }
        let seen = clock.stamp();
        done += 1;
        if done > WARM_UP {
            trips.nanos.record(clock.nanos_between(sent, seen));
        }
        if done % BATCH == 0 {
            match done {
                0..WARM_UP => {}
                WARM_UP => begin = seen,
                _ => trips.batches.push(clock.nanos_between(batch, seen) as f64 / BATCH as f64),
            }
            batch = seen;
            if done > WARM_UP && u128::from(clock.nanos_between(begin, seen)) >= turn.as_nanos() {
                return trips;
            }
        }
    }
}

fn answer<W: Wait>(word: &Word) {
    loop {
        match word.load() {
            STOP => return,
            odd if odd % 2 == 1 => word.store(odd + 1),
            _ => W::wait(),
        }
    }
}
