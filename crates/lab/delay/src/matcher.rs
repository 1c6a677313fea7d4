//! Finds the delay at which the changes of two feeds match, and the matches around it.
//!
//! 1. A bin slides over the candidates ([`Candidates`]); the heaviest place is the peak. Where no
//!    bin of the given width has a peak that is certain, wider ones are tried: a jitter that is as
//!    wide as the bin leaves no bin enough.
//! 2. A second pass is wider: as wide as chance allows, so that one match in ten is accidental at
//!    most. The jitter of the delay is not cut off where it is wider than the bin. What it finds
//!    makes chance smaller, so it is repeated until it finds no more.
//! 3. Changes that only each other can be matches of, as many of both feeds, match in their order.
//!    Others are ambiguous, and left out: the match that is next to the peak would draw the delay
//!    there.
//! 4. The median of the matches is the delay ([`BurstMedian`]). Matches that reach the largest lag
//!    are refused: those beyond it are missing.

use crate::{
    Changes, NoEstimate,
    bursts::{BurstMedian, LEAST, Median, Observed},
    candidates::{Candidates, Dense, Group, Key},
};

/// The probability of a peak by chance that is accepted.
const CHANCE: f64 = 1e-3;
/// How often the bin is doubled.
const DOUBLINGS: usize = 3;
/// The widest bin, as a share of the largest lag.
const WIDEST_BIN: i64 = 8;
/// Accidental matches of the second pass, as a share of the candidates of the peak.
const ACCIDENTAL: f64 = 0.1;
/// Bins by the unit of the coarsest clock.
const COARSEST: i64 = 5;
/// Changes with one candidate from which the share of those in the peak counts.
const LEAST_SOLE: usize = 10;
/// That share at least: the others have the delay of no peak, as where a jitter far wider than the
/// bin, or a delay that jumps, leaves several.
const LEAST_INSIDE: f64 = 0.6;
/// Second passes at most.
const WIDENINGS: usize = 12;
/// No match.
const NONE: i64 = i64::MIN;

/// What is a peak.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) max_lag_ns: i64,
    pub(crate) bin_ns: i64,
    pub(crate) least_matches: usize,
    pub(crate) least_ratio: f64,
    pub(crate) max_pairs: usize,
}

impl Limits {
    /// The coarsest clock that is taken for one.
    fn resolution_ns(&self) -> u64 {
        (self.bin_ns / COARSEST).max(1) as u64
    }
}

/// A delay from matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched {
    pub(crate) median: Median,
    pub(crate) matches: usize,
}

/// Matches the changes of windows; keeps its memory.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    pub(crate) candidates: Candidates,
    /// By change of the first feed.
    matches: Vec<i64>,
    observed: Vec<Observed>,
    values: Vec<i64>,
    median: BurstMedian,
}

impl Matcher {
    pub(crate) fn new() -> Self {
        Self {
            candidates: Candidates::default(),
            matches: Vec::new(),
            observed: Vec::new(),
            values: Vec::new(),
            median: BurstMedian::default(),
        }
    }

    /// The delay of a window, whose changes these are.
    pub(crate) fn find(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        (key, near_ns): (Key, u64),
        limits: &Limits,
    ) -> Result<Matched, NoEstimate> {
        self.candidates.load(first, second, key, (limits.max_lag_ns, limits.max_pairs));
        let (mut span, bin_ns) = self.first_span(limits)?;
        for _ in 0..WIDENINGS {
            let wider = self.wider_span((span, bin_ns), limits);
            if wider == span {
                break;
            }
            span = wider;
        }
        self.choose(span, first, second);
        let (matches, least) = (self.observed.len(), limits.least_matches.max(LEAST));
        if matches < least {
            return Err(NoEstimate::FewMatches { matches, least });
        }
        self.check_ends(limits.max_lag_ns)?;
        let (inside, sole) = self.candidates.sole(span);
        if sole >= LEAST_SOLE && (inside as f64) < LEAST_INSIDE * sole as f64 {
            let ratio = inside as f64 / (sole - inside) as f64;
            return Err(NoEstimate::AmbiguousPeak { ratio, least: limits.least_ratio });
        }
        let mut median = self.median.of(&self.observed, near_ns)?;
        // Where all matches agree exactly, the clocks limit what is known.
        let unit = |changes: Changes<'_>| unit_ns(changes).clamp(1, limits.resolution_ns()) as f64;
        let resolution_ns = f64::midpoint(unit(first), unit(second));
        median.low = median.low.min(median.median - resolution_ns);
        median.high = median.high.max(median.median + resolution_ns);
        Ok(Matched { median, matches })
    }

    /// The span of the peak, with the first bin that has a certain one, and that bin.
    fn first_span(&self, limits: &Limits) -> Result<((i64, i64), i64), NoEstimate> {
        let mut bin_ns = limits.bin_ns;
        let first = self.span_with(bin_ns, limits);
        for _ in 0..DOUBLINGS {
            if first.is_ok() || bin_ns > limits.max_lag_ns / WIDEST_BIN / 2 {
                break;
            }
            bin_ns *= 2;
            if let Ok(span) = self.span_with(bin_ns, limits) {
                return Ok((span, bin_ns));
            }
        }
        first.map(|span| (span, limits.bin_ns))
    }

    fn span_with(&self, bin_ns: i64, limits: &Limits) -> Result<(i64, i64), NoEstimate> {
        let least = limits.least_matches;
        let peak = self.candidates.heaviest(bin_ns, None);
        let peak = peak.ok_or(NoEstimate::FewMatches { matches: 0, least })?;
        let span = self.candidates.span_of(bin_ns, peak);
        self.check(peak, span, bin_ns, limits)?;
        Ok(span)
    }

    /// Refuses a peak that chance could give, one that is not alone, and one at the edge.
    fn check(
        &self,
        peak: Dense,
        span: (i64, i64),
        bin_ns: i64,
        limits: &Limits,
    ) -> Result<(), NoEstimate> {
        let Limits { max_lag_ns, least_matches, least_ratio, .. } = *limits;
        let matches = peak.bin.1 - peak.bin.0;
        if matches < least_matches {
            return Err(NoEstimate::FewMatches { matches, least: least_matches });
        }
        let next = self.candidates.heaviest(bin_ns, Some(span)).map_or(0.0, |next| next.weight);
        let by_chance = self.candidates.by_chance(bin_ns, span);
        let chance = most_by_chance(by_chance, 2 * max_lag_ns / bin_ns);
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

    /// The span around a peak in which few candidates are accidental.
    fn wider_span(&self, ((low, high), bin_ns): ((i64, i64), i64), limits: &Limits) -> (i64, i64) {
        let peak = self.candidates.between(low, high) as f64;
        let per_ns = self.candidates.by_chance(bin_ns, (low, high)) / bin_ns as f64;
        let most_ns = (limits.max_lag_ns / 2) as f64;
        let reach_ns = (peak * ACCIDENTAL / per_ns / 2.0).min(most_ns) as i64;
        let (middle, max_lag_ns) = (self.candidates.middle(low, high), limits.max_lag_ns);
        (low.min(middle - reach_ns).max(-max_lag_ns), high.max(middle + reach_ns).min(max_lag_ns))
    }

    /// Refuses matches of which some may be beyond the largest lag: an outer tenth is as near to it
    /// as to the median.
    fn check_ends(&mut self, max_lag_ns: i64) -> Result<(), NoEstimate> {
        self.values.clear();
        self.values.extend(self.observed.iter().map(|one| one.value));
        let last = self.values.len() - 1;
        let [low, middle, high] = [last / 10, last / 2, last - last / 10]
            .map(|at| *self.values.select_nth_unstable(at).1);
        for (tenth, end) in [(low, -max_lag_ns), (high, max_lag_ns)] {
            if tenth.abs_diff(end) < tenth.abs_diff(middle) {
                return Err(NoEstimate::AtTheEdge { lag_ns: end });
            }
        }
        Ok(())
    }

    /// Fills the observed differences of a span, in order of time.
    fn choose(&mut self, span: (i64, i64), first: Changes<'_>, second: Changes<'_>) {
        self.matches.clear();
        self.matches.resize(first.len(), NONE);
        for &Group { first: own, second: other } in &self.candidates.groups {
            let pairs = Pairs {
                own: &self.candidates.first[own.0..own.1],
                other: &self.candidates.second[other.0..other.1],
                first,
                second,
                span,
            };
            pairs.each(|number, difference| self.matches[number as usize] = difference);
        }
        self.observed.clear();
        let found = self.matches.iter().zip(first.times_ns).filter(|(value, _)| **value != NONE);
        self.observed.extend(found.map(|(&value, &at_ns)| Observed { at_ns, value }));
    }
}

/// The changes of both feeds with one key, in order of time.
struct Pairs<'a> {
    own: &'a [((i64, u8), u32)],
    other: &'a [((i64, u8), u32)],
    first: Changes<'a>,
    second: Changes<'a>,
    span: (i64, i64),
}

impl Pairs<'_> {
    fn time(&self, own: usize) -> i64 {
        self.first.times_ns[self.own[own].1 as usize]
    }

    fn other_time(&self, other: usize) -> i64 {
        self.second.times_ns[self.other[other].1 as usize]
    }

    fn difference(&self, own: usize, other: usize) -> i64 {
        self.other_time(other).saturating_sub(self.time(own))
    }

    /// The changes of the first feed that one of the second can match, from those of the one
    /// before.
    fn partners(&self, other: usize, (mut from, mut until): (usize, usize)) -> (usize, usize) {
        let (low, high) = self.span;
        while from < self.own.len() && self.difference(from, other) > high {
            from += 1;
        }
        until = until.max(from);
        while until < self.own.len() && self.difference(until, other) >= low {
            until += 1;
        }
        (from, until)
    }

    /// Shows the matches: the number of each change of the first feed, and the difference.
    ///
    /// Changes of the second feed with partners in common are a set. It matches if it has as many
    /// changes as partners.
    fn each(&self, mut show: impl FnMut(u32, i64)) {
        let (mut other, mut partners) = (0, (0, 0));
        while other < self.other.len() {
            partners = self.partners(other, partners);
            let (begin, own_begin) = (other, partners.0);
            other += 1;
            if partners.0 == partners.1 {
                continue;
            }
            while other < self.other.len() {
                let next = self.partners(other, partners);
                if next.0 >= partners.1 {
                    break;
                }
                (partners, other) = (next, other + 1);
            }
            let pairs = || (own_begin..partners.1).zip(begin..other);
            let (low, high) = self.span;
            let is_match = partners.1 - own_begin == other - begin
                && pairs().all(|(own, other)| (low..=high).contains(&self.difference(own, other)));
            if is_match {
                pairs().for_each(|(own, other)| show(self.own[own].1, self.difference(own, other)));
            }
        }
    }
}

/// The unit of which all times are multiples from the first one on.
fn unit_ns(changes: Changes<'_>) -> u64 {
    let mut unit = 0;
    for pair in changes.times_ns.windows(2) {
        let (mut a, mut b) = (unit, pair[0].abs_diff(pair[1]));
        while b != 0 {
            (a, b) = (b, a % b);
        }
        unit = a;
        if unit == 1 {
            break;
        }
    }
    unit
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_clocks_are_found() {
        let unit = |times_ns: &[i64]| unit_ns(Changes { times_ns, values: times_ns, marks: &[] });
        assert_eq!(unit(&[1, 3_000, 9_000, 10_000]), 1);
        assert_eq!(unit(&[1_001, 3_001, 9_001, 12_001]), 1_000);
        assert_eq!(unit(&[i64::MIN, i64::MIN, i64::MAX]), u64::MAX);
        assert_eq!((unit(&[]), unit(&[5]), unit(&[5, 5])), (0, 0, 0));
    }
}
