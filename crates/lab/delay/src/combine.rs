//! One delay from several: over the attributes of a stock, over stocks, over windows.

use crate::{
    Estimate,
    bursts::{BurstMedian, Observed},
};

/// Picoseconds, so that medians of integers keep the fractions of a nanosecond.
const PS_A_NS: f64 = 1_000.0;

/// A delay from several estimates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Combined {
    /// Their median.
    pub delay_ns: f64,
    /// The lower end of the interval of the median.
    pub low_ns: f64,
    /// The upper end of it.
    pub high_ns: f64,
    /// Their 5th percentile: how far they spread, which is not how certain the median is.
    pub p05_ns: f64,
    /// Their 95th percentile.
    pub p95_ns: f64,
    /// How many there are.
    pub estimates: usize,
}

/// Combines estimates; keeps its memory.
#[derive(Debug, Default)]
pub struct Combiner {
    observed: Vec<Observed>,
    values: Vec<f64>,
    median: BurstMedian,
}

impl Combiner {
    /// The median of the estimates of one window; `None` without any.
    ///
    /// The ends of its interval are the medians of those of the estimates. Stocks and attributes of
    /// a window share its delay, so many of them are hardly more certain than one: the interval
    /// contains the delay at least as often as those of the estimates do.
    pub fn combine(&mut self, estimates: &[Estimate]) -> Option<Combined> {
        let delay_ns = self.quantile(estimates, 0.5, |estimate| estimate.delay_ns)?;
        Some(Combined {
            delay_ns,
            low_ns: self.quantile(estimates, 0.5, |estimate| estimate.low_ns)?.min(delay_ns),
            high_ns: self.quantile(estimates, 0.5, |estimate| estimate.high_ns)?.max(delay_ns),
            p05_ns: self.quantile(estimates, 0.05, |estimate| estimate.delay_ns)?,
            p95_ns: self.quantile(estimates, 0.95, |estimate| estimate.delay_ns)?,
            estimates: estimates.len(),
        })
    }

    /// The median of estimates of windows at times, in order of time; `None` without any.
    ///
    /// Its interval is that of a median of observations that come in bursts: the estimates of one
    /// window are one, and windows that follow each other are one where they resemble each other.
    /// Too few windows have the interval of [`Combiner::combine`].
    pub fn combine_windows(&mut self, estimates: &[(i64, Estimate)]) -> Option<Combined> {
        let all: Vec<Estimate> = estimates.iter().map(|(_, estimate)| *estimate).collect();
        let combined = self.combine(&all)?;
        self.observed.clear();
        self.observed.extend(estimates.iter().map(|&(at_ns, estimate)| {
            let value = (estimate.delay_ns * PS_A_NS) as i64;
            Observed { at_ns, value }
        }));
        let Ok(found) = self.median.of(&self.observed, 0) else { return Some(combined) };
        let [delay_ns, low_ns, high_ns] =
            [found.median, found.low, found.high].map(|ps| ps / PS_A_NS);
        Some(Combined { delay_ns, low_ns, high_ns, ..combined })
    }

    /// The quantile between the two closest values.
    fn quantile(
        &mut self,
        estimates: &[Estimate],
        quantile: f64,
        of: impl Fn(&Estimate) -> f64,
    ) -> Option<f64> {
        self.values.clear();
        self.values.extend(estimates.iter().map(of));
        self.values.sort_by(f64::total_cmp);
        let place = quantile * self.values.len().checked_sub(1)? as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        let share = place - place.floor();
        Some(self.values[below] * (1.0 - share) + self.values[above] * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(delay_ns: f64) -> Estimate {
        let (low_ns, high_ns) = (delay_ns - 2.0, delay_ns + 3.0);
        Estimate { delay_ns, low_ns, high_ns, support: 10, quality: 1.0 }
    }

    #[test]
    fn estimates_of_a_window_keep_their_intervals_and_windows_have_that_of_a_median() {
        let mut combiner = Combiner::default();
        assert_eq!(combiner.combine(&[]), None);
        let one = combiner.combine(&[estimate(5.5)]).unwrap();
        assert_eq!((one.delay_ns, one.low_ns, one.high_ns, one.estimates), (5.5, 3.5, 8.5, 1));
        let four: Vec<_> = [1.0, 2.0, 3.0, 400.0].map(estimate).into();
        let four = combiner.combine(&four).unwrap();
        assert_eq!((four.delay_ns, four.low_ns, four.high_ns), (2.5, 0.5, 5.5));
        let many: Vec<_> = (0..20).map(|at| estimate(f64::from(at * 7 % 20) + 0.5)).collect();
        let of_one = combiner.combine(&many).unwrap();
        assert_eq!((of_one.delay_ns, of_one.low_ns, of_one.high_ns), (10.0, 8.0, 13.0));
        // The ranks 6 and 15 of 20.
        let windows: Vec<_> = (0..).map(|at| at * 1_000).zip(many.iter().copied()).collect();
        let many = combiner.combine_windows(&windows).unwrap();
        assert_eq!((many.delay_ns, many.low_ns, many.high_ns), (10.0, 5.5, 14.5));
        // Four series that agree in each window are no more certain than one.
        let four: Vec<_> = windows.iter().flat_map(|&window| [window; 4]).collect();
        let four = combiner.combine_windows(&four).unwrap();
        assert_eq!((four.delay_ns, four.low_ns, four.high_ns), (10.0, 5.5, 14.5));
        assert_eq!(combiner.combine_windows(&windows[..2]).unwrap().estimates, 2);
        assert_eq!(combiner.combine_windows(&[]), None);
        assert!((many.p05_ns - 1.45).abs() < 1e-9 && (many.p95_ns - 18.55).abs() < 1e-9);
    }
}
