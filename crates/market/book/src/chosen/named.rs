//! Names of structures, and the error for an unknown name.

use core::{error::Error, fmt};

/// The name is not a structure's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownStructure {
    /// What kind of structure was requested.
    pub(super) what: &'static str,
    /// The valid names.
    pub(super) names: &'static [&'static str],
}

impl fmt::Display for UnknownStructure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown structure of {}: use one of ", self.what)?;
        for (index, name) in self.names.iter().enumerate() {
            write!(f, "{}{name}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl Error for UnknownStructure {}

/// Makes an enum of structures with conversions to and from their names.
macro_rules! named {
    (
        $(#[$about:meta])*
        $Structure:ident of $what:literal {
            $($(#[$meaning:meta])* $Variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $Structure {
            $($(#[$meaning])* $Variant,)*
        }

        impl $Structure {
            /// All structures.
            pub const ALL: &[Self] = &[$(Self::$Variant,)*];

            /// Their names, in the same order.
            pub const NAMES: &[&str] = &[$($name,)*];

            /// The name of this structure.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)*
                }
            }
        }

        impl ::core::fmt::Display for $Structure {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::core::str::FromStr for $Structure {
            type Err = $crate::UnknownStructure;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                match name {
                    $($name => Ok(Self::$Variant),)*
                    _ => Err($crate::UnknownStructure { what: $what, names: Self::NAMES }),
                }
            }
        }
    };
}

pub(super) use named;
