//! The rules, and which of them each feed has.
//!
//! A rule has one number for all feeds. Its strength and its text can differ: identifiers of orders
//! never come again in ITCH, and may come again at other exchanges.

use nanotape_feed::Feed;

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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Rule {
    /// The system events are in order.
    SystemEvents = 1,
    /// Every message has the length of its type, and every byte belongs to one.
    MessageLength,
    /// A stock directory message precedes every other message of the stock.
    DirectoryFirst,
    /// No order reuses the number of an earlier order, or of a live one.
    ReferenceUnique,
    /// Every change is to a live order, removes no more than its shares, and every new order has a
    /// side and shares.
    OrderLive,
    /// Match numbers are unique.
    MatchUnique,
    /// Times do not go back.
    TimeOrder,
    /// A broken trade names an earlier trade.
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
    /// An event of several levels is complete before the next one of its symbol.
    EventComplete,
    /// A level that is removed was in the book.
    LevelExists,
    /// Stream offsets advance with the sequence numbers.
    StreamOffsets,
    /// The capture has the whole day.
    WholeDay,
    /// A unit states the second before the first time offset.
    TimeFirst,
    /// Time offsets are below one second.
    OffsetBelowSecond,
    /// No message names an order that a Unit Clear removed.
    UnitClear,
    /// Messages about an order come from its unit.
    OrderOfUnit,
    /// Messages of a symbol come from one unit.
    SymbolOfUnit,
    /// The stated remaining shares are those before less those executed.
    RemainingFits,
    /// Nothing follows the end of a session.
    NothingAfterEnd,
}

impl Rule {
    /// Number of rules of all feeds together.
    pub(crate) const COUNT: usize = Self::NothingAfterEnd as usize;

    /// The number.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// A rule as a feed has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeedRule {
    /// The rule.
    pub rule: Rule,
    /// Its strength.
    pub strength: Strength,
    /// The requirement, in one line.
    pub text: &'static str,
}

const fn spec(rule: Rule, text: &'static str) -> FeedRule {
    FeedRule { rule, strength: Strength::Spec, text }
}

const fn practice(rule: Rule, text: &'static str) -> FeedRule {
    FeedRule { rule, strength: Strength::Practice, text }
}

const ENDS_EMPTY: FeedRule = practice(Rule::EndsEmpty, "all books are empty at the end");
const NOT_CROSSED: FeedRule =
    practice(Rule::NotCrossed, "no trading stock is locked or crossed in market hours");
const TYPE_KNOWN: FeedRule = practice(Rule::TypeKnown, "every message type is known");
const ORDER_LIVE: FeedRule =
    spec(Rule::OrderLive, "changes are to live orders and never take more than there is");
const NONE_MISSING: FeedRule =
    spec(Rule::MessageLength, "every message has the length of its type, and none is missing");
const ID_NOT_LIVE: FeedRule =
    spec(Rule::ReferenceUnique, "no order enters under the ID of a live order");

const IEX_EVENTS: FeedRule =
    spec(Rule::SystemEvents, "system events come in the order O S R M E C, nothing after C");
const TRADES_UNIQUE: FeedRule = spec(Rule::MatchUnique, "trade IDs are unique");
const IEX_TIMES: FeedRule =
    spec(Rule::TimeOrder, "times of one message type and symbol do not go back");
const IEX_BREAKS: FeedRule =
    spec(Rule::BrokenKnown, "a trade break names a trade with its symbol, price and size");
const IEX_OFFSETS: FeedRule =
    spec(Rule::StreamOffsets, "stream offsets advance with the sequence numbers");
const IEX_DAY: FeedRule =
    practice(Rule::WholeDay, "the capture has the whole day: message 1 to system event C");

const ITCH: &[FeedRule] = &[
    spec(Rule::SystemEvents, "six system events once each in order, O first and C last"),
    spec(Rule::MessageLength, "every message has the length of its type"),
    practice(Rule::DirectoryFirst, "a stock's directory message precedes its other messages"),
    spec(Rule::ReferenceUnique, "order reference numbers are unique for the day"),
    ORDER_LIVE,
    spec(Rule::MatchUnique, "match numbers are unique over E, C, P and Q"),
    practice(Rule::TimeOrder, "timestamps do not go back"),
    spec(Rule::BrokenKnown, "a broken trade names an earlier E, C or P"),
    practice(Rule::ReferenceSmall, "order reference numbers stay below 2^40"),
    ENDS_EMPTY,
    NOT_CROSSED,
    TYPE_KNOWN,
    spec(Rule::SymbolOfLocate, "a stock locate stands for one symbol all day"),
];

const IEX_DEEP: &[FeedRule] = &[
    IEX_EVENTS,
    NONE_MISSING,
    TRADES_UNIQUE,
    IEX_TIMES,
    IEX_BREAKS,
    ENDS_EMPTY,
    NOT_CROSSED,
    TYPE_KNOWN,
    spec(Rule::EventComplete, "an event of a symbol is complete before the next one begins"),
    practice(Rule::LevelExists, "a level that is removed was in the book"),
    IEX_OFFSETS,
    IEX_DAY,
];

const IEX_DEEP_PLUS: &[FeedRule] = &[
    IEX_EVENTS,
    NONE_MISSING,
    ID_NOT_LIVE,
    ORDER_LIVE,
    TRADES_UNIQUE,
    IEX_TIMES,
    IEX_BREAKS,
    ENDS_EMPTY,
    NOT_CROSSED,
    TYPE_KNOWN,
    IEX_OFFSETS,
    IEX_DAY,
];

const IEX_TOPS: &[FeedRule] = &[
    IEX_EVENTS,
    NONE_MISSING,
    TRADES_UNIQUE,
    IEX_TIMES,
    IEX_BREAKS,
    ENDS_EMPTY,
    NOT_CROSSED,
    TYPE_KNOWN,
    IEX_OFFSETS,
    IEX_DAY,
];

const PITCH: &[FeedRule] = &[
    NONE_MISSING,
    ID_NOT_LIVE,
    ORDER_LIVE,
    spec(Rule::MatchUnique, "execution IDs are unique"),
    practice(Rule::TimeOrder, "times of a unit do not go back"),
    spec(Rule::BrokenKnown, "a trade break names an earlier execution or trade"),
    ENDS_EMPTY,
    NOT_CROSSED,
    TYPE_KNOWN,
    practice(Rule::WholeDay, "the capture has the whole day: message 1 to End of Session"),
    spec(Rule::TimeFirst, "a Time message precedes the first time offset of each unit"),
    spec(Rule::OffsetBelowSecond, "time offsets are below one second"),
    spec(Rule::UnitClear, "no message names an order that a Unit Clear removed"),
    spec(Rule::OrderOfUnit, "messages about an order come from its unit"),
    spec(Rule::SymbolOfUnit, "messages of a symbol come from one unit"),
    practice(Rule::RemainingFits, "remaining shares of 0x24 are those before less those executed"),
    spec(Rule::NothingAfterEnd, "nothing follows End of Session in a unit"),
];

/// The rules of a feed, by number.
pub const fn rules_of(feed: Feed) -> &'static [FeedRule] {
    match feed {
        Feed::Itch => ITCH,
        Feed::IexDeep => IEX_DEEP,
        Feed::IexDeepPlus => IEX_DEEP_PLUS,
        Feed::IexTops => IEX_TOPS,
        Feed::Pitch => PITCH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_each_feed_are_in_order_of_number() {
        for feed in Feed::ALL {
            let rules = rules_of(feed);
            assert!(rules.windows(2).all(|pair| pair[0].rule < pair[1].rule), "{feed:?}");
        }
        let is_used = |number: usize| {
            Feed::ALL.into_iter().flat_map(rules_of).any(|row| row.rule as usize == number)
        };
        assert!((1..=Rule::COUNT).all(is_used));
    }
}
