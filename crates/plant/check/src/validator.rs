//! The rules of a valid ITCH 5.0 day, checked while it runs through the plant.
//!
//! The rules are those of the specification and of practice, as collected in
//! `docs/protocols/validation.md`. A violation of a rule of strength [`Strength::Spec`] indicates
//! lost bytes or a bug; the others are habits of real days.

use core::ops::ControlFlow;

use nanotape_book::{Anomaly, Books, Condition, OrderStore, Outcome, PriceLevels};
use nanotape_engine::{BookEngine, DayReport, Observer};
use nanotape_feed::{Damage, DayEnd, Position, hidden_in};
use nanotape_market::MarketEvent;
use nanotape_types::{
    LocateTable, Maybe, NanosSinceMidnight, StockLocate, Symbol,
    rows::{Cell, Column, Kind, Sink},
};
use nanotape_wire::itch50::{EventCode, Message, TradingState};

use crate::number_set::NumberSet;

/// The strength of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strength {
    /// The specification states or implies it.
    Spec,
    /// Real days follow it.
    Practice,
}

impl Strength {
    /// `spec` or `practice`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Practice => "practice",
        }
    }
}

/// A rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Rule {
    /// The six system events, once each, in order, first and last message among them.
    SystemEvents = 1,
    /// Every message has the length of its type, and every byte belongs to one.
    MessageLength,
    /// A stock directory message precedes every other message of the stock.
    DirectoryFirst,
    /// No order reuses an earlier reference number.
    ReferenceUnique,
    /// Every change is to a live order of that stock, removes no more than its shares, and every
    /// new order has a side and shares.
    OrderLive,
    /// Match numbers are unique over executions, trades and crosses.
    MatchUnique,
    /// Timestamps never decrease.
    TimeOrder,
    /// A broken trade names an earlier execution or trade.
    BrokenKnown,
    /// Reference numbers are small.
    ReferenceSmall,
    /// All books are empty at the end.
    EndsEmpty,
    /// No stock that is trading is locked or crossed in market hours.
    NotCrossed,
    /// Every message type is known.
    TypeKnown,
    /// A stock locate has one symbol all day.
    SymbolOfLocate,
}

impl Rule {
    /// All rules, by number.
    pub const ALL: [Self; 13] = [
        Self::SystemEvents,
        Self::MessageLength,
        Self::DirectoryFirst,
        Self::ReferenceUnique,
        Self::OrderLive,
        Self::MatchUnique,
        Self::TimeOrder,
        Self::BrokenKnown,
        Self::ReferenceSmall,
        Self::EndsEmpty,
        Self::NotCrossed,
        Self::TypeKnown,
        Self::SymbolOfLocate,
    ];

    /// The number; 1 to 9 are those of the specification notes.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The strength.
    pub const fn strength(self) -> Strength {
        match self {
            Self::SystemEvents
            | Self::MessageLength
            | Self::ReferenceUnique
            | Self::OrderLive
            | Self::MatchUnique
            | Self::BrokenKnown
            | Self::SymbolOfLocate => Strength::Spec,
            _ => Strength::Practice,
        }
    }

    /// The requirement, in one line.
    pub const fn text(self) -> &'static str {
        match self {
            Self::SystemEvents => "six system events once each in order, O first and C last",
            Self::MessageLength => "every message has the length of its type",
            Self::DirectoryFirst => "a stock's directory message precedes its other messages",
            Self::ReferenceUnique => "order reference numbers are unique for the day",
            Self::OrderLive => "changes are to live orders and never take more than there is",
            Self::MatchUnique => "match numbers are unique over E, C, P and Q",
            Self::TimeOrder => "timestamps do not go back",
            Self::BrokenKnown => "a broken trade names an earlier E, C or P",
            Self::ReferenceSmall => "order reference numbers stay below 2^40",
            Self::EndsEmpty => "all books are empty at the end",
            Self::NotCrossed => "no trading stock is locked or crossed in market hours",
            Self::TypeKnown => "every message type is known",
            Self::SymbolOfLocate => "a stock locate stands for one symbol all day",
        }
    }
}

/// The result of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Finding {
    /// Number of violations.
    pub violations: u64,
    /// The first violation: record offset, and message number if there is one.
    pub first: Option<(u64, Option<u64>)>,
}

/// Checks every rule while a day runs through a plant.
#[derive(Debug)]
pub struct Validator {
    findings: [Finding; Rule::ALL.len()],
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

impl Default for Validator {
    fn default() -> Self {
        Self {
            findings: [Finding::default(); Rule::ALL.len()],
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

impl Validator {
    /// Checks the rules that need the whole day. Call once, after the run.
    pub fn finish<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        report: &DayReport,
    ) {
        let end = report.summary.bytes;
        if matches!(report.summary.end, DayEnd::Cut { .. }) || report.summary.fault.is_some() {
            self.broken(Rule::MessageLength, end, None);
        }
        // A message after the last event was counted at its offset.
        let has_end = self.last_was_end || self.end_was_followed;
        if self.events < EVENTS.len() || !has_end {
            self.broken(Rule::SystemEvents, end, None);
        }
        for stock in StockLocate::all() {
            if !engine.books().book(stock).is_empty() {
                self.broken(Rule::EndsEmpty, end, None);
            }
        }
    }

    /// The result of a rule.
    pub fn finding(&self, rule: Rule) -> Finding {
        self.findings[rule as usize - 1]
    }

    /// Whether all rules of the specification hold.
    pub fn is_valid(&self) -> bool {
        let spec = Rule::ALL.into_iter().filter(|rule| rule.strength() == Strength::Spec);
        spec.map(|rule| self.finding(rule)).all(|finding| finding.violations == 0)
    }

    /// The columns of rows of rules.
    pub fn columns() -> Vec<Column> {
        let offset = "Offset of the first violation in the day. Absent without one.";
        let message = "Number of its message, from 1. Absent if it is not at a message.";
        vec![
            Column::new("rule", Kind::U64, 4, "Number of the rule."),
            Column::new(
                "strength",
                Kind::Text,
                8,
                "spec if the specification has it, or practice.",
            ),
            Column::new("violations", Kind::U64, 10, "Number of violations."),
            Column::new("first_offset", Kind::U64, 12, offset).of("bytes"),
            Column::new("first_message", Kind::U64, 13, message),
            Column::new("text", Kind::Text, 0, "What the rule requires."),
        ]
    }

    /// Gives a row for each rule.
    pub fn rows(&self, sink: &mut impl Sink) -> ControlFlow<()> {
        Rule::ALL.into_iter().try_for_each(|rule| {
            let Finding { violations, first } = self.finding(rule);
            sink.row(&[
                Cell::U64(rule.number().into()),
                Cell::Text(rule.strength().name()),
                Cell::U64(violations),
                Cell::u64(first.map(|(offset, _)| offset)),
                Cell::u64(first.and_then(|(_, number)| number)),
                Cell::Text(rule.text()),
            ])
        })
    }

    fn broken(&mut self, rule: Rule, offset: u64, number: Option<u64>) {
        let finding = &mut self.findings[rule as usize - 1];
        finding.violations += 1;
        finding.first.get_or_insert((offset, number));
    }

    fn broken_if(&mut self, broken: bool, rule: Rule, position: Position) {
        if broken {
            self.broken(rule, position.offset, Some(position.number));
        }
    }

    fn system_event(&mut self, position: Position, event: EventCode) {
        self.last_was_end = event == EventCode::EndOfMessages;
        match EVENTS.iter().position(|&known| known == event) {
            Some(place) if place == self.events => self.events += 1,
            Some(place) => {
                self.broken(Rule::SystemEvents, position.offset, Some(position.number));
                // If the beginning of a day is missing, the event determines the phase.
                self.events = self.events.max(place + 1);
            }
            None => self.broken(Rule::SystemEvents, position.offset, Some(position.number)),
        }
    }

    /// A record inside a message. The plant searches messages that do not fit their book.
    fn hidden(&mut self, position: Position, message: &Message<'_>, outcome: Option<Outcome>) {
        let is_wrong = outcome.is_some_and(|outcome| outcome.anomaly.is_some());
        let found = hidden_in(message.as_bytes(), position.offset).filter(|_| !is_wrong);
        if let Some((damage, inner)) = found
            && inner.timestamp().is_some_and(|time| follows(time, self.last_time))
        {
            self.broken(Rule::MessageLength, damage.offset(), None);
        }
    }

    /// Checks reference and match numbers, and fields of single types.
    fn numbers(&mut self, position: Position, message: &Message<'_>) {
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
                return self.broken_if(!known, Rule::BrokenKnown, position);
            }
            _ => return,
        };
        if let Some(reference) = entered {
            let new = self.references.insert(reference.get());
            self.broken_if(!new, Rule::ReferenceUnique, position);
            self.broken_if(reference.get() >= 1 << 40, Rule::ReferenceSmall, position);
        }
        if let Some(number) = matched {
            let new = self.matches.insert(number.get());
            self.broken_if(!new, Rule::MatchUnique, position);
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

impl<L: PriceLevels, S: OrderStore> Observer<Books<L, S>> for Validator {
    const READS_BYTES: bool = true;

    fn after(
        &mut self,
        _: &BookEngine<Books<L, S>>,
        _: Position,
        _: &MarketEvent,
        _: Option<Outcome>,
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn bytes(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        at: Position,
        bytes: &[u8],
        outcome: Option<Outcome>,
    ) {
        // The decoder delivers only bytes that decode.
        if let Ok(message) = Message::decode(bytes) {
            self.message(engine, at, &message, outcome);
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.broken(Rule::MessageLength, damage.offset(), None);
    }
}

impl Validator {
    fn message<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        position: Position,
        message: &Message<'_>,
        outcome: Option<Outcome>,
    ) {
        let is_first_event = matches!(message, Message::SystemEvent(event)
            if event.event_code() == EventCode::StartOfMessages);
        self.broken_if(position.number == 1 && !is_first_event, Rule::SystemEvents, position);
        self.broken_if(self.last_was_end, Rule::SystemEvents, position);
        self.end_was_followed |= self.last_was_end;
        self.last_was_end = false;
        match message {
            Message::SystemEvent(event) => self.system_event(position, event.event_code()),
            Message::StockDirectory(m) => self.listed[m.stock_locate()] = true,
            Message::StockTradingAction(m) => {
                let trading = m.trading_state() == TradingState::Trading;
                self.trading[m.stock_locate()] = trading;
            }
            Message::Unknown(_) => self.broken_if(true, Rule::TypeKnown, position),
            _ => self.numbers(position, message),
        }
        // An IPO update concerns a symbol, independent of its locate.
        if let Some(locate) = message.stock_locate()
            && locate.get() != 0
            && !matches!(message, Message::IpoQuotingPeriodUpdate(_))
        {
            self.broken_if(!self.listed[locate], Rule::DirectoryFirst, position);
            if let Some(stock) = message.stock() {
                let first = &mut self.symbols[locate];
                let other = first.get().is_some_and(|first| first != stock);
                *first =
                    if first.is_none() { Maybe::some(stock).unwrap_or_default() } else { *first };
                self.broken_if(other, Rule::SymbolOfLocate, position);
            }
        }
        self.hidden(position, message, outcome);
        if let Some(time) = message.timestamp() {
            self.broken_if(time < self.last_time, Rule::TimeOrder, position);
            self.last_time = time;
        }
        if let Some(outcome) = outcome {
            // A duplicate reference belongs to another rule.
            let wrong = outcome.anomaly.is_some_and(|kind| kind != Anomaly::DuplicateReference);
            self.broken_if(wrong, Rule::OrderLive, position);
            let locate = outcome.stock_locate;
            if outcome.inside_changed && self.events == IN_MARKET_HOURS && self.trading[locate] {
                let condition = engine.books().book(locate).inside().condition();
                let crossed = matches!(condition, Condition::Locked | Condition::Crossed);
                self.broken_if(crossed, Rule::NotCrossed, position);
            }
        }
    }
}
