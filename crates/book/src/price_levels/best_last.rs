//! The good structure: one contiguous array of levels, best last, quantity in the level.
//!
//! Half of all events are within one tick of the inside and 90% within 14, so the end of the array
//! is where the work is: inserting or removing there moves a few entries of 16 bytes, and looking
//! for a price reads the line that the best price is in anyway.
//!
//! Departures from a sorted vector with binary search, and why:
//! 1. Best last instead of best first: an insertion near the inside moves the short end.
//! 2. The search walks from the best for [`NEAR`] levels, which predicts well, and only then
//!    halves, so that a stub quote thousands of levels away stays logarithmic to find.

use super::PriceLevels;
use crate::{Level, PriceKey};

/// How many levels from the best the search walks one by one: four cache lines.
const NEAR: usize = 16;

/// Levels in a vector, worst first, best last.
#[derive(Default, Debug)]
pub struct BestLastLevels(Vec<Level>);

impl BestLastLevels {
    /// Where `key` is (`Ok`), or where it would be inserted (`Err`).
    #[inline]
    fn search(&self, key: PriceKey) -> Result<usize, usize> {
        let near = self.0.len().saturating_sub(NEAR);
        for (index, level) in self.0.iter().enumerate().skip(near).rev() {
            if level.key <= key {
                return if level.key == key { Ok(index) } else { Err(index + 1) };
            }
        }
        self.0[..near].binary_search_by_key(&key, |level| level.key)
    }
}

impl PriceLevels for BestLastLevels {
    #[inline]
    fn add(&mut self, key: PriceKey, shares: u32) {
        match self.search(key) {
            Ok(index) => {
                let level = &mut self.0[index];
                level.orders += 1;
                level.shares += u64::from(shares);
            }
            Err(index) => {
                self.0.insert(index, Level { key, orders: 1, shares: u64::from(shares) });
            }
        }
    }

    #[inline]
    fn reduce(&mut self, key: PriceKey, shares: u32, order_leaves: bool) {
        let Ok(index) = self.search(key) else {
            debug_assert!(false, "an order's level is open");
            return;
        };
        let level = &mut self.0[index];
        level.shares -= u64::from(shares);
        level.orders -= u32::from(order_leaves);
        if level.orders == 0 {
            self.0.remove(index);
        }
    }

    #[inline]
    fn best(&self) -> Option<Level> {
        self.0.last().copied()
    }

    fn at(&self, key: PriceKey) -> Option<Level> {
        self.search(key).ok().map(|index| self.0[index])
    }

    fn best_first(&self) -> impl Iterator<Item = Level> + '_ {
        self.0.iter().rev().copied()
    }
}
