//! Times of single messages.
//!
//! The histogram contains every sample; its quantiles are accurate to 0.8%.

use nanotape_clock::{Clock, Stamp};
use nanotape_trace::Histogram;

use super::{
    PREEMPTED_NANOS, Times, Written,
    message::{BEGIN, PERIOD, sequence, stamp},
    pace::{Schedule, Until},
};

/// The share at the start of every timed run that does not count.
pub(crate) const WARM_UP: f64 = 0.1;

/// A closed loop: one operation after the other; the first tenth does not count.
pub(crate) struct Rounds<'until> {
    until: &'until Until,
    is_warm: bool,
    pub(crate) sample: Sample,
}

impl<'until> Rounds<'until> {
    pub(crate) fn new(until: &'until Until) -> Self {
        Self { until, is_warm: false, sample: Sample::new() }
    }

    /// Whether to continue after `done` operations.
    #[inline]
    pub(crate) fn goes_on(&mut self, done: u64) -> bool {
        let share = self.until.share(done);
        if !self.is_warm && share >= WARM_UP {
            self.is_warm = true;
            self.sample = Sample::new();
        }
        share < 1.0
    }
}

/// Runs a closed loop. A turn gets the number of those before it, and returns its begin and its
/// end.
#[inline(always)]
pub(crate) fn repeat<E>(
    clock: Clock,
    until: &Until,
    mut turn: impl FnMut(u64) -> Result<(Stamp, Stamp), E>,
) -> Result<(Written, Times), E> {
    let mut rounds = Rounds::new(until);
    let mut done = 0;
    while rounds.goes_on(done) {
        let (from, to) = turn(done)?;
        rounds.sample.add(&clock, from, to);
        done += 1;
    }
    Ok((Written { messages: done, nanos: until.nanos() }, rounds.sample.times(clock)))
}

/// Times of single messages.
pub(crate) struct Sample {
    pub(crate) nanos: Histogram,
    preempted: u64,
    reversed: u64,
}

impl Sample {
    pub(crate) fn new() -> Self {
        Self { nanos: Histogram::fine(), preempted: 0, reversed: 0 }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, clock: &Clock, from: Stamp, to: Stamp) {
        let nanos = clock.nanos_between(from, to);
        self.preempted += u64::from(nanos > PREEMPTED_NANOS);
        self.reversed += u64::from(to < from);
        self.nanos.record(nanos);
    }

    pub(crate) fn times(&self, clock: Clock) -> Times {
        let Self { nanos, preempted, reversed } = self;
        Times { over_100us: *preempted, reversed: *reversed, ..Times::of(nanos, &clock) }
    }
}

impl Times {
    /// Times of all samples in a histogram.
    pub(crate) fn of(nanos: &Histogram, clock: &Clock) -> Self {
        let at = |quantile| nanos.quantile(quantile).unwrap_or(0);
        Self {
            count: nanos.count(),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            p9999_ns: at(0.9999),
            max_ns: nanos.max().unwrap_or(0),
            clock_ns: clock.costs().empty_nanos,
            ..Self::default()
        }
    }
}

/// Times of received messages, since they were sent and since they were due.
pub(crate) struct Arrivals {
    from_send: Sample,
    from_due: Sample,
    schedule: Schedule,
    /// The first message of the schedule.
    start: u64,
    /// The first message that counts.
    warm_up: u64,
}

impl Arrivals {
    /// For a run of `messages`.
    pub(crate) fn of(messages: u64) -> Self {
        Self {
            from_send: Sample::new(),
            from_due: Sample::new(),
            schedule: Schedule { begin_ticks: 0, ticks_per_message: f64::NAN },
            start: u64::MAX,
            warm_up: (messages as f64 * WARM_UP) as u64,
        }
    }

    /// Records a message that has arrived. Returns the number of the first message of the schedule
    /// when it is known.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        clock: &Clock,
        type_id: u16,
        message: &[u8],
        now: Stamp,
    ) -> Option<u64> {
        match type_id {
            BEGIN => self.schedule.begin_ticks = stamp(message),
            PERIOD => {
                self.schedule.ticks_per_message = f64::from_bits(stamp(message));
                self.start = sequence(message) + 1;
                return Some(self.start);
            }
            _ => {
                let index = sequence(message).saturating_sub(self.start);
                if index >= self.warm_up {
                    self.from_send.add(clock, Stamp::from_ticks(stamp(message)), now);
                    self.from_due.add(clock, self.schedule.due(index), now);
                }
            }
        }
        None
    }

    pub(crate) fn times(&self, clock: Clock) -> Times {
        Times {
            due_p50_ns: self.from_due.nanos.quantile(0.5),
            due_p99_ns: self.from_due.nanos.quantile(0.99),
            ..self.from_send.times(clock)
        }
    }
}
