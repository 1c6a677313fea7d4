//! Nasdaq TotalView-ITCH 5.0: the generated views, and what the schema cannot say.
//!
//! The offset tables are in `docs/protocols/nasdaq-itch-5.0.md`.

use nanotape_types::Side;

pub use crate::generated::itch50::*;

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
