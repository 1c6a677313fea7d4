//! A synthetic and a real day through every structure: they agree after every message.
//!
//! After every message all structures have the same outcome, and the naive model names the same
//! stock. In every N-th message the model checks whether the inside has changed, and its stock's
//! book is compared in all structures; on a small day N is 1. Every [`QUEUES`] comparisons queues
//! and orders are compared too, and at the end all books are empty.
//!
//! `NANOTAPE_AGREEMENT_OPERATIONS` sets the number of messages; 10,000,000 take some minutes in
//! release.

use std::{ops::ControlFlow, path::Path};

use nanotape_book::{BookEvent, ChosenBooks, OrderStore as _};
use nanotape_feed::{DaySource, MessageHandler, Position, market_event, read_day};
use nanotape_harness::skipped;
use nanotape_synth::{Market, MarketConfig};
use nanotape_testkit::{
    naive::NaiveBooks,
    structures::{NamedBooks, every_structure},
};
use nanotape_types::{OrderReferenceNumber, Side, StockLocate};
use nanotape_wire::itch50::Message;

/// Messages of the day.
fn operations() -> u64 {
    match std::env::var("NANOTAPE_AGREEMENT_OPERATIONS") {
        Ok(value) => value.parse().expect("NANOTAPE_AGREEMENT_OPERATIONS is a number"),
        Err(_) => 100_000,
    }
}

/// Up to this size of a day, every message is compared with the model.
const ALL_COMPARED: u64 = 100_000;

/// Comparisons with the model per comparison of queues and orders.
const QUEUES: u64 = 64;

struct Lockstep {
    structures: Vec<NamedBooks>,
    naive: NaiveBooks,
    /// Messages per comparison with the model.
    every: u64,
    compared: u64,
}

impl MessageHandler for Lockstep {
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        let Some(event) = market_event(&message).book_event() else {
            return ControlFlow::Continue(());
        };
        let number = position.number;
        let against_model = number.is_multiple_of(self.every);
        let locate = locate_of(&event);
        let before = against_model.then(|| self.naive.inside(locate));
        assert_eq!(self.naive.apply(event), locate, "message {number}");
        let inside_changed = before.map(|before| before != self.naive.inside(locate));

        let mut first = None;
        for NamedBooks { name, books } in &mut self.structures {
            let outcome = books.apply(event);
            assert_eq!(outcome, *first.get_or_insert(outcome), "{name}, message {number}");
            assert_eq!((outcome.stock_locate, outcome.anomaly), (locate, None));
            if let Some(inside_changed) = inside_changed {
                assert_eq!(outcome.inside_changed, inside_changed, "{name}, message {number}");
            }
        }
        if against_model {
            self.compare(locate, &format!("message {number}: {event:?}"));
            if self.compared.is_multiple_of(QUEUES) {
                self.compare_order(reference_of(&event), &format!("message {number}: {event:?}"));
            }
            self.compared += 1;
        }
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: nanotape_feed::Damage) {
        panic!("a synthetic day is not damaged: {damage}");
    }
}

impl Lockstep {
    /// Empty books; each message of this many is compared with the model.
    fn every(every: u64) -> Self {
        Self { structures: every_structure(1), naive: NaiveBooks::default(), every, compared: 0 }
    }

    fn compare(&self, locate: StockLocate, context: &str) {
        for side in Side::BOTH {
            let expected = self.naive.depth(locate, side);
            for NamedBooks { name, books } in &self.structures {
                let depth = books.book(locate).depth(side);
                let depth = depth.map(|l| (l.price, l.shares.get(), l.orders.get()));
                assert!(depth.eq(expected.iter().copied()), "{name}, {side} side, {context}");
            }
        }
    }

    /// Compares an order and its queue.
    fn compare_order(&self, reference: OrderReferenceNumber, context: &str) {
        let expected = self.naive.order(reference);
        for NamedBooks { name, books } in &self.structures {
            let found = books.order(reference);
            assert_eq!(found.is_some(), expected.is_some(), "{name}, {context}");
            let (Some(order), Some(expected)) = (found, expected) else { continue };
            assert_eq!(order.stock_locate, expected.stock_locate, "{name}, {context}");
            assert_eq!((order.side, order.price), (expected.side, expected.price), "{name}");
            assert_eq!(order.shares.get(), expected.shares, "{name}, {context}");
            let queue = books.queue(order.stock_locate, order.side, order.price);
            let queue: Vec<_> = queue.iter().map(|order| order.reference).collect();
            let expected = self.naive.queue(order.stock_locate, order.side, order.price);
            assert_eq!(queue, expected, "{name}, {context}");
            let position = books.queue_position(reference).expect("the order is live");
            let ahead = Some((position.orders_ahead, position.shares_ahead));
            assert_eq!(ahead, self.naive.ahead(reference), "{name}, {context}");
        }
    }
}

fn locate_of(event: &BookEvent) -> StockLocate {
    match *event {
        BookEvent::Add { stock_locate, .. }
        | BookEvent::Execute { stock_locate, .. }
        | BookEvent::Cancel { stock_locate, .. }
        | BookEvent::Delete { stock_locate, .. }
        | BookEvent::Replace { stock_locate, .. } => stock_locate,
    }
}

/// The order that exists after the event, if any.
fn reference_of(event: &BookEvent) -> OrderReferenceNumber {
    match *event {
        BookEvent::Add { reference, .. }
        | BookEvent::Execute { reference, .. }
        | BookEvent::Cancel { reference, .. }
        | BookEvent::Delete { reference, .. } => reference,
        BookEvent::Replace { replacement, .. } => replacement,
    }
}

fn all_empty(books: &ChosenBooks) -> bool {
    let mut locates = StockLocate::all();
    books.orders().is_empty() && locates.all(|locate| books.book(locate).is_empty())
}

#[test]
fn every_structure_agrees_on_a_synthetic_day() {
    let messages = operations();
    // As many messages a stock as on a real day, and at least the minimum for one stock.
    let symbols = (messages / 2_500).clamp(1, 8_500) as u16;
    let minimum = MarketConfig::minimum_messages(symbols);
    let messages = messages.max(minimum);
    let config = MarketConfig { messages, symbols, ..MarketConfig::default() };
    let mut day = Vec::new();
    Market::new(config).unwrap().write_to(&mut day).unwrap();

    let mut lockstep = Lockstep::every(messages.div_ceil(ALL_COMPARED));
    let mut source = DaySource::memory("a synthetic day", day);
    let summary = read_day(&mut source, &mut lockstep, |_| ()).unwrap();
    assert_eq!(summary.records, messages);
    assert!(lockstep.compared > 0 || messages == minimum);
    for NamedBooks { name, books } in &lockstep.structures {
        assert!(all_empty(books), "{name}");
        assert!(!books.anomalies().any(), "{name}");
        println!("{messages} operations (a synthetic day), structure {name} agrees");
    }
}

#[test]
fn every_structure_agrees_on_a_real_open() {
    const NAME: &str = "aapl_20190130_open10k.itch50";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data").join(NAME);
    let Ok(day) = std::fs::read(file) else {
        skipped(format_args!("no {NAME} in ../shared/data (real market data)"));
        return;
    };
    let mut lockstep = Lockstep::every(1);
    let mut source = DaySource::memory(NAME, day);
    read_day(&mut source, &mut lockstep, |_| ()).unwrap();
    assert!(lockstep.compared > 10_000, "{}", lockstep.compared);
}
