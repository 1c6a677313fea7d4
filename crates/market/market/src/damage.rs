//! The kinds of damage to the bytes of a day, each with its offset.
//!
//! Damage is a value in the normal path, not an error. The good messages before and after it are
//! delivered, and the consumer decides how to treat it.

use core::fmt;

use crate::MessageNumbers;

/// A range of bytes that does not match the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// The record length contradicts the message type, and the next record is where the type
    /// expects it: the length was wrong, and the message was delivered.
    Length {
        /// Offset of the record.
        offset: u64,
        /// Message type.
        tag: u8,
        /// Message length by its type.
        expected_bytes: u16,
        /// The record's length field.
        actual_bytes: u16,
    },
    /// The record length contradicts the message type, and the next record is where the length
    /// expects it: the type was wrong, and the message was skipped.
    Type {
        /// Offset of the record.
        offset: u64,
        /// Message type.
        tag: u8,
        /// Message length by its type.
        expected_bytes: u16,
        /// The record's length field.
        actual_bytes: u16,
    },
    /// A record lacks bytes: the next one begins before the end that the length of the first gives.
    /// Both were delivered; the first contains bytes of the next one instead of its own.
    Short {
        /// Offset at which the next record begins.
        offset: u64,
        /// Number of bytes that the first one lacks.
        bytes: u64,
    },
    /// A record begins inside a message that was delivered, and ends with it: the message lacks as
    /// many bytes, and the record was not delivered. The decoder does not search for it; an event's
    /// [`Origin`](crate::Origin) does.
    Hidden {
        /// Offset of the record that was not delivered.
        offset: u64,
        /// Number of its bytes.
        bytes: u64,
    },
    /// The bytes here do not parse as records. Reading continues at the next position with several
    /// valid records in a row, or at the end.
    Lost {
        /// Offset of the first byte that was skipped.
        offset: u64,
        /// Number of skipped bytes.
        bytes: u64,
    },
    /// A packet was dropped, or a record of a capture does not match its format.
    Packet {
        /// Offset of the packet in the capture; 0 for one of the network.
        offset: u64,
        /// The kind of error.
        reason: &'static str,
    },
    /// A message of a session was skipped: it is too short or too long for its type, or has a value
    /// that no event can have, such as a price that no book can have.
    Message {
        /// Its sequence number.
        number: u64,
        /// Message type.
        tag: u8,
        /// Bytes of the message.
        actual_bytes: u16,
    },
    /// Messages of a session that no line brought.
    Missing {
        /// Sequence number of the first one.
        first: u64,
        /// Sequence number of the next message that was delivered.
        next: u64,
    },
}

impl Damage {
    /// The offset at which it begins; for messages of a session, the sequence number.
    pub const fn offset(&self) -> u64 {
        match *self {
            Self::Length { offset, .. }
            | Self::Type { offset, .. }
            | Self::Short { offset, .. }
            | Self::Hidden { offset, .. }
            | Self::Lost { offset, .. }
            | Self::Packet { offset, .. } => offset,
            Self::Message { number, .. } => number,
            Self::Missing { first, .. } => first,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length { offset, tag, expected_bytes, actual_bytes } => write!(
                f,
                "offset {offset}: record length {actual_bytes}, type '{}' needs {expected_bytes}: \
                 decoded as {expected_bytes} bytes, since the next record follows there",
                tag.escape_ascii()
            ),
            Self::Type { offset, tag, expected_bytes, actual_bytes } => write!(
                f,
                "offset {offset}: record length {actual_bytes}, type '{}' needs {expected_bytes}: \
                 message skipped, since the next record follows the stated length",
                tag.escape_ascii()
            ),
            Self::Short { offset, bytes } => write!(
                f,
                "offset {offset}: a record starts {bytes} bytes before the end of the previous one, \
                 which lacks bytes: decoded both"
            ),
            Self::Hidden { offset, bytes } => write!(
                f,
                "offset {offset}: a record of {bytes} bytes starts inside the previous message, which \
                 lacks bytes: record skipped"
            ),
            Self::Lost { offset, bytes } => {
                write!(f, "offset {offset}: skipped {bytes} unreadable bytes")
            }
            Self::Packet { offset, reason } => {
                write!(f, "offset {offset}: packet dropped: {reason}")
            }
            Self::Message { number, tag, actual_bytes } => write!(
                f,
                "message {number} of type '{}', {actual_bytes} bytes: its length or a value of it \
                 cannot be read: skipped",
                tag.escape_ascii()
            ),
            Self::Missing { first, next } => {
                let (numbers, count) = (MessageNumbers { first, next }, next - first);
                write!(f, "{numbers}: on no line, {count} missing")
            }
        }
    }
}
