//! The macro `enumeration!`: a one-byte code as a Rust enum that preserves unlisted codes.
//!
//! A table has a row for each code: the character on the wire, the name of its variant, and its
//! meaning. After `as u8` codes are numbers.
//!
//! ```
//! nanotape_wire::enumeration! {
//!     /// Colour of the light.
//!     Colour {
//!         'R' => Red, "Stop.";
//!         'G' => Green, "Go.";
//!     }
//! }
//! assert_eq!(Colour::KNOWN.map(Colour::code), *b"RG");
//! assert_eq!(Colour::Green.name(), "Green");
//!
//! nanotape_wire::enumeration! {
//!     /// What happens to a price level.
//!     Update as u8 {
//!         0 => New, "It is new.";
//!         2 => Removed, "It is gone.";
//!     }
//! }
//! assert_eq!(Update::KNOWN.map(Update::code), [0, 2]);
//! ```

/// Defines an enumeration: the enum, its codes and names, and how a field of its type is read.
#[doc(hidden)]
#[macro_export]
macro_rules! enumeration {
    ($(#[$about:meta])* $Name:ident { $($code:literal => $Code:ident, $doc:literal;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $Name {
            $(
                #[doc = concat!("`", $code, "`: ", $doc)]
                $Code,
            )*
            /// An unlisted code, preserved unchanged.
            Unknown($crate::codec::UnknownCode),
        }

        impl $Name {
            /// The listed codes.
            pub const KNOWN: [Self; <[char]>::len(&[$($code),*])] = [$(Self::$Code),*];

            /// The byte on the wire.
            #[inline]
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$Code => const { $crate::codec::byte($code) },)*
                    Self::Unknown(code) => code.get(),
                }
            }

            /// Name of the variant.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Code => stringify!($Code),)*
                    Self::Unknown(_) => "Unknown",
                }
            }
        }

        impl $crate::codec::WireValue<1> for $Name {
            #[inline]
            fn from_be_bytes([code]: [u8; 1]) -> Self {
                match char::from(code) {
                    $($code => Self::$Code,)*
                    _ => Self::Unknown($crate::codec::unknown_code(code)),
                }
            }

            #[inline]
            fn to_be_bytes(self) -> [u8; 1] {
                [self.code()]
            }
        }

        impl $crate::codec::FieldValue<1> for $Name {
            const CODES: &'static [u8] = &[$($crate::codec::byte($code)),*];

            #[inline]
            fn shown(self, _: &[u8; 1]) -> $crate::render::Value<'_> {
                $crate::render::Value::Code(self.code(), self.name())
            }
        }
    };

    ($(#[$about:meta])* $Name:ident as u8 { $($code:literal => $Code:ident, $doc:literal;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $Name {
            $(
                #[doc = concat!("`", $code, "`: ", $doc)]
                $Code,
            )*
            /// An unlisted code, preserved unchanged.
            Unknown($crate::codec::UnknownCode),
        }

        impl $Name {
            /// The listed codes.
            pub const KNOWN: [Self; <[u8]>::len(&[$($code),*])] = [$(Self::$Code),*];

            /// The number on the wire.
            #[inline]
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$Code => $code,)*
                    Self::Unknown(code) => code.get(),
                }
            }

            /// Name of the variant.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Code => stringify!($Code),)*
                    Self::Unknown(_) => "Unknown",
                }
            }
        }

        impl $crate::codec::WireValue<1> for $Name {
            #[inline]
            fn from_be_bytes([code]: [u8; 1]) -> Self {
                match code {
                    $($code => Self::$Code,)*
                    _ => Self::Unknown($crate::codec::unknown_code(code)),
                }
            }

            #[inline]
            fn to_be_bytes(self) -> [u8; 1] {
                [self.code()]
            }
        }

        impl $crate::codec::FieldValue<1> for $Name {
            const CODES: &'static [u8] = &[$($code),*];

            #[inline]
            fn shown(self, _: &[u8; 1]) -> $crate::render::Value<'_> {
                $crate::render::Value::Numbered(self.code(), self.name())
            }
        }
    };
}
