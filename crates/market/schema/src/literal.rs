//! Values that are written in a schema: constants, and defaults of fields.

use std::fmt;

/// A value in a schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Literal {
    /// A whole number.
    Number(i128),
    /// Text.
    Text(String),
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) if *number > 0xffff => write!(f, "{number:#x}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}
