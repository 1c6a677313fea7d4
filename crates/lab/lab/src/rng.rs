//! Random orders, reproducible by seed: turns of a round, variants of a session, sides of a trial.

/// The increment of splitmix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Number `number` (from 1) of the sequence of a seed: splitmix64, which passes the usual tests of
/// randomness and has no state besides its seed.
// Inlined: studies of memory call it in the loops that they measure.
#[inline]
pub fn mix(seed: u64, number: u64) -> u64 {
    let mut mixed = seed.wrapping_add(number.wrapping_mul(STEP));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The sequence of a seed.
#[derive(Debug)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        let number = mix(self.0, 1);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    /// A number below `bound`, which must not be 0. The bias of the 64-bit remainder is negligible
    /// here.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Shuffles; every order is about equally likely (R. A. Fisher and F. Yates, 1938).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    /// The numbers below `count` in a random order.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..count).collect();
        self.shuffle(&mut numbers);
        numbers
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_shuffle_keeps_everything_and_changes_the_order() {
        let mut values: Vec<u32> = (0..1_000).collect();
        Rng::new(1).shuffle(&mut values);
        assert!(values.iter().enumerate().filter(|&(i, &v)| i as u32 == v).count() < 20);
        values.sort_unstable();
        assert!(values.into_iter().eq(0..1_000));
    }

    #[test]
    fn orders_are_permutations_and_all_occur() {
        let mut rng = Rng::new(7);
        let mut seen = BTreeSet::new();
        for _ in 0..200 {
            let order = rng.order(3);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
            seen.insert(order);
        }
        assert_eq!(seen.len(), 6);
        assert!(rng.order(0).is_empty());
    }
}
