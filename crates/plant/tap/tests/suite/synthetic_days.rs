//! Whole synthetic days: both structures agree with the naive model after every message.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use nanotape_book::{BookEvent, DefaultBooks, OrderStore as _, Outcome, PlainBooks};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::{DayEnd, DaySource};
use nanotape_market::{MarketEvent, Position};
use nanotape_synth::{Market, MarketConfig};
use nanotape_testkit::naive::NaiveBooks;
use nanotape_types::{Side, StockLocate};

fn day(config: MarketConfig) -> Arc<Vec<u8>> {
    let mut bytes = Vec::new();
    Market::new(config).unwrap().write_to(&mut bytes).unwrap();
    Arc::new(bytes)
}

/// Compares the stock of every message with the naive model, and all stocks periodically.
#[derive(Default)]
struct AgainstNaive {
    naive: NaiveBooks,
    plain: Option<PlainBooks>,
    insides: BTreeMap<StockLocate, [Option<(nanotape_types::Price, u64)>; 2]>,
    inside_changes: u64,
}

impl Observer<DefaultBooks> for AgainstNaive {
    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        position: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let Some(event) = event.book_event() else {
            assert_eq!(outcome, None, "message {}", position.number);
            return ControlFlow::Continue(());
        };
        let outcome = outcome.expect("an order message has an outcome");
        let plain = self.plain.get_or_insert_with(|| PlainBooks::with_capacity(1));
        assert_eq!(plain.apply(event), outcome, "message {}", position.number);
        let locate = self.naive.apply(event);
        assert_eq!(outcome.stock_locate, locate);
        assert_eq!(outcome.anomaly, None, "message {}", position.number);

        let inside = self.naive.inside(locate);
        let before = self.insides.insert(locate, inside).unwrap_or_default();
        assert_eq!(outcome.inside_changed, inside != before, "message {}", position.number);
        self.inside_changes += u64::from(outcome.inside_changed);
        let book = engine.books().book(locate);
        for side in Side::BOTH {
            let depth = book.depth(side).map(|l| (l.price, l.shares.get(), l.orders.get()));
            assert!(depth.eq(self.naive.depth(locate, side)), "message {}", position.number);
            let depth = plain.book(locate).depth(side);
            assert!(depth.eq(book.depth(side)), "message {}", position.number);
        }
        if let BookEvent::Add { reference, .. } = event
            && position.number.is_multiple_of(512)
        {
            let found = engine.books().queue_position(reference).unwrap();
            let ahead = (found.orders_ahead, found.shares_ahead);
            assert_eq!(Some(ahead), self.naive.ahead(reference), "message {}", position.number);
            // The most recent order is last in the queue.
            let order = engine.books().order(reference).unwrap();
            let queue = engine.books().queue(locate, order.side, order.price);
            assert_eq!(queue.last().unwrap().reference, reference);
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn both_structures_agree_with_the_naive_model_on_whole_days() {
    for (messages, symbols, seed) in [(150_000, 40, 1), (60_000, 1, 2), (100_000, 3_000, 3)] {
        let config = MarketConfig { messages, symbols, seed, ..MarketConfig::default() };
        let mut source = DaySource::memory("a synthetic day", day(config));
        let mut plant = BookEngine::new(DefaultBooks::with_capacity(16));
        let mut compared = AgainstNaive::default();
        let report = plant.run(&mut source, &mut compared, |_| ()).unwrap();
        assert_eq!(report.summary.records, messages);
        assert_eq!(report.summary.end, DayEnd::EndOfFile);
        assert!(report.is_good());
        assert!(compared.inside_changes > messages / 10, "{} changes", compared.inside_changes);
        assert!(plant.books().orders().is_empty(), "all books end empty");
    }
}

/// A second run through the same plant reports only its own damage.
#[test]
fn a_report_is_of_its_own_run() {
    let good = day(MarketConfig { messages: 1_000, symbols: 5, ..MarketConfig::default() });
    let mut damaged = good.to_vec();
    damaged[0] ^= 1;
    let mut plant = BookEngine::new(DefaultBooks::with_capacity(16));
    for (bytes, damage) in [(damaged.clone(), 1), (damaged, 1), (good.to_vec(), 0)] {
        let mut source = DaySource::memory("a day", bytes);
        let report = plant.run(&mut source, &mut (), |_| ()).unwrap();
        assert_eq!((report.damage.total(), report.is_good()), (damage, damage == 0));
    }
}
