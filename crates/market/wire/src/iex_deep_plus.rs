//! IEX DEEP+ 1.0: order by order. [`crate::framing::iextp`] reads the packets.
//!
//! The offset tables are in `docs/protocols/iex-deep-plus.md` and `iex-common.md`.

use nanotape_types::Side;

pub use crate::generated::iex_deep_plus::*;

/// The message protocol in the headers of segments.
pub const MESSAGE_PROTOCOL_ID: u16 = 0x8005;

impl SideIndicator {
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
