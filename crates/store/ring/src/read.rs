//! The result of a read: a message, nothing yet, or the exact loss.

use std::fmt;

use nanotape_tape::Gap;

/// The result of a successful read. Loss is a result, not an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Read<T> {
    /// The requested message.
    Message(T),
    /// No newer message is published.
    Empty,
    /// The writer overwrote messages that were not yet read. The next read continues after them.
    Lapped(Gap),
}

/// The properties of a message, without its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// The sequence number; the first message of a ring has 1.
    pub sequence: u64,
    /// The writer's type of the payload; the ring does not interpret it.
    pub type_id: u16,
    /// Bytes of payload.
    pub length: u32,
}

/// Why a read failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The message does not fit into the caller's buffer. It remains: read it with a larger one.
    #[error("message {sequence} has {needed} bytes, but the buffer has {given}")]
    BufferTooSmall {
        /// The sequence number.
        sequence: u64,
        /// Bytes that the message needs.
        needed: usize,
        /// Bytes of the buffer.
        given: usize,
    },
    /// The memory holds a value that no writer of this ring stores: another program wrote to it.
    #[error("the ring is damaged at word {word}: {what}{}", expected(*sequence))]
    Damaged {
        /// The word, counted from the end of the region's header.
        word: usize,
        /// The expected or next message; 0 if the damage does not concern one message.
        sequence: u64,
        /// The kind of damage.
        what: Corruption,
    },
    /// The file of the ring was truncated while it was mapped.
    #[error("the ring's file was truncated while in use; the next message was {sequence}")]
    Truncated {
        /// The next message.
        sequence: u64,
    },
}

fn expected(sequence: u64) -> String {
    match sequence {
        0 => String::new(),
        _ => format!(", expected message {sequence}"),
    }
}

/// The kind of damage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Corruption {
    /// An unknown kind of frame header.
    Header(u64),
    /// A length in bytes that does not fit at its position.
    Length(u32),
    /// An invalid position.
    Position(u64),
    /// An unexpected sequence number.
    Sequence(u64),
    /// Contradictory counters of the writer.
    Counters,
    /// No entry of the index points to a message.
    Index,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(header) => write!(f, "the header {header:#018x}"),
            Self::Length(length) => write!(f, "a length of {length} bytes"),
            Self::Position(position) => write!(f, "position {position}"),
            Self::Sequence(sequence) => write!(f, "sequence number {sequence}"),
            Self::Counters => f.write_str("contradictory counters"),
            Self::Index => f.write_str("an index without an entry for a message"),
        }
    }
}
