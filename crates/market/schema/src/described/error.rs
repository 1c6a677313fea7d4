//! What is wrong in an XML description, and where.

use core::fmt;

use crate::problem::printable;

/// A position in a file, both from 1. A column counts bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spot {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a description cannot be read. Its text is one line.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct DescriptionError {
    /// The path of the file, as the caller gave it.
    pub path: String,
    /// The position of the mistake.
    pub spot: Spot,
    /// A description of one line.
    pub text: String,
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, spot, text } = self;
        write!(f, "{}:{spot}: {}", printable(path), printable(text))
    }
}
