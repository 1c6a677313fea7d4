//! A day file as a source of market events, with each event announced before its turn.

mod decoding;

use core::ops::ControlFlow;

use decoding::Decoding;
pub use decoding::FeedDecoder;
use nanotape_market::{
    Damage, EventHandler, EventSource, MarketEvent, Origin, Position, SessionChange, Turn,
};
use nanotape_types::StockLocate;
use nanotape_wire::itch50::{self, Message};

use crate::{
    DaySource, DaySummary, Feed, MessageHandler, SourceError,
    capture::{PacketMessages, PacketSink, read_if_capture},
    carried::Carried,
    day::{LookAhead, read_day_ahead},
    hidden::hidden_in,
    normalise::{Receive, deliver, market_event_of, rare_event},
    session::Messages,
    venues::NASDAQ_ITCH,
};

const NANOS_A_DAY: u64 = 86_400_000_000_000;

impl EventSource for DaySource {
    type Summary = DaySummary;
    type Error = SourceError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        mut progress: impl FnMut(&Self),
    ) -> Result<DaySummary, SourceError> {
        let day_begins_ns = self.day_begins_ns();
        let captured = CapturedEvents { handler: &mut *handler, day_begins_ns, decoding: None };
        match read_if_capture(self, captured, &mut progress)? {
            Some(summary) => Ok(summary),
            None => {
                handler.venue(NASDAQ_ITCH);
                handler.day_begins(day_begins_ns);
                read_day_ahead(self, &mut Normalised(handler), progress)
            }
        }
    }
}

/// Calls `handler` with the event of one message of a live feed, which has no look-ahead.
///
/// The handler is passed by value, so that a small one stays in registers; `&mut H` also implements
/// the trait.
#[inline(always)]
pub fn handle_message(
    at: Position,
    message: &Message<'_>,
    mut handler: impl EventHandler,
) -> ControlFlow<()> {
    if let Some(stock_locate) = message.stock_locate() {
        handler.prefetch_stock(stock_locate);
    }
    deliver(message, Handling { at, handler })
}

/// Messages that are announced together.
const ANNOUNCED: usize = 16;

/// Calls `handler` with the events of consecutive messages of a session, of which the first one has
/// number `first`. They came together, so each is announced before its turn.
#[inline]
pub fn handle_messages<'a>(
    first: u64,
    messages: impl Messages<'a>,
    handler: &mut impl EventHandler,
) -> ControlFlow<()> {
    let (mut rest, mut number) = (messages, first);
    loop {
        let mut hints = [None; ANNOUNCED];
        let together = rest.clone().take(ANNOUNCED);
        let is_alone = together.clone().nth(1).is_none();
        if !is_alone {
            for (hint, message) in hints.iter_mut().zip(together) {
                *hint = itch50::coming(message).and_then(|coming| handler.prefetch_index(coming));
            }
            hints.iter_mut().flatten().for_each(|hint| handler.prefetch_order(hint));
            hints.iter().flatten().for_each(|hint| handler.prefetch_levels(hint));
        }
        for _ in 0..ANNOUNCED {
            let Some(bytes) = rest.next() else { return ControlFlow::Continue(()) };
            let at = Position { number, offset: number };
            number += 1;
            match Message::decode(bytes) {
                Ok(message) if is_alone => handle_message(at, &message, &mut *handler)?,
                Ok(message) => deliver(&message, Handling { at, handler: &mut *handler })?,
                Err(_) => handler.damage(undecodable(at.number, bytes)),
            }
        }
    }
}

/// Calls `handler` with the events of consecutive messages that do not come in their turn.
#[cold]
pub fn handle_out_of_turn<'a>(
    first: u64,
    messages: impl Messages<'a>,
    turn: Turn,
    handler: &mut impl EventHandler,
) -> ControlFlow<()> {
    for (number, bytes) in (first..).zip(messages) {
        match Message::decode(bytes) {
            Ok(message) => {
                let at = Position { number, offset: number };
                let event = market_event_of(&message, handler.day_begins_ns());
                handler.out_of_turn(at, &event, turn)?;
            }
            Err(_) if turn == Turn::Again => {}
            Err(_) => handler.damage(undecodable(number, bytes)),
        }
    }
    ControlFlow::Continue(())
}

#[cold]
pub(crate) fn undecodable(number: u64, bytes: &[u8]) -> Damage {
    let tag = bytes.first().copied().unwrap_or_default();
    Damage::Message { number, tag, actual_bytes: bytes.len() as u16 }
}

/// Passes the event of a message to its handler.
struct Handling<H> {
    at: Position,
    handler: H,
}

impl<H: EventHandler> Receive for Handling<H> {
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn day_begins_ns(&self) -> u64 {
        self.handler.day_begins_ns()
    }

    #[inline(always)]
    fn order(mut self, event: MarketEvent, bytes: &[u8]) -> ControlFlow<()> {
        let origin = MessageOrigin { bytes, offset: self.at.offset };
        self.handler.event(self.at, &event, origin)
    }

    #[inline(always)]
    fn rare(self, bytes: &[u8]) -> ControlFlow<()> {
        let Position { number, offset } = self.at;
        handle_rare(self.handler, number, offset, bytes)
    }
}

#[cold]
#[inline(never)]
fn handle_rare<H: EventHandler>(
    mut handler: H,
    number: u64,
    offset: u64,
    bytes: &[u8],
) -> ControlFlow<()> {
    let origin = MessageOrigin { bytes, offset };
    let event = rare_event(bytes, handler.day_begins_ns());
    handler.event(Position { number, offset }, &event, origin)
}

/// Passes the messages of a day to a handler of events.
struct Normalised<'a, H>(&'a mut H);

impl<H: EventHandler> MessageHandler for Normalised<'_, H> {
    #[inline(always)]
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        deliver(&message, Handling { at: position, handler: &mut *self.0 })
    }

    fn damage(&mut self, damage: Damage) {
        self.0.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.0.idle()
    }
}

/// Passes the messages of a capture to a handler of events.
struct CapturedEvents<'a, H> {
    handler: &'a mut H,
    day_begins_ns: u64,
    /// `None` before the first messages.
    decoding: Option<Decoding>,
}

impl<H: EventHandler> PacketSink for CapturedEvents<'_, H> {
    fn begins(&mut self, feed: Feed) {
        self.handler.venue(feed.venue());
        self.handler.day_begins(self.day_begins_ns);
        self.decoding = Some(Decoding::begin(feed, self.day_begins_ns));
    }

    fn messages(&mut self, ts_recv_ns: u64, messages: &PacketMessages<'_, '_>) -> ControlFlow<()> {
        self.handler.received(ts_recv_ns);
        match &mut self.decoding {
            Some(decoding) => decoding.messages(messages, self.handler),
            None => ControlFlow::Continue(()),
        }
    }

    fn restarted(&mut self, channel: Carried) {
        if let Some(decoding) = &mut self.decoding {
            decoding.restarted(channel);
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.handler.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.handler.idle()
    }

    fn session(&mut self, change: &SessionChange) {
        self.handler.session(change);
    }
}

impl<H: EventHandler> LookAhead for Normalised<'_, H> {
    type Hint = Option<H::Hint>;

    #[inline(always)]
    fn prefetch_index(&mut self, message: &[u8]) -> Option<H::Hint> {
        itch50::coming(message).and_then(|coming| self.0.prefetch_index(coming))
    }

    #[inline(always)]
    fn prefetch_order(&mut self, hint: &mut Option<H::Hint>) {
        if let Some(hint) = hint {
            self.0.prefetch_order(hint);
        }
    }

    #[inline(always)]
    fn prefetch_levels(&mut self, hint: &Option<H::Hint>) {
        if let Some(hint) = hint {
            self.0.prefetch_levels(hint);
        }
    }
}

/// The message that an event was made from.
#[derive(Clone, Copy)]
struct MessageOrigin<'a> {
    bytes: &'a [u8],
    offset: u64,
}

impl Origin for MessageOrigin<'_> {
    const HAS_EVERY_KIND: bool = false;

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.bytes
    }

    #[inline(always)]
    fn hidden_record(self, is_listed: impl Fn(StockLocate) -> bool) -> Option<Damage> {
        plausible_hidden_in(self.bytes, self.offset, is_listed)
    }
}

/// A hidden record whose stock and time are plausible.
#[cold]
#[inline(never)]
fn plausible_hidden_in(
    bytes: &[u8],
    offset: u64,
    is_listed: impl Fn(StockLocate) -> bool,
) -> Option<Damage> {
    let (damage, inner) = hidden_in(bytes, offset)?;
    let is_of_a_listed_stock = inner.stock_locate().is_some_and(is_listed);
    let is_of_a_day = inner.timestamp().is_some_and(|time| time.get() < NANOS_A_DAY);
    (is_of_a_listed_stock && is_of_a_day).then_some(damage)
}
