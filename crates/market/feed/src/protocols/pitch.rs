//! Cboe multicast PITCH 2: orders of matching units, each with a clock of its own.
//!
//! Only the message that adds an order has a symbol; the others have the order alone, and its
//! stock is found in the books. A clear of a unit clears the books of the stocks that it has had
//! orders of.

use core::ops::ControlFlow;

use nanotape_market::{
    AuctionImbalance, EventHandler, EventTime, Execution, MarketEvent, MarketSnapshot, Modified,
    Priority, RestingOrder, StatusChange, StatusReason, Trade, TradeKind, TradingAction, What,
};
use nanotape_types::{
    Alpha, BookEvent, Decimal, LocateTable, MatchNumber, Maybe, NanosOffset, OrderReferenceNumber,
    Price, Shares, Side, StockLocate, Symbol,
};
use nanotape_wire::{
    framing::pitch::{self, PitchUnit},
    pitch::{
        AuctionUpdate, Message, ModifyFlags, RegShoAction, SideIndicator, TradingStatus,
        TradingStatusCode, symbol_of,
    },
};

use super::{
    Passing, Place, Protocol, Stocks, price_of,
    spin::{SpinImage, SpinOrder},
};

const NANOS: u64 = 1_000_000_000;

/// Cboe multicast PITCH 2.
#[derive(Debug)]
pub(crate) enum Pitch {}

/// The stocks, and what each unit has.
#[derive(Debug)]
pub(crate) struct PitchState {
    day_begins_ns: u64,
    stocks: Stocks,
    units: Vec<Unit>,
    /// One above the unit that a stock had orders of; 0 for none.
    unit_of: LocateTable<u16>,
}

#[derive(Clone, Debug, Default)]
struct Unit {
    /// Whether its numbers have begun again: its books are empty from its next message on.
    is_over: bool,
    /// The time of its last Time message, in ns since the day began.
    second_ns: Option<u64>,
    /// The stocks that it has had orders of.
    stocks: Vec<StockLocate>,
}

impl Protocol for Pitch {
    type Framing = pitch::Pitch;
    type State = PitchState;

    fn channel(unit: PitchUnit) -> u32 {
        unit.0.into()
    }

    fn begin(day_begins_ns: u64) -> PitchState {
        PitchState {
            day_begins_ns,
            stocks: Stocks::default(),
            units: vec![Unit::default(); 1 + usize::from(u8::MAX)],
            unit_of: LocateTable::filled(0),
        }
    }

    /// Executed, reduced, modified and deleted orders have their ids at one place.
    #[inline]
    fn known_order(bytes: &[u8]) -> Option<OrderReferenceNumber> {
        let id = bytes.get(6..)?.first_chunk()?;
        let is_of_known = matches!(bytes[1], 0x23..=0x29);
        is_of_known.then(|| OrderReferenceNumber::new(u64::from_le_bytes(*id)))
    }

    /// Of an order that enters.
    #[inline]
    fn symbol(bytes: &[u8]) -> Option<Symbol> {
        let at = match bytes.get(1)? {
            0x21 => 19,
            0x22 => 17,
            _ => return None,
        };
        bytes.get(at..)?.first_chunk().copied().map(Alpha::new).map(symbol_of)
    }

    #[inline]
    fn stocks(state: &PitchState) -> &Stocks {
        &state.stocks
    }

    #[inline]
    fn deliver(
        state: &mut PitchState,
        from: Place<PitchUnit>,
        bytes: &[u8],
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        let (at, unit) = (from.at, from.channel);
        let mut passing = Passing { at, bytes, type_at: 1, time: None, handler };
        let Ok(message) = Message::decode(bytes) else { return passing.unreadable() };
        let offset = match message {
            Message::Time(time) => {
                state.unit(unit).second_ns = Some(u64::from(time.time().get()) * NANOS);
                Some(NanosOffset::new(0))
            }
            _ => message.time_offset(),
        };
        passing.time = offset.and_then(|offset| state.time(unit, offset));
        if state.unit(unit).is_over {
            state.begin_again(unit, &mut passing)?;
        }
        macro_rules! of_order {
            ($m:ident, $what:expr) => {
                passing.event((StockLocate::default(), Maybe::NONE), true, $what)
            };
        }
        match message {
            Message::Time(_) => passing.of_market(What::Other),
            Message::AddOrderShort(m) => {
                let added = (m.side_indicator(), Shares::new(m.shares().into()), m.price());
                state.add(unit, (symbol_of(m.symbol()), m.order_reference_number()), added, passing)
            }
            Message::AddOrderLong(m) => {
                let added = (m.side_indicator(), m.shares(), m.price());
                state.add(unit, (symbol_of(m.symbol()), m.order_reference_number()), added, passing)
            }
            Message::AddOrderExpanded(m) => {
                let added = (m.side_indicator(), m.shares(), m.price());
                state.add(unit, (m.symbol(), m.order_reference_number()), added, passing)
            }
            Message::OrderExecuted(m) => of_order!(
                m,
                What::Execution(Execution {
                    reference: m.order_reference_number(),
                    shares: m.executed_shares(),
                    price: None,
                    is_printed: true,
                    match_number: m.match_number(),
                    remaining: None,
                })
            ),
            Message::OrderExecutedAtPriceSize(m) => {
                let price = price_of(m.price());
                if price.is_none() {
                    // The trade is lost; what the order has is known.
                    passing.unreadable()?;
                }
                of_order!(
                    m,
                    What::Execution(Execution {
                        reference: m.order_reference_number(),
                        shares: m.executed_shares(),
                        price,
                        is_printed: price.is_some(),
                        match_number: m.match_number(),
                        remaining: Some(m.remaining_shares()),
                    })
                )
            }
            Message::ReduceSizeLong(m) => {
                of_order!(m, cancelled(m.order_reference_number(), m.cancelled_shares()))
            }
            Message::ReduceSizeShort(m) => {
                let shares = Shares::new(m.cancelled_shares().into());
                of_order!(m, cancelled(m.order_reference_number(), shares))
            }
            Message::ModifyOrderLong(m) => {
                let (reference, shares) = (m.order_reference_number(), m.shares());
                of_order!(m, modified(reference, shares, price_of(m.price()), m.modify_flags()))
            }
            Message::ModifyOrderShort(m) => {
                let reference = m.order_reference_number();
                let shares = Shares::new(m.shares().into());
                of_order!(m, modified(reference, shares, price_of(m.price()), m.modify_flags()))
            }
            Message::DeleteOrder(m) => {
                let (stock_locate, reference) =
                    (StockLocate::default(), m.order_reference_number());
                of_order!(m, What::Order(BookEvent::Delete { stock_locate, reference }))
            }
            other => state.other(unit, other, passing),
        }
    }

    fn restart(state: &mut PitchState, unit: PitchUnit) {
        let unit = state.unit(unit);
        (unit.is_over, unit.second_ns) = (true, None);
    }
}

impl PitchState {
    /// The books of an image of a unit: of the stocks that the unit has had orders of, and of those
    /// that the image has. Orders of a stock of another unit are left out. Times count from the
    /// last second of the image.
    pub(crate) fn restore(
        &mut self,
        unit: PitchUnit,
        image: &SpinImage,
        next: u64,
    ) -> MarketSnapshot {
        let owner = u16::from(unit.0) + 1;
        let mut orders = Vec::with_capacity(image.orders().len());
        for order in image.orders() {
            let Some(stock_locate) = self.locate_in(unit, order.symbol) else { continue };
            let SpinOrder { reference, side, shares, price, .. } = *order;
            orders.push(RestingOrder { stock_locate, reference, side, shares, price });
        }
        let mut states = Vec::with_capacity(image.statuses().len());
        for symbol in image.symbols() {
            if let Some(stock_locate) = self.locate_in(unit, symbol) {
                let about = MarketEvent::about(stock_locate, What::Other);
                states.push(MarketEvent { symbol: Maybe::of(symbol), ..about });
            }
        }
        for &(symbol, status) in image.statuses() {
            let Some(found) = self.stocks.locate(symbol) else { continue };
            if [0, owner].contains(&self.unit_of[found.stock_locate]) {
                let about = MarketEvent::about(found.stock_locate, What::Status(status));
                states.push(MarketEvent { symbol: Maybe::of(symbol), ..about });
            }
        }
        if let Some(second) = image.second() {
            self.unit(unit).second_ns = Some(u64::from(second) * NANOS);
        }
        let time = self.time(unit, NanosOffset::new(0)).unwrap_or_default();
        // The image has the place of all that was before.
        self.unit(unit).is_over = false;
        let mut stocks = self.unit(unit).stocks.clone();
        stocks.sort_unstable();
        stocks.dedup();
        MarketSnapshot { next, time, states, orders, stocks: Some(stocks) }
    }

    /// The number of a stock of a unit, which becomes one of it if it is of no unit; `None` for
    /// one of another unit, and if all numbers are given.
    fn locate_in(&mut self, unit: PitchUnit, symbol: Symbol) -> Option<StockLocate> {
        let stock_locate = self.stocks.locate(symbol)?.stock_locate;
        let owner = u16::from(unit.0) + 1;
        if self.unit_of[stock_locate] == 0 {
            self.unit_of[stock_locate] = owner;
            self.unit(unit).stocks.push(stock_locate);
        }
        (self.unit_of[stock_locate] == owner).then_some(stock_locate)
    }

    #[inline]
    fn unit(&mut self, unit: PitchUnit) -> &mut Unit {
        &mut self.units[usize::from(unit.0)]
    }

    /// The time of a message of a unit; `None` before the unit has stated a second.
    #[inline]
    fn time(&mut self, unit: PitchUnit, offset: NanosOffset) -> Option<EventTime> {
        let second_ns = self.unit(unit).second_ns?;
        let of_day = second_ns.saturating_add(offset.get().into());
        Some(EventTime::new(self.day_begins_ns.saturating_add(of_day)))
    }

    /// The first message of a unit since its numbers began again.
    #[cold]
    fn begin_again<H: EventHandler>(
        &mut self,
        unit: PitchUnit,
        passing: &mut Passing<'_, H>,
    ) -> ControlFlow<()> {
        self.unit(unit).is_over = false;
        passing.clear_before(self.unit(unit).stocks.clone().into_iter())
    }

    /// An order enters.
    #[inline]
    fn add<const PLACES: u8, T: Copy + Into<i128>, H: EventHandler>(
        &mut self,
        unit: PitchUnit,
        (symbol, reference): (Symbol, OrderReferenceNumber),
        (side, shares, price): (SideIndicator, Shares, Decimal<T, PLACES>),
        mut passing: Passing<'_, H>,
    ) -> ControlFlow<()> {
        let Some(found) = self.stocks.locate(symbol) else { return passing.unreadable() };
        let stock_locate = found.stock_locate;
        let owner = u16::from(unit.0) + 1;
        if self.unit_of[stock_locate] != owner {
            self.unit_of[stock_locate] = owner;
            self.unit(unit).stocks.push(stock_locate);
        }
        let stock = (stock_locate, Maybe::of(symbol));
        let Some(side) = side.side() else { return passing.event(stock, true, What::UnknownSide) };
        let Some(price) = price_of(price) else {
            return passing.event(stock, true, What::PriceOutOfRange(Some(reference)));
        };
        let added = BookEvent::Add { stock_locate, reference, side, shares, price };
        passing.event(stock, true, What::Order(added))
    }

    /// A message about no displayed order.
    #[inline(never)]
    fn other<H: EventHandler>(
        &mut self,
        unit: PitchUnit,
        message: Message<'_>,
        mut passing: Passing<'_, H>,
    ) -> ControlFlow<()> {
        let (symbol, what) = match message {
            Message::UnitClear(_) => {
                let stocks = self.unit(unit).stocks.clone();
                passing.of_market(What::Other)?;
                return passing.clear(stocks.into_iter());
            }
            Message::TradeShort(m) => {
                let shares = Shares::new(m.shares().into());
                (symbol_of(m.symbol()), hidden(shares, price_of(m.price()), m.match_number()))
            }
            Message::TradeLong(m) => {
                (symbol_of(m.symbol()), hidden(m.shares(), price_of(m.price()), m.match_number()))
            }
            Message::TradeExpanded(m) => {
                (m.symbol(), hidden(m.shares(), price_of(m.price()), m.match_number()))
            }
            Message::TradingStatus(m) => (m.symbol(), Some(What::Status(status(m)))),
            Message::AuctionUpdate(m) => (m.symbol(), auction(m)),
            Message::AuctionSummary(m) => (m.symbol(), Some(What::Other)),
            Message::RetailPriceImprovement(m) => (m.symbol(), Some(What::Other)),
            Message::TradeBreak(m) => {
                return passing.of_market(What::TradeBroken(m.match_number()));
            }
            _ => return passing.of_market(What::Other),
        };
        let (Some(found), Some(what)) = (self.stocks.locate(symbol), what) else {
            return passing.unreadable();
        };
        passing.event((found.stock_locate, Maybe::of(symbol)), true, what)
    }
}

/// Shares of an order of any stock were cancelled.
#[inline]
fn cancelled(reference: OrderReferenceNumber, shares: Shares) -> What {
    What::Order(BookEvent::Cancel { stock_locate: StockLocate::default(), reference, shares })
}

#[inline]
fn modified(
    reference: OrderReferenceNumber,
    shares: Shares,
    price: Option<Price>,
    flags: ModifyFlags,
) -> What {
    let priority = if flags.is_priority_kept() { Priority::Kept } else { Priority::Lost };
    match price {
        Some(price) => {
            What::OrderModified(Modified { reference, side: None, shares, price, priority })
        }
        None => What::PriceOutOfRange(Some(reference)),
    }
}

fn hidden(shares: Shares, price: Option<Price>, match_number: MatchNumber) -> Option<What> {
    let (kind, price) = (TradeKind::Hidden, price?);
    Some(What::Trade(Trade { shares: shares.into(), price, match_number, kind, aggressor: None }))
}

pub(super) fn status(change: TradingStatus<'_>) -> StatusChange {
    let (action, reason, is_trading, is_quoting) = match change.trading_status() {
        TradingStatusCode::AcceptingOrders => {
            (TradingAction::PreOpen, StatusReason::None, Some(false), Some(true))
        }
        TradingStatusCode::Halted => {
            (TradingAction::Halt, StatusReason::None, Some(false), Some(false))
        }
        TradingStatusCode::QuoteOnly => {
            (TradingAction::Quoting, StatusReason::None, Some(false), Some(true))
        }
        TradingStatusCode::Suspended => {
            (TradingAction::Halt, StatusReason::Operational, Some(false), Some(false))
        }
        TradingStatusCode::Trading => {
            (TradingAction::Trading, StatusReason::None, Some(true), Some(true))
        }
        TradingStatusCode::Unknown(_) => (TradingAction::None, StatusReason::None, None, None),
    };
    let is_short_sell_restricted = match change.reg_sho_action() {
        RegShoAction::NoRestriction => Some(false),
        RegShoAction::Restricted => Some(true),
        RegShoAction::Unknown(_) => None,
    };
    let change = StatusChange::unreported(action, reason).with_trading(is_trading, is_quoting);
    StatusChange { is_short_sell_restricted, ..change }
}

/// The state of a coming auction. A price of 0 means that there is no price.
fn auction(update: AuctionUpdate<'_>) -> Option<What> {
    let price = |price| {
        let price = price_of(price)?;
        Some(if price.code() == 0 { Maybe::NONE } else { Maybe::of(price) })
    };
    let (buy, sell) = (update.buy_shares(), update.sell_shares());
    Some(What::AuctionImbalance(AuctionImbalance {
        side: match buy.cmp(&sell) {
            core::cmp::Ordering::Greater => Some(Side::Buy),
            core::cmp::Ordering::Less => Some(Side::Sell),
            core::cmp::Ordering::Equal => None,
        },
        reference_price: price_of(update.reference_price())?,
        near_price: price(update.indicative_price())?,
        far_price: price(update.auction_only_price())?,
        paired_shares: buy.min(sell).into(),
        imbalance_shares: Shares::new(buy.get().abs_diff(sell.get())).into(),
        auction: update.auction_type().code(),
        significance: b' ',
    }))
}

#[cfg(test)]
mod tests {
    use nanotape_wire::pitch::{
        AddFlags, AddOrderLongFields, AddOrderShortFields, DeleteOrderFields, ReduceSizeShortFields,
    };

    use super::*;

    #[test]
    fn what_is_loaded_early_is_what_the_schema_has() {
        let (time_offset, reference) = (NanosOffset::new(7), OrderReferenceNumber::new(77));
        let (symbol, side_indicator) = (Alpha::new(*b"ZVZZT "), SideIndicator::Buy);
        let long = AddOrderLongFields {
            time_offset,
            order_reference_number: reference,
            side_indicator,
            shares: Shares::new(1),
            symbol,
            price: Decimal::new(1),
            add_flags: AddFlags::default(),
        };
        let short = AddOrderShortFields {
            time_offset,
            order_reference_number: reference,
            side_indicator,
            shares: 1,
            symbol,
            price: Decimal::new(1),
            add_flags: AddFlags::default(),
        };
        for bytes in [&long.encode()[..], &short.encode()] {
            assert_eq!(Pitch::symbol(bytes), Some(symbol_of(symbol)));
            assert_eq!(Pitch::known_order(bytes), None);
        }
        let deleted = DeleteOrderFields { time_offset, order_reference_number: reference };
        let reduced = ReduceSizeShortFields {
            time_offset,
            order_reference_number: reference,
            cancelled_shares: 1,
        };
        for bytes in [&deleted.encode()[..], &reduced.encode()] {
            assert_eq!((Pitch::known_order(bytes), Pitch::symbol(bytes)), (Some(reference), None));
        }
        for bytes in [&long.encode()[..], &deleted.encode()] {
            for length in 0..bytes.len() {
                let _ = (Pitch::known_order(&bytes[..length]), Pitch::symbol(&bytes[..length]));
            }
        }
    }
}
