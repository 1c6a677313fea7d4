//! One contiguous array of levels, best last, quantity in the level.
//!
//! ```text
//!  0       16                                                 16 bytes a level
//!  | worst | ...   | next   | best  |     <- events happen at this end
//! ```
//!
//! Half of all events are within one tick of the inside and 90% within 14, so most work is at the
//! end of the array. Inserting or removing there moves a few entries of 16 bytes, and a search
//! reads the cache line of the best price, which is needed anyway. The idea is published: David
//! Gross, "When Nanoseconds Matter: Ultrafast Trading Systems in C++", CppCon 2024, derives it from
//! a sorted map by measuring.
//!
//! Departures from a sorted vector with binary search, and the reasons:
//! 1. Best last instead of best first: an insertion near the inside moves the short end.
//! 2. The search is a policy, because the fastest depends on where events happen:
//!    [`NearSearch`](super::NearSearch) walks from the best before it halves.
//!
//! Cost: an event that opens or closes a level moves the better ones; a stub quote added to a side
//! of 10,000 levels moves 160 KB. Allocates when the side grows beyond its largest size so far.

use core::marker::PhantomData;

use super::{Search, SideLevels};
use crate::{Level, PriceKey};

/// Levels in a vector, worst first, best last, searched by `S`.
#[derive(Default, Debug)]
pub struct BestLast<S> {
    levels: Vec<Level>,
    search: PhantomData<S>,
}

impl<S: Search> SideLevels for BestLast<S> {
    #[inline]
    fn add(&mut self, key: PriceKey, shares: u32) -> bool {
        let index = match S::search(&self.levels, key) {
            Ok(index) => {
                let level = &mut self.levels[index];
                level.orders += 1;
                level.shares += u64::from(shares);
                index
            }
            Err(index) => {
                self.levels.insert(index, Level { key, orders: 1, shares: u64::from(shares) });
                index
            }
        };
        index + 1 == self.levels.len()
    }

    #[inline]
    fn reduce(&mut self, key: PriceKey, shares: u32, order_leaves: bool) -> bool {
        let Ok(index) = S::search(&self.levels, key) else {
            debug_assert!(false, "an order's level is open");
            return false;
        };
        let was_best = index + 1 == self.levels.len();
        let level = &mut self.levels[index];
        level.shares -= u64::from(shares);
        level.orders -= u32::from(order_leaves);
        if level.orders == 0 {
            self.levels.remove(index);
        }
        was_best
    }

    #[inline]
    fn best(&self) -> Option<Level> {
        self.levels.last().copied()
    }

    fn at(&self, key: PriceKey) -> Option<Level> {
        S::search(&self.levels, key).ok().map(|index| self.levels[index])
    }

    fn best_first(&self) -> impl Iterator<Item = Level> + '_ {
        self.levels.iter().rev().copied()
    }

    fn level_count(&self) -> usize {
        self.levels.len()
    }
}
