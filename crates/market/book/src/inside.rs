//! The inside: best bid and best offer with their sizes, and their relation.

use core::num::NonZeroU64;

use nanotape_types::{Price, Side};

/// The best price of one side and the shares displayed at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quote {
    /// Best price.
    pub price: Price,
    /// Shares displayed at it.
    pub shares: NonZeroU64,
}

/// Best bid and best offer of one stock; a side without orders is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inside {
    /// Highest buying price.
    pub bid: Option<Quote>,
    /// Lowest selling price.
    pub offer: Option<Quote>,
}

// A quote's shares are never zero, so `None` is stored as zero and takes no space.
const _: () = assert!(size_of::<Inside>() == 2 * size_of::<Quote>());

/// The relation of the two sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Neither side has an order.
    Empty,
    /// Only one side has orders.
    OneSided,
    /// The best bid is below the best offer.
    Normal,
    /// The best bid equals the best offer.
    Locked,
    /// The best bid is above the best offer.
    Crossed,
}

impl Inside {
    /// The quote of one side.
    #[inline]
    pub const fn side(self, side: Side) -> Option<Quote> {
        match side {
            Side::Buy => self.bid,
            Side::Sell => self.offer,
        }
    }

    /// The relation of the two sides.
    ///
    /// Locked and crossed books are normal before an opening cross and in a halt. In trading hours
    /// they indicate lost messages.
    pub fn condition(self) -> Condition {
        match (self.bid, self.offer) {
            (None, None) => Condition::Empty,
            (Some(_), None) | (None, Some(_)) => Condition::OneSided,
            (Some(bid), Some(offer)) => match bid.price.cmp(&offer.price) {
                core::cmp::Ordering::Less => Condition::Normal,
                core::cmp::Ordering::Equal => Condition::Locked,
                core::cmp::Ordering::Greater => Condition::Crossed,
            },
        }
    }
}
