//! Price levels of both sides of every book, behind a trait: prices in, best price and depth out.
//!
//! Two traits, because structures come in two shapes. Most know one side of one book only: they
//! implement [`SideLevels`], and [`EachSide`] keeps one for every side. One that lays out all sides
//! together implements [`PriceLevels`] itself.

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

/// The price levels of every side of every book. Greater keys are better; no level is ever empty.
pub trait PriceLevels: Debug {
    /// Empty books, of a day that has about `orders` live orders at its peak.
    fn with_capacity(orders: usize) -> Self;

    /// One more order of `shares` at `key`; opens the level if there is none. `shares` is not 0.
    /// Gives whether it is now the best level.
    fn add(&mut self, side: BookSide, key: PriceKey, shares: u32) -> bool;

    /// Takes `shares` off the level at `key`, and one order if `order_leaves`; closes the level
    /// with its last order. Gives whether it was the best level.
    ///
    /// The caller holds the order that the shares come from, so the level is there and has them.
    fn reduce(&mut self, side: BookSide, key: PriceKey, shares: u32, order_leaves: bool) -> bool;

    /// The best level.
    fn best(&self, side: BookSide) -> Option<Level>;

    /// The level at `key`.
    fn at(&self, side: BookSide, key: PriceKey) -> Option<Level>;

    /// All levels, best first.
    fn best_first(&self, side: BookSide) -> impl Iterator<Item = Level> + '_;

    /// Begins to load the best levels of a side, and does not wait for them. Only a hint: a
    /// structure without one does nothing.
    #[inline]
    fn touch(&self, side: BookSide) {
        let _ = side;
    }

    /// The same for somebody who knows nothing of what will be asked of the side, and has nothing
    /// else to wait for: as much as may be needed.
    #[inline]
    fn touch_deep(&self, side: BookSide) {
        self.touch(side);
    }
}

/// The price levels of one side of one book; see [`PriceLevels`] for what the operations mean.
pub trait SideLevels: Default + Debug {
    /// [`PriceLevels::add`] of this side.
    fn add(&mut self, key: PriceKey, shares: u32) -> bool;

    /// [`PriceLevels::reduce`] of this side.
    fn reduce(&mut self, key: PriceKey, shares: u32, order_leaves: bool) -> bool;

    /// The best level.
    fn best(&self) -> Option<Level>;

    /// The level at `key`.
    fn at(&self, key: PriceKey) -> Option<Level>;

    /// All levels, best first.
    fn best_first(&self) -> impl Iterator<Item = Level> + '_;
}
