//! Converts ITCH 5.0 messages to market events, by the meaning that the specification gives them.
//!
//! The seven messages about orders are most of a day. [`deliver`] makes their events in registers
//! and calls the receiver in each arm of its match. All other messages take the [`rare_event`]
//! path, so that the loop over a day stays small.

use nanotape_market::{
    AuctionImbalance, Definition, EventTime, Execution, MarketEvent, StatusChange, StatusReason,
    Trade, TradeKind, TradingAction, What,
};
use nanotape_types::{
    Alpha, BookEvent, Maybe, NanosSinceMidnight, Price, Price4, Side, StockLocate,
};
use nanotape_wire::itch50::{
    BreachedLevel, EventCode, HaltAction, ImbalanceDirection, MarketCategory, MarketCode, Message,
    NetOrderImbalance, OperationalHalt, RegShoAction, StockDirectory, StockTradingAction,
    TradingState, YesNo,
};
use nanotape_wire::moldudp64::{DownstreamHeader, END_OF_SESSION};

/// Receives the event of a message exactly once.
///
/// This is a trait, not a closure: each arm of [`deliver`] inlines its own copy, where the kind of
/// event is known at compile time and no event object remains. Implementations pass scalars to
/// functions that are not inlined: a pointer to the receiver would force it into memory for every
/// message.
pub(crate) trait Receive {
    /// Result of the receiver.
    type Output;

    /// When the day of the message begins, ns since the UNIX epoch.
    fn day_begins_ns(&self) -> u64;

    /// Receives the event of a message about a displayed order, and the message's bytes.
    fn order(self, event: MarketEvent, bytes: &[u8]) -> Self::Output;

    /// Receives any other message: [`rare_event`] makes its event.
    fn rare(self, bytes: &[u8]) -> Self::Output;
}

/// The event of a message, with its time of day.
#[inline]
pub fn market_event(message: &Message<'_>) -> MarketEvent {
    market_event_of(message, 0)
}

/// The event of a message of the day that begins at `day_begins_ns`.
#[inline]
pub(crate) fn market_event_of(message: &Message<'_>, day_begins_ns: u64) -> MarketEvent {
    struct Keep(u64);
    impl Receive for Keep {
        type Output = MarketEvent;

        #[inline(always)]
        fn day_begins_ns(&self) -> u64 {
            self.0
        }

        #[inline(always)]
        fn order(self, event: MarketEvent, _: &[u8]) -> MarketEvent {
            event
        }

        #[inline(always)]
        fn rare(self, bytes: &[u8]) -> MarketEvent {
            rare_event(bytes, self.0)
        }
    }
    deliver(message, Keep(day_begins_ns))
}

/// The exchange's time of the first message of a packet of MoldUDP64, if it has one.
#[inline]
pub fn time_of_packet(packet: &[u8]) -> Option<NanosSinceMidnight> {
    let (header, blocks) = DownstreamHeader::wrap_first(packet).ok()?;
    if [0, END_OF_SESSION].contains(&header.message_count()) {
        return None;
    }
    let (length, blocks) = blocks.split_first_chunk()?;
    let message = blocks.get(..u16::from_be_bytes(*length).into())?;
    Message::decode(message).ok()?.timestamp()
}

/// The book event of a message; `None` for types that do not change the displayed book.
#[inline(always)]
pub fn book_event(message: &Message<'_>) -> Option<BookEvent> {
    struct OfBooks;
    impl Receive for OfBooks {
        type Output = Option<BookEvent>;

        #[inline(always)]
        fn day_begins_ns(&self) -> u64 {
            0
        }

        #[inline(always)]
        fn order(self, event: MarketEvent, _: &[u8]) -> Option<BookEvent> {
            event.book_event()
        }

        #[inline(always)]
        fn rare(self, _: &[u8]) -> Option<BookEvent> {
            None
        }
    }
    deliver(message, OfBooks)
}

/// Makes the event of a message and calls `receiver` with it.
#[inline(always)]
pub(crate) fn deliver<R: Receive>(message: &Message<'_>, receiver: R) -> R::Output {
    macro_rules! event {
        ($message:ident, $symbol:expr, $what:expr) => {{
            let time = time_of($message.timestamp(), receiver.day_begins_ns());
            let event = MarketEvent {
                time: Some(time),
                stock_locate: $message.stock_locate(),
                symbol: $symbol,
                is_last: true,
                what: $what,
            };
            receiver.order(event, $message.as_bytes())
        }};
    }
    macro_rules! added {
        ($message:ident) => {{
            let Some(side) = $message.side() else {
                return receiver.rare($message.as_bytes());
            };
            let added = BookEvent::Add {
                stock_locate: $message.stock_locate(),
                reference: $message.order_reference_number(),
                side,
                shares: $message.shares(),
                price: Price::of_price4($message.price()),
            };
            event!($message, Maybe::of($message.stock()), What::Order(added))
        }};
    }
    match message {
        Message::AddOrder(m) => added!(m),
        Message::AddOrderMpid(m) => added!(m),
        Message::OrderExecuted(m) => {
            let execution = Execution {
                reference: m.order_reference_number(),
                shares: m.executed_shares(),
                price: None,
                is_printed: true,
                match_number: m.match_number(),
                remaining: None,
            };
            event!(m, Maybe::NONE, What::Execution(execution))
        }
        // The execution price is the trade's; the shares leave the order's own level.
        Message::OrderExecutedWithPrice(m) => {
            let execution = Execution {
                reference: m.order_reference_number(),
                shares: m.executed_shares(),
                price: Some(Price::of_price4(m.execution_price())),
                is_printed: m.printable() == YesNo::Yes,
                match_number: m.match_number(),
                remaining: None,
            };
            event!(m, Maybe::NONE, What::Execution(execution))
        }
        Message::OrderCancel(m) => {
            let cancelled = BookEvent::Cancel {
                stock_locate: m.stock_locate(),
                reference: m.order_reference_number(),
                shares: m.cancelled_shares(),
            };
            event!(m, Maybe::NONE, What::Order(cancelled))
        }
        Message::OrderDelete(m) => {
            let deleted = BookEvent::Delete {
                stock_locate: m.stock_locate(),
                reference: m.order_reference_number(),
            };
            event!(m, Maybe::NONE, What::Order(deleted))
        }
        Message::OrderReplace(m) => {
            let replaced = BookEvent::Replace {
                stock_locate: m.stock_locate(),
                original: m.original_order_reference_number(),
                replacement: m.new_order_reference_number(),
                shares: m.shares(),
                price: Price::of_price4(m.price()),
            };
            event!(m, Maybe::NONE, What::Order(replaced))
        }
        other => receiver.rare(other.as_bytes()),
    }
}

/// The event of a message that [`deliver`] leaves to its receiver.
///
/// A hidden trade or a cross reports shares that were never displayed, or that earlier `C` messages
/// already removed. A broken trade never returns shares to the book. This function is inlined into
/// a handler, so that the handler only pays for the fields that it reads.
#[inline(always)]
pub(crate) fn rare_event(bytes: &[u8], day_begins_ns: u64) -> MarketEvent {
    let Ok(message) = &Message::decode(bytes) else {
        // The caller decoded the same bytes.
        return MarketEvent::about(StockLocate::default(), What::Other);
    };
    let what = match message {
        Message::AddOrder(_) | Message::AddOrderMpid(_) => What::UnknownSide,
        Message::Trade(m) => What::Trade(Trade {
            shares: m.shares().into(),
            price: Price::of_price4(m.price()),
            match_number: m.match_number(),
            kind: TradeKind::Hidden,
            aggressor: None,
        }),
        Message::CrossTrade(m) => What::Trade(Trade {
            shares: m.shares(),
            price: Price::of_price4(m.cross_price()),
            match_number: m.match_number(),
            kind: TradeKind::Auction,
            aggressor: None,
        }),
        Message::BrokenTrade(m) => What::TradeBroken(m.match_number()),
        Message::StockDirectory(m) => What::Definition(definition(*m)),
        Message::NetOrderImbalance(m) => What::AuctionImbalance(auction_imbalance(*m)),
        other => status_change(other).map_or(What::Other, What::Status),
    };
    MarketEvent {
        time: message.timestamp().map(|time| time_of(time, day_begins_ns)),
        stock_locate: message.stock_locate().unwrap_or_default(),
        symbol: message.stock().map_or(Maybe::NONE, Maybe::of),
        is_last: true,
        what,
    }
}

/// The time of a day that begins at `day_begins_ns`.
#[inline(always)]
fn time_of(time: NanosSinceMidnight, day_begins_ns: u64) -> EventTime {
    EventTime::new(day_begins_ns.wrapping_add(time.get()))
}

fn definition(entry: StockDirectory<'_>) -> Definition {
    Definition {
        round_lot_shares: entry.round_lot_size(),
        listing_venue: Alpha::new(*listing_venue(entry.market_category())),
        issue_class: entry.issue_classification().code(),
        issue_sub_type: entry.issue_sub_type(),
        segment: entry.market_category().code(),
    }
}

/// The market identifier code (ISO 10383) of the listing venue; blank if it is not reported.
fn listing_venue(category: MarketCategory) -> &'static [u8; 4] {
    match category {
        MarketCategory::NasdaqGlobalSelect
        | MarketCategory::NasdaqGlobal
        | MarketCategory::NasdaqCapital => b"XNAS",
        MarketCategory::Nyse => b"XNYS",
        MarketCategory::NyseAmerican => b"XASE",
        MarketCategory::NyseArca => b"ARCX",
        MarketCategory::CboeBzx => b"BATS",
        MarketCategory::Iex => b"IEXG",
        MarketCategory::NyseTexas => b"XCHI",
        MarketCategory::NotAvailable | MarketCategory::Unknown(_) => b"    ",
    }
}

fn auction_imbalance(message: NetOrderImbalance<'_>) -> AuctionImbalance {
    let price =
        |price: Maybe<Price4>| price.get().map(Price::of_price4).map_or(Maybe::NONE, Maybe::of);
    AuctionImbalance {
        side: match message.imbalance_direction() {
            ImbalanceDirection::Buy => Some(Side::Buy),
            ImbalanceDirection::Sell => Some(Side::Sell),
            _ => None,
        },
        reference_price: Price::of_price4(message.current_reference_price()),
        near_price: price(message.near_price()),
        far_price: price(message.far_price()),
        paired_shares: message.paired_shares(),
        imbalance_shares: message.imbalance_shares(),
        auction: message.cross_type().code(),
        significance: message.price_variation().code(),
    }
}

/// The trading state that a message reports; `None` for messages that report none.
#[inline(always)]
fn status_change(message: &Message<'_>) -> Option<StatusChange> {
    Some(match message {
        Message::SystemEvent(event) => market_phase(event.event_code()),
        Message::StockTradingAction(change) => trading_action(*change),
        Message::RegShoRestriction(change) => StatusChange {
            is_short_sell_restricted: match change.reg_sho_action() {
                RegShoAction::NoPriceTest => Some(false),
                RegShoAction::RestrictionTriggered | RegShoAction::RestrictionInEffect => {
                    Some(true)
                }
                RegShoAction::Unknown(_) => None,
            },
            ..StatusChange::unreported(TradingAction::SsrChange, StatusReason::None)
        },
        // The feed also reports halts of BX and PSX, which do not affect trading on this venue.
        Message::OperationalHalt(halt) if halt.market_code() == MarketCode::Nasdaq => {
            operational_halt(*halt)
        }
        Message::MwcbStatus(breach) => {
            let reason = match breach.breached_level() {
                BreachedLevel::Level1 => StatusReason::MarketWideHaltLevel1,
                BreachedLevel::Level2 => StatusReason::MarketWideHaltLevel2,
                BreachedLevel::Level3 => StatusReason::MarketWideHaltLevel3,
                BreachedLevel::Unknown(_) => StatusReason::None,
            };
            StatusChange::unreported(TradingAction::None, reason)
        }
        _ => return None,
    })
}

/// What a system event means for the whole market, and whether stocks trade afterwards.
#[inline(always)]
fn market_phase(code: EventCode) -> StatusChange {
    let (action, is_open) = match code {
        EventCode::StartOfMessages | EventCode::EndOfMessages | EventCode::Unknown(_) => {
            (TradingAction::None, None)
        }
        EventCode::StartOfSystemHours => (TradingAction::PreOpen, Some(true)),
        EventCode::StartOfMarketHours => (TradingAction::Trading, Some(true)),
        EventCode::EndOfMarketHours => (TradingAction::PostClose, Some(true)),
        EventCode::EndOfSystemHours => (TradingAction::Close, Some(false)),
    };
    let (is_trading, is_quoting) = (is_open, is_open);
    StatusChange {
        is_trading,
        is_quoting,
        ..StatusChange::unreported(action, StatusReason::Scheduled)
    }
}

#[inline(always)]
fn trading_action(change: StockTradingAction<'_>) -> StatusChange {
    let (action, is_trading, is_quoting) = match change.trading_state() {
        TradingState::Halted => (TradingAction::Halt, Some(false), Some(false)),
        TradingState::Paused => (TradingAction::Pause, Some(false), Some(false)),
        TradingState::QuotationOnly => (TradingAction::Quoting, Some(false), Some(true)),
        TradingState::Trading => (TradingAction::Trading, Some(true), Some(true)),
        TradingState::Unknown(_) => (TradingAction::None, None, None),
    };
    StatusChange {
        is_trading,
        is_quoting,
        ..StatusChange::unreported(action, halt_reason(change.reason()))
    }
}

#[inline(always)]
fn operational_halt(halt: OperationalHalt<'_>) -> StatusChange {
    let (action, is_open) = match halt.halt_action() {
        HaltAction::Halted => (TradingAction::Halt, Some(false)),
        HaltAction::Resumed => (TradingAction::Trading, Some(true)),
        HaltAction::Unknown(_) => (TradingAction::None, None),
    };
    let (is_trading, is_quoting) = (is_open, is_open);
    StatusChange {
        is_trading,
        is_quoting,
        ..StatusChange::unreported(action, StatusReason::Operational)
    }
}

/// The halt reasons that Nasdaq lists.
#[inline(always)]
fn halt_reason(code: Alpha<4>) -> StatusReason {
    match code.trimmed() {
        b"T1" => StatusReason::NewsPending,
        b"T2" => StatusReason::NewsReleased,
        b"T3" => StatusReason::NewsAndResumptionTimes,
        b"R1" => StatusReason::NewIssue,
        b"R2" => StatusReason::IssueAvailable,
        b"R4" | b"C4" => StatusReason::IssuesReviewed,
        b"R9" | b"C9" => StatusReason::FilingReqsSatisfied,
        b"C3" => StatusReason::NewsNotForthcoming,
        b"T5" | b"T7" | b"LUDP" | b"LUDS" => StatusReason::LuldPause,
        b"T6" => StatusReason::SurveillanceIntervention,
        b"T8" => StatusReason::Etf,
        b"T12" => StatusReason::AdditionalInformationRequested,
        b"H4" => StatusReason::NonCompliance,
        b"H9" => StatusReason::FilingsNotCurrent,
        b"H10" => StatusReason::SecTradingSuspension,
        b"H11" | b"C11" => StatusReason::Regulatory,
        b"O1" => StatusReason::Operational,
        b"IPO1" | b"IPOQ" | b"IPOE" => StatusReason::NewSecurityOffering,
        b"M1" => StatusReason::CorporateAction,
        b"M2" => StatusReason::QuotationNotAvailable,
        b"MWC1" => StatusReason::MarketWideHaltLevel1,
        b"MWC2" => StatusReason::MarketWideHaltLevel2,
        b"MWC3" => StatusReason::MarketWideHaltLevel3,
        b"MWC0" => StatusReason::MarketWideHaltCarryover,
        b"MWCQ" => StatusReason::MarketWideHaltResumption,
        _ => StatusReason::None,
    }
}
