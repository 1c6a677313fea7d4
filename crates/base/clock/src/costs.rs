//! Costs of stamps, measured on this machine: they are part of every figure.

use core::{fmt, hint::black_box};

use crate::{scale::Scale, source::Source};

/// Consecutive stamps in a run, and runs.
const STAMPS: u32 = 256;
const ROUNDS: usize = 31;

/// Steps of the coarse clock during which readings are counted.
const COARSE_STEPS: u32 = 3;

/// Cost of each kind of stamp, in nanoseconds: the median over many runs of consecutive stamps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// [`crate::Clock::stamp_start`].
    pub start_nanos: f64,
    /// [`crate::Clock::stamp`].
    pub end_nanos: f64,
    /// [`crate::Clock::stamp_unfenced`].
    pub unfenced_nanos: f64,
    /// The difference of a start and an end with nothing between: the clock's part of every
    /// measured time. It is less than the sum of both costs.
    pub empty_nanos: f64,
}

impl Costs {
    pub(crate) fn measure(source: Source, scale: Scale) -> Self {
        if source == Source::Coarse {
            let nanos = coarse(source);
            return Self {
                start_nanos: nanos,
                end_nanos: nanos,
                unfenced_nanos: nanos,
                empty_nanos: 0.0,
            };
        }
        let per_tick = scale.nanos_per_tick();
        let end_nanos = in_a_row(|| source.end_ticks()) * per_tick;
        let (start_nanos, unfenced_nanos) = if source == Source::TimeStampCounter {
            let start = in_a_row(|| source.start_ticks());
            let unfenced = in_a_row(|| source.unfenced_ticks());
            (start * per_tick, unfenced * per_tick)
        } else {
            (end_nanos, end_nanos)
        };
        let mut pairs = [0.0; STAMPS as usize];
        for pair in &mut pairs {
            let from = source.start_ticks();
            *pair = source.end_ticks().saturating_sub(from) as f64;
        }
        Self { start_nanos, end_nanos, unfenced_nanos, empty_nanos: median(&mut pairs) * per_tick }
    }
}

/// The smallest nonzero step between consecutive stamps, in nanoseconds.
pub(crate) fn resolution_nanos(source: Source, scale: Scale) -> f64 {
    if source == Source::Coarse {
        return source.realtime_step_nanos() as f64;
    }
    let mut smallest = u64::MAX;
    let mut last = source.end_ticks();
    // Enough stamps that even a clock in microseconds moves several times.
    for _ in 0..STAMPS * ROUNDS as u32 {
        let now = source.end_ticks();
        if now > last {
            smallest = smallest.min(now - last);
        }
        last = now;
    }
    smallest as f64 * scale.nanos_per_tick()
}

/// Ticks per reading, for consecutive readings.
fn in_a_row(read: impl Fn() -> u64) -> f64 {
    let mut rounds = [0.0; ROUNDS];
    for round in &mut rounds {
        let from = read();
        let mut to = from;
        for _ in 0..STAMPS {
            to = black_box(read());
        }
        *round = to.saturating_sub(from) as f64 / f64::from(STAMPS);
    }
    median(&mut rounds)
}

/// Nanoseconds per reading of a clock that stands still for thousands of readings.
fn coarse(source: Source) -> f64 {
    let until_a_step = || {
        let (from, mut readings) = (source.end_ticks(), 1u64);
        loop {
            let now = source.end_ticks();
            readings += 1;
            if now != from {
                return (now.saturating_sub(from), readings);
            }
        }
    };
    until_a_step();
    let (mut nanos, mut readings) = (0, 0);
    for _ in 0..COARSE_STEPS {
        let (step, count) = until_a_step();
        nanos += step;
        readings += count;
    }
    nanos as f64 / readings as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// `start 25.1 ns, end 17.8 ns, unfenced 9.9 ns, an empty timed part reads 18.3 ns`
impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "start {:.1} ns, end {:.1} ns, unfenced {:.1} ns, an empty timed part reads {:.1} ns",
            self.start_nanos, self.end_nanos, self.unfenced_nanos, self.empty_nanos
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [5.0]), 5.0);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn readings_in_a_row_give_the_step_of_the_reader() {
        // A clock whose reading takes seven ticks each time.
        let now = core::cell::Cell::new(0);
        let read = || {
            now.set(now.get() + 7);
            now.get()
        };
        assert_eq!(in_a_row(read), 7.0);
    }

    #[test]
    fn reading_the_operating_systems_clocks_costs_something() {
        for source in [Source::Monotonic, Source::Coarse] {
            let costs = Costs::measure(source, Scale::ONE);
            assert!(costs.end_nanos > 0.0, "{source}: {costs}");
            assert_eq!(costs.start_nanos, costs.end_nanos);
            assert!(resolution_nanos(source, Scale::ONE) >= 1.0);
        }
    }
}
