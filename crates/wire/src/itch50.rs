//! Nasdaq TotalView-ITCH 5.0: the generated views, and what the schema cannot say.
//!
//! The offset tables are in `docs/protocols/nasdaq-itch-5.0.md`.

use nanotape_types::{OrderReferenceNumber, Side, StockLocate, WireValue as _};

use crate::codec::field;

pub use crate::generated::itch50::*;

/// Stock locate and order reference number of a message, if it is one of the seven that change a
/// book; of any other message of that length, whatever stands there.
///
/// A guess without a look at the type, for those who load ahead: all seven have both at the same
/// place, which a test checks against their views.
#[inline]
pub fn likely_order(message: &[u8]) -> Option<(StockLocate, OrderReferenceNumber)> {
    let head = message.first_chunk::<{ OrderDelete::LEN }>()?;
    let locate = StockLocate::from_be_bytes(*field::<1, 2, _>(head));
    Some((locate, OrderReferenceNumber::from_be_bytes(*field::<11, 8, _>(head))))
}

impl BuySellIndicator {
    /// The side, unless the code is unknown.
    #[inline]
    pub const fn side(self) -> Option<Side> {
        match self {
            Self::Buy => Some(Side::Buy),
            Self::Sell => Some(Side::Sell),
            Self::Unknown(_) => None,
        }
    }
}

impl From<Side> for BuySellIndicator {
    #[inline]
    fn from(side: Side) -> Self {
        match side {
            Side::Buy => Self::Buy,
            Side::Sell => Self::Sell,
        }
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::WireValue;

    use super::*;

    #[test]
    fn a_side_is_a_code_and_back() {
        for side in Side::BOTH {
            assert_eq!(BuySellIndicator::from(side).side(), Some(side));
        }
        assert_eq!(BuySellIndicator::from_be_bytes(*b"b").side(), None);
    }
}
