//! Numbers with implied decimals, of any integer and any number of places: prices of exchanges that
//! do not write a [`Price4`](crate::Price4).

use core::fmt;

use crate::{WireValue, nullable::WireBits};

/// An integer in units of 10 to the power of minus `PLACES`. Displayed with all its places.
///
/// ```
/// use nanotape_types::Decimal;
/// let price = Decimal::<i64, 9>::new(-66_735_500_000_000);
/// assert_eq!(price.to_string(), "-66735.500000000");
/// assert_eq!(price.in_units(4), Some(-667_355_000));
/// assert_eq!(Decimal::<u16, 2>::new(2066).in_units(4), Some(206_600));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Decimal<T, const PLACES: u8>(T);

/// The most decimal places. More of them are in no protocol, and 10 to that power fits in 64 bits.
pub const MOST_PLACES: u8 = 18;

impl<T, const PLACES: u8> Decimal<T, PLACES> {
    /// Decimal places.
    pub const PLACES: u8 = {
        assert!(PLACES <= MOST_PLACES, "a decimal has at most 18 places");
        PLACES
    };

    /// Wraps the raw integer.
    #[inline]
    pub const fn new(raw: T) -> Self {
        Self(raw)
    }
}

impl<T: Copy, const PLACES: u8> Decimal<T, PLACES> {
    /// The raw integer, in units of 10 to the power of minus `PLACES`.
    #[inline]
    pub const fn get(self) -> T {
        self.0
    }
}

impl<T: Copy + Into<i128>, const PLACES: u8> Decimal<T, PLACES> {
    /// The same number in units of 10 to the power of minus `places`. `None` if it is no whole
    /// number of them, or does not fit.
    #[inline]
    pub fn in_units(self, places: u8) -> Option<i64> {
        let raw: i128 = self.0.into();
        let factor = 10i128.pow(Self::PLACES.abs_diff(places.min(2 * MOST_PLACES)).into());
        let units = if places >= PLACES {
            raw.checked_mul(factor)?
        } else if raw % factor == 0 {
            raw / factor
        } else {
            return None;
        };
        units.try_into().ok()
    }

    /// The number without its type, for display.
    #[inline]
    pub fn untyped(self) -> AnyDecimal {
        let raw: i128 = self.0.into();
        // A `T` has at most 64 bits.
        let magnitude = raw.unsigned_abs() as u64;
        AnyDecimal { is_negative: raw < 0, magnitude, places: Self::PLACES }
    }
}

impl<T: Copy + Into<i128>, const PLACES: u8> fmt::Display for Decimal<T, PLACES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.untyped().fmt(f)
    }
}

/// A [`Decimal`] of any type, for display.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnyDecimal {
    is_negative: bool,
    magnitude: u64,
    places: u8,
}

impl fmt::Display for AnyDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        let scale = 10u64.pow(self.places.into());
        let (whole, fraction) = (self.magnitude / scale, self.magnitude % scale);
        match usize::from(self.places) {
            0 => write!(f, "{sign}{whole}"),
            places => write!(f, "{sign}{whole}.{fraction:0places$}"),
        }
    }
}

impl<T: WireValue<N>, const N: usize, const PLACES: u8> WireValue<N> for Decimal<T, PLACES> {
    #[inline]
    fn from_be_bytes(bytes: [u8; N]) -> Self {
        Self(T::from_be_bytes(bytes))
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; N] {
        self.0.to_be_bytes()
    }

    #[inline]
    fn from_le_bytes(bytes: [u8; N]) -> Self {
        Self(T::from_le_bytes(bytes))
    }

    #[inline]
    fn to_le_bytes(self) -> [u8; N] {
        self.0.to_le_bytes()
    }
}

impl<T: WireBits, const PLACES: u8> WireBits for Decimal<T, PLACES> {
    #[inline]
    fn to_wire_bits(self) -> u64 {
        self.0.to_wire_bits()
    }

    #[inline]
    fn from_wire_bits(bits: u64) -> Self {
        Self(T::from_wire_bits(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_shown() {
        let text = |raw| Decimal::<i64, 4>::new(raw).to_string();
        for (raw, expected) in [
            (0, "0.0000"),
            (1, "0.0001"),
            (-1, "-0.0001"),
            (990_500, "99.0500"),
            (i64::MAX, "922337203685477.5807"),
            (i64::MIN, "-922337203685477.5808"),
        ] {
            assert_eq!(text(raw), expected);
        }
        assert_eq!(Decimal::<u64, 18>::new(u64::MAX).to_string(), "18.446744073709551615");
        assert_eq!(Decimal::<i8, 0>::new(-7).to_string(), "-7");
        assert_eq!(Decimal::<u16, 2>::new(99).to_string(), "0.99");
    }

    #[test]
    fn other_units_are_exact_or_refused() {
        let nine = Decimal::<i64, 9>::new;
        assert_eq!(nine(1_500_000_000).in_units(4), Some(15_000));
        assert_eq!(nine(-100_000).in_units(4), Some(-1));
        assert_eq!(nine(99_999).in_units(4), None);
        assert_eq!(nine(i64::MAX).in_units(9), Some(i64::MAX));
        assert_eq!(nine(i64::MAX).in_units(10), None);
        assert_eq!(Decimal::<u64, 4>::new(u64::MAX).in_units(4), None);
        assert_eq!(Decimal::<u64, 4>::new(u64::MAX).in_units(u8::MAX), None);
        assert_eq!(Decimal::<u16, 2>::new(0).in_units(u8::MAX), Some(0));
    }

    #[test]
    fn every_bit_pattern_survives_both_byte_orders() {
        for raw in [0i64, 1, -1, i64::MAX, i64::MIN] {
            let value = Decimal::<i64, 9>::from_le_bytes(raw.to_le_bytes());
            assert_eq!((value.get(), value.to_le_bytes()), (raw, raw.to_le_bytes()));
            assert_eq!(Decimal::<i64, 9>::from_be_bytes(value.to_be_bytes()), value);
            assert_eq!(Decimal::<i64, 9>::from_wire_bits(value.to_wire_bits()), value);
        }
    }
}
