//! The paths from bytes to books: a whole day at once, and one message at a time.

use core::ops::ControlFlow;
use std::sync::Arc;

use nanotape_book::{Books, DefaultBooks, OrderStore, Outcome, PlainBooks, PriceLevels};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::{DaySource, handle_message};
use nanotape_lab::Fixture;
use nanotape_market::{MarketEvent, Position};
use nanotape_wire::itch50::Message;

use crate::day::Day;

/// Counters of a run: two increments per message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) messages: u64,
    pub(crate) inside_changes: u64,
}

impl<B> Observer<B> for Changes {
    #[inline]
    fn after(
        &mut self,
        _: &BookEngine<B>,
        _: Position,
        _: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.messages += 1;
        self.inside_changes += u64::from(outcome.is_some_and(|outcome| outcome.inside_changed));
        ControlFlow::Continue(())
    }
}

/// Applies a day to the books of all stocks and counts inside changes.
pub(crate) struct BookDay {
    day: Day,
    engine: BookEngine<DefaultBooks>,
    expected: DaySummary,
}

/// The counters of a day, and the number of orders left.
type DaySummary = (Changes, usize);

impl BookDay {
    pub(crate) fn new(day: &Day) -> Self {
        let orders = (day.messages / 8) as usize;
        let mut plain = BookEngine::new(PlainBooks::with_capacity(orders));
        let expected = run(&mut plain, day);
        let engine = BookEngine::new(DefaultBooks::with_capacity(orders).touched());
        Self { day: day.clone(), engine, expected }
    }
}

impl Fixture for BookDay {
    type Answer = DaySummary;

    fn operations(&self) -> u64 {
        self.day.messages
    }

    fn run(&mut self) -> DaySummary {
        run(&mut self.engine, &self.day)
    }

    fn expected(&self) -> DaySummary {
        self.expected
    }
}

fn run<L: PriceLevels, S: OrderStore>(
    engine: &mut BookEngine<Books<L, S>>,
    day: &Day,
) -> DaySummary {
    let mut changes = Changes::default();
    let mut source = DaySource::memory("the benchmark's day", Arc::clone(&day.bytes));
    let report = engine.run(&mut source, &mut changes, |_| ());
    assert!(report.is_ok_and(|report| report.is_good()), "a synthetic day in memory is good");
    (changes, engine.books().orders().len())
}

/// The same day, one message at a time: a run is one message.
pub(crate) struct BookOneByOne {
    messages: Vec<Box<[u8]>>,
    next: usize,
    engine: BookEngine<DefaultBooks>,
    /// Whether each message changes the inside.
    expected: Vec<bool>,
}

impl BookOneByOne {
    pub(crate) fn new(day: &Day) -> Self {
        let orders = (day.messages / 8) as usize;
        let messages: Vec<Box<[u8]>> = day.records().map(Box::from).collect();
        let mut plain = BookEngine::new(PlainBooks::with_capacity(orders));
        let expected = messages.iter().map(|message| apply(&mut plain, message)).collect();
        let engine = BookEngine::new(DefaultBooks::with_capacity(orders).touched());
        Self { messages, next: 0, engine, expected }
    }
}

impl Fixture for BookOneByOne {
    type Answer = bool;

    fn run(&mut self) -> bool {
        let message = &self.messages[self.next];
        // The day ends with empty books, so it can be repeated.
        self.next = if self.next + 1 == self.messages.len() { 0 } else { self.next + 1 };
        apply(&mut self.engine, message)
    }

    fn expected(&self) -> bool {
        let last = self.next.checked_sub(1).unwrap_or(self.messages.len() - 1);
        self.expected[last]
    }
}

/// Whether the last event changed the inside.
struct InsideChanged(bool);

impl<B> Observer<B> for InsideChanged {
    #[inline]
    fn after(
        &mut self,
        _: &BookEngine<B>,
        _: Position,
        _: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.0 = outcome.is_some_and(|outcome| outcome.inside_changed);
        ControlFlow::Continue(())
    }
}

/// Applies a message, and returns whether the inside changed.
#[inline]
pub(crate) fn apply<L: PriceLevels, S: OrderStore>(
    engine: &mut BookEngine<Books<L, S>>,
    message: &[u8],
) -> bool {
    let mut inside = InsideChanged(false);
    if let Ok(message) = Message::decode(message) {
        let at = Position { number: 0, offset: 0 };
        let _ = handle_message(at, &message, engine.live(&mut inside));
    }
    inside.0
}
