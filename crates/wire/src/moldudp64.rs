//! MoldUDP64: the generated structures, and the meaning of their numbers.
//!
//! [`crate::framing::moldudp64`] reads and writes whole packets. The offset tables are in
//! `docs/protocols/moldudp64.md`.

pub use crate::generated::moldudp64::*;

/// The message count that ends a session.
pub const END_OF_SESSION: u16 = u16::MAX;

/// The kind of a downstream packet, by its message count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketKind {
    /// No message; the sequence number is that of the next one.
    Heartbeat,
    /// At least one message.
    Data,
    /// No message, and no later one.
    EndOfSession,
}

impl DownstreamHeader<'_> {
    /// The kind of packet.
    pub fn kind(self) -> PacketKind {
        match self.message_count() {
            0 => PacketKind::Heartbeat,
            END_OF_SESSION => PacketKind::EndOfSession,
            _ => PacketKind::Data,
        }
    }

    /// Message blocks in the packet: the message count, or none at the end of the session.
    pub fn block_count(self) -> u16 {
        match self.message_count() {
            END_OF_SESSION => 0,
            count => count,
        }
    }
}
