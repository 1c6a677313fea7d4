//! The protocols of exchanges as sources of events: decoding with state, of one message any number
//! of events.
//!
//! Where: between the packets of a feed, in order, and an [`EventHandler`]. ITCH needs no state:
//! its events are made in registers, with a look-ahead ([`normalise`](crate::normalise)), and it
//! is not one of these.
//!
//! A protocol without numbers of stocks gives them numbers in the order of their first messages,
//! one sequence for all of its channels. Times are those of the messages, or of the last message
//! of the channel that states one.

mod iex;
mod iex_deep;
mod iex_deep_plus;
mod iex_tops;
mod pitch;
mod spin;

use core::ops::ControlFlow;

pub(crate) use iex_deep::IexDeep;
pub(crate) use iex_deep_plus::IexDeepPlus;
pub(crate) use iex_tops::IexTops;
use nanotape_market::{Damage, EventHandler, EventTime, MarketEvent, Origin, Position, What};
use nanotape_types::{
    Decimal, Maybe, OrderReferenceNumber, Price, PriceScale, StockLocate, Symbol,
};
use nanotape_wire::framing::numbered::PacketFraming;
pub(crate) use pitch::Pitch;
pub use spin::{SpinError, SpinImage, SpinOrder};

use crate::{FoundLocate, SymbolLocates};

/// A protocol of an exchange.
pub(crate) trait Protocol {
    /// How its packets number messages.
    type Framing: PacketFraming;

    /// What is known between two messages, of all channels.
    type State;

    /// The number of a channel.
    fn channel(session: <Self::Framing as PacketFraming>::Session) -> u32;

    /// The state before the first message of a day that begins at this time, in ns since the UNIX
    /// epoch.
    fn begin(day_begins_ns: u64) -> Self::State;

    /// Calls `handler` with the events of a message of a channel.
    fn deliver(
        state: &mut Self::State,
        from: Place<<Self::Framing as PacketFraming>::Session>,
        bytes: &[u8],
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()>;

    /// The order that a message is about, if it is not a new one: a guess, to load it early.
    #[inline]
    fn known_order(bytes: &[u8]) -> Option<OrderReferenceNumber> {
        let _ = bytes;
        None
    }

    /// The symbol of a message about a level or a new order: a guess, to load its levels early.
    fn symbol(bytes: &[u8]) -> Option<Symbol>;

    /// The numbers of the stocks.
    fn stocks(state: &Self::State) -> &Stocks;

    /// The numbers of a channel begin again: what it had before is over, as of the time of its next
    /// message, which comes with the events of that.
    fn restart(state: &mut Self::State, channel: <Self::Framing as PacketFraming>::Session);
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<S> {
    /// Its place among the messages of all channels.
    pub(crate) at: Position,
    /// Its channel.
    pub(crate) channel: S,
}

/// The numbers of the stocks of a feed, and their places in the events.
#[derive(Debug, Default)]
pub(crate) struct Stocks {
    locates: SymbolLocates,
}

impl Stocks {
    /// The number of a stock, which it gets now if it has none; `None` if all are given.
    #[inline]
    fn locate(&mut self, symbol: Symbol) -> Option<FoundLocate> {
        self.locates.of(symbol)
    }

    /// The number of a stock that has one.
    #[inline]
    pub(crate) fn known(&self, symbol: Symbol) -> Option<StockLocate> {
        self.locates.known(symbol)
    }

    /// All numbers that are given.
    fn all(&self) -> impl Iterator<Item = StockLocate> + use<> {
        (1..=self.locates.len()).map(|locate| StockLocate::new(locate as u16))
    }
}

/// Passes the events of one message on.
struct Passing<'a, H> {
    at: Position,
    bytes: &'a [u8],
    /// Where the message has its type.
    type_at: usize,
    time: Option<EventTime>,
    handler: &'a mut H,
}

impl<H: EventHandler> Passing<'_, H> {
    /// An event of a stock, of which the message has the symbol.
    #[inline]
    fn event(
        &mut self,
        (stock_locate, symbol): (StockLocate, Maybe<Symbol>),
        is_last: bool,
        what: What,
    ) -> ControlFlow<()> {
        let event = MarketEvent { time: self.time, stock_locate, symbol, is_last, what };
        self.handler.event(self.at, &event, MessageBytes(self.bytes))
    }

    /// An event of no single stock.
    #[inline]
    fn of_market(&mut self, what: What) -> ControlFlow<()> {
        self.event((StockLocate::default(), Maybe::NONE), true, what)
    }

    /// All orders of these stocks had left before this message.
    fn clear_before(&mut self, stocks: impl Iterator<Item = StockLocate>) -> ControlFlow<()> {
        Passing { bytes: &[], handler: &mut *self.handler, ..*self }.clear(stocks)
    }

    /// All orders of these stocks left.
    fn clear(&mut self, stocks: impl Iterator<Item = StockLocate>) -> ControlFlow<()> {
        for stock_locate in stocks {
            self.event((stock_locate, Maybe::NONE), true, What::BookCleared)?;
        }
        ControlFlow::Continue(())
    }

    /// The message cannot be an event: it is too short for its type, a book cannot have its price,
    /// or there are more stocks than numbers.
    #[cold]
    fn unreadable(&mut self) -> ControlFlow<()> {
        let tag = self.bytes.get(self.type_at).copied().unwrap_or_default();
        let (number, actual_bytes) = (self.at.number, self.bytes.len() as u16);
        self.handler.damage(Damage::Message { number, tag, actual_bytes });
        ControlFlow::Continue(())
    }
}

/// A price of a book; `None` for one that is negative, too large, or between two steps. Venues that
/// are read here have [`PriceScale::WIDE`].
#[inline]
fn price_of<T: Copy + Into<i128>, const PLACES: u8>(price: Decimal<T, PLACES>) -> Option<Price> {
    PriceScale::WIDE.of_ten_thousandths(u64::try_from(price.in_units(4)?).ok()?)
}

/// A message as an exchange sent it, in a feed that can have every kind of event.
#[derive(Clone, Copy)]
struct MessageBytes<'a>(&'a [u8]);

impl Origin for MessageBytes<'_> {
    const LACKS_STOCKS: bool = true;

    fn bytes(&self) -> &[u8] {
        self.0
    }

    fn hidden_record(self, _: impl Fn(StockLocate) -> bool) -> Option<Damage> {
        None
    }
}
