//! The macro `bits!`: a set of named bits in a field of one or two bytes.
//!
//! A table has a row for each bit: its number from the lowest one, the names of its constant and of
//! its reader, its name in text, and its meaning. Bits that are not listed are kept.
//!
//! ```
//! nanotape_wire::bits! {
//!     /// How a line was drawn.
//!     Strokes: u8 {
//!         0 => BOLD, is_bold, "bold", "Twice as thick.";
//!         7 => DASHED, is_dashed, "dashed", "With gaps.";
//!     }
//! }
//! let strokes = Strokes::BOLD.with(Strokes::new(0x40));
//! assert!(strokes.is_bold() && !strokes.is_dashed());
//! assert_eq!(strokes.get(), 0x41);
//! ```

/// Defines a set of bits: its constants and readers, and how a field of its type is read.
#[doc(hidden)]
#[macro_export]
macro_rules! bits {
    ($(#[$about:meta])* $Name:ident: $Number:ident {
        $($bit:literal => $CONSTANT:ident, $reader:ident, $name:literal, $doc:literal;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $Name($Number);

        impl $Name {
            $(
                #[doc = concat!("Bit ", $bit, ": ", $doc)]
                pub const $CONSTANT: Self = Self(1 << $bit);
            )*

            /// The listed bits with their names, from the lowest one.
            pub const NAMES: &'static [(u8, &'static str)] = &[$(($bit, $name)),*];

            /// Wraps the bits unchanged.
            #[inline]
            pub const fn new(bits: $Number) -> Self {
                Self(bits)
            }

            /// All bits.
            #[inline]
            pub const fn get(self) -> $Number {
                self.0
            }

            /// The bits of both.
            #[inline]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            $(
                #[doc = concat!("Whether bit ", $bit, " is set: ", $doc)]
                #[inline]
                pub const fn $reader(self) -> bool {
                    self.0 >> $bit & 1 == 1
                }
            )*
        }

        $crate::bits! { @wire $Name $Number }
    };

    (@wire $Name:ident u8) => { $crate::bits! { @wire $Name u8 1 } };
    (@wire $Name:ident u16) => { $crate::bits! { @wire $Name u16 2 } };
    (@wire $Name:ident $Number:ident $width:literal) => {
        impl $crate::codec::WireValue<$width> for $Name {
            #[inline]
            fn from_be_bytes(bytes: [u8; $width]) -> Self {
                Self($Number::from_be_bytes(bytes))
            }

            #[inline]
            fn to_be_bytes(self) -> [u8; $width] {
                self.0.to_be_bytes()
            }

            #[inline]
            fn from_le_bytes(bytes: [u8; $width]) -> Self {
                Self($Number::from_le_bytes(bytes))
            }

            #[inline]
            fn to_le_bytes(self) -> [u8; $width] {
                self.0.to_le_bytes()
            }
        }

        impl $crate::codec::FieldValue<$width> for $Name {
            #[inline]
            fn shown(self, _: &[u8; $width]) -> $crate::render::Value<'_> {
                $crate::render::Value::Bits(self.0.into(), Self::NAMES)
            }
        }
    };
}
