//! The kinds of input.

use std::fmt;

/// The kind of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputKind {
    /// The ring of a plant, in shared memory.
    Ring,
    /// The folder of a journal that recorded a plant.
    Journal,
    /// The exchange's own messages: a day file or a capture.
    Day,
    /// A DBN file.
    Dbn,
}

impl InputKind {
    /// Its name in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Journal => "journal",
            Self::Day => "day",
            Self::Dbn => "dbn",
        }
    }
}

impl fmt::Display for InputKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ring => "a ring",
            Self::Journal => "the folder of a journal",
            Self::Day => "a day file or a capture",
            Self::Dbn => "a DBN file",
        })
    }
}
