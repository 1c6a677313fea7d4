//! One turn of a variant: both threads, their placement, and the loops.

use std::{
    hint,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_lab::{
    Pin, Placement,
    counters::{Counters, Rates},
};

use super::{
    JitterError, RingKind, Series, Variant, Wait,
    lane::{self, Lane, Send, Take},
};
use crate::{
    gaps::Gap,
    watch::{Watch, WatchOptions, Watched},
};

/// The value that ends the ponger.
const END: u64 = 1 << 62;

/// Polls between two checks of the other thread.
const POLLS: u32 = 1 << 12;

/// After an interruption of its own each thread reads the cause: the pinger waits for the ponger
/// to have done so.
const SETTLE_NS: u64 = 4_000;

/// The length of a turn, and what to keep.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TurnOptions {
    /// How long to send.
    pub duration: Duration,
    /// Most round trips.
    pub most_round_trips: usize,
    /// What to keep of interruptions.
    pub watch: WatchOptions,
    /// Whether to count the events of the pinger's processor.
    pub counters: bool,
}

/// The result of a turn.
#[derive(Debug)]
pub struct Turn {
    /// The first and the last stamp of the pinger.
    pub whole: Gap,
    /// The round trips, in order.
    pub series: Series,
    /// The pinger's interruptions.
    pub pinger: Side,
    /// The ponger's.
    pub ponger: Side,
    /// Events of the pinger's processor for a round trip, or why there are none.
    pub counters: Option<Result<Rates, String>>,
    /// What the system refused, a sentence each.
    pub refused: Vec<String>,
}

/// One of the two threads.
#[derive(Debug)]
pub struct Side {
    /// Its processor, if it was pinned.
    pub cpu: Option<u32>,
    /// Its interruptions.
    pub watched: Watched,
}

/// Runs one turn.
pub fn run_turn(
    clock: &Clock,
    variant: &Variant,
    options: &TurnOptions,
) -> Result<Turn, JitterError> {
    let huge = variant.huge_pages;
    match variant.ring {
        RingKind::Cells => {
            let [there, back] = lane::cells(huge)?;
            run(clock, variant, options, there, back)
        }
        RingKind::Slots => run(clock, variant, options, lane::slots(huge)?, lane::slots(huge)?),
        RingKind::Stream => run(clock, variant, options, lane::stream(huge)?, lane::stream(huge)?),
    }
}

fn run<S: Send + core::marker::Send, T: Take + core::marker::Send>(
    clock: &Clock,
    variant: &Variant,
    options: &TurnOptions,
    there: Lane<S, T>,
    back: Lane<S, T>,
) -> Result<Turn, JitterError> {
    let (barrier, has_failed) = (Barrier::new(2), AtomicBool::new(false));
    let shared = Shared { clock, variant, options, barrier: &barrier, has_failed: &has_failed };
    let mut refused: Vec<String> = there.refused.into_iter().chain(back.refused).collect();
    let (pinged, ponged) = thread::scope(|scope| {
        let (mut to_ponger, mut at_ponger) = (there.sender, there.taker);
        let (mut to_pinger, mut at_pinger) = (back.sender, back.taker);
        let pinger = scope.spawn(move || shared.ping(&mut to_ponger, &mut at_pinger));
        let ponger = scope.spawn(move || shared.pong(&mut to_pinger, &mut at_ponger));
        (pinger.join(), ponger.join())
    });
    let pinged = pinged.map_err(|_| JitterError::Thread)??;
    let ponged = ponged.map_err(|_| JitterError::Thread)??;
    for sentence in pinged.refused.into_iter().chain(ponged.refused) {
        if !refused.contains(&sentence) {
            refused.push(sentence);
        }
    }
    Ok(Turn {
        whole: pinged.whole,
        series: pinged.series,
        pinger: pinged.side,
        ponger: ponged.side,
        counters: pinged.counters,
        refused,
    })
}

/// What both threads have.
#[derive(Clone, Copy)]
struct Shared<'a> {
    clock: &'a Clock,
    variant: &'a Variant,
    options: &'a TurnOptions,
    barrier: &'a Barrier,
    /// Ends the other thread however this one ends.
    has_failed: &'a AtomicBool,
}

struct Pinged {
    whole: Gap,
    series: Series,
    side: Side,
    counters: Option<Result<Rates, String>>,
    refused: Vec<String>,
}

struct Ponged {
    side: Side,
    refused: Vec<String>,
}

struct FailOnDrop<'a>(&'a AtomicBool);

impl Drop for FailOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Shared<'_> {
    fn place(&self, cpu: Option<u32>) -> Placement {
        Placement::on(cpu.map_or(Pin::Free, Pin::To), self.variant.real_time_priority)
    }

    fn ping(self, there: &mut impl Send, back: &mut impl Take) -> Result<Pinged, JitterError> {
        let _fail = FailOnDrop(self.has_failed);
        let placement = self.place(self.variant.cpus.map(|(pinger, _)| pinger));
        let mut series = Series::with_room(self.options.most_round_trips);
        let mut watch = Watch::start(self.clock, self.options.watch);
        let mut counters = self.options.counters.then(open_counters);
        let ticks = self.options.duration.as_secs_f64() * self.clock.rate().ticks_per_second;
        self.barrier.wait();
        if let Some(Ok(counters)) = &mut counters {
            let _ = counters.start();
        }
        watch.restart();
        let begin = self.clock.stamp_start();
        let end = Stamp::from_ticks(begin.ticks() + ticks as u64);
        series.begin(begin);
        let (mut last, mut value) = (begin, 1);
        while last < end && series.has_room() {
            there.send(value)?;
            let answer = self.wait(back, &mut watch)?;
            let now = self.clock.stamp();
            watch.notice(now);
            series.add(now);
            if answer != value + 1 {
                return Err(JitterError::Wrong { found: answer, expected: value + 1 });
            }
            value = answer + 1;
            last = now;
            if self.clock.nanos_between(series.before_last(), now)
                >= self.options.watch.attribute_ns
            {
                watch.settle();
                last = self.let_others_settle(now);
                watch.skip_to(last);
                series.resume(last);
            } else {
                watch.settle();
            }
        }
        let counters = counters.map(|counters| per_round_trip(counters, series.count()));
        there.send(END)?;
        let cpu = placement.cpu();
        Ok(Pinged {
            whole: Gap { from: begin, to: last },
            series,
            side: Side { cpu, watched: watch.finish() },
            counters,
            refused: placement.refused().to_vec(),
        })
    }

    fn pong(self, there: &mut impl Send, back: &mut impl Take) -> Result<Ponged, JitterError> {
        let _fail = FailOnDrop(self.has_failed);
        let placement = self.place(self.variant.cpus.map(|(_, ponger)| ponger));
        let mut watch = Watch::start(self.clock, self.options.watch);
        self.barrier.wait();
        watch.restart();
        loop {
            let value = self.wait(back, &mut watch)?;
            if value == END {
                break;
            }
            there.send(value + 1)?;
            watch.settle();
        }
        let cpu = placement.cpu();
        let side = Side { cpu, watched: watch.finish() };
        Ok(Ponged { side, refused: placement.refused().to_vec() })
    }

    /// Waits for a message, and notices interruptions meanwhile.
    #[inline(always)]
    fn wait(&self, from: &mut impl Take, watch: &mut Watch) -> Result<u64, JitterError> {
        let mut polls = 0;
        loop {
            if let Some(value) = from.try_take()? {
                return Ok(value);
            }
            watch.notice(self.clock.stamp_unfenced());
            match self.variant.wait {
                Wait::Spin => {}
                Wait::Pause => hint::spin_loop(),
                Wait::Yield => thread::yield_now(),
            }
            polls += 1;
            if polls % POLLS == 0 && self.has_failed.load(Ordering::Relaxed) {
                // The last message may have come before the other thread ended.
                return from.try_take()?.ok_or(JitterError::Lost);
            }
        }
    }

    #[cold]
    fn let_others_settle(&self, now: Stamp) -> Stamp {
        loop {
            let later = self.clock.stamp_start();
            if self.clock.nanos_between(now, later) >= SETTLE_NS {
                return later;
            }
        }
    }
}

fn open_counters() -> Result<Counters, String> {
    let counters = Counters::open().map_err(|reason| reason.to_string())?;
    match counters.hardware() {
        Ok(()) => Ok(counters),
        Err(reason) => Err(reason.to_string()),
    }
}

fn per_round_trip(counters: Result<Counters, String>, count: usize) -> Result<Rates, String> {
    let mut counters = counters?;
    counters.stop().map_err(|reason| reason.to_string())?;
    counters.per_operation(count.max(1) as u64).map_err(|reason| reason.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: TurnOptions = TurnOptions {
        duration: Duration::from_millis(30),
        most_round_trips: 1 << 20,
        watch: WatchOptions { threshold_ns: 1_000, attribute_ns: 2_000, most: 1 << 14 },
        counters: true,
    };

    #[test]
    fn every_ring_and_wait_makes_round_trips() {
        let clock = Clock::calibrate();
        for (ring, _) in RingKind::ALL {
            for (wait, _) in Wait::ALL {
                let variant = Variant {
                    ring,
                    wait,
                    cpus: None,
                    real_time_priority: None,
                    huge_pages: ring == RingKind::Cells,
                };
                let turn = run_turn(&clock, &variant, &OPTIONS).unwrap();
                let sum: u64 = turn.series.ticks().iter().map(|&ticks| u64::from(ticks)).sum();
                assert!(turn.series.count() > 0, "{variant}");
                let whole = turn.whole.to.ticks() - turn.whole.from.ticks();
                assert!(sum <= whole, "{variant}: {sum} of {whole} ticks");
                assert!(turn.counters.is_some(), "{variant}");
            }
        }
    }

    #[test]
    fn a_turn_ends_when_its_memory_is_full() {
        let clock = Clock::calibrate();
        let variant = Variant {
            ring: RingKind::Cells,
            wait: Wait::Yield,
            cpus: None,
            real_time_priority: None,
            huge_pages: false,
        };
        // A busy machine can keep both threads apart for longer than the other turns last.
        let duration = Duration::from_secs(60);
        let options = TurnOptions { duration, most_round_trips: 10, ..OPTIONS };
        assert_eq!(run_turn(&clock, &variant, &options).unwrap().series.count(), 10);
    }
}
