//! Numbers of orders and trades in the style of another exchange.
//!
//! ITCH counts orders and trades from 1 in small steps. Other exchanges count from large numbers in
//! several places, and a reader that relies on small or growing numbers must fail on a synthetic
//! day, not on a real one.

use crate::rng::Rng;

/// Machines of an exchange among which its stocks are divided.
const PARTITIONS: u64 = 6;

/// The number of the first of them at IEX.
const FIRST_PARTITION: u64 = 0x60;

/// The number `1V6HCH000000` of Cboe in base 36, and the value of its first digit.
const CBOE_BASE: u64 = 0x0368_9eea_e974_1000;
const CBOE_FIRST_DIGIT: u64 = 36_u64.pow(11);

/// One in so many new orders takes the number of an order that was deleted.
const REUSED_ONE_IN: u64 = 64;

/// How an exchange numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberStyle {
    /// As IEX: the number of a machine in the upper 16 bits, then a count of orders and trades.
    Partitions,
    /// As Cboe: twelve digits in base 36, of which the last six count orders and trades. Numbers of
    /// different machines differ in the first one.
    Base36,
}

/// Makes numbers, each once, and decides when a number comes back.
#[derive(Debug)]
pub(super) struct FeedNumbers {
    style: NumberStyle,
    counts: [u64; PARTITIONS as usize],
    rng: Rng,
}

impl FeedNumbers {
    pub(super) fn new(style: NumberStyle, rng: Rng) -> Self {
        Self { style, counts: [0; PARTITIONS as usize], rng }
    }

    /// A new number for an order or a trade of a stock.
    pub(super) fn next(&mut self, stock: u16) -> u64 {
        let partition = u64::from(stock) % PARTITIONS;
        let count = &mut self.counts[partition as usize];
        *count += 1;
        match self.style {
            NumberStyle::Partitions => (FIRST_PARTITION + partition) << 48 | *count,
            NumberStyle::Base36 => CBOE_BASE + partition * CBOE_FIRST_DIGIT + *count,
        }
    }

    /// A number for a new order, which can be that of a deleted order of the stock.
    pub(super) fn order(&mut self, stock: u16, deleted: &mut Option<u64>) -> u64 {
        let reused = deleted.take_if(|_| self.rng.below(REUSED_ONE_IN) == 0);
        reused.unwrap_or_else(|| self.next(stock))
    }

    /// Whether something happens that happens once in `count` times.
    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.rng.below(count) == 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_are_large_and_distinct() {
        for style in [NumberStyle::Partitions, NumberStyle::Base36] {
            let mut numbers = FeedNumbers::new(style, Rng::new(1, 0));
            let all: BTreeSet<_> = (0..10_000).map(|stock| numbers.next(stock)).collect();
            assert_eq!(all.len(), 10_000);
            assert!(all.iter().all(|&number| number > 1 << 40 && number < 1 << 63));
        }
    }
}
