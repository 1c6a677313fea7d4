//! Processing of messages up to the books does not allocate once the tables have their final size.
//!
//! Allocations are counted in the thread that reads the day.

use std::{ops::ControlFlow, sync::Arc};

use nanotape_book::{Books, DefaultBooks, OrderStore, Outcome, PlainBooks, PriceLevels};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::DaySource;
use nanotape_harness::allocations;
use nanotape_market::{MarketEvent, Position};
use nanotape_synth::{Market, MarketConfig};
use nanotape_testkit::structures::{NamedBooks, every_structure};

/// Counts the messages of a day and the allocations between its first message and its last.
#[derive(Default)]
struct Allocations {
    messages: u64,
    at_first: u64,
    at_last: u64,
}

impl Allocations {
    fn count(&self) -> u64 {
        self.at_last - self.at_first
    }
}

impl<B> Observer<B> for Allocations {
    fn after(
        &mut self,
        _: &BookEngine<B>,
        _: Position,
        _: &MarketEvent,
        _: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.at_last = allocations();
        if self.messages == 0 {
            self.at_first = self.at_last;
        }
        self.messages += 1;
        ControlFlow::Continue(())
    }
}

fn allocations_in_second_run<L: PriceLevels, S: OrderStore>(
    books: Books<L, S>,
    day: &Arc<Vec<u8>>,
) -> Allocations {
    let mut engine = BookEngine::new(books);
    run(&mut engine, day, &mut ());
    let mut counted = Allocations::default();
    run(&mut engine, day, &mut counted);
    counted
}

fn run<L: PriceLevels, S: OrderStore>(
    engine: &mut BookEngine<Books<L, S>>,
    day: &Arc<Vec<u8>>,
    observer: &mut impl Observer<Books<L, S>>,
) {
    let mut source = DaySource::memory("a synthetic day", Arc::clone(day));
    let report = engine.run(&mut source, observer, |_| ()).unwrap();
    assert!(report.is_good());
}

#[test]
fn a_million_messages_allocate_nothing_once_warm() {
    let config = MarketConfig { messages: 1_000_000, symbols: 2_000, ..MarketConfig::default() };
    let mut day = Vec::new();
    Market::new(config).unwrap().write_to(&mut day).unwrap();
    let day = Arc::new(day);

    let default = allocations_in_second_run(DefaultBooks::with_capacity(ORDERS), &day);
    assert_eq!(default.messages, 1_000_000);
    println!("{} allocations in {} messages", default.count(), default.messages);
    assert_eq!(default.count(), 0);

    for NamedBooks { name, books } in every_structure(ORDERS) {
        // Standard maps allocate nodes, or grow at any time.
        let has_map =
            ["sorted-map", "tick-indexed", "hash-map"].iter().any(|map| name.contains(map));
        let counted = allocations_in_second_run(books, &day);
        let count = counted.count();
        println!("{count} allocations in {} messages: {name}", counted.messages);
        assert!(has_map || count == 0, "{count} allocations: {name}");
    }

    // Checks the counter: a sorted map allocates nodes when levels change.
    let plain = allocations_in_second_run(PlainBooks::with_capacity(ORDERS), &day);
    assert!(plain.count() > 1_000, "the check can fail");
}

/// Live orders to reserve memory for: more than the day has.
const ORDERS: usize = 1 << 16;
