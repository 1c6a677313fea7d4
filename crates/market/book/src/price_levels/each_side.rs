//! Keeps a structure of one side for every side of every book.

use core::hint::black_box;

use super::{PriceLevels, SideLevels};
use crate::{BookSide, Level, PriceKey};

/// One `V` for each [`BookSide`]. The two sides of a stock are neighbours in memory.
#[derive(Debug)]
pub struct EachSide<V>(Box<[V; BookSide::COUNT]>);

impl<V: SideLevels> EachSide<V> {
    #[inline]
    fn side(&self, side: BookSide) -> &V {
        &self.0[side.index()]
    }
}

impl<V: SideLevels> PriceLevels for EachSide<V> {
    fn with_capacity(_orders: usize) -> Self {
        let sides: Vec<V> = (0..BookSide::COUNT).map(|_| V::default()).collect();
        match sides.into_boxed_slice().try_into() {
            Ok(array) => Self(array),
            Err(_) => unreachable!("exactly BookSide::COUNT elements were collected"),
        }
    }

    #[inline]
    fn add(&mut self, side: BookSide, key: PriceKey, shares: u32) -> bool {
        self.0[side.index()].add(key, shares)
    }

    #[inline]
    fn reduce(&mut self, side: BookSide, key: PriceKey, shares: u32, order_leaves: bool) -> bool {
        self.0[side.index()].reduce(key, shares, order_leaves)
    }

    #[inline]
    fn best(&self, side: BookSide) -> Option<Level> {
        self.side(side).best()
    }

    fn at(&self, side: BookSide, key: PriceKey) -> Option<Level> {
        self.side(side).at(key)
    }

    fn best_first(&self, side: BookSide) -> impl Iterator<Item = Level> + '_ {
        self.side(side).best_first()
    }

    #[inline]
    fn level_count(&self, side: BookSide) -> usize {
        self.side(side).level_count()
    }

    /// An ordinary load whose value is not used: the processor does not wait for it.
    #[inline]
    fn touch(&self, side: BookSide) {
        black_box(self.best(side).map(|level| level.shares));
    }
}
