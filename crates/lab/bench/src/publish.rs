//! The path from bytes to published records: books, records and a ring in private memory.

use std::sync::Arc;

use nanotape_book::{Books, DefaultBooks, OrderStore, PlainBooks, PriceLevels};
use nanotape_engine::BookEngine;
use nanotape_feed::DaySource;
use nanotape_lab::Fixture;
use nanotape_plant::{
    Publisher,
    records::{RecordKind, RecordKinds},
};
use nanotape_ring::{Publish as _, stream};

use crate::day::Day;

/// A ring that fits in a second-level cache: the cost of records without that of memory.
const RING_BYTES: usize = 256 << 10;

const KINDS: RecordKinds = RecordKinds::NONE.with(RecordKind::Mbo).with(RecordKind::Bbo);

/// Applies a day to the books of all stocks and publishes its order and inside records.
pub(crate) struct PublishDay {
    day: Day,
    engine: BookEngine<DefaultBooks>,
    publisher: Publisher<stream::Writer>,
    expected: u64,
}

impl PublishDay {
    pub(crate) fn new(day: &Day) -> Self {
        let orders = (day.messages / 8) as usize;
        let mut plain = BookEngine::new(PlainBooks::with_capacity(orders));
        let expected = run(&mut plain, &mut publisher(), day);
        let engine = BookEngine::new(DefaultBooks::with_capacity(orders));
        Self { day: day.clone(), engine, publisher: publisher(), expected }
    }
}

fn publisher() -> Publisher<stream::Writer> {
    Publisher::on_heap(RING_BYTES, KINDS, 0).expect("such a ring is valid")
}

impl Fixture for PublishDay {
    /// Records of the day.
    type Answer = u64;

    fn operations(&self) -> u64 {
        self.day.messages
    }

    fn run(&mut self) -> u64 {
        run(&mut self.engine, &mut self.publisher, &self.day)
    }

    fn expected(&self) -> u64 {
        self.expected
    }
}

fn run<L: PriceLevels, S: OrderStore>(
    engine: &mut BookEngine<Books<L, S>>,
    publisher: &mut Publisher<stream::Writer>,
    day: &Day,
) -> u64 {
    let first = publisher.writer().next_sequence();
    let mut source = DaySource::memory("the benchmark's day", Arc::clone(&day.bytes));
    let report = engine.run(&mut source, publisher, |_| ());
    assert!(report.is_ok_and(|report| report.is_good()), "a synthetic day in memory is good");
    publisher.writer().next_sequence() - first
}
