//! What a read gives: a message, nothing yet, or exactly what was lost.

use std::fmt;

use nanotape_tape::Gap;

/// The answer of a read that did not fail. Loss is an answer, not an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Read<T> {
    /// What was asked for.
    Message(T),
    /// Nothing has been published after what this reader has read.
    Empty,
    /// The writer overwrote messages that this reader had not read. The next read goes on after
    /// them.
    Lapped(Gap),
}

/// What is known of a message beside its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Its sequence number; the first message of a ring has 1.
    pub sequence: u64,
    /// What the writer says the payload is; the ring does not look at it.
    pub type_id: u16,
    /// Bytes of payload.
    pub length: u32,
}

/// Why a read failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The message does not fit in what the caller gave. It is still there: read it with more.
    #[error("message {sequence} has {needed} bytes, but the buffer has {given}")]
    BufferTooSmall {
        /// Its sequence number.
        sequence: u64,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that there were.
        given: usize,
    },
    /// The memory holds what no writer of this ring puts there: something else wrote to it.
    #[error("the ring is damaged at word {word}: {what}{}", expected(*sequence))]
    Damaged {
        /// Which word, counted behind the region's header.
        word: usize,
        /// The message that should have been there, or would have come next; 0 where what is
        /// damaged is not about one message.
        sequence: u64,
        /// What was found.
        what: Damage,
    },
    /// The file under the ring became shorter while it was mapped.
    #[error("the ring's file was truncated while in use; the next message was {sequence}")]
    Truncated {
        /// The message that would have come next.
        sequence: u64,
    },
}

fn expected(sequence: u64) -> String {
    match sequence {
        0 => String::new(),
        _ => format!(", expected message {sequence}"),
    }
}

/// What was found in place of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Damage {
    /// A frame header of no known kind.
    Header(u64),
    /// A length that the ring cannot hold there, in bytes.
    Length(u32),
    /// A position that does not belong there.
    Position(u64),
    /// Another sequence number.
    Sequence(u64),
    /// Counters of the writer that contradict each other.
    Counters,
    /// No entry of the index leads to a message.
    Index,
}

impl fmt::Display for Damage {
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
