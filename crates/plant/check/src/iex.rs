//! The rules of IEX DEEP, DEEP+ and TOPS.

use std::collections::HashMap;

use nanotape_book::{Books, Condition, OrderStore, Outcome, PriceLevels};
use nanotape_engine::BookEngine;
use nanotape_feed::{AnyMessage, Position};
use nanotape_market::{LevelChange, MarketEvent, What};
use nanotape_types::{Decimal, LocateTable, MatchNumber, NanosSinceEpoch, Shares, StockLocate};
use nanotape_wire::{
    iex_common::{SystemEventCode, TradingStatusCode},
    iex_deep, iex_deep_plus, iex_tops,
};

use crate::{Rule, checked_channels::CheckedChannels, tally::RuleTally};

/// The order of a normal day.
const EVENTS: [SystemEventCode; 6] = [
    SystemEventCode::StartOfMessages,
    SystemEventCode::StartOfSystemHours,
    SystemEventCode::StartOfRegularHours,
    SystemEventCode::EndOfRegularHours,
    SystemEventCode::EndOfSystemHours,
    SystemEventCode::EndOfMessages,
];

const IN_REGULAR_HOURS: usize = 3;

/// What is known of a day of IEX.
#[derive(Debug)]
pub(crate) struct IexRules {
    /// The system events of each channel.
    phases: Vec<(u32, IexPhase)>,
    /// The last time of each type and stock, in ns since the UNIX epoch.
    times: Vec<(u8, LocateTable<u64>)>,
    /// The times of events of which a level is awaited.
    open: HashMap<StockLocate, NanosSinceEpoch>,
    trades: HashMap<MatchNumber, TradeTerms>,
    trading: LocateTable<bool>,
    /// Whether the level that is removed next is not in the book.
    is_absent: bool,
    /// The number of the last message: a quote of both sides has two events.
    last: u64,
}

/// How far the day of a channel is.
#[derive(Clone, Copy, Debug, Default)]
struct IexPhase {
    /// The place of the last system event, from 1.
    last: usize,
    /// Number of system events.
    count: usize,
}

/// What a trade break has of its trade.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TradeTerms {
    stock_locate: StockLocate,
    shares: Shares,
    price: Decimal<i64, 4>,
}

/// What the rules need of a message.
enum IexContent {
    System(SystemEventCode),
    Status(TradingStatusCode),
    Level { is_complete: bool },
    Trade(MatchNumber, Shares, Decimal<i64, 4>),
    Break(MatchNumber, Shares, Decimal<i64, 4>),
    Unknown,
    Other,
}

impl Default for IexRules {
    fn default() -> Self {
        Self {
            phases: Vec::new(),
            times: Vec::new(),
            open: HashMap::new(),
            trades: HashMap::new(),
            trading: LocateTable::filled(false),
            is_absent: false,
            last: 0,
        }
    }
}

impl IexRules {
    /// An event is applied next.
    pub(crate) fn before<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        event: &MarketEvent,
    ) {
        self.is_absent = match event.what {
            What::Level(LevelChange { side, price, shares, .. }) if shares.get() == 0 => {
                engine.books().book(event.stock_locate).level(side, price).is_none()
            }
            _ => false,
        };
    }

    /// Checks a message after it was applied.
    pub(crate) fn message<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        (at, event, outcome): (Position, &MarketEvent, Option<Outcome>),
        message: AnyMessage<'_>,
        (channels, tally): (&CheckedChannels, &mut RuleTally),
    ) {
        let stock_locate = event.stock_locate;
        let place = self.phase_of(channels.current());
        if at.number != self.last {
            self.last = at.number;
            self.once((at, stock_locate, place), message, (channels, tally));
        }
        if outcome.is_some_and(|outcome| outcome.inside_changed)
            && self.phases[place].1.last == IN_REGULAR_HOURS
            && self.trading[stock_locate]
        {
            let condition = engine.books().book(stock_locate).inside().condition();
            let crossed = matches!(condition, Condition::Locked | Condition::Crossed);
            tally.broken_if(crossed, Rule::NotCrossed, at);
        }
    }

    /// Checks what a message has, whatever its events are.
    fn once(
        &mut self,
        (at, stock_locate, place): (Position, StockLocate, usize),
        message: AnyMessage<'_>,
        (channels, tally): (&CheckedChannels, &mut RuleTally),
    ) {
        let Some((content, time)) = content_of(message) else { return };
        let phase = &mut self.phases[place].1;
        tally.broken_if(phase.last == EVENTS.len(), Rule::SystemEvents, at);
        match content {
            IexContent::System(code) => phase.event(code, at, tally),
            IexContent::Status(code) => {
                self.trading[stock_locate] = code == TradingStatusCode::Trading;
            }
            IexContent::Level { is_complete } => {
                tally.broken_if(self.is_absent, Rule::LevelExists, at);
                let open = self.open.get(&stock_locate).copied();
                let is_another = open.is_some() && open != time;
                tally.broken_if(is_another, Rule::EventComplete, at);
                match time {
                    Some(time) if !is_complete => self.open.insert(stock_locate, time),
                    _ => self.open.remove(&stock_locate),
                };
            }
            IexContent::Trade(number, shares, price) => {
                let terms = TradeTerms { stock_locate, shares, price };
                let earlier = self.trades.insert(number, terms);
                tally.broken_if(earlier.is_some(), Rule::MatchUnique, at);
            }
            IexContent::Break(number, shares, price) => match self.trades.get(&number) {
                Some(terms) => {
                    let is_other = *terms != TradeTerms { stock_locate, shares, price };
                    tally.broken_if(is_other, Rule::BrokenKnown, at);
                }
                None => tally.broken_at(channels.of_unknown(Rule::BrokenKnown), at),
            },
            IexContent::Unknown => tally.broken_at(Rule::TypeKnown, at),
            IexContent::Other => {}
        }
        if let Some(time) = time {
            let last = self.last_time(message.tag(), stock_locate);
            tally.broken_if(time.get() < *last, Rule::TimeOrder, at);
            *last = time.get();
        }
    }

    /// The day ends after the message of this number.
    pub(crate) fn finish(&self, last: u64, tally: &mut RuleTally) {
        for (_, phase) in &self.phases {
            if phase.count < EVENTS.len() {
                tally.broken(Rule::WholeDay, last, None);
            }
        }
        // A capture that is cut may end in an event.
        if self.phases.iter().all(|(_, phase)| phase.last == EVENTS.len()) {
            self.open.iter().for_each(|_| tally.broken(Rule::EventComplete, last, None));
        }
    }

    fn phase_of(&mut self, channel: u32) -> usize {
        if let Some(place) = self.phases.iter().position(|(of, _)| *of == channel) {
            return place;
        }
        self.phases.push((channel, IexPhase::default()));
        self.phases.len() - 1
    }

    fn last_time(&mut self, tag: u8, stock_locate: StockLocate) -> &mut u64 {
        let place = match self.times.iter().position(|(of, _)| *of == tag) {
            Some(place) => place,
            None => {
                self.times.push((tag, LocateTable::filled(0)));
                self.times.len() - 1
            }
        };
        &mut self.times[place].1[stock_locate]
    }
}

impl IexPhase {
    fn event(&mut self, code: SystemEventCode, at: Position, tally: &mut RuleTally) {
        let place = EVENTS.iter().position(|known| *known == code).map(|place| place + 1);
        let is_next = place.is_some_and(|place| place > self.last);
        // What follows the end is a violation already.
        tally.broken_if(!is_next && self.last < EVENTS.len(), Rule::SystemEvents, at);
        if let Some(place) = place.filter(|_| is_next) {
            (self.last, self.count) = (place, self.count + 1);
        }
    }
}

/// The content of a message, and its time; `None` for a message of another exchange.
fn content_of(message: AnyMessage<'_>) -> Option<(IexContent, Option<NanosSinceEpoch>)> {
    macro_rules! content {
        ($message:expr, $protocol:ident, $($own:tt)*) => {{
            use $protocol::Message;
            let content = match $message {
                Message::SystemEvent(m) => IexContent::System(m.system_event()),
                Message::TradingStatus(m) => IexContent::Status(m.trading_status()),
                Message::TradeReport(m) => IexContent::Trade(m.match_number(), m.shares(), m.price()),
                Message::TradeBreak(m) => IexContent::Break(m.match_number(), m.shares(), m.price()),
                Message::Unknown(_) => IexContent::Unknown,
                $($own)*
                _ => IexContent::Other,
            };
            Some((content, $message.timestamp()))
        }};
    }
    match message {
        AnyMessage::IexDeep(message) => content! { message, iex_deep,
            Message::PriceLevelUpdateBuy(m) => {
                IexContent::Level { is_complete: m.event_flags().is_event_complete() }
            }
            Message::PriceLevelUpdateSell(m) => {
                IexContent::Level { is_complete: m.event_flags().is_event_complete() }
            }
        },
        AnyMessage::IexDeepPlus(message) => content! { message, iex_deep_plus,
            Message::OrderExecuted(m) => {
                IexContent::Trade(m.match_number(), m.executed_shares(), m.price())
            }
        },
        AnyMessage::IexTops(message) => content! { message, iex_tops, },
        AnyMessage::Itch(_) | AnyMessage::Pitch(_) => None,
    }
}
