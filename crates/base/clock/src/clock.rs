//! Stamps, and their conversion to nanoseconds and UTC.

use core::time::Duration;

use crate::{
    bracket::Bracket,
    calibration::{Calibration, Rate},
    choice::{self, Reason},
    costs::{self, Costs},
    drift::Drift,
    report::Report,
    source::Source,
    utc::UtcNanos,
};

/// Default duration of the comparison between the counter and the kernel's clock.
const CALIBRATION: Duration = Duration::from_millis(50);

/// The shortest comparison: below it, the brackets would take all of the time.
const SHORTEST_CALIBRATION: Duration = Duration::from_millis(1);

/// A calibrated clock: plain values, to be copied wherever stamps are made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    calibration: Calibration,
    anchor: Anchor,
    costs: Costs,
    resolution_nanos: f64,
    why: Reason,
}

/// A point in time, in the ticks of one [`Clock`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Stamp(u64);

/// A moment of the source with its UTC.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ticks: u64,
    utc: UtcNanos,
    /// Maximum error of the pair.
    bound_nanos: u64,
}

impl Clock {
    /// Chooses the best source and measures its rate and costs, which takes about 51 ms.
    pub fn calibrate() -> Self {
        Self::calibrate_for(CALIBRATION)
    }

    /// [`Clock::calibrate`] with another duration of the comparison, at least 1 ms. The uncertainty
    /// of the rate is inversely proportional to it. The operating system's clock needs no
    /// comparison and takes a few milliseconds.
    pub fn calibrate_for(interval: Duration) -> Self {
        match choice::counter() {
            Ok(why) => Self::of_counter(why, interval),
            Err(why) => Self::of_kernel(why),
        }
    }

    /// A clock that reads the operating system's monotonic clock, whatever the processor has. Use
    /// it to compare the two sources, or if a rate without calibration is worth more expensive
    /// stamps.
    pub fn monotonic() -> Self {
        Self::of_kernel(choice::without_counter())
    }

    fn of_counter(why: Reason, interval: Duration) -> Self {
        let source = Source::TimeStampCounter;
        let interval = interval.max(SHORTEST_CALIBRATION);
        let first = Bracket::tightest(source, Source::reference_nanos);
        std::thread::sleep(interval);
        let last = Bracket::tightest(source, Source::reference_nanos);
        match Calibration::between(first, last) {
            Some(calibration) => Self::finish(source, why, calibration),
            None => Self::of_kernel(Reason::Stuck),
        }
    }

    fn of_kernel(why: Reason) -> Self {
        let source = choice::source_without_counter(why);
        let now = Bracket::tightest(source, Source::reference_nanos);
        Self::finish(source, why, Calibration::of_nanoseconds(now))
    }

    fn finish(source: Source, why: Reason, calibration: Calibration) -> Self {
        let costs = Costs::measure(source, calibration.scale);
        let resolution_nanos = costs::resolution_nanos(source, calibration.scale);
        let anchor = Anchor::read(source, &calibration);
        Self { source, calibration, anchor, costs, resolution_nanos, why }
    }

    /// The time after everything before is done: the end of a timed part, or an arrival. Later work
    /// may begin before the time is read.
    #[inline]
    pub fn stamp(&self) -> Stamp {
        Stamp(self.source.end_ticks())
    }

    /// The time after everything before is done and before anything later begins: the beginning of
    /// a timed part.
    #[inline]
    pub fn stamp_start(&self) -> Stamp {
        Stamp(self.source.start_ticks())
    }

    /// The approximate time: the processor may read it before earlier work is done, and after later
    /// work has begun. It is the cheapest stamp. Its error is the duration of the work in flight,
    /// which around a load that misses the caches is the whole load.
    #[inline]
    pub fn stamp_unfenced(&self) -> Stamp {
        Stamp(self.source.unfenced_ticks())
    }

    /// Nanoseconds from `earlier` to `later`; 0 if `later` is the earlier one.
    #[inline]
    pub fn nanos_between(&self, earlier: Stamp, later: Stamp) -> u64 {
        self.calibration.scale.nanos(later.0.saturating_sub(earlier.0))
    }

    /// The UTC of a stamp, which may be older than this clock: the kernel's UTC when this clock was
    /// last anchored, continued at the rate of the source.
    #[inline]
    pub fn utc(&self, stamp: Stamp) -> UtcNanos {
        self.anchor.utc.plus(self.calibration.scale.nanos_from(self.anchor.ticks, stamp.0))
    }

    /// The UTC now, in nanoseconds since the epoch; 0 before it.
    #[inline]
    pub fn utc_ns(&self) -> u64 {
        self.utc(self.stamp()).unix_ns()
    }

    /// Compares the clock with the kernel's clocks. Costs about 25 us and never sleeps.
    pub fn drift(&self) -> Drift {
        let Calibration { last, scale, rate, .. } = self.calibration;
        let now = Bracket::tightest(self.source, Source::reference_nanos);
        let elapsed = now.nanos.saturating_sub(last.nanos);
        let anchor = Anchor::read(self.source, &self.calibration);
        Drift {
            elapsed_nanos: u64::try_from(elapsed).unwrap_or(0),
            counter_ahead_nanos: scale.nanos_from(last.ticks, now.ticks).saturating_sub(elapsed),
            bound_nanos: last.bound_nanos(scale).saturating_add(now.bound_nanos(scale)),
            rate_uncertainty_ppb: rate.uncertainty_ppb,
            realtime_moved_nanos: anchor.utc.since(self.utc(Stamp(anchor.ticks))),
            realtime_bound_nanos: self.anchor.bound_nanos.saturating_add(anchor.bound_nanos),
        }
    }

    /// This clock with UTC taken from the kernel again, which includes changes by NTP or an
    /// operator. Rate and costs stay the same.
    #[must_use]
    pub fn re_anchored(&self) -> Self {
        Self { anchor: Anchor::read(self.source, &self.calibration), ..*self }
    }

    /// This clock with its rate measured over the whole time since its first calibration, and UTC
    /// taken from the kernel again. The longer that time, the smaller the uncertainty of the rate;
    /// nothing sleeps. Differences between old stamps change with the rate.
    #[must_use]
    pub fn recalibrated(&self) -> Self {
        let calibration = match self.source {
            Source::TimeStampCounter => {
                let now = Bracket::tightest(self.source, Source::reference_nanos);
                Calibration::between(self.calibration.first, now).unwrap_or(self.calibration)
            }
            _ => self.calibration,
        };
        Self { calibration, anchor: Anchor::read(self.source, &calibration), ..*self }
    }

    /// This clock as if the kernel's UTC had been moved by `nanos`, back if negative. It is for
    /// tests of programs whose clock NTP or an operator sets; the next anchor takes the kernel's
    /// UTC.
    #[must_use]
    pub fn with_utc_set_by(&self, nanos: i64) -> Self {
        let anchor = Anchor { utc: self.anchor.utc.plus(nanos), ..self.anchor };
        Self { anchor, ..*self }
    }

    /// The source of this clock.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The reason for this source.
    pub fn why(&self) -> Reason {
        self.why
    }

    /// The rate of the source and its uncertainty.
    pub fn rate(&self) -> Rate {
        self.calibration.rate
    }

    /// Cost of one [`Clock::stamp`]: the median time between consecutive stamps over many runs.
    pub fn cost_nanos(&self) -> f64 {
        self.costs.end_nanos
    }

    /// Cost of each kind of stamp.
    pub fn costs(&self) -> Costs {
        self.costs
    }

    /// The smallest nonzero step between consecutive stamps.
    pub fn resolution_nanos(&self) -> f64 {
        self.resolution_nanos
    }

    /// A full description of this clock.
    pub fn report(&self) -> Report {
        Report {
            source: self.source,
            why: self.why,
            kernel_source: crate::kernel::current_source(),
            rate: self.rate(),
            costs: self.costs,
            resolution_nanos: self.resolution_nanos,
            anchor_utc: self.anchor.utc,
            anchor_bound_nanos: self.anchor.bound_nanos,
            anchor_age_nanos: self.nanos_between(Stamp(self.anchor.ticks), self.stamp()),
        }
    }

    /// Nanoseconds in a tick, as a fraction.
    pub(crate) fn nanos_per_tick(&self) -> f64 {
        self.calibration.scale.nanos_per_tick()
    }
}

impl Stamp {
    /// The stamp of a count of ticks from elsewhere: a record, another thread's atomic, a kernel
    /// trace whose clock is the same counter.
    #[inline]
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// The ticks of the source: of the counter since the processor was reset, or nanoseconds.
    #[inline]
    pub const fn ticks(self) -> u64 {
        self.0
    }
}

impl Anchor {
    fn read(source: Source, calibration: &Calibration) -> Self {
        let bracket = Bracket::tightest(source, Source::realtime_nanos);
        Self {
            ticks: bracket.ticks,
            utc: UtcNanos::new(bracket.nanos),
            bound_nanos: bracket
                .bound_nanos(calibration.scale)
                .saturating_add(source.realtime_step_nanos()),
        }
    }
}

#[cfg(test)]
mod tests;
