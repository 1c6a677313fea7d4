//! Service times by type of message, as distributions from which each message draws.
//!
//! Where: `nanotape lab queue --cost` reads them from a file of measured quantiles.
//!
//! Definitions:
//!
//! 1. A distribution is a list of quantiles: the share of all messages of the type, and the time
//!    that this share does not exceed. The largest share is 1.
//! 2. A message draws a number of [0, 1), from the seed and its own number. Its time is that of the
//!    first share above the number. A time between two quantiles thus counts as the longer one.
//!
//! The draw is `mix(seed, number)` of splitmix64, its upper 53 bits divided by 2^53: the same on
//! every machine.

use crate::{MAX_SERVICE_NS, MAX_STEPS, QueueError};
use nanotape_lab::rng::mix;

/// A distribution of service times.
#[derive(Clone, PartialEq, Debug)]
pub struct Steps(Vec<(f64, u64)>);

impl Steps {
    /// Always the same time.
    pub fn constant(service_ns: u64) -> Self {
        Self(vec![(1.0, service_ns)])
    }

    /// Shares of all messages (more than 0, at most 1) with the time that each does not exceed, in
    /// any order. Shares must differ, the largest must be 1, and times must not shrink as shares
    /// grow.
    pub fn new(mut quantiles: Vec<(f64, u64)>) -> Result<Self, QueueError> {
        quantiles.sort_by(|one, two| one.0.total_cmp(&two.0));
        if let Some(&(_, ns)) = quantiles.iter().find(|one| !(1..=MAX_SERVICE_NS).contains(&one.1))
        {
            return Err(QueueError::Service { ns });
        }
        let ascends =
            quantiles.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let is_whole = quantiles.last().is_some_and(|last| last.0 == 1.0);
        let is_above_zero = quantiles.first().is_some_and(|first| first.0 > 0.0);
        if !ascends || !is_whole || !is_above_zero || quantiles.len() > MAX_STEPS {
            return Err(QueueError::Quantiles);
        }
        Ok(Self(quantiles))
    }

    #[inline]
    fn at(&self, share: f64) -> u64 {
        let index = self.0.partition_point(|step| step.0 <= share);
        // The last share is 1, above every draw.
        self.0.get(index).map_or(1, |step| step.1)
    }
}

/// The service times of all types.
#[derive(Clone, Debug)]
pub struct Costs {
    steps: Vec<Steps>,
    /// For each letter, the index of its distribution.
    of_letter: [usize; 256],
    seed: u64,
    number: u64,
}

impl Costs {
    /// Every type takes `other`.
    pub fn new(other: Steps, seed: u64) -> Self {
        Self { steps: vec![other], of_letter: [0; 256], seed, number: 0 }
    }

    /// A type takes these times.
    pub fn set(&mut self, letter: u8, steps: Steps) {
        self.of_letter[usize::from(letter)] = self.steps.len();
        self.steps.push(steps);
    }

    /// The time of the next message, whose type this is.
    #[inline]
    pub fn draw(&mut self, letter: u8) -> u64 {
        self.number += 1;
        let steps = &self.steps[self.of_letter[usize::from(letter)]];
        let share = (mix(self.seed, self.number) >> 11) as f64 / (1_u64 << 53) as f64;
        steps.at(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_shares_of_the_quantiles() {
        let mut costs = Costs::new(Steps::constant(7), 3);
        costs.set(b'A', Steps::new(vec![(1.0, 900), (0.5, 100), (0.99, 400)]).unwrap());
        let drawn: Vec<u64> = (0..100_000).map(|_| costs.draw(b'A')).collect();
        let count = |ns| drawn.iter().filter(|&&drawn| drawn == ns).count();
        assert!((49_000..51_000).contains(&count(100)), "{}", count(100));
        assert!((48_000..50_000).contains(&count(400)), "{}", count(400));
        assert!((850..1_150).contains(&count(900)), "{}", count(900));
        assert_eq!(count(100) + count(400) + count(900), drawn.len());
        assert_eq!(costs.draw(b'D'), 7);
    }

    #[test]
    fn quantiles_that_are_no_distribution_are_refused() {
        for quantiles in [
            vec![],
            vec![(0.5, 10)],
            vec![(0.0, 10), (1.0, 20)],
            vec![(0.5, 30), (1.0, 20)],
            vec![(1.0, 10), (1.0, 10)],
            vec![(f64::NAN, 10), (1.0, 10)],
            vec![(-0.5, 10), (1.0, 10)],
        ] {
            assert_eq!(Steps::new(quantiles), Err(QueueError::Quantiles));
        }
        assert_eq!(Steps::new(vec![(1.0, 0)]), Err(QueueError::Service { ns: 0 }));
    }
}
