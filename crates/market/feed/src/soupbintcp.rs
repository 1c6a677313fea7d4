//! SoupBinTCP sessions as state machines: a client and a server without a socket or a clock.
//!
//! Where: the caller owns the TCP connection. It passes the bytes that arrived and a time, sends
//! the bytes that a machine has for the other side, and calls `poll` at the next deadline.
//!
//! ```text
//!           receive(bytes, now) -> events            output() -> bytes to send
//!  socket ----------------------------->  machine  ----------------------------> socket
//!           poll(now)  at next_deadline()            sent(count, now)
//! ```
//!
//! Times are nanoseconds of any clock that does not go back.
//! Bounds: a machine keeps at most one incomplete packet ([`MAX_PACKET_BYTES`]) and its output,
//! which has a maximum. It reports a full output and never grows beyond it.
//! Failure: a machine closes for one reason, which [`Client::closed`] and [`Server::closed`]
//! return. It then ignores what arrives.
//! Cost: one copy of a packet that arrives in pieces, none of a whole one.

mod client;
mod connection;
mod fetch;
mod server;
mod stream;

pub use client::{Client, ClientClosed, ClientEvent, ClientOptions, Resume};
pub use connection::{SessionEnd, attended_ns, run_session};
pub use fetch::{FetchError, MESSAGES_IN_TIME, fetch_messages};
use nanotape_types::Alpha;
use nanotape_wire::DecodeError;
pub use server::{MessageStore, Server, ServerClosed, ServerEvent, ServerOptions};

/// Bytes of the longest packet: its length field and 65,535 more.
pub const MAX_PACKET_BYTES: usize = 2 + u16::MAX as usize;

/// Bytes of the longest message of a packet.
pub const MAX_MESSAGE_BYTES: usize = u16::MAX as usize - 1;

/// A side that has sent nothing for this long sends a heartbeat.
pub const HEARTBEAT_NS: u64 = 1_000_000_000;

/// A side that has received nothing for this long closes the connection.
pub const SILENCE_NS: u64 = 15_000_000_000;

/// A server that has no login request after this time closes the connection.
pub const LOGIN_NS: u64 = 30_000_000_000;

/// A packet that breaks the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The length field is 0, so the rest of the stream cannot be split.
    #[error("a packet of length 0")]
    EmptyPacket,
    /// A packet is not valid for its type.
    #[error(transparent)]
    Packet(#[from] DecodeError),
    /// A packet of this type is not allowed in this state or direction.
    #[error("a packet of type {:?} that is not allowed here", *.0 as char)]
    Unexpected(u8),
    /// A decimal number is blank, 0 where that is invalid, not decimal, or too large.
    #[error("an invalid decimal number in a packet of type {:?}", *.0 as char)]
    Number(u8),
    /// The sequence number of a message would exceed 64 bits.
    #[error("a message after sequence number 18446744073709551615")]
    NumbersExhausted,
}

/// The output has no room for a packet. Send what is in it, then retry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the packet needs {need} bytes of output, {room} are free")]
pub struct OutputFull {
    /// Bytes of the packet.
    pub need: usize,
    /// Free bytes.
    pub room: usize,
}

/// Whether two session names are equal without their padding, which servers put on either side.
pub(crate) fn is_same_session(left: Alpha<10>, right: Alpha<10>) -> bool {
    left.as_bytes().trim_ascii() == right.as_bytes().trim_ascii()
}

/// Says that a server has another session than the lines.
pub(crate) fn other_session(found: Alpha<10>, expected: Alpha<10>) -> String {
    let [found, expected] =
        [found, expected].map(|name| name.as_bytes().trim_ascii().escape_ascii().to_string());
    format!("the server has session {found}, the lines have session {expected}")
}

/// Whether a session name is blank: the current session.
fn is_blank(session: Alpha<10>) -> bool {
    session.as_bytes().trim_ascii().is_empty()
}
