//! The messages of a day, one at a time, and the books that they change.

use nanotape_book::DefaultBooks;
use nanotape_engine::BookEngine;

use crate::{book::apply, day::Day};

/// The type of an order without attribution that is added.
const ADD_ORDER: u8 = b'A';

/// A day without end: it leaves empty books, so it is repeated.
pub(super) struct OrderFeed {
    messages: Vec<Box<[u8]>>,
    next: usize,
    engine: BookEngine<DefaultBooks>,
}

impl OrderFeed {
    pub(super) fn new(day: &Day) -> Self {
        let messages: Vec<Box<[u8]>> = day.records().map(Box::from).collect();
        let orders = (day.messages / 8) as usize;
        let books = DefaultBooks::with_capacity(orders).touched();
        Self { messages, next: 0, engine: BookEngine::new(books) }
    }

    /// Applies messages up to the next order that is added.
    pub(super) fn skip_to_order(&mut self) {
        // A day has orders; the bound is for a reader of this code.
        for _ in 0..self.messages.len() {
            if self.messages[self.next].first() == Some(&ADD_ORDER) {
                return;
            }
            self.apply();
        }
    }

    /// Applies the next message.
    #[inline]
    pub(super) fn apply(&mut self) {
        let message = &self.messages[self.next];
        self.next = if self.next + 1 == self.messages.len() { 0 } else { self.next + 1 };
        std::hint::black_box(apply(&mut self.engine, message));
    }
}

#[cfg(test)]
mod tests {
    use nanotape_book::OrderStore as _;

    use super::*;

    #[test]
    fn every_timed_message_adds_an_order_also_after_the_end_of_the_day() {
        let mut feed = OrderFeed::new(&Day::small());
        let adds = feed.messages.iter().filter(|message| message[0] == ADD_ORDER).count();
        assert!(adds > 1_000);
        for _ in 0..adds + 10 {
            feed.skip_to_order();
            assert_eq!(feed.messages[feed.next][0], ADD_ORDER);
            let before = feed.engine.books().orders().len();
            feed.apply();
            assert_eq!(feed.engine.books().orders().len(), before + 1);
        }
    }
}
