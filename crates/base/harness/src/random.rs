//! Numbers from a seed, equal on every machine: SplitMix64.

/// The increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Pseudo-random numbers, good enough to choose the actions of a test.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        let number = mixed(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    /// A number below `end`, which is not 0. The bias of a remainder of 64 bits does not matter to
    /// tests.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// [`Random::below`] for an index or a length.
    pub fn index(&mut self, end: usize) -> usize {
        self.below(end as u64) as usize
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.index(most - least + 1)
    }

    /// Random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        bytes_of(self.number(), length)
    }
}

/// Spreads every bit of a number over all bits. Different numbers give different results.
pub fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(STEP);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// A payload from a seed. A torn one is detectable, since no word of it occurs twice.
pub fn bytes_of(seed: u64, length: usize) -> Vec<u8> {
    let words = (0..length.div_ceil(8) as u64).map(|index| mixed(seed.wrapping_add(index)));
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bytes.truncate(length);
    bytes
}

/// How often a test repeats something: as often as usual, times the variable `NANOTAPE_CAMPAIGN`.
///
/// # Panics
///
/// If that is no number.
pub fn campaign(usual: u64) -> u64 {
    let factor = std::env::var("NANOTAPE_CAMPAIGN");
    usual * factor.map_or(1, |factor| factor.parse().expect("NANOTAPE_CAMPAIGN is a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        let numbers = [(); 3].map(|()| random.number());
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut random = Random::new(1);
        let drawn: Vec<usize> = (0..1_000).map(|_| random.between(3, 6)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&6)));
    }

    #[test]
    fn bytes_have_their_length_and_begin_alike_for_a_seed() {
        let long = bytes_of(5, 100);
        for length in 0..100 {
            assert_eq!(bytes_of(5, length), long[..length]);
        }
        assert_ne!(bytes_of(6, 100), long);
    }
}
