//! The side of an order.

use core::fmt;

/// Buy (a bid) or sell (an offer).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Side {
    /// A bid: better is higher.
    Buy = 0,
    /// An offer: better is lower.
    Sell = 1,
}

impl Side {
    /// Both sides, bids first.
    pub const BOTH: [Self; 2] = [Self::Buy, Self::Sell];

    /// The other side: that of the aggressor when an order of this side is executed.
    #[inline]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Buy => Self::Sell,
            Self::Sell => Self::Buy,
        }
    }

    /// `buy` or `sell`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buy => "buy",
            Self::Sell => "sell",
        }
    }

    /// `bid` or `ask`, the words of exported tables.
    pub const fn quote_name(self) -> &'static str {
        match self {
            Self::Buy => "bid",
            Self::Sell => "ask",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
