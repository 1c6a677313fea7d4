//! A synthetic day follows every rule of a feed, for any size and seed.
//!
//! The validator is naive: one map for each thing that must be unique, live or in order.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use nanotape_synth::{Market, MarketConfig, MarketError};
use nanotape_types::{NanosSinceMidnight, Side};
use nanotape_wire::itch50::{EventCode, Message, TradingState, YesNo};

const EVENTS: [EventCode; 6] = [
    EventCode::StartOfMessages,
    EventCode::StartOfSystemHours,
    EventCode::StartOfMarketHours,
    EventCode::EndOfMarketHours,
    EventCode::EndOfSystemHours,
    EventCode::EndOfMessages,
];

#[derive(Clone, Copy, Debug)]
struct Order {
    locate: u16,
    side: Side,
    price: u32,
    shares: u32,
}

/// One price level: orders in queue order.
type Levels = BTreeMap<u32, VecDeque<u64>>;

#[derive(Default)]
struct Validator {
    messages: u64,
    bytes: u64,
    events: Vec<EventCode>,
    directory: HashSet<u16>,
    symbols: HashSet<[u8; 8]>,
    states: HashMap<u16, TradingState>,
    used: HashSet<u64>,
    orders: HashMap<u64, Order>,
    levels: HashMap<(u16, Side), Levels>,
    matches: HashSet<u64>,
    breakable: HashSet<u64>,
    crosses: HashMap<(u16, u8), u32>,
    unprinted: HashMap<u16, u64>,
    time: u64,
    broken: Vec<String>,
}

impl Validator {
    fn check(&mut self, holds: bool, rule: &str) {
        if !holds && self.broken.len() < 20 {
            let time = NanosSinceMidnight::new(self.time).unwrap();
            self.broken.push(format!("message {} at {time}: {rule}", self.messages));
        }
    }

    fn day(config: MarketConfig) -> Self {
        let mut validator = Self::default();
        let mut market = Market::new(config).unwrap();
        let mut buffer = Vec::new();
        while market.fill(&mut buffer) {
            let mut rest = buffer.as_slice();
            while let Some((length, after)) = rest.split_first_chunk() {
                let (body, after) = after.split_at(usize::from(u16::from_be_bytes(*length)));
                validator.message(body);
                rest = after;
            }
            validator.bytes += buffer.len() as u64;
            buffer.clear();
        }
        validator.end(&config);
        validator
    }

    fn message(&mut self, body: &[u8]) {
        self.messages += 1;
        // The decoder checks rule 2: a wrong length is an error, an unknown type is `Unknown`.
        let message = match Message::decode(body) {
            Ok(Message::Unknown(_)) => return self.check(false, "2: unknown type"),
            Ok(message) => message,
            Err(error) => return self.check(false, &format!("2: {error}")),
        };
        let time =
            u64::from_be_bytes([0, 0, body[5], body[6], body[7], body[8], body[9], body[10]]);
        self.check(time >= self.time, "7: time goes back");
        self.time = time;
        let locate = u16::from_be_bytes([body[1], body[2]]);
        if !matches!(message, Message::StockDirectory(_)) {
            let known = locate == 0 || self.directory.contains(&locate);
            self.check(known, "3: locate before its directory entry");
        }
        self.apply(message, locate);
        if self.states.get(&locate) == Some(&TradingState::Trading)
            && self.events.last() == Some(&EventCode::StartOfMarketHours)
        {
            let apart = match (self.best(locate, Side::Buy), self.best(locate, Side::Sell)) {
                (Some(bid), Some(offer)) => bid < offer,
                _ => true,
            };
            self.check(apart, "crossed or locked");
        }
    }

    fn apply(&mut self, message: Message<'_>, locate: u16) {
        match message {
            Message::SystemEvent(m) => {
                let first = self.messages == 1;
                self.check(first == self.events.is_empty(), "1: the first message is an event");
                self.events.push(m.event_code());
            }
            Message::StockDirectory(m) => {
                let new =
                    self.directory.insert(locate) && self.symbols.insert(m.stock().as_bytes());
                self.check(new && locate > 0, "directory entries are distinct");
            }
            Message::StockTradingAction(m) => {
                self.states.insert(locate, m.trading_state());
            }
            Message::AddOrder(m) => self.add(
                m.order_reference_number().get(),
                Order {
                    locate,
                    side: m.buy_sell_indicator().side().unwrap(),
                    price: m.price().get(),
                    shares: m.shares().get(),
                },
            ),
            Message::AddOrderMpid(m) => self.add(
                m.order_reference_number().get(),
                Order {
                    locate,
                    side: m.buy_sell_indicator().side().unwrap(),
                    price: m.price().get(),
                    shares: m.shares().get(),
                },
            ),
            Message::OrderExecuted(m) => {
                let matched = m.match_number().get();
                self.execute(m.order_reference_number().get(), m.executed_shares().get(), locate);
                self.matched(matched, true);
                let trading = self.states.get(&locate) == Some(&TradingState::Trading);
                self.check(trading, "executed while not trading");
            }
            Message::OrderExecutedWithPrice(m) => {
                let matched = m.match_number().get();
                let shares = m.executed_shares().get();
                self.execute(m.order_reference_number().get(), shares, locate);
                self.matched(matched, true);
                if m.printable() == YesNo::No {
                    *self.unprinted.entry(locate).or_default() += u64::from(shares);
                }
            }
            Message::OrderCancel(m) => {
                let reference = m.order_reference_number().get();
                self.reduce(reference, m.cancelled_shares().get(), locate);
                self.check(self.orders.contains_key(&reference), "a cancel leaves shares");
            }
            Message::OrderDelete(m) => {
                self.remove(m.order_reference_number().get(), locate);
            }
            Message::OrderReplace(m) => {
                let original = m.original_order_reference_number().get();
                if let Some(order) = self.remove(original, locate) {
                    let (price, shares) = (m.price().get(), m.shares().get());
                    let new = m.new_order_reference_number().get();
                    self.add(new, Order { price, shares, ..order });
                }
            }
            Message::Trade(m) => {
                self.check(m.shares().get() > 0 && m.price().get() > 0, "a trade of nothing");
                self.check(m.order_reference_number().is_none(), "a hidden order is not named");
                self.matched(m.match_number().get(), true);
            }
            Message::CrossTrade(m) => {
                self.matched(m.match_number().get(), false);
                *self.crosses.entry((locate, m.cross_type().code())).or_default() += 1;
                let unprinted = self.unprinted.remove(&locate).unwrap_or(0);
                self.check(m.shares().get() >= unprinted, "a cross includes its executions");
            }
            Message::BrokenTrade(m) => {
                let known = self.breakable.remove(&m.match_number().get());
                self.check(known, "8: break of an unknown or broken trade");
            }
            _ => {}
        }
    }

    fn best(&self, locate: u16, side: Side) -> Option<u32> {
        let levels = self.levels.get(&(locate, side))?;
        let best =
            if side == Side::Buy { levels.last_key_value() } else { levels.first_key_value() };
        best.map(|(&price, _)| price)
    }

    fn add(&mut self, reference: u64, order: Order) {
        let unused = self.used.insert(reference);
        self.check(unused, "4: reference used twice");
        self.check(order.shares > 0 && order.price > 0, "an order of nothing");
        let open = !self.events.contains(&EventCode::EndOfSystemHours)
            && self.events.contains(&EventCode::StartOfSystemHours);
        self.check(open, "an order outside system hours");
        let levels = self.levels.entry((order.locate, order.side)).or_default();
        let queue = levels.entry(order.price).or_default();
        let ascending = queue.back().is_none_or(|&last| last < reference);
        queue.push_back(reference);
        self.check(ascending, "9: references of a stock fall");
        // Rule 9: small integers, in any order.
        self.check(reference < 20 * self.messages + 100, "9: reference out of proportion");
        self.orders.insert(reference, order);
    }

    fn execute(&mut self, reference: u64, shares: u32, locate: u16) {
        if let Some(order) = self.orders.get(&reference).copied() {
            let best = self.best(order.locate, order.side) == Some(order.price);
            self.check(best, "executed behind the best price");
            let queue = &self.levels[&(order.locate, order.side)][&order.price];
            self.check(queue.front() == Some(&reference), "executed out of turn");
        }
        self.reduce(reference, shares, locate);
    }

    fn reduce(&mut self, reference: u64, shares: u32, locate: u16) {
        let Some(order) = self.orders.get_mut(&reference) else {
            return self.check(false, "5: no such order");
        };
        let (before, of) = (order.shares, order.locate);
        order.shares = before.saturating_sub(shares);
        self.check(shares > 0 && shares <= before, "5: more shares than there are");
        self.check(of == locate, "5: locate differs from the order's");
        if shares >= before {
            self.remove(reference, locate);
        }
    }

    fn remove(&mut self, reference: u64, locate: u16) -> Option<Order> {
        let Some(order) = self.orders.remove(&reference) else {
            self.check(false, "5: no such order");
            return None;
        };
        self.check(order.locate == locate, "5: locate differs from the order's");
        let levels = self.levels.get_mut(&(order.locate, order.side)).unwrap();
        let queue = levels.get_mut(&order.price).unwrap();
        queue.retain(|&queued| queued != reference);
        if queue.is_empty() {
            levels.remove(&order.price);
        }
        Some(order)
    }

    fn matched(&mut self, matched: u64, breakable: bool) {
        let unused = self.matches.insert(matched);
        self.check(unused, "6: match number used twice");
        if breakable {
            self.breakable.insert(matched);
        }
    }

    fn end(&mut self, config: &MarketConfig) {
        self.check(self.messages == config.messages, "the requested number of messages");
        self.check(self.events == EVENTS, "1: six events, once each, in order");
        self.check(self.orders.is_empty(), "books are empty at the end");
        self.check(self.levels.values().all(BTreeMap::is_empty), "levels are empty at the end");
        self.check(
            self.directory.len() == usize::from(config.symbols),
            "the requested number of stocks",
        );
        self.check(self.unprinted.is_empty(), "executions that no cross printed");
        for locate in 1..=config.symbols {
            for cross in *b"OC" {
                let once = self.crosses.get(&(locate, cross)) == Some(&1);
                self.check(once, "one opening and one closing cross a stock");
            }
        }
    }
}

fn assert_valid(messages: u64, symbols: u16, seed: u64) {
    let config = MarketConfig { messages, symbols, seed, ..MarketConfig::default() };
    let validator = Validator::day(config);
    assert_eq!(validator.broken, Vec::<String>::new(), "{config:?}");
}

#[test]
fn every_rule_holds_for_days_of_all_sizes_and_seeds() {
    for seed in 0..4 {
        assert_valid(300_000, 500, seed);
    }
    assert_valid(1_000_000, 8_500, 7);
    assert_valid(400_000, 1, 1);
    assert_valid(60_000, 2, 2);
    assert_valid(100_000, 10_000, 3);
    assert_valid(400_000, u16::MAX, 4);
}

#[test]
fn every_rule_holds_for_the_smallest_days() {
    for symbols in [1, 2, 7, 100] {
        let minimum = MarketConfig::minimum_messages(symbols);
        for spare in (0..40).chain([99, 100, 500, 1_001, 5_000]) {
            assert_valid(minimum + spare, symbols, spare + 17);
        }
    }
    assert_valid(MarketConfig::minimum_messages(u16::MAX), u16::MAX, 1);
}

#[test]
fn a_day_too_small_for_its_stocks_is_refused_with_the_least_that_is_not() {
    let config = MarketConfig { messages: 42_506, symbols: 8_500, ..MarketConfig::default() };
    let error = Market::new(config).unwrap_err();
    assert_eq!(
        error,
        MarketError::TooFewMessages { messages: 42_506, symbols: 8_500, minimum: 42_507 }
    );
    assert_valid(42_507, 8_500, 1);
}
