//! From bytes to books: a whole day at once, and message by message.

use core::ops::ControlFlow;
use std::sync::Arc;

use nanotape_book::{DefaultBooks, OrderStore as _, PlainBooks};
use nanotape_feed::{DaySource, Position};
use nanotape_lab::Fixture;
use nanotape_plant::{Applied, BookKeeper, Observer, Plant};
use nanotape_wire::itch50::Message;

use crate::day::Day;

/// What a day did to the books.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct DaySummary {
    messages: u64,
    inside_changes: u64,
    orders_left: usize,
}

impl<B> Observer<B> for DaySummary {
    #[inline]
    fn after(
        &mut self,
        _: &Plant<B>,
        _: Position,
        _: &Message<'_>,
        applied: Applied,
    ) -> ControlFlow<()> {
        self.messages += 1;
        self.inside_changes += u64::from(applied.inside_changed());
        ControlFlow::Continue(())
    }
}

/// A day into the books of all stocks, inside changes counted.
pub(crate) struct BookDay {
    day: Day,
    plant: Plant<DefaultBooks>,
    expected: DaySummary,
}

impl BookDay {
    pub(crate) fn new(day: &Day) -> Self {
        let orders = (day.messages / 8) as usize;
        let mut plain = Plant::new(PlainBooks::with_capacity(orders));
        let mut expected = run(&mut plain, day);
        expected.orders_left = plain.books().orders().len();
        Self { day: day.clone(), plant: Plant::new(DefaultBooks::with_capacity(orders)), expected }
    }
}

impl Fixture for BookDay {
    type Answer = DaySummary;

    fn operations(&self) -> u64 {
        self.day.messages
    }

    fn run(&mut self) -> DaySummary {
        let mut summary = run(&mut self.plant, &self.day);
        summary.orders_left = self.plant.books().orders().len();
        summary
    }

    fn expected(&self) -> DaySummary {
        self.expected
    }
}

fn run<B: BookKeeper>(plant: &mut Plant<B>, day: &Day) -> DaySummary {
    let mut summary = DaySummary::default();
    let mut source = DaySource::memory("the benchmark's day", Arc::clone(&day.bytes));
    let report = plant.run(&mut source, &mut summary, |_| ());
    assert!(report.is_ok_and(|report| report.is_good()), "a synthetic day in memory is good");
    summary
}

/// The same day, message by message: a run is one message.
pub(crate) struct BookOneByOne {
    messages: Vec<Box<[u8]>>,
    next: usize,
    plant: Plant<DefaultBooks>,
    /// Whether each message changes the inside.
    expected: Vec<bool>,
}

impl BookOneByOne {
    pub(crate) fn new(day: &Day) -> Self {
        let orders = (day.messages / 8) as usize;
        let messages: Vec<Box<[u8]>> = day.records().map(Box::from).collect();
        let mut plain = Plant::new(PlainBooks::with_capacity(orders));
        let expected = messages.iter().map(|message| apply(&mut plain, message)).collect();
        let plant = Plant::new(DefaultBooks::with_capacity(orders));
        Self { messages, next: 0, plant, expected }
    }
}

impl Fixture for BookOneByOne {
    type Answer = bool;

    fn run(&mut self) -> bool {
        let message = &self.messages[self.next];
        // The day ends with empty books, so that it can begin again.
        self.next = if self.next + 1 == self.messages.len() { 0 } else { self.next + 1 };
        apply(&mut self.plant, message)
    }

    fn expected(&self) -> bool {
        let last = self.next.checked_sub(1).unwrap_or(self.messages.len() - 1);
        self.expected[last]
    }
}

#[inline]
fn apply<B: BookKeeper>(plant: &mut Plant<B>, message: &[u8]) -> bool {
    Message::decode(message).is_ok_and(|message| plant.apply(&message).inside_changed())
}
