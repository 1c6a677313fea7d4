//! Messages that are published ahead of missing ones: when these have come, the books of the plant
//! and of a subscriber are those of all messages in order.

use core::ops::ControlFlow;
use std::collections::BTreeSet;

use nanotape_book::{DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{
    EventHandler, EventTime, Execution, MarketEvent, MarketSnapshot, NoOrigin, Position,
    RestingOrder, SessionChange, Suspect, Turn, What,
};
use nanotape_types::{
    BookEvent, MatchNumber, OrderReferenceNumber, Price, Shares, Side, StockLocate,
};
use proptest::prelude::*;

use crate::published::pair::{Pair, STOCKS, orders_of};

/// A message about one of few orders of the two stocks, so that most of them collide.
fn message() -> impl Strategy<Value = (StockLocate, What)> {
    let stock = prop::sample::select(&STOCKS[..]);
    let reference = (1_u64..9).prop_map(OrderReferenceNumber::new);
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let shares = (0_u32..4).prop_map(|shares| Shares::new(shares * 100));
    // The second three are on both sides of the longer steps.
    let price = prop_oneof![50_u32..53, 1_999_999_999_u32..2_000_000_002].prop_map(Price::new);
    (0..8, stock, (reference.clone(), reference), side, shares, price).prop_map(
        |(sort, stock_locate, (reference, replacement), side, shares, price)| {
            let order = match sort {
                0..3 => BookEvent::Add { stock_locate, reference, side, shares, price },
                3 => BookEvent::Cancel { stock_locate, reference, shares },
                4 => BookEvent::Delete { stock_locate, reference },
                5 | 6 => {
                    let original = reference;
                    BookEvent::Replace { stock_locate, original, replacement, shares, price }
                }
                _ => {
                    let (price, match_number) = (None, MatchNumber::new(1));
                    let is_printed = true;
                    let execution = Execution {
                        reference,
                        shares,
                        price,
                        is_printed,
                        match_number,
                        remaining: None,
                    };
                    return (stock_locate, What::Execution(execution));
                }
            };
            (stock_locate, What::Order(order))
        },
    )
}

/// What becomes of a message: it comes in time, late, or never.
const IN_TIME: u8 = 0;
const LATE: u8 = 1;
const LOST: u8 = 2;

fn way() -> impl Strategy<Value = u8> {
    prop_oneof![5 => Just(IN_TIME), 2 => Just(LATE), 1 => Just(LOST)]
}

fn event_of(number: u64, (stock, what): (StockLocate, What)) -> (Position, MarketEvent) {
    let at = Position { number, offset: number };
    let time = Some(EventTime::new(1_000_000_000 * number));
    (at, MarketEvent { time, ..MarketEvent::about(stock, what) })
}

/// A session of messages: what becomes of each, and the message before which a snapshot comes.
#[derive(Debug)]
struct Session {
    messages: Vec<(StockLocate, What)>,
    ways: Vec<u8>,
    first_gap: usize,
    /// One above the number of the last message that was there ahead of its turn; 0 without one.
    ahead_to: u64,
    /// 0 without a snapshot.
    snapshot_at: usize,
}

impl Session {
    fn new(messages: Vec<((StockLocate, What), u8)>, snapshot_at: usize) -> Self {
        let (messages, ways): (Vec<_>, Vec<u8>) = messages.into_iter().unzip();
        let first_gap = ways.iter().position(|&way| way > 0).unwrap_or(ways.len());
        let last = (first_gap..ways.len()).rev().find(|&index| ways[index] == 0);
        let ahead_to = last.map_or(0, |index| index as u64 + 2);
        let has_snapshot = snapshot_at > first_gap && (snapshot_at as u64) + 1 < ahead_to;
        let snapshot_at = if has_snapshot { snapshot_at } else { 0 };
        Self { messages, ways, first_gap, ahead_to, snapshot_at }
    }

    fn events(&self) -> impl Iterator<Item = (usize, Position, MarketEvent)> {
        self.messages.iter().enumerate().map(|(index, message)| {
            let (at, event) = event_of(index as u64 + 1, *message);
            (index, at, event)
        })
    }

    /// The books after the messages before `end` that are not lost, in order. A snapshot has also
    /// what was lost before it.
    fn in_order(&self, end: usize) -> BookEngine<DefaultBooks> {
        self.trades_in_order(end).0
    }

    /// The same, with the numbers of trades.
    fn trades_in_order(&self, end: usize) -> (BookEngine<DefaultBooks>, BTreeSet<u64>) {
        let mut engine = BookEngine::new(DefaultBooks::with_capacity(64));
        let mut trades = Trades::default();
        for (index, at, event) in self.events().take(end) {
            if self.ways[index] < LOST || index < self.snapshot_at {
                assert!(engine.live(&mut trades).event(at, &event, NoOrigin).is_continue());
            }
        }
        (engine, trades.numbers)
    }

    fn snapshot(&self) -> MarketSnapshot {
        let engine = self.in_order(self.snapshot_at);
        let orders = engine.books().in_queue_order().into_iter().map(|(reference, order)| {
            let Order { stock_locate, side, shares, price, .. } = order;
            RestingOrder { stock_locate, reference, side, shares, price }
        });
        let next = self.snapshot_at as u64 + 1;
        MarketSnapshot { next, orders: orders.collect(), ..MarketSnapshot::default() }
    }

    /// Passes the messages as a live source with gaps does.
    fn pass(&self, handler: &mut impl EventHandler) {
        for (index, at, event) in self.events() {
            let flow = if index < self.first_gap {
                handler.event(at, &event, NoOrigin)
            } else if self.ways[index] == IN_TIME {
                handler.out_of_turn(at, &event, Turn::Ahead)
            } else {
                continue;
            };
            assert!(flow.is_continue());
        }
        for (index, at, event) in self.events().skip(self.first_gap) {
            if index == self.snapshot_at {
                handler.restore_behind(&self.snapshot());
            }
            let flow = match self.ways[index] {
                LOST => continue,
                IN_TIME => handler.out_of_turn(at, &event, Turn::Again),
                _ if at.number < self.ahead_to => handler.out_of_turn(at, &event, Turn::Missed),
                _ => handler.event(at, &event, NoOrigin),
            };
            assert!(flow.is_continue());
            if at.number + 1 == self.ahead_to {
                let since_snapshot = &self.ways[self.snapshot_at..=index];
                let is_whole = since_snapshot.iter().all(|&way| way < LOST);
                handler.caught_up(self.ahead_to, is_whole);
            }
        }
    }
}

/// The numbers of messages that printed a trade.
#[derive(Default)]
struct Trades {
    numbers: BTreeSet<u64>,
    /// Shares that the current message took.
    taken: u32,
}

impl Observer<DefaultBooks> for Trades {
    fn before(&mut self, _: &BookEngine<DefaultBooks>, _: Position, _: &MarketEvent) {
        self.taken = 0;
    }

    fn order_reduced(&mut self, _: &Order, shares: u32) {
        self.taken += shares;
    }

    fn after(
        &mut self,
        _: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
        _: Option<Outcome>,
    ) -> ControlFlow<()> {
        if self.taken > 0 && matches!(event.what, What::Execution(_)) {
            self.numbers.insert(at.number);
        }
        ControlFlow::Continue(())
    }

    fn missed(
        &mut self,
        _: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
    ) -> ControlFlow<()> {
        if matches!(event.what, What::Trade(_)) {
            assert!(self.numbers.insert(at.number), "message {} has two trades", at.number);
        }
        ControlFlow::Continue(())
    }
}

fn session() -> impl Strategy<Value = Session> {
    let messages = prop::collection::vec((message(), way()), 1..40);
    (messages, 0_usize..60).prop_map(|(messages, at)| Session::new(messages, at))
}

fn tainted(engine: &BookEngine<DefaultBooks>) -> BTreeSet<StockLocate> {
    engine.books().tainted().map(|(stock, _)| stock).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn books_are_those_of_all_messages_in_order(session in session()) {
        let mut engine = BookEngine::new(DefaultBooks::with_capacity(64));
        let mut trades = Trades::default();
        session.pass(&mut engine.live(&mut trades));
        let (truth, in_order) = session.trades_in_order(session.messages.len());
        prop_assert_eq!(orders_of(engine.books()), orders_of(truth.books()));
        if session.snapshot_at == 0 {
            prop_assert_eq!(tainted(&engine), tainted(&truth));
            // One ahead may have found an order that a missing message had taken away.
            prop_assert!(trades.numbers.is_superset(&in_order), "{:?}, {in_order:?}", trades.numbers);
        }
    }
}

fn check_subscriber(session: &Session) -> Result<(), TestCaseError> {
    let mut pair = Pair::new();
    let mut plant = pair.plant.live();
    let first = session.first_gap as u64 + 1;
    let suspect = Suspect { first, next: first + 1, is_late_join: false };
    plant.session(&SessionChange::Suspect(suspect));
    plant.session(&SessionChange::GoesOn);
    session.pass(&mut plant);
    let next = session.messages.len() as u64 + 1;
    plant.session(&SessionChange::Complete { next });
    let records = pair.records();
    let expected = orders_of(session.in_order(session.messages.len()).books());
    prop_assert_eq!(orders_of(pair.plant.engine().books()), expected.clone(), "{:#?}", records);
    let theirs = orders_of(pair.subscriber.books().unwrap().all());
    prop_assert_eq!(theirs, expected, "{:#?}", records);
    let stat = pair.plant.board().sample();
    let tainted = tainted(pair.plant.engine()).len() as u64;
    prop_assert_eq!(stat.tainted_stocks, tainted, "{:#?}", records);
    pair.end();
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 50, ..ProptestConfig::with_cases(16) })]

    #[test]
    fn a_subscriber_has_the_books_of_all_messages_in_order(session in session()) {
        check_subscriber(&session)?;
    }
}

#[test]
fn a_stock_that_only_a_missing_message_did_not_fit_is_tainted() {
    let [stock, other] = STOCKS;
    let (reference, shares, price) = (OrderReferenceNumber::new(1), Shares::new(0), Price::new(50));
    let cancel = BookEvent::Cancel { stock_locate: other, reference, shares };
    let side = Side::Buy;
    let add = BookEvent::Add { stock_locate: stock, reference, side, shares, price };
    let messages = vec![
        ((stock, What::Order(add)), IN_TIME),
        ((other, What::Order(cancel)), LATE),
        ((stock, What::Order(add)), IN_TIME),
    ];
    check_subscriber(&Session::new(messages, 0)).unwrap();
}

#[test]
fn an_execution_whose_order_was_missing_has_its_trade_when_the_order_has_come() {
    let [stock, _] = STOCKS;
    let (reference, shares, price) =
        (OrderReferenceNumber::new(1), Shares::new(300), Price::new(50));
    let side = Side::Buy;
    let add = What::Order(BookEvent::Add { stock_locate: stock, reference, side, shares, price });
    let match_number = MatchNumber::new(7);
    let execution = Execution {
        reference,
        shares,
        price: None,
        is_printed: true,
        match_number,
        remaining: None,
    };
    let messages = vec![((stock, add), LATE), ((stock, What::Execution(execution)), IN_TIME)];
    let session = Session::new(messages, 0);
    let mut engine = BookEngine::new(DefaultBooks::with_capacity(64));
    let mut trades = Trades::default();
    session.pass(&mut engine.live(&mut trades));
    assert_eq!(trades.numbers, [2].into());
}
