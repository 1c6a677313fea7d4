//! The interface from a source of events to its consumer, with the origin of each event.

use core::ops::{ControlFlow, Range};

use nanotape_types::{Coming, OrderReferenceNumber, StockLocate, Symbol};

use crate::{Damage, Doubt, MarketEvent, MarketSnapshot, SessionChange, Turn, Venue};

/// The position of an event in its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Number of the message, from 1, counting every record.
    pub number: u64,
    /// Offset of its record in the (decompressed) stream of a file, its sequence number in a
    /// journal.
    pub offset: u64,
}

/// Some messages of one packet, the next ones of their channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelMessages {
    /// One of the channels of a feed that has several, such as the units of an exchange.
    pub channel: u32,
    /// The number of the first one in its channel.
    pub first: u64,
    /// The number of the message after the last one in the channel.
    pub next: u64,
    /// Their bytes among those of the channel, from the first up to the one after the last, if the
    /// packets of the feed count bytes.
    pub bytes: Option<(u64, u64)>,
    /// The number of the first one among the messages of all channels, as in a [`Position`].
    pub number: u64,
}

/// Consumes the events of a source.
///
/// A source that has coming messages announces each of them three times before it delivers it, so
/// that a handler can prefetch data for the event. An announced event might be damaged, and might
/// never come. A source without coming messages only calls [`event`](Self::event).
pub trait EventHandler {
    /// The handler's state for a coming event, from one announcement to the next.
    type Hint: Copy;

    /// One event, in the order of the source. `Break` ends the reading.
    fn event(&mut self, at: Position, event: &MarketEvent, origin: impl Origin) -> ControlFlow<()>;

    /// The events are those of this venue. A source of an exchange's messages calls it before its
    /// first event.
    fn venue(&mut self, venue: &'static Venue) {
        let _ = venue;
    }

    /// Times of day count from this time on, in ns since the UNIX epoch. A source calls it before
    /// its first event, if it knows the day.
    fn day_begins(&mut self, unix_ns: u64) {
        let _ = unix_ns;
    }

    /// When the day begins, as [`day_begins`](Self::day_begins) has stated it. Events of messages
    /// that have times of day count from there: with 0, of a handler that does not keep it, from
    /// midnight.
    #[inline(always)]
    fn day_begins_ns(&self) -> u64 {
        0
    }

    /// The source has the symbol of an instrument outside of any event.
    fn name(&mut self, stock_locate: StockLocate, symbol: Symbol) {
        let _ = (stock_locate, symbol);
    }

    /// The events from now on were received at this time, in ns since the UNIX epoch. A source
    /// without receive times does not call it.
    fn received(&mut self, ts_recv_ns: u64) {
        let _ = ts_recv_ns;
    }

    /// A packet that was received at this time is at hand. Its events follow after
    /// [`received`](Self::received), or later if earlier ones are missing, or never. A source
    /// without packets does not call it.
    #[inline(always)]
    fn arrived(&mut self, ts_recv_ns: u64) {
        let _ = ts_recv_ns;
    }

    /// The events from now on are those of these messages. A source calls it if its feed can have
    /// several channels, or counts bytes.
    #[inline(always)]
    fn of_channel(&mut self, messages: &ChannelMessages) {
        let _ = messages;
    }

    /// A line of a live session, 0 for line A, brought the messages with these numbers, first or
    /// again. Those that no line had brought before are events as well.
    #[inline(always)]
    fn brought(&mut self, line: usize, numbers: Range<u64>, ts_recv_ns: u64) {
        let _ = (line, numbers, ts_recv_ns);
    }

    /// A part of the source is unreadable.
    fn damage(&mut self, damage: Damage);

    /// Messages of a live session are missing, or came after all.
    fn session(&mut self, change: &SessionChange) {
        let _ = change;
    }

    /// Some books are in doubt from the next event on, or are not any more.
    fn doubt(&mut self, doubt: Doubt) {
        let _ = doubt;
    }

    /// The snapshot takes the place of all earlier events: books that differ from it are replaced.
    fn restore(&mut self, snapshot: &MarketSnapshot) {
        let _ = snapshot;
    }

    /// An event of a live session that does not wait for its turn. [`caught_up`](Self::caught_up)
    /// ends a sequence of them. A handler without it has no books, or no such source.
    fn out_of_turn(&mut self, at: Position, event: &MarketEvent, turn: Turn) -> ControlFlow<()> {
        let _ = (at, event, turn);
        ControlFlow::Continue(())
    }

    /// The snapshot takes the place of all earlier events, and later ones were there ahead of their
    /// turn: they come again.
    fn restore_behind(&mut self, snapshot: &MarketSnapshot) {
        let _ = snapshot;
    }

    /// All events before number `next` that were there ahead of their turn have come again. Without
    /// `is_whole` some before it are lost, and no snapshot has their place.
    fn caught_up(&mut self, next: u64, is_whole: bool) {
        let _ = (next, is_whole);
    }

    /// The source was idle for its whole patience. `Break` ends the reading.
    fn idle(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// An event of this instrument follows immediately, without another announcement: time to load
    /// the price levels of both sides.
    #[inline(always)]
    fn prefetch_stock(&mut self, stock_locate: StockLocate) {
        let _ = stock_locate;
    }

    /// An event about this order comes soon: time to load the order.
    #[inline(always)]
    fn prefetch_known(&mut self, reference: OrderReferenceNumber) {
        let _ = reference;
    }

    /// The same order was announced before: time to load the levels of its side.
    #[inline(always)]
    fn prefetch_side_of(&mut self, reference: OrderReferenceNumber) {
        let _ = reference;
    }

    /// First announcement: time to load the index entry of the order. A handler that needs no data
    /// returns `None`, and gets no further announcement.
    #[inline(always)]
    fn prefetch_index(&mut self, coming: Coming) -> Option<Self::Hint> {
        let _ = coming;
        None
    }

    /// Second announcement: time to load the order.
    #[inline(always)]
    fn prefetch_order(&mut self, hint: &mut Self::Hint) {
        let _ = hint;
    }

    /// Third announcement: time to load the price levels of the order.
    #[inline(always)]
    fn prefetch_levels(&mut self, hint: &Self::Hint) {
        let _ = hint;
    }
}

/// The methods of an [`EventHandler`] that hands everything but its events on to another one:
/// `forward_events!(|own| own.handler);`.
#[macro_export]
macro_rules! forward_events {
    (|$own:ident| $handler:expr) => {
        fn venue(&mut self, venue: &'static $crate::Venue) {
            let $own = self;
            $handler.venue(venue);
        }

        fn day_begins(&mut self, unix_ns: u64) {
            let $own = self;
            $handler.day_begins(unix_ns);
        }

        #[inline(always)]
        fn day_begins_ns(&self) -> u64 {
            let $own = self;
            $handler.day_begins_ns()
        }

        fn name(
            &mut self,
            stock_locate: $crate::forward::StockLocate,
            symbol: $crate::forward::Symbol,
        ) {
            let $own = self;
            $handler.name(stock_locate, symbol);
        }

        #[inline(always)]
        fn received(&mut self, ts_recv_ns: u64) {
            let $own = self;
            $handler.received(ts_recv_ns);
        }

        #[inline(always)]
        fn arrived(&mut self, ts_recv_ns: u64) {
            let $own = self;
            $handler.arrived(ts_recv_ns);
        }

        #[inline(always)]
        fn of_channel(&mut self, messages: &$crate::ChannelMessages) {
            let $own = self;
            $handler.of_channel(messages);
        }

        #[inline(always)]
        fn brought(&mut self, line: usize, numbers: core::ops::Range<u64>, ts_recv_ns: u64) {
            let $own = self;
            $handler.brought(line, numbers, ts_recv_ns);
        }

        fn damage(&mut self, damage: $crate::Damage) {
            let $own = self;
            $handler.damage(damage);
        }

        fn session(&mut self, change: &$crate::SessionChange) {
            let $own = self;
            $handler.session(change);
        }

        fn doubt(&mut self, doubt: $crate::Doubt) {
            let $own = self;
            $handler.doubt(doubt);
        }

        fn restore(&mut self, snapshot: &$crate::MarketSnapshot) {
            let $own = self;
            $handler.restore(snapshot);
        }

        fn out_of_turn(
            &mut self,
            at: $crate::Position,
            event: &$crate::MarketEvent,
            turn: $crate::Turn,
        ) -> core::ops::ControlFlow<()> {
            let $own = self;
            $handler.out_of_turn(at, event, turn)
        }

        fn restore_behind(&mut self, snapshot: &$crate::MarketSnapshot) {
            let $own = self;
            $handler.restore_behind(snapshot);
        }

        fn caught_up(&mut self, next: u64, is_whole: bool) {
            let $own = self;
            $handler.caught_up(next, is_whole);
        }

        fn idle(&mut self) -> core::ops::ControlFlow<()> {
            let $own = self;
            $handler.idle()
        }

        #[inline(always)]
        fn prefetch_stock(&mut self, stock_locate: $crate::forward::StockLocate) {
            let $own = self;
            $handler.prefetch_stock(stock_locate);
        }

        #[inline(always)]
        fn prefetch_known(&mut self, reference: $crate::forward::OrderReferenceNumber) {
            let $own = self;
            $handler.prefetch_known(reference);
        }

        #[inline(always)]
        fn prefetch_side_of(&mut self, reference: $crate::forward::OrderReferenceNumber) {
            let $own = self;
            $handler.prefetch_side_of(reference);
        }

        #[inline(always)]
        fn prefetch_index(&mut self, coming: $crate::forward::Coming) -> Option<Self::Hint> {
            let $own = self;
            $handler.prefetch_index(coming)
        }

        #[inline(always)]
        fn prefetch_order(&mut self, hint: &mut Self::Hint) {
            let $own = self;
            $handler.prefetch_order(hint);
        }

        #[inline(always)]
        fn prefetch_levels(&mut self, hint: &Self::Hint) {
            let $own = self;
            $handler.prefetch_levels(hint);
        }
    };
}

impl<H: EventHandler> EventHandler for &mut H {
    type Hint = H::Hint;

    #[inline(always)]
    fn event(&mut self, at: Position, event: &MarketEvent, origin: impl Origin) -> ControlFlow<()> {
        (**self).event(at, event, origin)
    }

    forward_events!(|handler| (**handler));
}

/// The source bytes of an event, for handlers that examine an event that fits no book.
pub trait Origin: Copy {
    /// Whether the source can have events that no message of ITCH makes: an order without its
    /// stock, a change in several parts, a cleared book, a modified order, a price level. Without
    /// them, a handler leaves out their code: in a day of ITCH it costs 7 instructions a message.
    const HAS_EVERY_KIND: bool = true;

    /// Whether messages about a known order may state no stock.
    const LACKS_STOCKS: bool = false;

    /// The message as the exchange sent it; empty if the source does not have it.
    fn bytes(&self) -> &[u8];

    /// The damage, if the message lacks bytes and contains a whole later record instead.
    /// `is_listed` returns whether a stock locate is known.
    fn hidden_record(self, is_listed: impl Fn(StockLocate) -> bool) -> Option<Damage>;
}

/// The origin of an event without bytes.
#[derive(Clone, Copy, Debug)]
pub struct NoOrigin;

impl Origin for NoOrigin {
    fn bytes(&self) -> &[u8] {
        &[]
    }

    fn hidden_record(self, _: impl Fn(StockLocate) -> bool) -> Option<Damage> {
        None
    }
}

/// A day of events: a file of an exchange, or a journal of records.
pub trait EventSource {
    /// The result of the reading.
    type Summary;
    /// The error that ended the reading early.
    type Error;

    /// Reads events into `handler` until the source ends or the handler breaks. `progress` is
    /// called about once a megabyte.
    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        progress: impl FnMut(&Self),
    ) -> Result<Self::Summary, Self::Error>;
}
