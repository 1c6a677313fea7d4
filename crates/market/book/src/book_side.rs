//! The number of one side of one stock's book.

use nanotape_types::{Side, StockLocate};

/// One side of one stock's book: an index into tables of all sides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct BookSide(u32);

impl BookSide {
    /// How many sides there are: the length of tables that are indexed by side.
    pub const COUNT: usize = 2 * StockLocate::COUNT;

    /// The number of this side of this stock.
    #[inline]
    pub const fn new(stock_locate: StockLocate, side: Side) -> Self {
        Self((stock_locate.get() as u32) << 1 | side as u32)
    }

    /// The index, always below [`BookSide::COUNT`]. The two sides of a stock are neighbours, bids
    /// first.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize % Self::COUNT
    }

    /// The side with this [`index`](Self::index), modulo [`BookSide::COUNT`].
    #[inline]
    pub(crate) const fn of_index(index: u32) -> Self {
        Self(index % Self::COUNT as u32)
    }

    /// The stock.
    #[inline]
    pub const fn stock_locate(self) -> StockLocate {
        StockLocate::new((self.0 >> 1) as u16)
    }

    /// The side.
    #[inline]
    pub const fn side(self) -> Side {
        if self.0 & 1 == 0 { Side::Buy } else { Side::Sell }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_side_has_an_index_of_its_own_and_says_whose_it_is() {
        let mut seen = vec![false; BookSide::COUNT];
        for locate in StockLocate::all() {
            for side in Side::BOTH {
                let both = BookSide::new(locate, side);
                assert_eq!((both.stock_locate(), both.side()), (locate, side));
                assert!(!core::mem::replace(&mut seen[both.index()], true));
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
    }
}
