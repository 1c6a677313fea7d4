//! Names of structures, and the error of a name that none has.

use core::{error::Error, fmt};

/// A name that no structure has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownStructure {
    /// What was looked for: a structure of what.
    pub(super) what: &'static str,
    /// The names there are.
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

/// An enum of structures with their names, to and from text.
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
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$Variant,)*];

            /// Their names, in the same order.
            pub const NAMES: &[&str] = &[$($name,)*];

            /// The name to choose it by.
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
