//! Cboe US Equities Multicast PITCH 2.x. [`crate::framing::pitch`] reads the packets.
//!
//! The offset tables are in `docs/protocols/cboe-pitch.md`.

use nanotape_types::{Alpha, Side, Symbol};

pub use crate::generated::pitch::*;

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

/// A symbol of a short or long message, padded as that of an expanded one.
#[inline]
pub const fn symbol_of(short: Alpha<6>) -> Symbol {
    let [a, b, c, d, e, f] = *short.as_bytes();
    Symbol::new([a, b, c, d, e, f, b' ', b' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_symbol_is_the_same_symbol() {
        assert_eq!(symbol_of(Alpha::new(*b"MAT   ")), "MAT".parse().unwrap());
        assert_eq!(symbol_of(Alpha::new(*b"BRK.AB")), "BRK.AB".parse().unwrap());
    }
}
