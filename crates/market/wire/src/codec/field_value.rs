//! Converts a field of fixed width to the value that a renderer shows, by the type of the field.

use nanotape_types::{
    Alpha, Decimal, MatchNumber, Maybe, NanosOffset, NanosSinceEpoch, NanosSinceMidnight, Nullable,
    OrderReferenceNumber, Price4, Price8, SecondsSinceEpoch, SecondsSinceMidnight, Sentinel,
    Shares, StockLocate, Symbol, TotalShares, TrackingNumber, WireBits, WireValue,
};

use crate::render::Value;

/// A type of field that messages show by name and value.
pub trait FieldValue<const N: usize>: WireValue<N> {
    /// The listed codes, if the type is an enumeration.
    const CODES: &'static [u8] = &[];

    /// The shown value of a field. Text is shown from `bytes`, the bytes of the field.
    fn shown(self, bytes: &[u8; N]) -> Value<'_>;
}

/// Types whose shown value is a function of their value.
macro_rules! field_values {
    ($($Type:ident, $width:literal: |$value:ident| $shown:expr;)*) => {$(
        impl FieldValue<$width> for $Type {
            #[inline]
            fn shown(self, _: &[u8; $width]) -> Value<'_> {
                let $value = self;
                $shown
            }
        }
    )*};
}

field_values! {
    u8, 1: |number| Value::Integer(number.into());
    u16, 2: |number| Value::Integer(number.into());
    u32, 4: |number| Value::Integer(number.into());
    u64, 8: |number| Value::Integer(number);
    i8, 1: |number| Value::Signed(number.into());
    i16, 2: |number| Value::Signed(number.into());
    i32, 4: |number| Value::Signed(number.into());
    i64, 8: |number| Value::Signed(number);
    StockLocate, 2: |number| Value::Integer(number.get().into());
    TrackingNumber, 2: |number| Value::Integer(number.get().into());
    OrderReferenceNumber, 8: |number| Value::Integer(number.get());
    MatchNumber, 8: |number| Value::Integer(number.get());
    Shares, 4: |count| Value::Integer(count.get().into());
    TotalShares, 8: |count| Value::Integer(count.get());
    Price4, 4: |price| Value::Price4(price);
    Price8, 8: |price| Value::Price8(price);
    NanosSinceMidnight, 6: |time| Value::NanosSinceMidnight(time);
    SecondsSinceMidnight, 4: |time| Value::SecondsSinceMidnight(time);
    NanosSinceEpoch, 8: |time| Value::NanosSinceEpoch(time);
    SecondsSinceEpoch, 4: |time| Value::SecondsSinceEpoch(time);
    NanosOffset, 4: |offset| Value::Integer(offset.get().into());
}

impl<const N: usize, T: Copy + Into<i128>, const PLACES: u8> FieldValue<N> for Decimal<T, PLACES>
where
    Self: WireValue<N>,
{
    #[inline]
    fn shown(self, _: &[u8; N]) -> Value<'_> {
        Value::Decimal(self.untyped())
    }
}

impl<const N: usize, T: WireBits + FieldValue<N>, const NULL: u64> FieldValue<N>
    for Nullable<T, NULL>
{
    #[inline]
    fn shown(self, bytes: &[u8; N]) -> Value<'_> {
        self.get().map_or(Value::Absent, |value| value.shown(bytes))
    }
}

/// `Alpha` and `Mpid`, with their padding.
impl<const N: usize> FieldValue<N> for Alpha<N> {
    #[inline]
    fn shown(self, bytes: &[u8; N]) -> Value<'_> {
        Value::Text(bytes)
    }
}

impl FieldValue<8> for Symbol {
    #[inline]
    fn shown(self, bytes: &[u8; 8]) -> Value<'_> {
        Value::Text(bytes)
    }
}

impl<const N: usize, T: Sentinel + FieldValue<N>> FieldValue<N> for Maybe<T> {
    #[inline]
    fn shown(self, bytes: &[u8; N]) -> Value<'_> {
        self.get().map_or(Value::Absent, |value| value.shown(bytes))
    }
}
