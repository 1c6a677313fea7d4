//! Cboe US Equities Multicast PITCH 2.x. [`crate::framing::pitch`] reads the packets.
//!
//! The offset tables are in `docs/protocols/cboe-pitch.md`.

use nanotape_types::{Alpha, Decimal, Shares, Side, Symbol};

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

/// The symbol of a short or long message, if it has at most six characters.
#[inline]
pub const fn short_symbol(symbol: Symbol) -> Option<Alpha<6>> {
    let [a, b, c, d, e, f, b' ', b' '] = symbol.as_bytes() else { return None };
    Some(Alpha::new([a, b, c, d, e, f]))
}

/// The shares and the price of a short message, if they fit: at most 65,535 shares, and whole cents
/// up to 655.35.
#[inline]
pub fn short_terms(shares: Shares, price: Decimal<u64, 4>) -> Option<(u16, Decimal<u16, 2>)> {
    let cents = price.get().is_multiple_of(100).then_some(price.get() / 100)?;
    Some((shares.get().try_into().ok()?, Decimal::new(cents.try_into().ok()?)))
}

impl AddOrderExpandedFields {
    /// Calls `put` with the shortest message of this order: short, long or, with a longer symbol,
    /// expanded. Only an expanded one has the participant and the customer indicator.
    pub fn put_shortest(&self, is_expanded: bool, put: impl FnOnce(&[u8])) {
        let Self { time_offset, order_reference_number, side_indicator, .. } = *self;
        let Self { shares, price, add_flags, .. } = *self;
        let symbol = short_symbol(self.symbol).filter(|_| !is_expanded);
        match (symbol, short_terms(shares, price)) {
            (None, _) => put(&self.encode()),
            (Some(symbol), Some((shares, price))) => {
                let message = AddOrderShortFields {
                    time_offset,
                    order_reference_number,
                    side_indicator,
                    shares,
                    symbol,
                    price,
                    add_flags,
                };
                put(&message.encode());
            }
            (Some(symbol), None) => {
                let message = AddOrderLongFields {
                    time_offset,
                    order_reference_number,
                    side_indicator,
                    shares,
                    symbol,
                    price,
                    add_flags,
                };
                put(&message.encode());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_symbol_is_the_same_symbol() {
        assert_eq!(symbol_of(Alpha::new(*b"MAT   ")), "MAT".parse().unwrap());
        assert_eq!(symbol_of(Alpha::new(*b"BRK.AB")), "BRK.AB".parse().unwrap());
    }

    #[test]
    fn what_is_not_short_is_refused() {
        for (text, short) in
            [("MAT", Some(*b"MAT   ")), ("BRK.AB", Some(*b"BRK.AB")), ("BRK.ABC", None)]
        {
            assert_eq!(short_symbol(text.parse().unwrap()), short.map(Alpha::new));
        }
        let terms = |shares, price| short_terms(Shares::new(shares), Decimal::new(price));
        assert_eq!(terms(65_535, 6_553_500), Some((65_535, Decimal::new(65_535))));
        for (shares, price) in [(65_536, 100), (1, 6_553_600), (1, 101)] {
            assert_eq!(terms(shares, price), None);
        }
    }
}
