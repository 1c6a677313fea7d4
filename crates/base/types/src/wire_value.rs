//! The encoding of a value on the wire: a fixed number of bytes, every bit pattern valid.
//!
//! Generated views and encoders need only this trait of a type, so a new field type is one
//! implementation.

/// A value of exactly `N` bytes on the wire.
///
/// Every bit pattern decodes, and encoding returns the original bytes. So the getters of a view
/// cannot fail.
pub trait WireValue<const N: usize>: Copy {
    /// Whether the bytes are text, which has the same order in every protocol.
    const IS_TEXT: bool = false;

    /// Reads the value from its big-endian bytes.
    fn from_be_bytes(bytes: [u8; N]) -> Self;

    /// The big-endian bytes of the value.
    fn to_be_bytes(self) -> [u8; N];

    /// Reads the value from the bytes of a little-endian protocol.
    ///
    /// The default reverses bytes one by one, which the compiler does not always see through.
    #[inline]
    fn from_le_bytes(mut bytes: [u8; N]) -> Self {
        if !Self::IS_TEXT {
            bytes.reverse();
        }
        Self::from_be_bytes(bytes)
    }

    /// The bytes of the value in a little-endian protocol.
    #[inline]
    fn to_le_bytes(self) -> [u8; N] {
        let mut bytes = self.to_be_bytes();
        if !Self::IS_TEXT {
            bytes.reverse();
        }
        bytes
    }
}

/// Implements a newtype over an unsigned integer whose width on the wire is its width in memory.
macro_rules! integer_newtype {
    ($(#[$doc:meta])* $name:ident, $inner:ty, $width:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $name($inner);

        impl $name {
            /// Wraps the raw number.
            #[inline]
            pub const fn new(raw: $inner) -> Self {
                Self(raw)
            }

            /// The raw number, in the unit of the type.
            #[inline]
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl $crate::WireValue<$width> for $name {
            #[inline]
            fn from_be_bytes(bytes: [u8; $width]) -> Self {
                Self(<$inner>::from_be_bytes(bytes))
            }

            #[inline]
            fn to_be_bytes(self) -> [u8; $width] {
                self.0.to_be_bytes()
            }

            #[inline]
            fn from_le_bytes(bytes: [u8; $width]) -> Self {
                Self(<$inner>::from_le_bytes(bytes))
            }

            #[inline]
            fn to_le_bytes(self) -> [u8; $width] {
                self.0.to_le_bytes()
            }
        }
    };
}
pub(crate) use integer_newtype;

macro_rules! bare_integer {
    ($inner:ty, $width:literal) => {
        impl WireValue<$width> for $inner {
            #[inline]
            fn from_be_bytes(bytes: [u8; $width]) -> Self {
                <$inner>::from_be_bytes(bytes)
            }

            #[inline]
            fn to_be_bytes(self) -> [u8; $width] {
                <$inner>::to_be_bytes(self)
            }

            #[inline]
            fn from_le_bytes(bytes: [u8; $width]) -> Self {
                <$inner>::from_le_bytes(bytes)
            }

            #[inline]
            fn to_le_bytes(self) -> [u8; $width] {
                <$inner>::to_le_bytes(self)
            }
        }
    };
}

bare_integer!(u8, 1);
bare_integer!(u16, 2);
bare_integer!(u32, 4);
bare_integer!(u64, 8);
bare_integer!(i8, 1);
bare_integer!(i16, 2);
bare_integer!(i32, 4);
bare_integer!(i64, 8);
