//! One price level, and the key that lets bids and offers share one code path.

use core::num::{NonZeroU32, NonZeroU64};

use nanotape_types::{Price, Side};

/// A price ordered so that greater is better, on either side.
///
/// A bid's key is its price, an offer's the bitwise complement of its price. Level structures do
/// not need the side, and the hot path has no branch on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct PriceKey(u32);

impl PriceKey {
    /// The worst key: a bid at the lowest price, or an offer at the highest.
    pub(crate) const WORST: Self = Self(0);

    /// The key of `price` on `side`.
    #[inline]
    pub const fn new(side: Side, price: Price) -> Self {
        // The mask is all ones for an offer, zero for a bid.
        Self(price.code() ^ (side as u32).wrapping_neg())
    }

    /// The key as a number: greater is better.
    #[inline]
    pub(crate) const fn rank(self) -> u32 {
        self.0
    }

    /// The key of a rank.
    #[inline]
    pub(crate) const fn of_rank(rank: u32) -> Self {
        Self(rank)
    }

    /// The price of this key.
    #[inline]
    pub const fn price(self, side: Side) -> Price {
        Price::new(self.0 ^ (side as u32).wrapping_neg())
    }

    /// The greatest result of [`PriceKey::tick`].
    pub(crate) const MAX_TICK: u32 = u32::MAX / TICK;

    /// The number of the price's tick of 0.01, greater is better on either side; `None` for a price
    /// between two ticks.
    #[inline]
    pub(crate) const fn tick(self, side: Side) -> Option<u32> {
        if self.price(side).code().is_multiple_of(TICK) {
            Some(self.nearby_tick(side))
        } else {
            None
        }
    }

    /// The tick of this price, or a neighbouring one if it is between two.
    #[inline]
    pub(crate) const fn nearby_tick(self, side: Side) -> u32 {
        match side {
            Side::Buy => self.price(side).code() / TICK,
            Side::Sell => Self::MAX_TICK - self.price(side).code() / TICK,
        }
    }

    /// The key of a tick up to [`PriceKey::MAX_TICK`].
    #[inline]
    pub(crate) const fn of_tick(side: Side, tick: u32) -> Self {
        debug_assert!(tick <= Self::MAX_TICK);
        let ticks = match side {
            Side::Buy => tick,
            Side::Sell => Self::MAX_TICK - tick,
        };
        Self::new(side, Price::new(ticks * TICK))
    }
}

/// Codes of prices in a tick of 0.01; above 200,000.0000 in one of 0.1.
const TICK: u32 = 100;

/// A price level as the structures store it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// Its price, as a key.
    pub key: PriceKey,
    /// Number of orders; at least one.
    pub orders: u32,
    /// Sum of their shares; at least one. 2^32 orders of 2^32 shares fit.
    pub shares: u64,
}

// Four levels to a cache line.
const _: () = assert!(size_of::<Level>() == 16);

/// A price level with its price and with counts that cannot be zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DepthLevel {
    /// The price.
    pub price: Price,
    /// Number of orders.
    pub orders: NonZeroU32,
    /// Sum of their shares.
    pub shares: NonZeroU64,
}

impl Level {
    /// The level with its price, or `None` if it is empty (which no structure stores).
    #[inline]
    pub const fn shown(self, side: Side) -> Option<DepthLevel> {
        match (NonZeroU32::new(self.orders), NonZeroU64::new(self.shares)) {
            (Some(orders), Some(shares)) => {
                Some(DepthLevel { price: self.key.price(side), orders, shares })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_price_has_a_greater_key_on_both_sides() {
        let (low, high) = (Price::new(1), Price::new(2_000_000_000));
        assert!(PriceKey::new(Side::Buy, high) > PriceKey::new(Side::Buy, low));
        assert!(PriceKey::new(Side::Sell, low) > PriceKey::new(Side::Sell, high));
        for side in Side::BOTH {
            for price in [Price::new(0), low, high, Price::new(u32::MAX)] {
                assert_eq!(PriceKey::new(side, price).price(side), price);
            }
        }
    }

    #[test]
    fn ticks_are_numbered_best_greatest() {
        for side in Side::BOTH {
            for price in [0, 100, 1_899_500, 1_999_999_900, u32::MAX / 100 * 100] {
                let key = PriceKey::new(side, Price::new(price));
                let tick = key.tick(side).unwrap();
                assert!(tick <= PriceKey::MAX_TICK);
                assert_eq!(PriceKey::of_tick(side, tick), key);
                let better = match side {
                    Side::Buy => price.checked_add(100),
                    Side::Sell => price.checked_sub(100),
                };
                let better = better.map(|price| PriceKey::new(side, Price::new(price)));
                assert!(better.is_none_or(|better| better.tick(side) == Some(tick + 1)));
            }
            for price in [1, 99, 101, u32::MAX] {
                assert_eq!(PriceKey::new(side, Price::new(price)).tick(side), None);
            }
        }
    }

    #[test]
    fn absence_of_a_level_costs_no_space() {
        assert_eq!(size_of::<Option<DepthLevel>>(), size_of::<DepthLevel>());
    }
}
