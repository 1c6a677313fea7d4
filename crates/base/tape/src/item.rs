//! The items that a reader visits: messages, and the numbers of messages that it cannot have.

use std::fmt;

use nanotape_clock::UtcNanos;

/// One step of a reader through a numbered stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item<'a> {
    /// The message with the next number.
    Message(Message<'a>),
    /// Messages that the reader cannot have. The next item has the number after them.
    Gap(Gap),
    /// Numbers that the reader has passed and that now belong to other messages. The next item has
    /// the first of these numbers, or a larger one.
    Reused(Reused),
}

/// A message with its properties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The sequence number; the first message of a stream has 1.
    pub sequence: u64,
    /// The writer's type of the payload.
    pub type_id: u16,
    /// The writer's time of the message, or `None` if the stream stores no times.
    pub ts: Option<UtcNanos>,
    /// The bytes: a copy that stays unchanged.
    pub payload: &'a [u8],
}

impl Message<'_> {
    /// The same message with other bytes.
    #[inline]
    pub fn with_payload(self, payload: &[u8]) -> Message<'_> {
        let Self { sequence, type_id, ts, .. } = self;
        Message { sequence, type_id, ts, payload }
    }
}

/// Messages that a reader cannot have: overwritten, removed, lost, or never written. Both ends are
/// included, so `from == to` is one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The first missing number.
    pub from: u64,
    /// The last missing number.
    pub to: u64,
}

impl Gap {
    /// Number of missing messages; at least one.
    pub fn count(self) -> u64 {
        self.to - self.from + 1
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lost {} messages, {} to {}", self.count(), self.from, self.to)
    }
}

/// Numbers that this reader has passed and that the stream has since given to other messages, after
/// a loss of power or a repair removed the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reused {
    /// The first reused number.
    pub from: u64,
    /// The last reused number that the reader had passed.
    pub to: u64,
}
