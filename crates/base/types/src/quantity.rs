//! Share counts: 32 bits for one order, 64 for sums over orders.

use core::fmt;

use crate::wire_value::integer_newtype;

integer_newtype! {
    /// Shares of one order or one execution.
    Shares, u32, 4
}

integer_newtype! {
    /// Shares summed over orders: a price level, a cross, an imbalance.
    TotalShares, u64, 8
}

impl From<Shares> for TotalShares {
    #[inline]
    fn from(shares: Shares) -> Self {
        Self(u64::from(shares.0))
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for TotalShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
