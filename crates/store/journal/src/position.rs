//! Places in a journal, as two machines name them.

/// A place in a journal: between two excerpts of a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Position {
    /// The number of the segment; 0 before the first one.
    pub segment: u64,
    /// Bytes from the beginning of its file; 0 before its header.
    pub offset_bytes: u64,
}

impl Position {
    /// The position at a word of a segment.
    pub(crate) fn at(segment: u64, word: usize) -> Self {
        Self { segment, offset_bytes: word as u64 * 8 }
    }

    /// The word of the segment; the largest number if it is not one of any segment.
    pub(crate) fn word(self) -> usize {
        match self.offset_bytes.is_multiple_of(8) {
            true => usize::try_from(self.offset_bytes / 8).unwrap_or(usize::MAX),
            false => usize::MAX,
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "segment {}, offset {}", self.segment, self.offset_bytes)
    }
}
