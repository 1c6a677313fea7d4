//! Pairs of equal changes of two feeds by their difference of times, and where these are dense.
//!
//! Two changes are equal if both take the same value, or both change it by as much, and if their
//! marks are equal. Each pair within the largest lag is a candidate.
//!
//! Bounds: keys that occur too often are left out, the most frequent first, so that there are at
//! most as many candidates as requested.

use crate::Changes;

/// Bits of the number of a change in a candidate.
pub(crate) const NUMBER_BITS: u32 = 20;
/// Bins to each side of the peak that belong to it, at most.
const REACH: i64 = 50;

/// What of a change is equal in both feeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    /// The value that it takes.
    Value,
    /// How much the value changes. The first change of a series has none.
    Difference,
}

/// The changes of both feeds with one key, as ranges of the sorted changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) first: (usize, usize),
    pub(crate) second: (usize, usize),
}

/// The densest place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dense {
    /// The candidates in its bin, as a range.
    pub(crate) bin: (usize, usize),
    pub(crate) weight: f64,
}

/// The candidates of a window; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    max_lag_ns: i64,
    /// (key, number of the change in its part), sorted.
    pub(crate) first: Vec<((i64, u8), u32)>,
    pub(crate) second: Vec<((i64, u8), u32)>,
    pub(crate) groups: Vec<Group>,
    /// (difference + largest lag, number of the first feed's change), sorted.
    candidates: Vec<u64>,
    /// By change of the first feed: its candidates.
    counts: Vec<u32>,
}

impl Candidates {
    /// Takes the changes of a window.
    pub(crate) fn load(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        key: Key,
        (max_lag_ns, max_pairs): (i64, usize),
    ) {
        self.max_lag_ns = max_lag_ns;
        for (sorted, changes) in [(&mut self.first, first), (&mut self.second, second)] {
            sorted.clear();
            let keyed = |at: usize| match key {
                Key::Value => Some(changes.values[at]),
                Key::Difference => {
                    Some(changes.values[at].wrapping_sub(*changes.values.get(at.checked_sub(1)?)?))
                }
            };
            sorted.extend(
                (0..changes.len())
                    .filter_map(|at| Some(((keyed(at)?, changes.mark(at)), at as u32))),
            );
            sorted.sort_unstable();
        }
        self.group(max_pairs);
        self.pair(first, second, max_pairs);
    }

    /// Fills the groups of equal keys, the rarest first where some are left out.
    fn group(&mut self, max_pairs: usize) {
        self.groups.clear();
        let (mut at, mut other) = (0, 0);
        while at < self.first.len() && other < self.second.len() {
            let (key, other_key) = (self.first[at].0, self.second[other].0);
            let (end, other_end) = (end_of(&self.first, at), end_of(&self.second, other));
            if key == other_key {
                self.groups.push(Group { first: (at, end), second: (other, other_end) });
            }
            if key <= other_key {
                at = end;
            }
            if other_key <= key {
                other = other_end;
            }
        }
        let pairs =
            |group: &Group| (group.first.1 - group.first.0) * (group.second.1 - group.second.0);
        // Only then does the order matter.
        if self.groups.iter().map(pairs).sum::<usize>() > max_pairs {
            self.groups.sort_unstable_by_key(|group| (pairs(group), group.first.0));
        }
    }

    /// Fills the candidates, sorted by difference, and the number of those of each change.
    fn pair(&mut self, first: Changes<'_>, second: Changes<'_>, max_pairs: usize) {
        self.candidates.clear();
        self.counts.clear();
        self.counts.resize(first.len(), 0);
        for at in 0..self.groups.len() {
            let begun = self.candidates.len();
            if !self.pair_group(self.groups[at], (first, second), max_pairs) {
                for candidate in begun..self.candidates.len() {
                    let number = self.number(candidate);
                    self.counts[number] = 0;
                }
                self.candidates.truncate(begun);
                self.groups.truncate(at);
                break;
            }
        }
        self.candidates.sort_unstable();
    }

    /// Adds the candidates of one key; false if there are too many.
    fn pair_group(
        &mut self,
        group: Group,
        (first, second): (Changes<'_>, Changes<'_>),
        max_pairs: usize,
    ) -> bool {
        let max_lag_ns = self.max_lag_ns;
        let others = &self.second[group.second.0..group.second.1];
        let mut from = 0;
        for &(_, number) in &self.first[group.first.0..group.first.1] {
            let time_ns = first.times_ns[number as usize];
            let least_ns = time_ns.saturating_sub(max_lag_ns);
            let is_early = |&&(_, other): &&(_, u32)| second.times_ns[other as usize] < least_ns;
            from += others[from..].iter().take_while(is_early).count();
            for &(_, other) in &others[from..] {
                let difference = second.times_ns[other as usize].saturating_sub(time_ns);
                if difference > max_lag_ns {
                    break;
                }
                if self.candidates.len() == max_pairs {
                    return false;
                }
                let above = (difference + max_lag_ns) as u64;
                self.candidates.push(above << NUMBER_BITS | u64::from(number));
                self.counts[number as usize] += 1;
            }
        }
        true
    }

    /// The difference of times of a candidate.
    pub(crate) fn difference(&self, candidate: usize) -> i64 {
        (self.candidates[candidate] >> NUMBER_BITS) as i64 - self.max_lag_ns
    }

    fn number(&self, candidate: usize) -> usize {
        (self.candidates[candidate] & ((1 << NUMBER_BITS) - 1)) as usize
    }

    /// A change with many candidates counts as little for each as they are many.
    fn weight(&self, candidate: usize) -> f64 {
        1.0 / f64::from(self.counts[self.number(candidate)])
    }

    /// Differences and weights of all candidates.
    pub(crate) fn weights(&self) -> impl Iterator<Item = (i64, f64)> {
        (0..self.candidates.len()).map(|at| (self.difference(at), self.weight(at)))
    }

    /// The heaviest bin of the candidates, outside of a span of differences.
    pub(crate) fn heaviest(&self, bin_ns: i64, without: Option<(i64, i64)>) -> Option<Dense> {
        let bin = (bin_ns as u64) << NUMBER_BITS;
        let (mut best, mut weight, mut from) = (None::<Dense>, 0.0, 0);
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
                best = Some(Dense { bin: (from, at + 1), weight });
            }
        }
        best
    }

    /// How many candidates have differences from `low` to `high`.
    pub(crate) fn between(&self, low: i64, high: i64) -> usize {
        self.place(high.saturating_add(1)).saturating_sub(self.place(low))
    }

    /// How many changes have a single candidate: those whose difference is in the span, and all.
    pub(crate) fn sole(&self, (low, high): (i64, i64)) -> (usize, usize) {
        let sole = (0..self.candidates.len()).filter(|&at| self.counts[self.number(at)] == 1);
        sole.fold((0, 0), |(inside, all), at| {
            let is_inside = (low..=high).contains(&self.difference(at));
            (inside + usize::from(is_inside), all + 1)
        })
    }

    /// The median difference from `low` to `high`.
    pub(crate) fn middle(&self, low: i64, high: i64) -> i64 {
        let (from, until) = (self.place(low), self.place(high.saturating_add(1)));
        if from < until { self.difference(from.midpoint(until - 1)) } else { low.midpoint(high) }
    }

    /// The first candidate from this difference on.
    fn place(&self, bound: i64) -> usize {
        let bound = bound.clamp(-self.max_lag_ns, self.max_lag_ns + 1);
        let key = ((bound + self.max_lag_ns) as u64) << NUMBER_BITS;
        self.candidates.partition_point(|&candidate| candidate < key)
    }

    /// Candidates of a bin that are there by chance: the density away from a span.
    pub(crate) fn by_chance(&self, bin_ns: i64, (low, high): (i64, i64)) -> f64 {
        let max_lag_ns = self.max_lag_ns;
        let outside = self.candidates.len() - self.between(low, high);
        let span = high.min(max_lag_ns) - low.max(-max_lag_ns);
        let rest = (2 * max_lag_ns - span).max(bin_ns);
        // Half a candidate more: one that is not there says that there are few, not none.
        (outside as f64 + 0.5) * bin_ns as f64 / rest as f64
    }

    /// The span of differences that belongs to a peak: it grows while there is more than chance.
    pub(crate) fn span_of(&self, bin: i64, peak: Dense) -> (i64, i64) {
        let (mut low, mut high) =
            (self.difference(peak.bin.0), self.difference(peak.bin.1.saturating_sub(1)));
        let chance = self.by_chance(bin, (low - 5 * bin, high + 5 * bin));
        let most = (chance + 2.0 * chance.sqrt()).max(1.0);
        let is_dense = |low: i64, high: i64| self.between(low, high) as f64 > most;
        let (least, largest) = (low - REACH * bin, high + REACH * bin);
        while low > least && is_dense(low - bin, low - 1) {
            low -= bin;
        }
        while high < largest && is_dense(high + 1, high + bin) {
            high += bin;
        }
        (low - bin, high + bin)
    }
}

/// The index after the last change with the key of the one at `from`.
fn end_of(sorted: &[((i64, u8), u32)], from: usize) -> usize {
    let key = sorted[from].0;
    from + sorted[from..].iter().take_while(|(other, _)| *other == key).count()
}
