//! Estimator `match-value`: for feeds without common identifiers.
//!
//! A value that the first feed shows at t1 and the second at t2 gives the candidate t2 - t1. The
//! right candidates are close together and the accidental ones spread over all lags, so the
//! densest lag is the delay: see [`Matcher`].
//!
//! Source: the comparison of estimators that `nanotape lab delay` repeats.
//!
//! Bounds: at most [`MatchValueSettings::max_pairs`] candidates; values that occur too often are
//! left out, the most frequent first.
//! Cost: no allocation once the memory has grown to the size of a window.

use crate::{
    Changes, Estimate, Estimator, NoEstimate, Window,
    bursts::{LEAST, near_ns},
    candidates::{Key, NUMBER_BITS},
    matcher::{Limits, Matcher},
};

/// The largest lag that can be searched, about 18 minutes.
const MAX_LAG_NS: i64 = 1 << 40;
/// Points of a curve at most.
const MOST_POINTS: i64 = 4_096;

/// The settings of [`MatchValue`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MatchValueSettings {
    /// The largest lag that is searched, to both sides, in ns.
    pub max_lag_ns: i64,
    /// The width of the first bin in ns: at most about the jitter of the delay. Wider ones are
    /// tried where no bin of this width has a certain peak.
    pub bin_ns: i64,
    /// Matches that an estimate needs, at least 5.
    pub least_matches: usize,
    /// The peak must be so many times the next one.
    pub least_ratio: f64,
    /// Candidates at most.
    pub max_pairs: usize,
}

impl Default for MatchValueSettings {
    fn default() -> Self {
        Self {
            max_lag_ns: 2_000_000,
            bin_ns: 20_000,
            least_matches: 5,
            least_ratio: 1.2,
            max_pairs: 1 << 16,
        }
    }
}

/// Estimates a delay from equal values.
#[derive(Debug)]
pub struct MatchValue {
    settings: MatchValueSettings,
    matcher: Matcher,
}

impl MatchValue {
    /// With settings, which are brought into their limits.
    pub fn new(settings: MatchValueSettings) -> Self {
        let max_lag_ns = settings.max_lag_ns.clamp(1, MAX_LAG_NS);
        let settings = MatchValueSettings {
            max_lag_ns,
            bin_ns: settings.bin_ns.clamp(1, max_lag_ns),
            least_matches: settings.least_matches.max(LEAST),
            ..settings
        };
        Self { settings, matcher: Matcher::new() }
    }

    /// The settings in use.
    pub fn settings(&self) -> MatchValueSettings {
        self.settings
    }
}

impl Estimator for MatchValue {
    fn name(&self) -> &'static str {
        "match-value"
    }

    fn estimate(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        window: Window,
    ) -> Result<Estimate, NoEstimate> {
        let MatchValueSettings { max_lag_ns, bin_ns, least_matches, least_ratio, max_pairs } =
            self.settings;
        let first = first.within(window);
        let first = first.part(0, first.len().min((1 << NUMBER_BITS) - 1));
        let second = second.within(window.widened(max_lag_ns));
        let second = second.part(0, second.len().min(u32::MAX as usize));
        let (counts, least) = ((first.len(), second.len()), least_matches);
        if counts.0 < least || counts.1 < least {
            return Err(NoEstimate::FewChanges { first: counts.0, second: counts.1, least });
        }
        let limits = Limits { max_lag_ns, bin_ns, least_matches, least_ratio, max_pairs };
        let found = self.matcher.find(first, second, (Key::Value, near_ns(window)), &limits)?;
        Ok(Estimate {
            delay_ns: found.median.median,
            low_ns: found.median.low,
            high_ns: found.median.high,
            support: found.matches,
            quality: found.matches as f64 / first.len() as f64,
        })
    }

    /// The weight of the candidates in each half of a bin.
    fn curve(&mut self, points: &mut Vec<(f64, f64)>) {
        let MatchValueSettings { max_lag_ns, bin_ns, .. } = self.settings;
        let step_ns = (bin_ns / 2).max(2 * max_lag_ns / MOST_POINTS).max(1);
        let steps = 2 * max_lag_ns / step_ns + 1;
        let from = points.len();
        points.extend((0..steps).map(|step| ((step * step_ns - max_lag_ns) as f64, 0.0)));
        for (difference, weight) in self.matcher.candidates.weights() {
            let step = (difference + max_lag_ns + step_ns / 2) / step_ns;
            if let Some(point) = points.get_mut(from + step as usize) {
                point.1 += weight;
            }
        }
    }
}
