//! Checks every rule while a day runs through the books.
//!
//! Where: an observer of the engine. The content of the day decides whose rules they are: the
//! source gives the venue before the first event. `docs/protocols/validation.md` has the rules of
//! each feed. A violation of a rule of strength [`Strength::Spec`] indicates lost bytes or a bug;
//! the others are habits of real days.

use core::ops::ControlFlow;

use nanotape_book::{Anomaly, Books, OrderStore, Outcome, PriceLevels};
use nanotape_engine::{BookEngine, DayReport, Observer};
use nanotape_feed::{AnyMessage, Damage, DayEnd, Feed, Position};
use nanotape_market::{ChannelMessages, MarketEvent, Venue};
use nanotape_types::{
    StockLocate,
    rows::{Cell, Column, Kind, Sink},
};
use nanotape_wire::itch50::Message;

use crate::{
    FeedRule, Finding, Rule, Strength, checked_channels::CheckedChannels, iex::IexRules,
    itch::ItchRules, pitch::PitchRules, rules_of, tally::RuleTally,
};

/// Checks every rule while a day runs through a plant.
#[derive(Debug)]
pub struct Validator {
    feed: Feed,
    rules: VenueRules,
    tally: RuleTally,
    channels: CheckedChannels,
    /// The last event; `None` for ITCH, whose messages have all that the rules need.
    event: Option<MarketEvent>,
    /// The number of the last message.
    last: u64,
}

/// What is known of the day, by the exchange.
#[derive(Debug)]
enum VenueRules {
    Itch(Box<ItchRules>),
    Iex(Box<IexRules>),
    Pitch(Box<PitchRules>),
}

impl VenueRules {
    fn of(feed: Feed) -> Self {
        match feed {
            Feed::Itch => Self::Itch(Box::default()),
            Feed::IexDeep | Feed::IexDeepPlus | Feed::IexTops => Self::Iex(Box::default()),
            Feed::Pitch => Self::Pitch(Box::default()),
        }
    }
}

impl Default for Validator {
    fn default() -> Self {
        Self {
            feed: Feed::Itch,
            rules: VenueRules::of(Feed::Itch),
            tally: RuleTally::default(),
            channels: CheckedChannels::default(),
            event: None,
            last: 0,
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
        let tally = &mut self.tally;
        let is_cut = matches!(report.summary.end, DayEnd::Cut { .. });
        if is_cut || report.summary.fault.is_some() {
            tally.broken(Rule::MessageLength, report.summary.bytes, None);
        }
        // Messages of captures have their number as their offset.
        let end = if self.feed == Feed::Itch { report.summary.bytes } else { self.last };
        match &self.rules {
            VenueRules::Itch(rules) => rules.finish(end, tally),
            VenueRules::Iex(rules) => rules.finish(end, tally),
            VenueRules::Pitch(rules) => rules.finish(end, tally),
        }
        for stock in StockLocate::all() {
            if !engine.books().book(stock).is_empty() {
                tally.broken(Rule::EndsEmpty, end, None);
            }
        }
    }

    /// The rules of the feed, by number. Those of ITCH before the run.
    pub fn rules(&self) -> &'static [FeedRule] {
        rules_of(self.feed)
    }

    /// The result of a rule. A rule that the feed does not have is not violated.
    pub fn finding(&self, rule: Rule) -> Finding {
        self.tally.of(rule)
    }

    /// Whether all rules of the specification hold.
    pub fn is_valid(&self) -> bool {
        let spec = self.rules().iter().filter(|row| row.strength == Strength::Spec);
        spec.map(|row| self.finding(row.rule)).all(|finding| finding.violations == 0)
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

    /// Gives a row for each rule of the feed.
    pub fn rows(&self, sink: &mut impl Sink) -> ControlFlow<()> {
        self.rules().iter().try_for_each(|row| {
            let Finding { violations, first } = self.finding(row.rule);
            sink.row(&[
                Cell::U64(row.rule.number().into()),
                Cell::Text(row.strength.name()),
                Cell::U64(violations),
                Cell::u64(first.map(|(offset, _)| offset)),
                Cell::u64(first.and_then(|(_, number)| number)),
                Cell::Text(row.text),
            ])
        })
    }
}

impl<L: PriceLevels, S: OrderStore> Observer<Books<L, S>> for Validator {
    const READS_BYTES: bool = true;

    fn venue(&mut self, venue: &'static Venue) {
        let feed = Feed::of_venue(venue).unwrap_or(Feed::Itch);
        if feed != self.feed {
            (self.feed, self.rules) = (feed, VenueRules::of(feed));
        }
    }

    fn of_channel(&mut self, messages: &ChannelMessages) {
        let begins_again = self.channels.messages(messages, &mut self.tally);
        if let VenueRules::Pitch(rules) = &mut self.rules
            && begins_again
        {
            rules.restart(messages.channel);
        }
    }

    fn before(&mut self, engine: &BookEngine<Books<L, S>>, _: Position, event: &MarketEvent) {
        if let VenueRules::Iex(rules) = &mut self.rules {
            rules.before(engine, event);
        }
    }

    fn after(
        &mut self,
        _: &BookEngine<Books<L, S>>,
        _: Position,
        event: &MarketEvent,
        _: Option<Outcome>,
    ) -> ControlFlow<()> {
        if self.feed != Feed::Itch {
            self.event = Some(*event);
        }
        ControlFlow::Continue(())
    }

    fn bytes(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        at: Position,
        bytes: &[u8],
        outcome: Option<Outcome>,
    ) {
        self.last = at.number;
        let tally = &mut self.tally;
        if let VenueRules::Itch(rules) = &mut self.rules {
            // The decoder delivers only bytes that decode.
            if let Ok(message) = Message::decode(bytes) {
                rules.message(engine, at, &message, outcome, tally);
            }
            return;
        }
        // A unit that begins again has events without a message.
        let Some(message) = AnyMessage::decode(self.feed, bytes) else { return };
        let Some(event) = &self.event else { return };
        let known = (&self.channels, &mut *tally);
        match (&mut self.rules, message) {
            (VenueRules::Iex(rules), message) => {
                rules.message(engine, (at, event, outcome), message, known);
                // Orders of PITCH have more rules.
                let anomaly = outcome.and_then(|outcome| outcome.anomaly);
                if let Some(rule) = anomaly.map(|anomaly| rule_of(anomaly, &self.channels)) {
                    tally.broken_at(rule, at);
                }
            }
            (VenueRules::Pitch(rules), AnyMessage::Pitch(message)) => {
                rules.message(engine, (at, event, outcome), message, known);
            }
            _ => {}
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.tally.broken(Rule::MessageLength, damage.offset(), None);
    }
}

/// The rule of orders that a message breaks.
fn rule_of(anomaly: Anomaly, channels: &CheckedChannels) -> Rule {
    match anomaly {
        Anomaly::DuplicateReference => Rule::ReferenceUnique,
        Anomaly::UnknownReference => channels.of_unknown(Rule::OrderLive),
        _ => Rule::OrderLive,
    }
}
