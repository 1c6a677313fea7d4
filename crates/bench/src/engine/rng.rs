//! Random orders, reproducible by seed: turns of a round, and the cycle of the memory limits.

/// The increment of splitmix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Number `number` (from 1) of the sequence of a seed: splitmix64, which passes the usual tests of
/// randomness and has no state besides its seed.
pub(crate) fn mix(seed: u64, number: u64) -> u64 {
    let mut mixed = seed.wrapping_add(number.wrapping_mul(STEP));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The sequence of a seed.
#[derive(Debug)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    fn next(&mut self) -> u64 {
        let number = mix(self.0, 1);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    /// A number below `bound`, which is not 0. The bias of the 64-bit remainder is negligible here.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Shuffles; every order is about equally likely.
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_keeps_everything_and_changes_the_order() {
        let mut values: Vec<u32> = (0..1_000).collect();
        Rng(1).shuffle(&mut values);
        assert!(values.iter().enumerate().filter(|&(i, &v)| i as u32 == v).count() < 20);
        values.sort_unstable();
        assert!(values.into_iter().eq(0..1_000));
    }
}
