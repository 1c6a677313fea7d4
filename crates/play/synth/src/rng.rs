//! Random numbers that are equal on every machine: one named generator and our own sampling.
//!
//! Library distributions may change between versions, and the platform's `ln` differs in the last
//! bit. This module uses only integers, IEEE arithmetic and a logarithm in pure Rust.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Stream number `stream` of `seed`. Parts of the market that draw from separate streams do not
    /// affect each other.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let apart = stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(apart)))
    }

    /// 64 random bits.
    #[inline]
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`. The bias of a bound below 2^32 is less than 2^-32.
    #[inline]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `low..=high`.
    #[inline]
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Uniform in `[0, 1)`, 53 bits.
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with this probability.
    #[inline]
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Exponentially distributed with mean 1.
    #[inline]
    pub(super) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Normally distributed with mean 0 and variance 1, by Marsaglia's polar method. IEEE
    /// arithmetic defines every bit of the square root.
    pub(super) fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// Between `low` and `high` (both at least 1), each octave as likely as the next.
    #[inline]
    pub(super) fn log_uniform(&mut self, low: u64, high: u64) -> u64 {
        let (from, to) = (octaves(low), octaves(high));
        let value = from_octaves(from + self.unit() * (to - from));
        value.clamp(low, high.max(low))
    }
}

/// The base-two logarithm, linear between the powers of two: exact at those, equal on every
/// machine, and cheaper than a real one.
#[inline]
fn octaves(value: u64) -> f64 {
    let whole = value.ilog2();
    f64::from(whole) + value as f64 / (1u64 << whole) as f64 - 1.0
}

/// The inverse of [`octaves`].
#[inline]
fn from_octaves(octaves: f64) -> u64 {
    let whole = octaves as u32;
    ((1u64 << whole) as f64 * (1.0 + octaves - f64::from(whole))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let draw = |seed, stream| Rng::new(seed, stream).bits();
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
        assert_ne!(draw(7, 1), draw(8, 1));
    }

    #[test]
    fn samples_stay_in_range_and_have_their_mean() {
        let mut rng = Rng::new(1, 0);
        let (mut sum, mut mean, mut square) = (0.0, 0.0, 0.0);
        for _ in 0..100_000 {
            assert!(rng.below(10) < 10);
            assert!((5..=6).contains(&rng.between(5, 6)));
            assert!((3..=1000).contains(&rng.log_uniform(3, 1000)));
            sum += rng.exponential();
            let normal = rng.normal();
            (mean, square) = (mean + normal, square + normal * normal);
        }
        assert!((sum / 100_000.0 - 1.0).abs() < 0.02);
        assert!((mean / 100_000.0).abs() < 0.02 && (square / 100_000.0 - 1.0).abs() < 0.02);
    }

    #[test]
    fn octaves_and_back_is_the_same_number() {
        for value in [1, 2, 3, 5, 100, 1000, 65_535, 1 << 40] {
            assert_eq!(from_octaves(octaves(value)), value);
        }
    }
}
