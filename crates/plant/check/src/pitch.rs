//! The rules of Cboe multicast PITCH: those of orders, and of matching units.
//!
//! Bounds: an entry for each order that is live, or that a Unit Clear removed.

use std::collections::HashMap;

use nanotape_book::{Anomaly, Books, Condition, OrderStore, Outcome, PriceLevels};
use nanotape_engine::BookEngine;
use nanotape_feed::{AnyMessage, Position};
use nanotape_market::{MarketEvent, What};
use nanotape_types::{LocateTable, MatchNumber, NanosOffset, OrderReferenceNumber};
use nanotape_wire::pitch::{Message, TradingStatusCode};

use crate::{Rule, checked_channels::CheckedChannels, number_set::NumberSet, tally::RuleTally};

const NANOS: u64 = 1_000_000_000;

/// The regular hours of the market, in ns since midnight.
const REGULAR_HOURS: core::ops::Range<u64> = 34_200 * NANOS..57_600 * NANOS;

/// What is known of a day of PITCH.
#[derive(Debug)]
pub(crate) struct PitchRules {
    units: Vec<CheckedUnit>,
    owners: HashMap<OrderReferenceNumber, OrderOwner>,
    /// One above the unit of each stock; 0 for none.
    unit_of: LocateTable<u16>,
    /// Stocks that stopped trading, as a Trading Status shows it.
    halted: LocateTable<bool>,
    executions: NumberSet,
    /// The number of the last message: a message can have several events.
    last: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct CheckedUnit {
    has_messages: bool,
    /// The second of its last Time message.
    second: Option<u32>,
    /// The last time, in ns since midnight.
    last_ns: u64,
    /// How often its books were cleared.
    clears: u32,
    is_ended: bool,
}

/// Where an order is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OrderOwner {
    unit: u8,
    /// The clears of the unit before the order entered.
    clears: u32,
}

impl Default for PitchRules {
    fn default() -> Self {
        Self {
            units: vec![CheckedUnit::default(); 1 + usize::from(u8::MAX)],
            owners: HashMap::new(),
            unit_of: LocateTable::filled(0),
            halted: LocateTable::filled(false),
            executions: NumberSet::default(),
            last: 0,
        }
    }
}

impl PitchRules {
    /// A unit begins again with the next message.
    pub(crate) fn restart(&mut self, unit: u32) {
        let Ok(unit) = u8::try_from(unit) else { return };
        let CheckedUnit { clears, .. } = self.units[usize::from(unit)];
        self.units[usize::from(unit)] = CheckedUnit { clears, ..CheckedUnit::default() };
        self.owners.retain(|_, owner| owner.unit != unit);
    }

    /// Checks an event of a message after it was applied.
    pub(crate) fn message<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        (at, event, outcome): (Position, &MarketEvent, Option<Outcome>),
        message: Message<'_>,
        (channels, tally): (&CheckedChannels, &mut RuleTally),
    ) {
        let Ok(unit) = u8::try_from(channels.current()) else { return };
        if at.number != self.last {
            self.last = at.number;
            self.once(unit, (at, event), message, (channels, tally));
        }
        let anomaly = outcome.and_then(|outcome| outcome.anomaly);
        // 0x24 is a modification as well if its order had other shares.
        let is_of_another_size = matches!(event.what, What::OrderModified(_))
            && matches!(message, Message::OrderExecutedAtPriceSize(_));
        tally.broken_if(is_of_another_size, Rule::RemainingFits, at);
        if let Some(reference) = added(message) {
            self.enters(unit, reference, (at, anomaly), tally);
        } else if let Some(reference) = changed(message) {
            self.changes(unit, reference, (at, anomaly), (channels, tally));
            if engine.books().order(reference).is_none() {
                self.leaves(reference);
            }
        }
        let is_regular =
            event.time.is_some_and(|time| REGULAR_HOURS.contains(&engine.time_of_day_ns(time)));
        if let Some(Outcome { stock_locate, inside_changed: true, .. }) = outcome
            && is_regular
            && !self.halted[stock_locate]
        {
            let condition = engine.books().book(stock_locate).inside().condition();
            let crossed = matches!(condition, Condition::Locked | Condition::Crossed);
            tally.broken_if(crossed, Rule::NotCrossed, at);
        }
    }

    /// The day ends after the message of this number.
    pub(crate) fn finish(&self, last: u64, tally: &mut RuleTally) {
        for _ in self.units.iter().filter(|unit| unit.has_messages && !unit.is_ended) {
            tally.broken(Rule::WholeDay, last, None);
        }
    }

    /// Checks what a message has, whatever its events are.
    fn once(
        &mut self,
        unit: u8,
        (at, event): (Position, &MarketEvent),
        message: Message<'_>,
        (channels, tally): (&CheckedChannels, &mut RuleTally),
    ) {
        let of = &mut self.units[usize::from(unit)];
        tally.broken_if(of.is_ended, Rule::NothingAfterEnd, at);
        of.has_messages = true;
        match (message, message.time_offset()) {
            (Message::Time(time), _) => of.begin_second(time.time().get(), at, tally),
            // It states its time of day itself.
            (Message::TimeReference(_), _) | (_, None) => {}
            (_, Some(offset)) => of.offset(offset, at, (channels, tally)),
        }
        match message {
            Message::UnitClear(_) => of.clears += 1,
            Message::EndOfSession(_) => of.is_ended = true,
            Message::Unknown(_) => tally.broken_at(Rule::TypeKnown, at),
            Message::TradingStatus(m) => {
                let is_trading = m.trading_status() == TradingStatusCode::Trading;
                self.halted[event.stock_locate] = !is_trading;
            }
            Message::TradeBreak(m) => {
                if !self.executions.contains(m.match_number().get()) {
                    tally.broken_at(channels.of_unknown(Rule::BrokenKnown), at);
                }
            }
            _ => {
                if let Some(number) = executed(message) {
                    let is_new = self.executions.insert(number.get());
                    tally.broken_if(!is_new, Rule::MatchUnique, at);
                }
            }
        }
        if AnyMessage::Pitch(message).symbol().is_some() {
            let own = u16::from(unit) + 1;
            let first = &mut self.unit_of[event.stock_locate];
            if *first == 0 {
                *first = own;
            }
            tally.broken_if(*first != own, Rule::SymbolOfUnit, at);
        }
    }

    /// An order enters in a unit.
    fn enters(
        &mut self,
        unit: u8,
        reference: OrderReferenceNumber,
        (at, anomaly): (Position, Option<Anomaly>),
        tally: &mut RuleTally,
    ) {
        let new = OrderOwner { unit, clears: self.units[usize::from(unit)].clears };
        match anomaly {
            Some(Anomaly::DuplicateReference) => {
                let is_of_another = self.owners.get(&reference).is_some_and(|of| of.unit != unit);
                tally.broken_at(Rule::ReferenceUnique, at);
                tally.broken_if(is_of_another, Rule::OrderOfUnit, at);
            }
            Some(_) => tally.broken_at(Rule::OrderLive, at),
            None => {
                self.owners.insert(reference, new);
            }
        }
    }

    /// A message of a unit is about an order.
    fn changes(
        &mut self,
        unit: u8,
        reference: OrderReferenceNumber,
        (at, anomaly): (Position, Option<Anomaly>),
        (channels, tally): (&CheckedChannels, &mut RuleTally),
    ) {
        let owner = self.owners.get(&reference);
        let is_cleared = owner.is_some_and(|owner| !self.is_current(*owner));
        tally.broken_if(is_cleared, Rule::UnitClear, at);
        let is_of_another = owner.is_some_and(|owner| owner.unit != unit);
        tally.broken_if(is_of_another, Rule::OrderOfUnit, at);
        match anomaly {
            Some(Anomaly::UnknownReference) if is_cleared => {}
            Some(Anomaly::UnknownReference) => {
                tally.broken_at(channels.of_unknown(Rule::OrderLive), at);
            }
            Some(_) => tally.broken_at(Rule::OrderLive, at),
            None => {}
        }
    }

    /// An order is in no book. One that a Unit Clear removed is remembered.
    fn leaves(&mut self, reference: OrderReferenceNumber) {
        if self.owners.get(&reference).is_some_and(|owner| self.is_current(*owner)) {
            self.owners.remove(&reference);
        }
    }

    /// Whether no Unit Clear came since an order entered.
    fn is_current(&self, owner: OrderOwner) -> bool {
        self.units[usize::from(owner.unit)].clears == owner.clears
    }
}

impl CheckedUnit {
    fn begin_second(&mut self, second: u32, at: Position, tally: &mut RuleTally) {
        let goes_back = self.second.is_some_and(|last| second < last);
        tally.broken_if(goes_back, Rule::TimeOrder, at);
        if self.second != Some(second) {
            (self.second, self.last_ns) = (Some(second), u64::from(second) * NANOS);
        }
    }

    fn offset(
        &mut self,
        offset: NanosOffset,
        at: Position,
        (channels, tally): (&CheckedChannels, &mut RuleTally),
    ) {
        let offset = u64::from(offset.get());
        tally.broken_if(offset >= NANOS, Rule::OffsetBelowSecond, at);
        let Some(second) = self.second else {
            return tally.broken_at(channels.of_unknown(Rule::TimeFirst), at);
        };
        let time_ns = u64::from(second) * NANOS + offset;
        tally.broken_if(time_ns < self.last_ns, Rule::TimeOrder, at);
        self.last_ns = time_ns;
    }
}

/// The order that a message enters.
fn added(message: Message<'_>) -> Option<OrderReferenceNumber> {
    match message {
        Message::AddOrderLong(m) => Some(m.order_reference_number()),
        Message::AddOrderShort(m) => Some(m.order_reference_number()),
        Message::AddOrderExpanded(m) => Some(m.order_reference_number()),
        _ => None,
    }
}

/// The order that a message changes. The order of a trade is not displayed, and has another number.
fn changed(message: Message<'_>) -> Option<OrderReferenceNumber> {
    match message {
        Message::OrderExecuted(m) => Some(m.order_reference_number()),
        Message::OrderExecutedAtPriceSize(m) => Some(m.order_reference_number()),
        Message::ReduceSizeLong(m) => Some(m.order_reference_number()),
        Message::ReduceSizeShort(m) => Some(m.order_reference_number()),
        Message::ModifyOrderLong(m) => Some(m.order_reference_number()),
        Message::ModifyOrderShort(m) => Some(m.order_reference_number()),
        Message::DeleteOrder(m) => Some(m.order_reference_number()),
        _ => None,
    }
}

/// The execution that a message reports.
fn executed(message: Message<'_>) -> Option<MatchNumber> {
    match message {
        Message::TradeBreak(_) => None,
        other => other.match_number(),
    }
}
