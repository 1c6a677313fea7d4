//! Estimator `match-value`: for feeds without common identifiers.
//!
//! A value that the first feed shows at t1 and the second at t2 gives the candidate t2 - t1. The
//! right candidates are close together and the accidental ones spread over all lags, so the
//! densest lag is the delay:
//!
//! 1. All pairs of equal values within the largest lag are candidates.
//! 2. A bin slides over the candidates; the heaviest place is the peak. A change with many
//!    candidates counts as little for each as they are many.
//! 3. The peak grows to both sides while a bin has more than chance gives.
//! 4. Each change of the first feed has one match there, the one next to the peak. The median of
//!    the matches is the estimate.
//!
//! A peak must be higher than any that chance would give in so many bins, and higher than the next.
//! Source: the comparison of estimators that `nanotape lab delay` repeats.
//!
//! Bounds: values that occur too often are left out, the most frequent first, so that there are at
//! most [`MatchValueSettings::max_pairs`] candidates.
//! Cost: no allocation once the memory has grown to the size of a window.

use crate::{
    Changes, Estimate, Estimator, NoEstimate, Window,
    median::{LEAST, median_of},
};

/// The largest lag that can be searched, about 18 minutes.
const MAX_LAG_NS: i64 = 1 << 40;
/// Bits of the number of a change in a candidate.
const NUMBER_BITS: u32 = 20;
/// The probability of a peak by chance that is accepted.
const CHANCE: f64 = 1e-3;
/// Points of a curve at most.
const MOST_POINTS: i64 = 4_096;
/// Bins to each side of the peak that belong to it, at most.
const REACH: i64 = 50;

/// The settings of [`MatchValue`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MatchValueSettings {
    /// The largest lag that is searched, to both sides, in ns.
    pub max_lag_ns: i64,
    /// The width of a bin in ns: about the jitter of the delay.
    pub bin_ns: i64,
    /// Matches that an estimate needs, at least 4.
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
    /// (value, number of the change in its part), sorted.
    first: Vec<(i64, u32)>,
    second: Vec<(i64, u32)>,
    groups: Vec<Group>,
    /// (difference + largest lag, number of the first feed's change), sorted.
    candidates: Vec<u64>,
    /// By change of the first feed: its candidates, then its match.
    counts: Vec<u32>,
    matches: Vec<i64>,
    differences: Vec<i64>,
    scratch: Vec<i64>,
}

/// The changes of both feeds with one value, as ranges of the sorted changes.
#[derive(Clone, Copy, Debug)]
struct Group {
    first: (usize, usize),
    second: (usize, usize),
}

/// The densest place.
#[derive(Clone, Copy, Debug)]
struct Peak {
    /// The candidates in its bin, as a range.
    bin: (usize, usize),
    weight: f64,
}

/// No match.
const NONE: i64 = i64::MIN;

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
        Self {
            settings,
            first: Vec::new(),
            second: Vec::new(),
            groups: Vec::new(),
            candidates: Vec::new(),
            counts: Vec::new(),
            matches: Vec::new(),
            differences: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The settings in use.
    pub fn settings(&self) -> MatchValueSettings {
        self.settings
    }

    /// Fills the groups of equal values, the rarest first.
    fn group(&mut self, first: Changes<'_>, second: Changes<'_>) {
        for (sorted, changes) in [(&mut self.first, first), (&mut self.second, second)] {
            sorted.clear();
            sorted.extend(changes.values.iter().copied().zip(0..));
            sorted.sort_unstable();
        }
        self.groups.clear();
        let (mut at, mut other) = (0, 0);
        while at < self.first.len() && other < self.second.len() {
            let (value, other_value) = (self.first[at].0, self.second[other].0);
            let (end, other_end) = (end_of(&self.first, at), end_of(&self.second, other));
            if value == other_value {
                self.groups.push(Group { first: (at, end), second: (other, other_end) });
            }
            if value <= other_value {
                at = end;
            }
            if other_value <= value {
                other = other_end;
            }
        }
        let pairs =
            |group: &Group| (group.first.1 - group.first.0) * (group.second.1 - group.second.0);
        // Only then does the order matter: some are left out.
        if self.groups.iter().map(pairs).sum::<usize>() > self.settings.max_pairs {
            self.groups.sort_unstable_by_key(|group| (pairs(group), group.first.0));
        }
    }

    /// Fills the candidates, sorted by difference, and the number of those of each change.
    fn pair(&mut self, first: Changes<'_>, second: Changes<'_>) {
        self.candidates.clear();
        self.counts.clear();
        self.counts.resize(first.len(), 0);
        for at in 0..self.groups.len() {
            let begun = self.candidates.len();
            if !self.pair_group(self.groups[at], first, second) {
                for candidate in begun..self.candidates.len() {
                    let number = self.number(candidate);
                    self.counts[number] = 0;
                }
                self.candidates.truncate(begun);
                break;
            }
        }
        self.candidates.sort_unstable();
    }

    /// Adds the candidates of one value; false if there are too many.
    fn pair_group(&mut self, group: Group, first: Changes<'_>, second: Changes<'_>) -> bool {
        let max_lag_ns = self.settings.max_lag_ns;
        let others = &self.second[group.second.0..group.second.1];
        let mut from = 0;
        for &(_, number) in &self.first[group.first.0..group.first.1] {
            let time_ns = first.times_ns[number as usize];
            let least_ns = time_ns.saturating_sub(max_lag_ns);
            let is_early = |&&(_, other): &&(i64, u32)| second.times_ns[other as usize] < least_ns;
            from += others[from..].iter().take_while(is_early).count();
            for &(_, other) in &others[from..] {
                let difference = second.times_ns[other as usize].saturating_sub(time_ns);
                if difference > max_lag_ns {
                    break;
                }
                if self.candidates.len() == self.settings.max_pairs {
                    return false;
                }
                let above = (difference + max_lag_ns) as u64;
                self.candidates.push(above << NUMBER_BITS | u64::from(number));
                self.counts[number as usize] += 1;
            }
        }
        true
    }

    fn difference(&self, candidate: usize) -> i64 {
        (self.candidates[candidate] >> NUMBER_BITS) as i64 - self.settings.max_lag_ns
    }

    fn number(&self, candidate: usize) -> usize {
        (self.candidates[candidate] & ((1 << NUMBER_BITS) - 1)) as usize
    }

    /// The heaviest bin of the candidates, outside of a span of differences.
    fn heaviest(&self, without: Option<(i64, i64)>) -> Option<Peak> {
        let bin = (self.settings.bin_ns as u64) << NUMBER_BITS;
        let (mut best, mut weight, mut from) = (None::<Peak>, 0.0, 0);
        for (at, &candidate) in self.candidates.iter().enumerate() {
            if without.is_some_and(|(low, high)| (low..=high).contains(&self.difference(at))) {
                (weight, from) = (0.0, at + 1);
                continue;
            }
            weight += self.weight(at);
            while candidate - self.candidates[from] > bin {
                weight -= self.weight(from);
                from += 1;
            }
            if best.is_none_or(|peak| weight > peak.weight + 1e-9) {
                best = Some(Peak { bin: (from, at + 1), weight });
            }
        }
        best
    }

    fn weight(&self, candidate: usize) -> f64 {
        1.0 / f64::from(self.counts[self.number(candidate)])
    }

    /// Candidates with differences from `low` to `high`, as a range.
    fn between(&self, low: i64, high: i64) -> (usize, usize) {
        let place = |bound: i64| {
            let bound = bound.clamp(-self.settings.max_lag_ns, self.settings.max_lag_ns + 1);
            let key = ((bound + self.settings.max_lag_ns) as u64) << NUMBER_BITS;
            self.candidates.partition_point(|&candidate| candidate < key)
        };
        (place(low), place(high.saturating_add(1)))
    }

    /// Candidates of a bin that are there by chance: the density away from the peak.
    fn by_chance(&self, (low, high): (i64, i64)) -> f64 {
        let MatchValueSettings { max_lag_ns, bin_ns, .. } = self.settings;
        let (from, until) = self.between(low, high);
        let outside = self.candidates.len() - (until - from);
        let span = high.min(max_lag_ns) - low.max(-max_lag_ns);
        let rest = (2 * max_lag_ns - span).max(bin_ns);
        // Half a candidate more: one that is not there says that there are few, not none.
        (outside as f64 + 0.5) * bin_ns as f64 / rest as f64
    }

    /// The span of differences that belongs to a peak: it grows while there is more than chance.
    fn span_of(&self, peak: Peak) -> (i64, i64) {
        let bin = self.settings.bin_ns;
        let (mut low, mut high) =
            (self.difference(peak.bin.0), self.difference(peak.bin.1.saturating_sub(1)));
        let chance = self.by_chance((low - 5 * bin, high + 5 * bin));
        let most = (chance + 2.0 * chance.sqrt()).max(1.0);
        let is_dense = |low: i64, high: i64| {
            let (from, until) = self.between(low, high);
            (until - from) as f64 > most
        };
        let (least, largest) = (low - REACH * bin, high + REACH * bin);
        while low > least && is_dense(low - bin, low - 1) {
            low -= bin;
        }
        while high < largest && is_dense(high + 1, high + bin) {
            high += bin;
        }
        (low - bin, high + bin)
    }

    /// Fills the differences with one match for each change, in order of time.
    fn choose(&mut self, (low, high): (i64, i64), centre: i64) {
        self.matches.clear();
        self.matches.resize(self.counts.len(), NONE);
        let (from, until) = self.between(low, high);
        for candidate in from..until {
            let (difference, number) = (self.difference(candidate), self.number(candidate));
            let chosen = &mut self.matches[number];
            if *chosen == NONE || difference.abs_diff(centre) < chosen.abs_diff(centre) {
                *chosen = difference;
            }
        }
        self.differences.clear();
        self.differences.extend(self.matches.iter().filter(|&&chosen| chosen != NONE));
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
        let MatchValueSettings { max_lag_ns, least_matches: least, .. } = self.settings;
        let first = first.within(window);
        let first = first.part(0, first.len().min((1 << NUMBER_BITS) - 1));
        let second = second.within(window.widened(max_lag_ns));
        let second = second.part(0, second.len().min(u32::MAX as usize));
        if first.len() < least || second.len() < least {
            return Err(NoEstimate::FewChanges { first: first.len(), second: second.len(), least });
        }
        self.group(first, second);
        self.pair(first, second);
        let peak = self.heaviest(None).ok_or(NoEstimate::FewMatches { matches: 0, least })?;
        let span = self.span_of(peak);
        self.check(peak, span)?;
        let centre = self.difference(peak.bin.0.midpoint(peak.bin.1));
        self.choose(span, centre);
        let matches = self.differences.len();
        let few = NoEstimate::FewMatches { matches, least };
        if matches < least {
            return Err(few);
        }
        let found = median_of(&self.differences, &mut self.scratch).ok_or(few)?;
        Ok(Estimate {
            delay_ns: found.median,
            low_ns: found.low,
            high_ns: found.high,
            support: matches,
            quality: matches as f64 / first.len() as f64,
        })
    }

    /// The weight of the candidates in each half of a bin.
    fn curve(&mut self, points: &mut Vec<(f64, f64)>) {
        let MatchValueSettings { max_lag_ns, bin_ns, .. } = self.settings;
        let step_ns = (bin_ns / 2).max(2 * max_lag_ns / MOST_POINTS).max(1);
        let steps = 2 * max_lag_ns / step_ns + 1;
        let from = points.len();
        points.extend((0..steps).map(|step| ((step * step_ns - max_lag_ns) as f64, 0.0)));
        for candidate in 0..self.candidates.len() {
            let step = (self.difference(candidate) + max_lag_ns + step_ns / 2) / step_ns;
            if let Some(point) = points.get_mut(from + step as usize) {
                point.1 += self.weight(candidate);
            }
        }
    }
}

impl MatchValue {
    /// Refuses a peak that chance could give, one that is not alone, and one at the edge.
    fn check(&self, peak: Peak, span: (i64, i64)) -> Result<(), NoEstimate> {
        let MatchValueSettings { max_lag_ns, bin_ns, least_matches, least_ratio, .. } =
            self.settings;
        let matches = peak.bin.1 - peak.bin.0;
        if matches < least_matches {
            return Err(NoEstimate::FewMatches { matches, least: least_matches });
        }
        let next = self.heaviest(Some(span)).map_or(0.0, |next| next.weight);
        let chance = most_by_chance(self.by_chance(span), 2 * max_lag_ns / bin_ns);
        let ratio = f64::min(
            if next > 0.0 { peak.weight / next } else { f64::INFINITY },
            least_ratio * matches as f64 / chance,
        );
        if ratio < least_ratio {
            return Err(NoEstimate::AmbiguousPeak { ratio, least: least_ratio });
        }
        // A peak that reaches the end of the search is cut there.
        if span.0 < -max_lag_ns || span.1 > max_lag_ns {
            return Err(NoEstimate::AtTheEdge {
                lag_ns: if span.0 < -max_lag_ns { -max_lag_ns } else { max_lag_ns },
            });
        }
        Ok(())
    }
}

/// The index after the last change with the value of the one at `from`.
fn end_of(sorted: &[(i64, u32)], from: usize) -> usize {
    let value = sorted[from].0;
    from + sorted[from..].iter().take_while(|(other, _)| *other == value).count()
}

/// The number of candidates that the fullest of so many bins exceeds with a probability of
/// [`CHANCE`] at most, if each has `mean` on average: Chernoff's bound of the Poisson distribution.
fn most_by_chance(mean: f64, bins: i64) -> f64 {
    let least = (CHANCE / bins.max(1) as f64).ln();
    let mut count = mean.ceil().max(1.0);
    while count - mean - count * (count / mean).ln() > least {
        count += 1.0;
    }
    count
}
