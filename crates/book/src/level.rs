//! One price level, and the key that lets bids and offers share one code path.

use core::num::{NonZeroU32, NonZeroU64};

use nanotape_types::{Price4, Side};

/// A price ordered so that greater is better, on either side.
///
/// A bid's key is its price, an offer's the bitwise complement of its price. Level structures need
/// not know which side they hold, and the branch on the side disappears from the hot path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct PriceKey(u32);

impl PriceKey {
    /// The key of `price` on `side`.
    #[inline]
    pub const fn new(side: Side, price: Price4) -> Self {
        // All ones for an offer, zero for a bid.
        Self(price.get() ^ (side as u32).wrapping_neg())
    }

    /// The price again.
    #[inline]
    pub const fn price(self, side: Side) -> Price4 {
        Price4::new(self.0 ^ (side as u32).wrapping_neg())
    }
}

/// A price level as the structures store it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// Which price.
    pub key: PriceKey,
    /// Orders at it; at least one.
    pub orders: u32,
    /// Shares of all of them together; at least one. 2^32 orders of 2^32 shares fit.
    pub shares: u64,
}

// Four levels to a cache line.
const _: () = assert!(size_of::<Level>() == 16);

/// A price level as it is shown: the price itself, and counts that cannot be zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DepthLevel {
    /// The price.
    pub price: Price4,
    /// Orders at it.
    pub orders: NonZeroU32,
    /// Shares of all of them together.
    pub shares: NonZeroU64,
}

impl Level {
    /// The level as it is shown, or `None` if it holds nothing (which no structure stores).
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
        let (low, high) = (Price4::new(1), Price4::new(2_000_000_000));
        assert!(PriceKey::new(Side::Buy, high) > PriceKey::new(Side::Buy, low));
        assert!(PriceKey::new(Side::Sell, low) > PriceKey::new(Side::Sell, high));
        for side in Side::BOTH {
            for price in [Price4::new(0), low, high, Price4::new(u32::MAX)] {
                assert_eq!(PriceKey::new(side, price).price(side), price);
            }
        }
    }

    #[test]
    fn absence_of_a_level_costs_no_space() {
        assert_eq!(size_of::<Option<DepthLevel>>(), size_of::<DepthLevel>());
    }
}
