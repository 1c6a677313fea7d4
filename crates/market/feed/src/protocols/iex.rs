//! What the feeds of IEX have in common: their state, and the meaning of the messages that several
//! of them have.

use core::ops::ControlFlow;

use nanotape_market::{
    AuctionImbalance, Definition, EventHandler, EventTime, Position, StatusChange, StatusReason,
    Trade, TradeKind, TradingAction, What,
};
use nanotape_types::{
    Alpha, Maybe, NanosSinceEpoch, OrderReferenceNumber, Price, Side, StockLocate, Symbol,
};
use nanotape_wire::{
    framing::iextp::{IexSession, IexTp},
    iex_common::{
        AuctionInformation, ImbalanceSide, OperationalHaltCode, OperationalHaltStatus,
        SecurityDirectory, ShortSalePriceTestStatus, ShortSaleTestStatus, SystemEventCode,
        TradeReport, TradingStatus, TradingStatusCode,
    },
};

use super::{Passing, Place, Protocol, Stocks, price_of};

/// A feed of IEX: its messages, and the rest as every feed of IEX has it.
pub(crate) trait IexFeed {
    /// Calls `handler` with the events of a message at a position.
    fn message(
        state: &mut IexState,
        source: (Position, &[u8]),
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()>;

    /// As [`Protocol::known_order`].
    #[inline]
    fn known_order(bytes: &[u8]) -> Option<OrderReferenceNumber> {
        let _ = bytes;
        None
    }
}

impl<F: IexFeed> Protocol for F {
    type Framing = IexTp;
    type State = IexState;

    fn channel(session: IexSession) -> u32 {
        session.channel_id
    }

    fn begin(_: u64) -> IexState {
        IexState::default()
    }

    #[inline]
    fn known_order(bytes: &[u8]) -> Option<OrderReferenceNumber> {
        <F as IexFeed>::known_order(bytes)
    }

    /// All messages with a symbol have it at one place.
    #[inline]
    fn symbol(bytes: &[u8]) -> Option<Symbol> {
        bytes.get(10..)?.first_chunk().copied().map(Symbol::new)
    }

    #[inline]
    fn stocks(state: &IexState) -> &Stocks {
        &state.stocks
    }

    #[inline]
    fn deliver(
        state: &mut IexState,
        from: Place<IexSession>,
        bytes: &[u8],
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        F::message(state, (from.at, bytes), handler)
    }

    fn restart(state: &mut IexState, _: IexSession) {
        state.is_over = true;
    }
}

/// The state of a feed of IEX, whose messages have a time and a symbol each.
#[derive(Debug, Default)]
pub(crate) struct IexState {
    stocks: Stocks,
    /// Whether the numbers have begun again: the books are empty from the next message on.
    is_over: bool,
}

impl IexState {
    /// Passes an event of a message on. `symbol`: `None` for one about no single stock.
    #[inline]
    pub(super) fn pass<H: EventHandler>(
        &mut self,
        (at, bytes): (Position, &[u8]),
        (time, symbol): (Option<NanosSinceEpoch>, Option<Symbol>),
        (is_last, what): (bool, Option<What>),
        handler: &mut H,
    ) -> ControlFlow<()> {
        let time = time.map(|time| EventTime::new(time.get()));
        let mut passing = Passing { at, bytes, type_at: 0, time, handler };
        if self.is_over {
            self.begin_again(&mut passing)?;
        }
        let Some(what) = what else { return passing.unreadable() };
        let Some(symbol) = symbol else { return passing.of_market(what) };
        let Some(found) = self.stocks.locate(symbol) else { return passing.unreadable() };
        passing.event((found.stock_locate, Maybe::of(symbol)), is_last, what)
    }

    /// The number of a stock; `None` if all are given.
    #[inline]
    pub(super) fn locate(&mut self, symbol: Symbol) -> Option<StockLocate> {
        self.stocks.locate(symbol).map(|found| found.stock_locate)
    }

    /// A message that is no event: the handler learns of it as damage.
    #[cold]
    pub(super) fn unreadable<H: EventHandler>(
        (at, bytes): (Position, &[u8]),
        handler: &mut H,
    ) -> ControlFlow<()> {
        Passing { at, bytes, type_at: 0, time: None, handler }.unreadable()
    }

    /// The first message since the numbers began again.
    #[cold]
    fn begin_again<H: EventHandler>(&mut self, passing: &mut Passing<'_, H>) -> ControlFlow<()> {
        self.is_over = false;
        passing.clear_before(self.stocks.all())
    }
}

/// The event of a message that every feed of IEX has, `None` for another one.
macro_rules! of_every_feed {
    ($message:expr) => {{
        use nanotape_market::What;

        use super::iex;
        match $message {
            Message::SystemEvent(m) => {
                Some(Some(What::Status(iex::market_phase(m.system_event()))))
            }
            Message::SecurityDirectory(m) => Some(Some(What::Definition(iex::definition(m)))),
            Message::TradingStatus(m) => Some(Some(What::Status(iex::trading_status(m)))),
            Message::OperationalHaltStatus(m) => Some(Some(What::Status(iex::operational_halt(m)))),
            Message::ShortSalePriceTestStatus(m) => {
                Some(Some(What::Status(iex::short_sale_test(m))))
            }
            Message::TradeBreak(m) => Some(Some(What::TradeBroken(m.match_number()))),
            Message::RetailLiquidityIndicator(_)
            | Message::SecurityEvent(_)
            | Message::Unknown(_) => Some(Some(What::Other)),
            _ => None,
        }
    }};
}
pub(super) use of_every_feed;

/// What a system event means for the whole market.
pub(super) fn market_phase(code: SystemEventCode) -> StatusChange {
    let (action, is_open) = match code {
        SystemEventCode::StartOfMessages
        | SystemEventCode::EndOfMessages
        | SystemEventCode::Unknown(_) => (TradingAction::None, None),
        SystemEventCode::StartOfSystemHours => (TradingAction::PreOpen, Some(true)),
        SystemEventCode::StartOfRegularHours => (TradingAction::Trading, Some(true)),
        SystemEventCode::EndOfRegularHours => (TradingAction::PostClose, Some(true)),
        SystemEventCode::EndOfSystemHours => (TradingAction::Close, Some(false)),
    };
    StatusChange::unreported(action, StatusReason::Scheduled).with_trading(is_open, is_open)
}

/// A security of the day. IEX states no listing venue.
pub(super) fn definition(entry: SecurityDirectory<'_>) -> Definition {
    Definition {
        round_lot_shares: entry.round_lot_size(),
        listing_venue: Alpha::new(*b"    "),
        issue_class: b' ',
        issue_sub_type: Alpha::new(*b"  "),
        segment: b' ',
    }
}

pub(super) fn trading_status(change: TradingStatus<'_>) -> StatusChange {
    let (action, is_trading, is_quoting) = match change.trading_status() {
        TradingStatusCode::Halted => (TradingAction::Halt, Some(false), Some(false)),
        // Halted, and orders are accepted.
        TradingStatusCode::OrderAcceptancePeriod => (TradingAction::Halt, Some(false), Some(true)),
        TradingStatusCode::Paused => (TradingAction::Pause, Some(false), Some(true)),
        TradingStatusCode::Trading => (TradingAction::Trading, Some(true), Some(true)),
        TradingStatusCode::Unknown(_) => (TradingAction::None, None, None),
    };
    let reason = match change.reason().trimmed() {
        b"T1" => StatusReason::NewsPending,
        b"T2" => StatusReason::NewsReleased,
        b"IPO1" | b"IPOD" | b"IPO2" | b"IPO3" => StatusReason::NewSecurityOffering,
        b"MCB1" => StatusReason::MarketWideHaltLevel1,
        b"MCB2" => StatusReason::MarketWideHaltLevel2,
        b"MCB3" => StatusReason::MarketWideHaltLevel3,
        _ => StatusReason::None,
    };
    StatusChange::unreported(action, reason).with_trading(is_trading, is_quoting)
}

pub(super) fn operational_halt(halt: OperationalHaltStatus<'_>) -> StatusChange {
    let (action, is_open) = match halt.operational_halt_status() {
        OperationalHaltCode::Halted => (TradingAction::Halt, Some(false)),
        OperationalHaltCode::NotHalted => (TradingAction::Trading, Some(true)),
        OperationalHaltCode::Unknown(_) => (TradingAction::None, None),
    };
    StatusChange::unreported(action, StatusReason::Operational).with_trading(is_open, is_open)
}

pub(super) fn short_sale_test(change: ShortSalePriceTestStatus<'_>) -> StatusChange {
    let is_short_sell_restricted = match change.short_sale_price_test_status() {
        ShortSaleTestStatus::NotInEffect => Some(false),
        ShortSaleTestStatus::InEffect => Some(true),
        ShortSaleTestStatus::Unknown(_) => None,
    };
    let change = StatusChange::unreported(TradingAction::SsrChange, StatusReason::None);
    StatusChange { is_short_sell_restricted, ..change }
}

/// A trade; `kind` is that of one outside of auctions. `None` for a price that no book has.
#[inline]
pub(super) fn trade(report: TradeReport<'_>, kind: TradeKind) -> Option<What> {
    let is_of_auction = report.sale_condition_flags().is_single_price_cross();
    Some(What::Trade(Trade {
        shares: report.shares().into(),
        price: price_of(report.price())?,
        match_number: report.match_number(),
        kind: if is_of_auction { TradeKind::Auction } else { kind },
        aggressor: None,
    }))
}

/// The state of a coming auction. A price of 0 means that there is no price.
pub(super) fn auction(auction: AuctionInformation<'_>) -> Option<What> {
    let price = |price| {
        let price: Price = price_of(price)?;
        Some(if price.code() == 0 { Maybe::NONE } else { Maybe::of(price) })
    };
    Some(What::AuctionImbalance(AuctionImbalance {
        side: match auction.imbalance_side() {
            ImbalanceSide::Buy => Some(Side::Buy),
            ImbalanceSide::Sell => Some(Side::Sell),
            _ => None,
        },
        reference_price: price_of(auction.reference_price())?,
        near_price: price(auction.indicative_clearing_price())?,
        far_price: price(auction.auction_book_clearing_price())?,
        paired_shares: auction.paired_shares().into(),
        imbalance_shares: auction.imbalance_shares().into(),
        auction: auction.auction_type().code(),
        significance: b' ',
    }))
}
