//! What a check of everything in a ring has seen.

/// What was checked and found good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Verified {
    /// Index entries that lead where they should; a slot ring has no index.
    pub entries: u64,
    /// Messages whose frame or slot is as it should be, and whose numbers follow each other.
    pub messages: u64,
    /// Frames that fill the end of a lap.
    pub paddings: u64,
    /// The first message of the last stretch without a lap.
    pub first_sequence: u64,
    /// The message behind the last one that was checked.
    pub next_sequence: u64,
    /// How often the writer overwrote what was just looked at. That is no damage.
    pub overtaken: u64,
}

impl Verified {
    /// A stretch of messages begins.
    pub(crate) fn begin(&mut self, sequence: u64) {
        (self.first_sequence, self.next_sequence) = (sequence, sequence);
    }

    /// A message is good.
    pub(crate) fn message(&mut self, sequence: u64) {
        self.messages += 1;
        self.next_sequence = sequence + 1;
    }
}
