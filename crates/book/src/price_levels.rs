//! Price levels of one side of one book, behind a trait: prices in, best price and depth out.
//!
//! A later structure is added as one more file here and one more line in the agreement test.

mod best_last;
mod sorted_map;

use core::fmt::Debug;

pub use best_last::BestLastLevels;
pub use sorted_map::SortedMapLevels;

use crate::{Level, PriceKey};

/// The price levels of one side. Greater keys are better; no level is ever empty.
pub trait PriceLevels: Default + Debug {
    /// One more order of `shares` at `key`; opens the level if there is none. `shares` is not 0.
    fn add(&mut self, key: PriceKey, shares: u32);

    /// Takes `shares` off the level at `key`, and one order if `order_leaves`; closes the level
    /// with its last order.
    ///
    /// The caller holds the order that the shares come from, so the level is there and has them.
    fn reduce(&mut self, key: PriceKey, shares: u32, order_leaves: bool);

    /// The best level.
    fn best(&self) -> Option<Level>;

    /// The level at `key`.
    fn at(&self, key: PriceKey) -> Option<Level>;

    /// All levels, best first.
    fn best_first(&self) -> impl Iterator<Item = Level> + '_;
}
