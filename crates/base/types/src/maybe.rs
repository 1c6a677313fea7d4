//! An optional value in the space of the value: one machine word, and no read without a check.
//!
//! Exchanges write "not available" as a particular value: a far price of 0, a blank symbol. Code
//! that uses the raw number forgets the check sooner or later; an `Option` doubles the size and
//! changes the layout. [`Maybe`] keeps the encoding of the wire and returns an `Option`.

use core::fmt;

use crate::WireValue;

/// A type with one value reserved for "absent".
pub trait Sentinel: Copy + Eq {
    /// The value that means absence on the wire.
    const ABSENT: Self;
}

/// A `T` or nothing, in the space of a `T`.
///
/// Every access to the value checks that it is present:
///
/// ```
/// use nanotape_types::{Maybe, Price4};
/// let far: Maybe<Price4> = Maybe::some(Price4::new(1_900_100)).unwrap();
/// assert_eq!(far.get(), Some(Price4::new(1_900_100)));
/// assert_eq!(Maybe::<Price4>::NONE.get(), None);
/// assert_eq!(size_of::<Maybe<Price4>>(), size_of::<Price4>());
/// ```
///
/// There is no unchecked read. The field is private:
///
/// ```compile_fail,E0616
/// # use nanotape_types::{Maybe, Price4};
/// let raw: Price4 = Maybe::<Price4>::NONE.0;
/// ```
///
/// it is not a substitute for the value:
///
/// ```compile_fail,E0308
/// # use nanotape_types::{Maybe, Price4};
/// let price: Price4 = Maybe::<Price4>::NONE;
/// ```
///
/// it has no order, in which an absent price of 0 would be the best offer:
///
/// ```compile_fail,E0369
/// # use nanotape_types::{Maybe, Price4};
/// let worse = Maybe::<Price4>::NONE < Maybe::<Price4>::NONE;
/// ```
///
/// and it has none of the value's own methods:
///
/// ```compile_fail,E0308
/// # use nanotape_types::{Maybe, Price4};
/// let raw: u32 = Maybe::<Price4>::NONE.get();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Maybe<T: Sentinel>(T);

impl<T: Sentinel> Maybe<T> {
    /// Absent.
    pub const NONE: Self = Self(T::ABSENT);

    /// Present, or `None` if `value` is the one that means absence.
    #[inline]
    pub fn some(value: T) -> Option<Self> {
        if value == T::ABSENT { None } else { Some(Self(value)) }
    }

    /// Wraps the value unchanged: absent if it is the one that means absence.
    #[inline]
    pub const fn of(value: T) -> Self {
        Self(value)
    }

    /// The value, if present.
    #[inline]
    pub fn get(self) -> Option<T> {
        if self.0 == T::ABSENT { None } else { Some(self.0) }
    }

    /// Whether the value is present.
    #[inline]
    pub fn is_some(self) -> bool {
        self.0 != T::ABSENT
    }

    /// Whether the value is absent.
    #[inline]
    pub fn is_none(self) -> bool {
        self.0 == T::ABSENT
    }

    /// Applies `f` to the value, if present.
    #[inline]
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Option<U> {
        self.get().map(f)
    }

    /// The value, or `default`.
    #[inline]
    pub fn unwrap_or(self, default: T) -> T {
        self.get().unwrap_or(default)
    }
}

impl<T: Sentinel> From<Maybe<T>> for Option<T> {
    #[inline]
    fn from(value: Maybe<T>) -> Self {
        value.get()
    }
}

impl<T: Sentinel> Default for Maybe<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T: Sentinel + fmt::Debug> fmt::Debug for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// On the wire an absent value is its sentinel, so decoding never fails and encoding is exact.
impl<const N: usize, T: Sentinel + WireValue<N>> WireValue<N> for Maybe<T> {
    const IS_TEXT: bool = T::IS_TEXT;

    #[inline]
    fn from_be_bytes(bytes: [u8; N]) -> Self {
        Self(T::from_be_bytes(bytes))
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; N] {
        self.0.to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OrderReferenceNumber, Price4, SecondsSinceMidnight, Symbol};

    #[test]
    fn absence_costs_no_space() {
        assert_eq!(size_of::<Maybe<Price4>>(), 4);
        assert_eq!(size_of::<Maybe<Symbol>>(), 8);
        assert_eq!(size_of::<Maybe<OrderReferenceNumber>>(), 8);
        assert_eq!(size_of::<Maybe<SecondsSinceMidnight>>(), 4);
    }

    #[test]
    fn the_sentinel_cannot_be_stored_as_a_value() {
        assert_eq!(Maybe::some(Price4::new(0)), None);
        assert!(Maybe::some(Price4::new(1)).unwrap().is_some());
    }

    #[test]
    fn every_bit_pattern_survives_the_round_trip() {
        for raw in [0u32, 1, 0x7735_9400, u32::MAX] {
            let value = Maybe::<Price4>::from_be_bytes(raw.to_be_bytes());
            assert_eq!(value.to_be_bytes(), raw.to_be_bytes());
            assert_eq!(value.is_none(), raw == 0);
        }
    }
}
