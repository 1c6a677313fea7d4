//! The result of checking the whole contents of a ring.

/// The contents that were checked and found valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Verified {
    /// Valid index entries; a slot ring has no index.
    pub entries: u64,
    /// Messages with a valid frame or slot, whose numbers follow each other.
    pub messages: u64,
    /// Frames that fill the end of a lap.
    pub paddings: u64,
    /// Numbers without a message, which the writer skipped.
    pub skipped: u64,
    /// The first message of the last part without a lap.
    pub first_sequence: u64,
    /// The message after the last one that was checked.
    pub next_sequence: u64,
    /// Number of times that the writer overwrote messages during their check: not damage.
    pub overtaken: u64,
}

impl Verified {
    /// Begins a part at a message.
    pub(crate) fn begin(&mut self, sequence: u64) {
        (self.first_sequence, self.next_sequence) = (sequence, sequence);
    }

    /// Counts the numbers before this one, which the writer skipped.
    pub(crate) fn skip(&mut self, sequence: u64) {
        self.skipped += sequence - self.next_sequence;
        self.next_sequence = sequence;
    }

    /// Counts a valid message.
    pub(crate) fn message(&mut self, sequence: u64) {
        self.messages += 1;
        self.next_sequence = sequence + 1;
    }
}
