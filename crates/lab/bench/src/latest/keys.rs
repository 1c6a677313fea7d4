//! The keys of a map, and the order in which they are used.

use nanotape_lab::rng::mix;

use super::rows::HOT_KEYS;

/// Seed of the keys.
const KEYS: u64 = 42;

/// Seed of the order of one side; the second one has the next.
const ORDER: u64 = 4_711;

/// The key of an entry. Different entries have different keys: `mix` is a bijection of its number.
#[inline(always)]
pub(super) fn key<const WORDS: usize>(entry: u64) -> [u64; WORDS] {
    let word = mix(KEYS, entry);
    std::array::from_fn(|at| word.rotate_left(32 * at as u32))
}

/// The value of an entry before it is updated.
#[inline(always)]
pub(super) fn first_value(entry: u64) -> u64 {
    entry + 1
}

/// The sum of the first values of all entries.
pub(super) fn first_sum(entries: u64) -> u64 {
    let sum = u128::from(entries) * (u128::from(entries) + 1) / 2;
    sum as u64
}

/// A random number from 0 to less than `limit`: the upper half of a product, which is uniform and
/// cheaper than a remainder.
#[inline(always)]
pub(super) fn below(limit: u64, random: u64) -> u64 {
    ((u128::from(random) * u128::from(limit)) >> 64) as u64
}

/// Random entries, without end.
#[derive(Clone, Debug)]
pub(super) struct Picks {
    seed: u64,
    count: u64,
    entries: u64,
    /// Every second pick, at random, is one of as many entries.
    of_half: u64,
}

impl Picks {
    /// All entries are equally likely.
    pub(super) fn new(side: usize, entries: u64) -> Self {
        Self { seed: mix(ORDER, side as u64), count: 0, entries, of_half: entries }
    }

    /// Half of the picks are the first [`HOT_KEYS`] entries.
    pub(super) fn with_hot_keys(self) -> Self {
        Self { of_half: HOT_KEYS.min(self.entries), ..self }
    }

    /// The next entry.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        let random = self.random();
        // Without a branch, which the processor could not predict.
        let limit = if random & 1 == 0 { self.of_half } else { self.entries };
        below(limit, random)
    }

    /// The next random number.
    #[inline(always)]
    pub(super) fn random(&mut self) -> u64 {
        self.count += 1;
        mix(self.seed, self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_differ_and_both_words_do() {
        let keys: HashSet<[u64; 2]> = (0..100_000).map(key::<2>).collect();
        assert_eq!(keys.len(), 100_000);
        assert!(keys.iter().all(|[first, second]| *second == first.rotate_left(32)));
        assert_eq!(first_sum(1_000), (0..1_000).map(first_value).sum::<u64>());
    }

    #[test]
    fn picks_are_spread_over_all_entries_or_half_of_them_over_ten() {
        let mut picks = Picks::new(0, 100);
        let mut counts = [0_u32; 100];
        (0..100_000).for_each(|_| counts[picks.next() as usize] += 1);
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
        let mut hot = Picks::new(1, 1_000_000).with_hot_keys();
        let of_ten = (0..100_000).filter(|_| hot.next() < HOT_KEYS).count();
        assert!((49_000..51_000).contains(&of_ten), "{of_ten}");
    }
}
