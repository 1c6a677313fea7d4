//! One delay from several: over the attributes of a stock, over stocks, over windows.

use crate::{
    Estimate,
    median::{FREE, median_of},
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
    delays_ps: Vec<i64>,
    values: Vec<f64>,
    scratch: Vec<i64>,
}

impl Combiner {
    /// The median of estimates; `None` without any.
    ///
    /// From 6 estimates on, its interval is that of a median of observations in the order in which
    /// they are given, and says nothing of the intervals of the estimates. Fewer estimates have the
    /// medians of the ends of their intervals: those of one stock share their messages, so four of
    /// them are hardly more certain than one.
    pub fn combine(&mut self, estimates: &[Estimate]) -> Option<Combined> {
        let delay_ns = self.quantile(estimates, 0.5, |estimate| estimate.delay_ns)?;
        let mut combined = Combined {
            delay_ns,
            low_ns: self.quantile(estimates, 0.5, |estimate| estimate.low_ns)?.min(delay_ns),
            high_ns: self.quantile(estimates, 0.5, |estimate| estimate.high_ns)?.max(delay_ns),
            p05_ns: self.quantile(estimates, 0.05, |estimate| estimate.delay_ns)?,
            p95_ns: self.quantile(estimates, 0.95, |estimate| estimate.delay_ns)?,
            estimates: estimates.len(),
        };
        if estimates.len() >= FREE {
            self.delays_ps.clear();
            let delays = estimates.iter().map(|estimate| (estimate.delay_ns * PS_A_NS) as i64);
            self.delays_ps.extend(delays);
            let found = median_of(&self.delays_ps, &mut self.scratch)?;
            combined.low_ns = (found.low / PS_A_NS).min(delay_ns);
            combined.high_ns = (found.high / PS_A_NS).max(delay_ns);
        }
        Some(combined)
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
    fn few_estimates_keep_their_intervals_and_many_have_that_of_a_median() {
        let mut combiner = Combiner::default();
        assert_eq!(combiner.combine(&[]), None);
        let one = combiner.combine(&[estimate(5.5)]).unwrap();
        assert_eq!((one.delay_ns, one.low_ns, one.high_ns, one.estimates), (5.5, 3.5, 8.5, 1));
        let four: Vec<_> = [1.0, 2.0, 3.0, 400.0].map(estimate).into();
        let four = combiner.combine(&four).unwrap();
        assert_eq!((four.delay_ns, four.low_ns, four.high_ns), (2.5, 0.5, 5.5));
        // The ranks 6 and 15 of 20.
        let many: Vec<_> = (0..20).map(|at| estimate(f64::from(at * 7 % 20) + 0.5)).collect();
        let many = combiner.combine(&many).unwrap();
        assert_eq!((many.delay_ns, many.low_ns, many.high_ns), (10.0, 5.5, 14.5));
        assert!((many.p05_ns - 1.45).abs() < 1e-9 && (many.p95_ns - 18.55).abs() < 1e-9);
    }
}
