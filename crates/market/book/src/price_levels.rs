//! Price levels of both sides of every book, behind a trait: prices in, best price and depth out.
//!
//! There are two traits. Most structures hold one side of one book: they implement [`SideLevels`],
//! and [`EachSide`] keeps one for every side. A structure that holds all sides together implements
//! [`PriceLevels`].

mod best_first;
mod best_last;
mod each_side;
mod packed;
mod search;
mod sorted_map;
mod tick_indexed;

use core::fmt::Debug;

pub use best_first::BestFirst;
pub use best_last::BestLast;
pub use each_side::EachSide;
pub use packed::PackedLevels;
pub use search::{BinarySearch, BranchFreeSearch, LinearSearch, NearSearch, Search};
pub use sorted_map::SortedMap;
pub use tick_indexed::TickIndexed;

use crate::{BookSide, Level, PriceKey};

/// The price levels of every side of every book. Greater keys are better; no level is empty.
pub trait PriceLevels: Debug {
    /// Empty books, for a day with about `orders` live orders at its peak.
    fn with_capacity(orders: usize) -> Self;

    /// Adds an order of `shares` at `key`, and opens the level if necessary. `shares` is not 0.
    /// Returns whether it is now the best level.
    fn add(&mut self, side: BookSide, key: PriceKey, shares: u32) -> bool;

    /// Takes `shares` off the level at `key`, and one order if `order_leaves`; closes the level
    /// with its last order. Returns whether it was the best level.
    ///
    /// The shares come from an order that the caller holds, so the level exists and has them.
    fn reduce(&mut self, side: BookSide, key: PriceKey, shares: u32, order_leaves: bool) -> bool;

    /// Gives the level at `key` these shares, whatever it had; with 0 it closes. For books without
    /// orders: a level counts as one. Returns whether the best level has another key or other
    /// shares than before.
    #[inline]
    fn set(&mut self, side: BookSide, key: PriceKey, shares: u32) -> bool {
        set_by_orders(self, side, key, shares)
    }

    /// Closes all levels of a side, in time that depends on its orders.
    fn clear(&mut self, side: BookSide) {
        while let Some(Level { key, shares, orders }) = self.best(side) {
            let mut rest = shares;
            while rest > 0 {
                let less = u32::try_from(rest).unwrap_or(u32::MAX);
                self.reduce(side, key, less, false);
                rest -= u64::from(less);
            }
            for _ in 0..orders {
                self.reduce(side, key, 0, true);
            }
        }
    }

    /// The best level.
    fn best(&self, side: BookSide) -> Option<Level>;

    /// The level at `key`.
    fn at(&self, side: BookSide, key: PriceKey) -> Option<Level>;

    /// All levels, best first.
    fn best_first(&self, side: BookSide) -> impl Iterator<Item = Level> + '_;

    /// The number of levels, without a walk over them.
    fn level_count(&self, side: BookSide) -> usize;

    /// How many levels have a greater key than this one, which need not be a level.
    #[inline]
    fn better_levels(&self, side: BookSide, key: PriceKey) -> usize {
        self.best_first(side).take_while(|level| level.key > key).count()
    }

    /// Uses every page of memory once, so that no later operation waits for the kernel.
    fn touch_all(&mut self) {}

    /// Starts to load the best levels of a side, without waiting. This is a hint: a structure
    /// without look-ahead does nothing.
    #[inline]
    fn touch(&self, side: BookSide) {
        let _ = side;
    }

    /// [`PriceLevels::touch`] for a caller that does not know the next operation and has nothing
    /// else to wait for: loads as much as may be needed.
    #[inline]
    fn touch_deep(&self, side: BookSide) {
        self.touch(side);
    }
}

/// The price levels of one side of one book; [`PriceLevels`] describes the operations.
pub trait SideLevels: Default + Debug {
    /// [`PriceLevels::add`] for this side.
    fn add(&mut self, key: PriceKey, shares: u32) -> bool;

    /// [`PriceLevels::reduce`] for this side.
    fn reduce(&mut self, key: PriceKey, shares: u32, order_leaves: bool) -> bool;

    /// The best level.
    fn best(&self) -> Option<Level>;

    /// The level at `key`.
    fn at(&self, key: PriceKey) -> Option<Level>;

    /// All levels, best first.
    fn best_first(&self) -> impl Iterator<Item = Level> + '_;

    /// [`PriceLevels::level_count`] of this side.
    fn level_count(&self) -> usize;
}

/// [`PriceLevels::set`] by means of the operations on orders.
fn set_by_orders<L: PriceLevels + ?Sized>(
    levels: &mut L,
    side: BookSide,
    key: PriceKey,
    shares: u32,
) -> bool {
    let best = |levels: &L| levels.best(side).map(|level| (level.key, level.shares));
    let before = best(levels);
    if shares > 0 {
        levels.add(side, key, shares);
    }
    let Some(Level { shares: sum, orders, .. }) = levels.at(side, key) else { return false };
    let mut rest = sum - u64::from(shares);
    for _ in u32::from(shares > 0)..orders {
        let less = u32::try_from(rest).unwrap_or(u32::MAX);
        levels.reduce(side, key, less, true);
        rest -= u64::from(less);
    }
    before != best(levels)
}
