//! One event of a market: the interface between a feed and its consumers.
//!
//! An event is passed by value or by reference to a local value, and is consumed through a match.
//! After inlining, a message about an order leaves no event object.
//!
//! Prices are those of the books, [`Price`].
//! `docs/decisions/0030-market-events-that-no-exchange-owns.md` lists what each of the other
//! exchanges adds.

use nanotape_types::{
    Alpha, BookEvent, Coming, MatchNumber, Maybe, Modified, NanosSinceMidnight,
    OrderReferenceNumber, Price, Shares, Side, StockLocate, Symbol, TotalShares,
};

use crate::StatusChange;

/// A time that an exchange states: ns since the UNIX epoch. A source whose messages have times of
/// day and no date counts from midnight instead; [`EventHandler::day_begins`] has the difference
/// to times of day.
///
/// [`EventHandler::day_begins`]: crate::EventHandler::day_begins
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct EventTime(u64);

impl EventTime {
    /// The time of this number of ns.
    #[inline(always)]
    pub const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The time of day, of a source without dates.
    #[inline(always)]
    pub const fn of_day(time: NanosSinceMidnight) -> Self {
        Self(time.get())
    }

    /// The number of ns.
    #[inline(always)]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The event that an exchange reported with one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarketEvent {
    /// The exchange's time; `None` if the message carries none.
    pub time: Option<EventTime>,
    /// The stock's number of the day; 0 if the event concerns no single stock. A feed
    /// whose exchange has no such number assigns one.
    pub stock_locate: StockLocate,
    /// The instrument's symbol, if the message has it.
    pub symbol: Maybe<Symbol>,
    /// Whether the books can be read after it. Otherwise it is a part of a change of its
    /// instrument whose other parts follow, as the levels that one order of an exchange changes,
    /// and the book may look crossed until then.
    pub is_last: bool,
    /// The kind of event.
    pub what: What,
}

/// The kind of event, with its details.
///
/// It is not `#[non_exhaustive]`. A handler with an arm for any other event would have wrong books
/// without a word if a later version had one more event that changes them. So a new kind is a
/// breaking change, and the compiler names each match that must handle it. A handler that needs few
/// kinds has an arm `_`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A displayed order entered, was cancelled, deleted or replaced.
    Order(BookEvent),
    /// Shares of a displayed order were executed.
    Execution(Execution),
    /// A trade that removes no displayed shares: hidden, or in an auction.
    Trade(Trade),
    /// An earlier trade or execution is void.
    TradeBroken(MatchNumber),
    /// An instrument of the day.
    Definition(Definition),
    /// A trading state changed, of one instrument or of the market.
    Status(StatusChange),
    /// The state of an auction before it takes place.
    AuctionImbalance(AuctionImbalance),
    /// All orders of an instrument left its book.
    BookCleared,
    /// A displayed order has another price or size, under its own reference.
    OrderModified(Modified),
    /// A price level has other shares, at an exchange that does not show the orders.
    Level(LevelChange),
    /// An order message whose side is neither buy nor sell: it cannot be applied.
    UnknownSide,
    /// A displayed order has a price that no book can have: one that is live leaves, since its
    /// other price is over. `None` for one whose reference is not stated, and for a level.
    PriceOutOfRange(Option<OrderReferenceNumber>),
    /// An event that books, records and statistics all ignore.
    Other,
}

/// Shares of a displayed order that were executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Execution {
    /// The order.
    pub reference: OrderReferenceNumber,
    /// Shares executed now.
    pub shares: Shares,
    /// The execution's price; `None` if it is the order's own.
    pub price: Option<Price>,
    /// Whether it counts as a trade; otherwise another event does.
    pub is_printed: bool,
    /// The execution's number.
    pub match_number: MatchNumber,
    /// The shares that the order has after it, if they are stated: they can differ from those
    /// before less those executed.
    pub remaining: Option<Shares>,
}

/// A price level after a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelChange {
    /// Its side.
    pub side: Side,
    /// Its price.
    pub price: Price,
    /// All of its displayed shares now; 0 if it closed, which a level that was not there may do.
    pub shares: Shares,
    /// Whether the side has no other level: the exchange shows the best one only.
    pub is_only: bool,
}

/// A trade that removes no displayed shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trade {
    /// Shares; an auction without any reports 0.
    pub shares: TotalShares,
    /// The price.
    pub price: Price,
    /// The number of the trade.
    pub match_number: MatchNumber,
    /// The origin of the trade.
    pub kind: TradeKind,
    /// The side that took the order; `None` if the source does not have it.
    pub aggressor: Option<Side>,
}

/// The origin of a trade that removes no displayed shares by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TradeKind {
    /// Against an order that was not displayed.
    Hidden,
    /// In an auction.
    Auction,
    /// The exchange does not state it. Other events change the levels that it took from.
    Unstated,
    /// Against several displayed orders at once. Other events, executions that are not printed,
    /// remove their shares.
    Displayed,
}

/// An instrument of the day. Codes are the exchange's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Definition {
    /// Shares of a round lot.
    pub round_lot_shares: u32,
    /// The market identifier code (ISO 10383) of the listing venue; blank if not reported.
    pub listing_venue: Alpha<4>,
    /// The kind of issue.
    pub issue_class: u8,
    /// The kind in more detail.
    pub issue_sub_type: Alpha<2>,
    /// The market segment in which it is listed.
    pub segment: u8,
}

/// The state of an auction before it takes place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuctionImbalance {
    /// The side with more shares; `None` if neither or not reported.
    pub side: Option<Side>,
    /// The price at which paired and imbalance shares are counted.
    pub reference_price: Price,
    /// The price at which the auction would clear against orders of the book as well.
    pub near_price: Maybe<Price>,
    /// The price at which orders for the auction alone would clear.
    pub far_price: Maybe<Price>,
    /// Shares that would trade.
    pub paired_shares: TotalShares,
    /// Shares without a counterpart.
    pub imbalance_shares: TotalShares,
    /// The exchange's code of the auction.
    pub auction: u8,
    /// The exchange's code of how far the near price is from the reference.
    pub significance: u8,
}

impl MarketEvent {
    /// An event without a time or a symbol, for tests and for sources without both.
    #[inline]
    pub const fn about(stock_locate: StockLocate, what: What) -> Self {
        Self { time: None, stock_locate, symbol: Maybe::NONE, is_last: true, what }
    }

    /// The change of the books; `None` if the event changes no book, and for [`What::BookCleared`],
    /// [`What::OrderModified`] and [`What::Level`].
    #[inline(always)]
    pub fn book_event(&self) -> Option<BookEvent> {
        match self.what {
            What::Order(event) => Some(event),
            What::Execution(Execution { reference, shares, .. }) => {
                Some(BookEvent::Execute { stock_locate: self.stock_locate, reference, shares })
            }
            _ => None,
        }
    }

    /// What a handler can prefetch for the event; `None` if it is about no order.
    #[inline(always)]
    pub fn coming(&self) -> Option<Coming> {
        let side = match self.book_event()? {
            BookEvent::Add { side, .. } => Some(side),
            _ => None,
        };
        Some(Coming {
            stock_locate: self.stock_locate,
            reference: self.reference()?,
            is_new: side.is_some(),
            side_if_new: side.unwrap_or(Side::Buy),
        })
    }

    /// The order of the event; for a replace, the one that is removed.
    #[inline(always)]
    pub fn reference(&self) -> Option<OrderReferenceNumber> {
        Some(match self.book_event()? {
            BookEvent::Add { reference, .. }
            | BookEvent::Execute { reference, .. }
            | BookEvent::Cancel { reference, .. }
            | BookEvent::Delete { reference, .. } => reference,
            BookEvent::Replace { original, .. } => original,
        })
    }
}
