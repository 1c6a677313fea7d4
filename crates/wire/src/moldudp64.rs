//! MoldUDP64: the generated structures, and what their numbers mean.
//!
//! Whole packets are read and written in [`crate::framing::moldudp64`]. The offset tables are in
//! `docs/protocols/moldudp64.md`.

pub use crate::generated::moldudp64::*;

/// The message count that ends a session.
pub const END_OF_SESSION: u16 = u16::MAX;

/// What a downstream packet is, by its message count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketKind {
    /// No message; the sequence number is that of the next one.
    Heartbeat,
    /// One message or more.
    Data,
    /// No message and none to come.
    EndOfSession,
}

impl DownstreamHeader<'_> {
    /// What the packet is.
    pub fn kind(self) -> PacketKind {
        match self.message_count() {
            0 => PacketKind::Heartbeat,
            END_OF_SESSION => PacketKind::EndOfSession,
            _ => PacketKind::Data,
        }
    }

    /// Message blocks that follow: the message count, but none at the end of the session.
    pub fn block_count(self) -> u16 {
        match self.message_count() {
            END_OF_SESSION => 0,
            count => count,
        }
    }
}
