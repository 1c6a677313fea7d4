//! The ways to read the time, and their measurement.

use std::{hint::black_box, time::Duration};

use nanotape_clock::{Clock, Source};
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

/// Readings in a batch.
pub(super) const BATCH: u32 = 1_000;

/// Most batches of a turn.
const MOST_BATCHES: usize = 20_000;

/// How many consecutive readings are compared in a turn.
const COMPARED: u32 = 20_000;

/// How often a clock that stands still for long is read to see a step.
const PATIENCE: u32 = 5_000_000;

/// A way to read the time.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    cost: fn(&Clock) -> f64,
    steps: fn(&Clock, &mut Reading),
}

/// What a reading takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// An instruction of the processor, in its ticks.
    Counter,
    /// The kernel's code in this process, in ns.
    Shared,
    /// A step into the kernel, in ns.
    SystemCall,
    /// The kernel's time of the last timer tick, in ns.
    Coarse,
}

/// The measurements of a way, over all rounds.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The time of one reading, a value for each batch.
    pub(super) costs: Vec<f64>,
    /// The smallest step, in the unit of the way.
    smallest: Option<u64>,
    pub(super) steps_back: u64,
    pub(super) readings: u64,
}

/// A reading, in ticks or in ns.
trait Read {
    fn read(clock: &Clock) -> u64;
}

macro_rules! way {
    ($type:ident, $clock:ident, $read:expr) => {
        struct $type;

        impl Read for $type {
            #[inline(always)]
            fn read($clock: &Clock) -> u64 {
                $read
            }
        }
    };
}

way!(Unfenced, clock, clock.stamp_unfenced().ticks());
way!(End, clock, clock.stamp().ticks());
way!(Start, clock, clock.stamp_start().ticks());
way!(Monotonic, _clock, nanos(clock_gettime(ClockId::Monotonic)));
way!(MonotonicRaw, _clock, nanos(clock_gettime(ClockId::MonotonicRaw)));
way!(Realtime, _clock, nanos(clock_gettime(ClockId::Realtime)));
way!(Coarse, _clock, nanos(clock_gettime(ClockId::MonotonicCoarse)));
way!(ThreadTime, _clock, nanos(clock_gettime(ClockId::ThreadCPUTime)));
way!(Alarm, _clock, alarm().unwrap_or(0));

/// The UTC of the kernel's alarm clock, which no library reads without a system call.
fn alarm() -> Option<u64> {
    clock_gettime_dynamic(DynamicClockId::RealtimeAlarm).ok().map(nanos)
}

fn nanos(time: Timespec) -> u64 {
    let nanos = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
    u64::try_from(nanos).unwrap_or(0)
}

pub(super) const WAYS: [Way; 9] = [
    Way::of::<Unfenced>("counter", Kind::Counter),
    Way::of::<End>("counter, fence before", Kind::Counter),
    Way::of::<Start>("counter, fences around", Kind::Counter),
    Way::of::<Monotonic>("CLOCK_MONOTONIC", Kind::Shared),
    Way::of::<MonotonicRaw>("CLOCK_MONOTONIC_RAW", Kind::Shared),
    Way::of::<Realtime>("CLOCK_REALTIME", Kind::Shared),
    Way::of::<Coarse>("CLOCK_MONOTONIC_COARSE", Kind::Coarse),
    Way::of::<Alarm>("CLOCK_REALTIME_ALARM", Kind::SystemCall),
    Way::of::<ThreadTime>("CLOCK_THREAD_CPUTIME_ID", Kind::SystemCall),
];

impl Way {
    const fn of<R: Read>(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, cost: cost::<R>, steps: steps::<R> }
    }

    /// Whether this machine has it; otherwise the reason is added.
    pub(super) fn is_possible(&self, clock: &Clock, reasons: &mut Vec<String>) -> bool {
        let reason = match (self.kind, self.name) {
            (Kind::Counter, name) if clock.source() != Source::TimeStampCounter => {
                format!("{name}: {}", clock.why())
            }
            (_, name @ "CLOCK_REALTIME_ALARM") if alarm().is_none() => {
                format!("{name}: this kernel does not have it")
            }
            _ => return true,
        };
        reasons.push(reason);
        false
    }

    /// Measures costs and steps for about `turn`.
    pub(super) fn read(&self, clock: &Clock, turn: Duration, into: &mut Reading) {
        let begin = clock.stamp();
        let is_over = || u128::from(clock.nanos_between(begin, clock.stamp())) > turn.as_nanos();
        for _ in 0..MOST_BATCHES {
            into.costs.push((self.cost)(clock));
            into.readings += u64::from(BATCH);
            if is_over() {
                break;
            }
        }
        (self.steps)(clock, into);
    }
}

impl Reading {
    /// The smallest step in ns.
    pub(super) fn smallest_step(&self, clock: &Clock, way: &Way) -> Option<f64> {
        let smallest = self.smallest? as f64;
        Some(match way.kind {
            Kind::Counter => smallest * 1e9 / clock.rate().ticks_per_second,
            _ => smallest,
        })
    }
}

/// The time of one reading, from a batch, in ns.
fn cost<R: Read>(clock: &Clock) -> f64 {
    let from = clock.stamp_start();
    for _ in 0..BATCH {
        black_box(R::read(clock));
    }
    let nanos = clock.nanos_between(from, clock.stamp()) as f64;
    (nanos - clock.costs().empty_nanos).max(0.0) / f64::from(BATCH)
}

/// The steps between consecutive readings: the smallest one forwards, and the number backwards.
fn steps<R: Read>(clock: &Clock, into: &mut Reading) {
    let mut last = R::read(clock);
    let mut read = 0;
    let mut has_step = false;
    while read < COMPARED || (!has_step && read < PATIENCE) {
        let now = R::read(clock);
        read += 1;
        if now > last {
            has_step = true;
            into.smallest = Some(into.smallest.map_or(now - last, |least| least.min(now - last)));
        }
        into.steps_back += u64::from(now < last);
        last = now;
    }
    into.readings += u64::from(read);
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    /// A clock that goes on by 7, and back by 3 at every hundredth reading.
    struct Jumping;

    impl Read for Jumping {
        fn read(_: &Clock) -> u64 {
            NOW.with(|now| {
                let count = now.get() + 1;
                now.set(count);
                1_000 + 7 * count - 10 * (count / 100)
            })
        }
    }

    #[test]
    fn steps_back_are_counted_and_the_smallest_step_is_forwards() {
        let clock = Clock::monotonic();
        let mut reading = Reading::default();
        steps::<Jumping>(&clock, &mut reading);
        assert_eq!(reading.steps_back, u64::from(COMPARED) / 100);
        assert_eq!(reading.smallest, Some(7));
        assert_eq!(reading.readings, u64::from(COMPARED));
        let way = Way::of::<Jumping>("jumping", Kind::Shared);
        assert_eq!(reading.smallest_step(&clock, &way), Some(7.0));
    }

    #[test]
    fn without_the_counter_its_ways_are_not_measured_with_a_reason() {
        let mut reasons = Vec::new();
        let clock = Clock::monotonic();
        let possible = WAYS.iter().filter(|way| way.is_possible(&clock, &mut reasons)).count();
        assert_eq!(possible + reasons.len(), WAYS.len());
        assert!(reasons.len() >= 3 && reasons[0].starts_with("counter: "), "{reasons:?}");
    }
}
