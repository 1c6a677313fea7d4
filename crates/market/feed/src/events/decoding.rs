//! What makes events of the messages of a capture or of a live feed, whatever its protocol.

use core::{
    fmt,
    ops::{ControlFlow, Range},
};

use nanotape_market::{ChannelMessages, EventHandler, MarketSnapshot, Position};
use nanotape_wire::framing::{
    numbered::{NumberedPacket, PacketFraming},
    pitch::PitchUnit,
};

use super::{ANNOUNCED, handle_messages};
use crate::{
    Feed,
    capture::{AnyPacket, PacketMessages, messages_of},
    carried::Carried,
    protocols::{IexDeep, IexDeepPlus, IexTops, Pitch, Place, Protocol, SpinImage},
    session::Messages,
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
    #[inline(never)]
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
                captured::<IexDeep>(state, messages, packet, handler)
            }
            (Self::IexDeepPlus(state), AnyPacket::IexTp(packet)) => {
                captured::<IexDeepPlus>(state, messages, packet, handler)
            }
            (Self::IexTops(state), AnyPacket::IexTp(packet)) => {
                captured::<IexTops>(state, messages, packet, handler)
            }
            (Self::Pitch(state), AnyPacket::Pitch(packet)) => {
                captured::<Pitch>(state, messages, packet, handler)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Decodes the messages of all channels of a feed, in the order in which they are delivered: for a
/// source that puts the packets in order itself.
pub struct FeedDecoder(Decoding);

impl fmt::Debug for FeedDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedDecoder").finish_non_exhaustive()
    }
}

impl FeedDecoder {
    /// The decoder of a feed from the first message of a day on, which begins at this time, in ns
    /// since the UNIX epoch.
    pub fn begin(feed: Feed, day_begins_ns: u64) -> Self {
        Self(Decoding::begin(feed, day_begins_ns))
    }

    /// Calls `handler` with the events of consecutive messages of a channel, of which the first has
    /// number `first` among those of all channels. Those of another feed have none.
    #[inline]
    pub fn messages<'a>(
        &mut self,
        channel: Carried,
        first: u64,
        messages: impl Messages<'a>,
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        match (&mut self.0, channel) {
            (Decoding::Itch, Carried::MoldUdp64(_)) => handle_messages(first, messages, handler),
            (Decoding::IexDeep(state), Carried::IexTp(channel)) => {
                deliver::<IexDeep>(state, channel, (first, messages), handler)
            }
            (Decoding::IexDeepPlus(state), Carried::IexTp(channel)) => {
                deliver::<IexDeepPlus>(state, channel, (first, messages), handler)
            }
            (Decoding::IexTops(state), Carried::IexTp(channel)) => {
                deliver::<IexTops>(state, channel, (first, messages), handler)
            }
            (Decoding::Pitch(state), Carried::Pitch(unit)) => {
                deliver::<Pitch>(state, unit, (first, messages), handler)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// A channel begins again: its books are empty from its next message on.
    pub fn restarted(&mut self, channel: Carried) {
        self.0.restarted(channel);
    }

    /// The books of an image of a unit of PITCH; later messages of the unit count their times from
    /// its last second. `next` is the number of the next message of all channels.
    pub fn restore(&mut self, unit: PitchUnit, image: &SpinImage, next: u64) -> MarketSnapshot {
        match &mut self.0 {
            Decoding::Pitch(state) => state.restore(unit, image, next),
            _ => MarketSnapshot { next, stocks: Some(Vec::new()), ..MarketSnapshot::default() },
        }
    }
}

impl Decoding {
    /// A channel begins again.
    #[cold]
    pub(crate) fn restarted(&mut self, channel: Carried) {
        match (self, channel) {
            (Self::IexDeep(state), Carried::IexTp(channel)) => IexDeep::restart(state, channel),
            (Self::IexDeepPlus(state), Carried::IexTp(channel)) => {
                IexDeepPlus::restart(state, channel);
            }
            (Self::IexTops(state), Carried::IexTp(channel)) => IexTops::restart(state, channel),
            (Self::Pitch(state), Carried::Pitch(channel)) => Pitch::restart(state, channel),
            _ => {}
        }
    }
}

/// Passes messages of a packet of a capture on, with their place in their channel.
fn captured<P: Protocol>(
    state: &mut P::State,
    messages: &PacketMessages<'_, '_>,
    packet: &NumberedPacket<'_, P::Framing>,
    handler: &mut impl EventHandler,
) -> ControlFlow<()> {
    handler.of_channel(&ChannelMessages {
        channel: P::channel(packet.session),
        first: messages.numbers.start,
        next: messages.numbers.end,
        bytes: bytes_of(packet, &messages.numbers),
        number: messages.first,
    });
    let these = messages_of(packet, messages.numbers.clone());
    deliver::<P>(state, packet.session, (messages.first, these), handler)
}

fn deliver<'a, P: Protocol>(
    state: &mut P::State,
    channel: <P::Framing as PacketFraming>::Session,
    (first, messages): (u64, impl Messages<'a>),
    handler: &mut impl EventHandler,
) -> ControlFlow<()> {
    let (mut rest, mut number) = (messages, first);
    loop {
        let together = || rest.clone().take(ANNOUNCED);
        for reference in together().filter_map(P::known_order) {
            handler.prefetch_known(reference);
        }
        for bytes in together() {
            if let Some(symbol) = P::symbol(bytes) {
                if let Some(stock_locate) = P::stocks(state).known(symbol) {
                    handler.prefetch_stock(stock_locate);
                }
            } else if let Some(reference) = P::known_order(bytes) {
                handler.prefetch_side_of(reference);
            }
        }
        for _ in 0..ANNOUNCED {
            let Some(bytes) = rest.next() else { return ControlFlow::Continue(()) };
            let at = Position { number, offset: number };
            P::deliver(state, Place { at, channel }, bytes, handler)?;
            number += 1;
        }
    }
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
