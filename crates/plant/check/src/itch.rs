//! The rules of Nasdaq ITCH 5.0.

use nanotape_book::{Anomaly, Books, Condition, OrderStore, Outcome, PriceLevels};
use nanotape_engine::BookEngine;
use nanotape_feed::{Position, hidden_in};
use nanotape_types::{LocateTable, Maybe, NanosSinceMidnight, Symbol};
use nanotape_wire::itch50::{EventCode, Message, TradingState};

use crate::{Rule, number_set::NumberSet, tally::RuleTally};

/// What is known of a day of ITCH.
#[derive(Debug)]
pub(crate) struct ItchRules {
    /// Number of the six events that were in order so far.
    events: usize,
    last_was_end: bool,
    /// Whether a message after the end has been counted.
    end_was_followed: bool,
    last_time: NanosSinceMidnight,
    listed: LocateTable<bool>,
    /// The first symbol of each locate.
    symbols: LocateTable<Maybe<Symbol>>,
    trading: LocateTable<bool>,
    references: NumberSet,
    matches: NumberSet,
    breakable: NumberSet,
}

/// The order of a normal day.
const EVENTS: [EventCode; 6] = [
    EventCode::StartOfMessages,
    EventCode::StartOfSystemHours,
    EventCode::StartOfMarketHours,
    EventCode::EndOfMarketHours,
    EventCode::EndOfSystemHours,
    EventCode::EndOfMessages,
];

const IN_MARKET_HOURS: usize = 3;

impl Default for ItchRules {
    fn default() -> Self {
        Self {
            events: 0,
            last_was_end: false,
            end_was_followed: false,
            last_time: NanosSinceMidnight::default(),
            listed: LocateTable::filled(false),
            symbols: LocateTable::filled(Maybe::NONE),
            trading: LocateTable::filled(false),
            references: NumberSet::default(),
            matches: NumberSet::default(),
            breakable: NumberSet::default(),
        }
    }
}

impl ItchRules {
    /// The day ends at this offset.
    pub(crate) fn finish(&self, end: u64, tally: &mut RuleTally) {
        // A message after the last event was counted at its offset.
        let has_end = self.last_was_end || self.end_was_followed;
        if self.events < EVENTS.len() || !has_end {
            tally.broken(Rule::SystemEvents, end, None);
        }
    }

    /// Checks a message after it was applied.
    pub(crate) fn message<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        position: Position,
        message: &Message<'_>,
        outcome: Option<Outcome>,
        tally: &mut RuleTally,
    ) {
        let is_first_event = matches!(message, Message::SystemEvent(event)
            if event.event_code() == EventCode::StartOfMessages);
        tally.broken_if(position.number == 1 && !is_first_event, Rule::SystemEvents, position);
        tally.broken_if(self.last_was_end, Rule::SystemEvents, position);
        self.end_was_followed |= self.last_was_end;
        self.last_was_end = false;
        match message {
            Message::SystemEvent(event) => self.system_event(position, event.event_code(), tally),
            Message::StockDirectory(m) => self.listed[m.stock_locate()] = true,
            Message::StockTradingAction(m) => {
                let trading = m.trading_state() == TradingState::Trading;
                self.trading[m.stock_locate()] = trading;
            }
            Message::Unknown(_) => tally.broken_at(Rule::TypeKnown, position),
            _ => self.numbers(position, message, tally),
        }
        // An IPO update concerns a symbol, independent of its locate.
        if let Some(locate) = message.stock_locate()
            && locate.get() != 0
            && !matches!(message, Message::IpoQuotingPeriodUpdate(_))
        {
            tally.broken_if(!self.listed[locate], Rule::DirectoryFirst, position);
            if let Some(stock) = message.stock() {
                let first = &mut self.symbols[locate];
                let other = first.get().is_some_and(|first| first != stock);
                *first =
                    if first.is_none() { Maybe::some(stock).unwrap_or_default() } else { *first };
                tally.broken_if(other, Rule::SymbolOfLocate, position);
            }
        }
        self.hidden(position, message, outcome, tally);
        if let Some(time) = message.timestamp() {
            tally.broken_if(time < self.last_time, Rule::TimeOrder, position);
            self.last_time = time;
        }
        if let Some(outcome) = outcome {
            // A duplicate reference belongs to another rule.
            let wrong = outcome.anomaly.is_some_and(|kind| kind != Anomaly::DuplicateReference);
            tally.broken_if(wrong, Rule::OrderLive, position);
            let locate = outcome.stock_locate;
            if outcome.inside_changed && self.events == IN_MARKET_HOURS && self.trading[locate] {
                let condition = engine.books().book(locate).inside().condition();
                let crossed = matches!(condition, Condition::Locked | Condition::Crossed);
                tally.broken_if(crossed, Rule::NotCrossed, position);
            }
        }
    }

    fn system_event(&mut self, position: Position, event: EventCode, tally: &mut RuleTally) {
        self.last_was_end = event == EventCode::EndOfMessages;
        match EVENTS.iter().position(|&known| known == event) {
            Some(place) if place == self.events => self.events += 1,
            Some(place) => {
                tally.broken_at(Rule::SystemEvents, position);
                // If the beginning of a day is missing, the event determines the phase.
                self.events = self.events.max(place + 1);
            }
            None => tally.broken_at(Rule::SystemEvents, position),
        }
    }

    /// A record inside a message. The plant searches messages that do not fit their book.
    fn hidden(
        &self,
        position: Position,
        message: &Message<'_>,
        outcome: Option<Outcome>,
        tally: &mut RuleTally,
    ) {
        let is_wrong = outcome.is_some_and(|outcome| outcome.anomaly.is_some());
        let found = hidden_in(message.as_bytes(), position.offset).filter(|_| !is_wrong);
        if let Some((damage, inner)) = found
            && inner.timestamp().is_some_and(|time| follows(time, self.last_time))
        {
            tally.broken(Rule::MessageLength, damage.offset(), None);
        }
    }

    /// Checks reference and match numbers, and fields of single types.
    fn numbers(&mut self, position: Position, message: &Message<'_>, tally: &mut RuleTally) {
        let (entered, matched, breakable) = match message {
            Message::AddOrder(m) => (Some(m.order_reference_number()), None, false),
            Message::AddOrderMpid(m) => (Some(m.order_reference_number()), None, false),
            Message::OrderReplace(m) => (Some(m.new_order_reference_number()), None, false),
            Message::OrderExecuted(m) => (None, Some(m.match_number()), true),
            Message::OrderExecutedWithPrice(m) => (None, Some(m.match_number()), true),
            Message::Trade(m) => (None, Some(m.match_number()), true),
            Message::CrossTrade(m) => (None, Some(m.match_number()), false),
            Message::BrokenTrade(m) => {
                let known = self.breakable.contains(m.match_number().get());
                return tally.broken_if(!known, Rule::BrokenKnown, position);
            }
            _ => return,
        };
        if let Some(reference) = entered {
            let new = self.references.insert(reference.get());
            tally.broken_if(!new, Rule::ReferenceUnique, position);
            tally.broken_if(reference.get() >= 1 << 40, Rule::ReferenceSmall, position);
        }
        if let Some(number) = matched {
            let new = self.matches.insert(number.get());
            tally.broken_if(!new, Rule::MatchUnique, position);
            if breakable {
                self.breakable.insert(number.get());
            }
        }
    }
}

/// Whether a message of this time can be next: within ten minutes.
fn follows(time: NanosSinceMidnight, last: NanosSinceMidnight) -> bool {
    time.get().checked_sub(last.get()).is_some_and(|later| later <= 600_000_000_000)
}
