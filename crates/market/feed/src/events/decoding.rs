//! What makes events of the messages of a capture, whatever its feed.

use core::ops::{ControlFlow, Range};

use nanotape_market::{ChannelMessages, EventHandler, Position};
use nanotape_wire::framing::numbered::{NumberedPacket, PacketFraming};

use super::handle_messages;
use crate::{
    Feed,
    capture::{AnyPacket, PacketMessages, messages_of},
    carried::Carried,
    protocols::{IexDeep, IexDeepPlus, IexTops, Pitch, Place, Protocol},
};

/// What makes events of the messages of a feed.
pub(crate) enum Decoding {
    Itch,
    IexDeep(Box<<IexDeep as Protocol>::State>),
    IexDeepPlus(Box<<IexDeepPlus as Protocol>::State>),
    IexTops(Box<<IexTops as Protocol>::State>),
    Pitch(Box<<Pitch as Protocol>::State>),
}

impl Decoding {
    /// The decoding of a feed from the first message of a day on, which begins at this time.
    pub(crate) fn begin(feed: Feed, day_begins_ns: u64) -> Self {
        match feed {
            Feed::Itch => Self::Itch,
            Feed::IexDeep => Self::IexDeep(Box::new(IexDeep::begin(day_begins_ns))),
            Feed::IexDeepPlus => Self::IexDeepPlus(Box::new(IexDeepPlus::begin(day_begins_ns))),
            Feed::IexTops => Self::IexTops(Box::new(IexTops::begin(day_begins_ns))),
            Feed::Pitch => Self::Pitch(Box::new(Pitch::begin(day_begins_ns))),
        }
    }

    /// Calls `handler` with the events of messages. Those of another framing are of another feed.
    pub(crate) fn messages(
        &mut self,
        messages: &PacketMessages<'_, '_>,
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        match (self, &messages.packet) {
            (Self::Itch, AnyPacket::MoldUdp64(packet)) => {
                let these = messages_of(packet, messages.numbers.clone());
                handle_messages(messages.first, these, handler)
            }
            (Self::IexDeep(state), AnyPacket::IexTp(packet)) => {
                deliver::<IexDeep>(state, messages, packet, handler)
            }
            (Self::IexDeepPlus(state), AnyPacket::IexTp(packet)) => {
                deliver::<IexDeepPlus>(state, messages, packet, handler)
            }
            (Self::IexTops(state), AnyPacket::IexTp(packet)) => {
                deliver::<IexTops>(state, messages, packet, handler)
            }
            (Self::Pitch(state), AnyPacket::Pitch(packet)) => {
                deliver::<Pitch>(state, messages, packet, handler)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Decoding {
    /// A channel begins again.
    #[cold]
    pub(crate) fn restarted(
        &mut self,
        number: u64,
        channel: Carried,
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        let at = Position { number, offset: number };
        match (self, channel) {
            (Self::IexDeep(state), Carried::IexTp(channel)) => {
                IexDeep::restart(state, Place { at, channel }, handler)
            }
            (Self::IexDeepPlus(state), Carried::IexTp(channel)) => {
                IexDeepPlus::restart(state, Place { at, channel }, handler)
            }
            (Self::IexTops(state), Carried::IexTp(channel)) => {
                IexTops::restart(state, Place { at, channel }, handler)
            }
            (Self::Pitch(state), Carried::Pitch(channel)) => {
                Pitch::restart(state, Place { at, channel }, handler)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn deliver<P: Protocol>(
    state: &mut P::State,
    messages: &PacketMessages<'_, '_>,
    packet: &NumberedPacket<'_, P::Framing>,
    handler: &mut impl EventHandler,
) -> ControlFlow<()> {
    let these = messages_of(packet, messages.numbers.clone());
    handler.of_channel(&ChannelMessages {
        channel: P::channel(packet.session),
        first: messages.numbers.start,
        next: messages.numbers.end,
        bytes: bytes_of(packet, &messages.numbers),
        number: messages.first,
    });
    for (number, bytes) in (messages.first..).zip(these) {
        let at = Position { number, offset: number };
        P::deliver(state, Place { at, channel: packet.session }, bytes, handler)?;
    }
    ControlFlow::Continue(())
}

/// The place of messages of a packet among the bytes of their channel.
#[inline]
fn bytes_of<F: PacketFraming>(
    packet: &NumberedPacket<'_, F>,
    numbers: &Range<u64>,
) -> Option<(u64, u64)> {
    let whole = (packet.stream_offset?, packet.next_stream_offset()?);
    if (packet.first, packet.next()) == (numbers.start, numbers.end) {
        return Some(whole);
    }
    bytes_of_some(packet, numbers, whole)
}

/// The same for a packet of which other messages came before.
#[cold]
fn bytes_of_some<F: PacketFraming>(
    packet: &NumberedPacket<'_, F>,
    numbers: &Range<u64>,
    whole: (u64, u64),
) -> Option<(u64, u64)> {
    let length_bytes = if F::LENGTH.is_in_message() { 0 } else { 2 };
    let bytes_before = |number: u64| {
        let before = packet.messages().take_while(|(of, _)| *of < number);
        before.map(|(_, message)| length_bytes + message.len() as u64).sum::<u64>()
    };
    let at = |number| whole.0.saturating_add(bytes_before(number));
    Some((at(numbers.start), at(numbers.end)))
}
