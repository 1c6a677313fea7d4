//! How the delay changes over time: its trend, and lasting shifts.

use std::collections::VecDeque;

use crate::Combined;

/// Points of which the slopes of all pairs are computed; more are thinned out evenly.
const MOST_POINTS: usize = 512;
/// Two-sided 95 % of the normal distribution.
const Z: f64 = 1.96;

/// The trend of a delay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trend {
    /// The median of the slopes of all pairs of points (Theil and Sen), in ns of delay per second.
    pub ns_per_s: f64,
    /// The lower end of its 95 % interval, from Kendall's statistic, for points that do not depend
    /// on each other.
    pub low_ns_per_s: f64,
    /// The upper end of it.
    pub high_ns_per_s: f64,
}

/// The trend of delays at times, both in ns; `None` for fewer than 8 points.
pub fn trend(points: &[(i64, f64)]) -> Option<Trend> {
    let step = points.len().div_ceil(MOST_POINTS).max(1);
    let points: Vec<(i64, f64)> = points.iter().copied().step_by(step).collect();
    let count = points.len();
    if count < 8 {
        return None;
    }
    let mut slopes = Vec::with_capacity(count * (count - 1) / 2);
    for (index, &(at_ns, delay_ns)) in points.iter().enumerate() {
        for &(later_ns, later) in &points[index + 1..] {
            let seconds = (later_ns as f64 - at_ns as f64) / 1e9;
            if seconds > 0.0 {
                slopes.push((later - delay_ns) / seconds);
            }
        }
    }
    slopes.sort_by(f64::total_cmp);
    let pairs = slopes.len();
    let last = pairs.checked_sub(1)?;
    let n = count as f64;
    let spread = Z * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let low = ((pairs as f64 - spread) / 2.0).max(0.0) as usize;
    Some(Trend {
        ns_per_s: f64::midpoint(slopes[last / 2], slopes[pairs / 2]),
        low_ns_per_s: slopes[low.min(last)],
        high_ns_per_s: slopes[last - low.min(last)],
    })
}

/// A lasting shift of the delay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shift {
    /// The time of the first window at the new delay.
    pub from_ns: i64,
    /// The delay before.
    pub before_ns: f64,
    /// The delay since then.
    pub after_ns: f64,
}

/// Watches the delay of one window after another, and reports a shift once.
///
/// The reference is the median of the first windows. A shift is reported when the intervals of as
/// many windows in a row are all above it, or all below it, by more than the tolerance; their
/// median is the next reference. A single slow window is therefore no shift.
#[derive(Debug)]
pub struct ShiftWatch {
    tolerance_ns: f64,
    windows: usize,
    reference_ns: Option<f64>,
    recent: VecDeque<(i64, Combined)>,
}

impl ShiftWatch {
    /// Reports shifts of more than a tolerance that last for this many windows, at least 2.
    pub fn new(tolerance_ns: f64, windows: usize) -> Self {
        let windows = windows.max(2);
        let recent = VecDeque::with_capacity(windows + 1);
        Self { tolerance_ns, windows, reference_ns: None, recent }
    }

    /// The delay of the next window, and its time.
    pub fn add(&mut self, at_ns: i64, delay: Combined) -> Option<Shift> {
        self.recent.push_back((at_ns, delay));
        if self.recent.len() > self.windows {
            self.recent.pop_front();
        }
        if self.recent.len() < self.windows {
            return None;
        }
        let median_ns = {
            let mut delays: Vec<f64> =
                self.recent.iter().map(|(_, delay)| delay.delay_ns).collect();
            delays.sort_by(f64::total_cmp);
            delays[delays.len() / 2]
        };
        let Some(before_ns) = self.reference_ns else {
            self.reference_ns = Some(median_ns);
            return None;
        };
        let (least, most) = (before_ns - self.tolerance_ns, before_ns + self.tolerance_ns);
        let is_above = self.recent.iter().all(|(_, delay)| delay.low_ns > most);
        let is_below = self.recent.iter().all(|(_, delay)| delay.high_ns < least);
        if !is_above && !is_below {
            return None;
        }
        self.reference_ns = Some(median_ns);
        let from_ns = self.recent.front().map_or(at_ns, |(at_ns, _)| *at_ns);
        Some(Shift { from_ns, before_ns, after_ns: median_ns })
    }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Random;

    use super::*;

    fn combined(delay_ns: f64) -> Combined {
        let (low_ns, high_ns) = (delay_ns - 5.0, delay_ns + 5.0);
        Combined { delay_ns, low_ns, high_ns, p05_ns: low_ns, p95_ns: high_ns, estimates: 9 }
    }

    #[test]
    fn a_slope_is_found_and_its_interval_contains_it() {
        let mut random = Random::new(3);
        let mut covered = 0;
        for _ in 0..200 {
            // 20 ns per second, with noise of 100 ns to both sides, and a wild value now and then.
            let points: Vec<_> = (0..120_i64)
                .map(|at| {
                    let wild = if random.below(20) == 0 { 5_000.0 } else { 0.0 };
                    let noise = random.below(201) as f64 - 100.0 + wild;
                    (at * 500_000_000, 350_000.0 + 10.0 * at as f64 + noise)
                })
                .collect();
            let found = trend(&points).unwrap();
            assert!((found.ns_per_s - 20.0).abs() < 2.5, "{found:?}");
            covered += u32::from((found.low_ns_per_s..=found.high_ns_per_s).contains(&20.0));
        }
        assert!(covered >= 180, "{covered} of 200");
        assert_eq!(trend(&[(0, 1.0); 7]), None);
        assert_eq!(trend(&[(5, 1.0); 9]), None, "no time passes");
    }

    #[test]
    fn a_lasting_shift_is_reported_once_and_a_single_slow_window_is_not() {
        let mut watch = ShiftWatch::new(20.0, 3);
        let delays =
            [100., 101., 99., 100., 500., 100., 102., 150., 151., 149., 150., 151., 99., 99.];
        let mut shifts = Vec::new();
        for (at, delay_ns) in (0..).zip(delays) {
            shifts.extend(watch.add(at, combined(delay_ns)));
        }
        let shift = Shift { from_ns: 7, before_ns: 100.0, after_ns: 150.0 };
        assert_eq!(shifts, [shift]);
        assert_eq!(watch.add(14, combined(98.0)).map(|shift| shift.from_ns), Some(12));
    }
}
