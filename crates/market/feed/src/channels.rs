//! What a set of channels needs of a framing besides its numbers: which channel a packet belongs
//! to, before it is decoded, and what it begins with.

pub use nanotape_wire::framing::{iextp::IexTp, pitch::Pitch};
use nanotape_wire::{
    framing::{iextp::IexSession, numbered::PacketFraming, pitch::PitchUnit},
    iex_deep, iex_deep_plus,
    iextp::SegmentHeader,
    pitch::{EndOfSession, SequencedUnitHeader},
};

use crate::{Feed, carried::Carried};

/// A framing whose packets belong to channels.
pub trait ChannelFraming: PacketFraming {
    /// What the header of a packet of a feed says; `None` for a packet of another feed, or none.
    fn peek(feed: Feed, bytes: &[u8]) -> Option<Peek>;

    /// What the messages of a session belong to.
    fn carried(session: Self::Session) -> Carried;

    /// The numbers of a packet, as a receiver counts that expects this one, and its message 1 if it
    /// has it; `None` for one that does not follow its format.
    fn place(bytes: &[u8], expected: u64) -> Option<PacketPlace<'_>> {
        let packet = Self::decode(bytes).ok()?.nearest(expected);
        let start = packet.messages().next().filter(|(number, _)| *number == 1);
        let (first, next) = (packet.first, packet.next());
        Some(PacketPlace { first, next, start: start.map(|(_, message)| message) })
    }

    /// How lines for an operator about a channel begin.
    fn label(key: u8) -> String;

    /// Whether this is the last message of a channel.
    fn is_end(message: &[u8]) -> bool;
}

/// The place of a packet in its channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketPlace<'a> {
    /// The number of its first message.
    pub first: u64,
    /// One above that of its last message.
    pub next: u64,
    /// Its message 1.
    pub start: Option<&'a [u8]>,
}

/// What the header of a packet says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peek {
    /// Its channel.
    pub key: u8,
    /// The number of its first message, as it is written.
    pub first: u64,
    /// Whether it has messages.
    pub has_messages: bool,
}

impl ChannelFraming for Pitch {
    #[inline]
    fn peek(_: Feed, bytes: &[u8]) -> Option<Peek> {
        let (header, _) = SequencedUnitHeader::wrap_first(bytes).ok()?;
        let has_messages = header.message_count() > 0;
        let (key, first) = (header.unit(), header.sequence_number().into());
        // Unit 0 stands for no unit, and has no numbers.
        (key > 0).then_some(Peek { key, first, has_messages })
    }

    fn carried(unit: PitchUnit) -> Carried {
        Carried::Pitch(unit)
    }

    fn label(key: u8) -> String {
        format!("unit {key}: ")
    }

    #[inline]
    fn is_end(message: &[u8]) -> bool {
        EndOfSession::wrap(message).is_ok()
    }
}

impl ChannelFraming for IexTp {
    #[inline]
    fn peek(feed: Feed, bytes: &[u8]) -> Option<Peek> {
        let (header, _) = SegmentHeader::wrap_first(bytes).ok()?;
        let expected = match feed {
            Feed::IexDeep => iex_deep::MESSAGE_PROTOCOL_ID,
            _ => iex_deep_plus::MESSAGE_PROTOCOL_ID,
        };
        let has_messages = header.message_count() > 0;
        let first = header.first_message_sequence_number();
        let peek = Peek { key: 0, first, has_messages };
        (header.message_protocol_id() == expected).then_some(peek)
    }

    fn carried(session: IexSession) -> Carried {
        Carried::IexTp(session)
    }

    fn label(_: u8) -> String {
        String::new()
    }

    /// A system event: the end of messages.
    #[inline]
    fn is_end(message: &[u8]) -> bool {
        message.starts_with(b"SC")
    }
}
