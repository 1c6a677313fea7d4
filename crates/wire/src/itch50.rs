//! Nasdaq TotalView-ITCH 5.0: the generated views, and additions that a schema cannot express.
//!
//! The offset tables are in `docs/protocols/nasdaq-itch-5.0.md`.

use nanotape_types::{Coming, OrderReferenceNumber, Side, StockLocate, WireValue as _};

use crate::codec::field;

pub use crate::generated::itch50::*;

/// What a message will change, if it is one of the seven types that change a book. For any other
/// message of that length, the result has arbitrary values.
///
/// This is a guess for look-ahead, which hardly reads the type: all seven types have stock locate
/// and order reference number at the same offset, which a test checks against their views.
#[inline(always)]
pub fn coming(message: &[u8]) -> Option<Coming> {
    let head = message.first_chunk::<{ OrderDelete::LEN }>()?;
    let tag = head[TAG_OFFSET];
    // The type first: one message in twelve is a replace, while lengths are unpredictable.
    let replacement = if tag == OrderReplace::TAG {
        let replace = message.first_chunk::<{ OrderReplace::LEN }>()?;
        Some(OrderReferenceNumber::from_be_bytes(*field::<19, 8, _>(replace)))
    } else {
        None
    };
    // The side of an added order. For a shorter message this is its last byte, which avoids an
    // unpredictable branch.
    let side_byte = message[(message.len() - 1).min(OrderDelete::LEN)];
    Some(Coming {
        stock_locate: StockLocate::from_be_bytes(*field::<1, 2, _>(head)),
        reference: OrderReferenceNumber::from_be_bytes(*field::<11, 8, _>(head)),
        replacement,
        is_new: (tag == AddOrder::TAG) | (tag == AddOrderMpid::TAG),
        side_if_new: if side_byte == SELL { Side::Sell } else { Side::Buy },
    })
}

/// The code of [`BuySellIndicator::Sell`].
const SELL: u8 = b'S';

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
