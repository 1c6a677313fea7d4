//! The textbook structure: one sorted array of levels, best first, found by binary search.
//!
//! ```text
//!  0       16       32                                        16 bytes a level
//!  | best  | next   | ...   | worst |
//! ```
//!
//! Cost: a search halves the whole array, wherever the price is. Opening or closing a level moves
//! all worse levels; near the inside, these are nearly all. It exists for comparison with
//! [`BestLast`](super::BestLast), which differs only in the direction. Allocates when the side
//! grows beyond its largest size so far.

use super::SideLevels;
use crate::{Level, PriceKey};

/// Levels in a vector, best first, worst last.
#[derive(Default, Debug)]
pub struct BestFirst(Vec<Level>);

impl BestFirst {
    /// The index of `key` (`Ok`), or where it would be inserted (`Err`).
    #[inline]
    fn search(&self, key: PriceKey) -> Result<usize, usize> {
        // Greater keys come first, so the comparison is reversed.
        self.0.binary_search_by(|level| key.cmp(&level.key))
    }
}

impl SideLevels for BestFirst {
    #[inline]
    fn add(&mut self, key: PriceKey, shares: u32) -> bool {
        let index = match self.search(key) {
            Ok(index) => {
                let level = &mut self.0[index];
                level.orders += 1;
                level.shares += u64::from(shares);
                index
            }
            Err(index) => {
                self.0.insert(index, Level { key, orders: 1, shares: u64::from(shares) });
                index
            }
        };
        index == 0
    }

    #[inline]
    fn reduce(&mut self, key: PriceKey, shares: u32, order_leaves: bool) -> bool {
        let Ok(index) = self.search(key) else {
            debug_assert!(false, "an order's level is open");
            return false;
        };
        let level = &mut self.0[index];
        level.shares -= u64::from(shares);
        level.orders -= u32::from(order_leaves);
        if level.orders == 0 {
            self.0.remove(index);
        }
        index == 0
    }

    #[inline]
    fn best(&self) -> Option<Level> {
        self.0.first().copied()
    }

    fn at(&self, key: PriceKey) -> Option<Level> {
        self.search(key).ok().map(|index| self.0[index])
    }

    fn best_first(&self) -> impl Iterator<Item = Level> + '_ {
        self.0.iter().copied()
    }

    fn level_count(&self) -> usize {
        self.0.len()
    }
}
