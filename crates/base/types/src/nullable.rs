//! An optional value whose field names the number that means absence.
//!
//! [`Maybe`](crate::Maybe) is for types with one such number everywhere. Other protocols choose the
//! number for each field: all ones, or the highest positive one.

use core::fmt;

use crate::WireValue;

/// A number of at most eight bytes, as its bits on the wire.
pub trait WireBits: Copy {
    /// The bits, with zeros above those of the type.
    fn to_wire_bits(self) -> u64;

    /// The value of these bits; those above the bits of the type are ignored.
    fn from_wire_bits(bits: u64) -> Self;
}

/// A `T`, or nothing if its bits are `NULL`, in the space of a `T`.
///
/// ```
/// use nanotape_types::{Decimal, Nullable};
/// type Price = Nullable<Decimal<i64, 9>, 0x7fff_ffff_ffff_ffff>;
/// assert_eq!(Price::none().get(), None);
/// assert_eq!(Price::of(Decimal::new(5)).get(), Some(Decimal::new(5)));
/// assert_eq!(Price::some(Decimal::new(i64::MAX)), None);
/// ```
///
/// As with [`Maybe`](crate::Maybe), there is no read without a check:
///
/// ```compile_fail,E0616
/// # use nanotape_types::Nullable;
/// let raw: u32 = Nullable::<u32, 0xffff_ffff>::none().0;
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Nullable<T, const NULL: u64>(T);

impl<T: WireBits, const NULL: u64> Nullable<T, NULL> {
    /// Wraps the value unchanged: absent if its bits are `NULL`.
    #[inline]
    pub const fn of(value: T) -> Self {
        Self(value)
    }

    /// Present, or `None` if `value` is the one that means absence.
    #[inline]
    pub fn some(value: T) -> Option<Self> {
        (value.to_wire_bits() != NULL).then_some(Self(value))
    }

    /// Absent.
    #[inline]
    pub fn none() -> Self {
        Self(T::from_wire_bits(NULL))
    }

    /// The value, if present.
    #[inline]
    pub fn get(self) -> Option<T> {
        self.is_some().then_some(self.0)
    }

    /// Whether the value is present.
    #[inline]
    pub fn is_some(self) -> bool {
        self.0.to_wire_bits() != NULL
    }

    /// Whether the value is absent.
    #[inline]
    pub fn is_none(self) -> bool {
        !self.is_some()
    }
}

impl<T: WireBits + fmt::Debug, const NULL: u64> fmt::Debug for Nullable<T, NULL> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl<const N: usize, T: WireBits + WireValue<N>, const NULL: u64> WireValue<N>
    for Nullable<T, NULL>
{
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

macro_rules! wire_bits {
    ($($inner:ty as $unsigned:ty),*) => {$(
        impl WireBits for $inner {
            #[inline]
            fn to_wire_bits(self) -> u64 {
                u64::from(self as $unsigned)
            }

            #[inline]
            fn from_wire_bits(bits: u64) -> Self {
                bits as $unsigned as $inner
            }
        }
    )*};
}

wire_bits!(u8 as u8, u16 as u16, u32 as u32, u64 as u64);
wire_bits!(i8 as u8, i16 as u16, i32 as u32, i64 as u64);

macro_rules! wire_bits_of_newtypes {
    ($($Type:ident),*) => {$(
        impl WireBits for crate::$Type {
            #[inline]
            fn to_wire_bits(self) -> u64 {
                self.get().to_wire_bits()
            }

            #[inline]
            fn from_wire_bits(bits: u64) -> Self {
                Self::new(WireBits::from_wire_bits(bits))
            }
        }
    )*};
}

wire_bits_of_newtypes!(StockLocate, TrackingNumber, OrderReferenceNumber, MatchNumber);
wire_bits_of_newtypes!(Shares, TotalShares, Price4, Price8, SecondsSinceMidnight);
wire_bits_of_newtypes!(NanosSinceEpoch, SecondsSinceEpoch, NanosOffset);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decimal;

    #[test]
    fn absence_is_the_stated_number_and_no_other() {
        type Count = Nullable<i32, 0x7fff_ffff>;
        assert_eq!(size_of::<Count>(), 4);
        for raw in [0, -1, i32::MIN, i32::MAX - 1] {
            let count = Count::from_le_bytes(raw.to_le_bytes());
            assert_eq!((count.get(), count.to_le_bytes()), (Some(raw), raw.to_le_bytes()));
        }
        let absent = Count::from_be_bytes(i32::MAX.to_be_bytes());
        assert_eq!((absent, absent.get(), absent.is_none()), (Count::none(), None, true));
        assert_eq!(Count::some(i32::MAX), None);
        // A negative number has no bits above its own.
        assert_eq!(Nullable::<i8, 0x80>::of(-128).get(), None);
        assert_eq!(Nullable::<Decimal<i16, 2>, 0xffff>::of(Decimal::new(-1)).get(), None);
        assert_eq!(format!("{absent:?} {:?}", Count::of(7)), "None Some(7)");
    }
}
