//! The path from bytes to book events, without books.

use core::ops::ControlFlow;
use std::sync::Arc;

use nanotape_feed::{Block, Damage, DayDecoder, MessageHandler, Position, book_event};
use nanotape_lab::Fixture;
use nanotape_market::{MarketEvent, What};
use nanotape_types::BookEvent;
use nanotape_wire::itch50::Message;

use crate::day::Day;

/// Decodes a day and sums the fields that a book would receive, so that every field is read.
pub(crate) struct Decode {
    bytes: Arc<Vec<u8>>,
    messages: u64,
    expected: u64,
}

impl Decode {
    pub(crate) fn new(day: &Day) -> Self {
        let expected = day.records().map(sum_of_bytes).fold(0, u64::wrapping_add);
        Self { bytes: Arc::clone(&day.bytes), messages: day.messages, expected }
    }
}

impl Fixture for Decode {
    type Answer = u64;

    fn operations(&self) -> u64 {
        self.messages
    }

    fn run(&mut self) -> u64 {
        let mut sum = Sum(0);
        let block = Block { bytes: &self.bytes, offset: 0, is_last: true };
        DayDecoder::new().decode(block, &mut sum);
        sum.0
    }

    fn expected(&self) -> u64 {
        self.expected
    }
}

struct Sum(u64);

impl MessageHandler for Sum {
    #[inline(always)]
    fn message(&mut self, _: Position, message: Message<'_>) -> ControlFlow<()> {
        if let Some(event) = book_event(&message) {
            self.0 = self.0.wrapping_add(sum_of_event(event));
        }
        ControlFlow::Continue(())
    }

    fn damage(&mut self, _: Damage) {}
}

#[inline]
pub(crate) fn sum_of_event(event: BookEvent) -> u64 {
    match event {
        BookEvent::Add { stock_locate, reference, shares, price, .. } => {
            u64::from(stock_locate.get())
                + reference.get()
                + u64::from(shares.get())
                + u64::from(price.code())
        }
        BookEvent::Execute { stock_locate, reference, shares }
        | BookEvent::Cancel { stock_locate, reference, shares } => {
            u64::from(stock_locate.get()) + reference.get() + u64::from(shares.get())
        }
        BookEvent::Delete { stock_locate, reference } => {
            u64::from(stock_locate.get()) + reference.get()
        }
        BookEvent::Replace { stock_locate, original, replacement, shares, price } => {
            u64::from(stock_locate.get())
                + original.get()
                + replacement.get()
                + u64::from(shares.get())
                + u64::from(price.code())
        }
    }
}

/// The same for any event that a book receives.
#[inline]
pub(crate) fn sum_of_market_event(event: &MarketEvent) -> u64 {
    let of_book = event.book_event().map_or(0, sum_of_event);
    let rest = match event.what {
        What::Level(level) => {
            u64::from(level.price.code()) + u64::from(level.shares.get()) + level.side as u64
        }
        What::OrderModified(changed) => {
            changed.reference.get()
                + u64::from(changed.price.code())
                + u64::from(changed.shares.get())
        }
        _ => 0,
    };
    of_book + rest + u64::from(event.stock_locate.get())
}

/// The same sum, from the offsets of the specification and without the decoder.
fn sum_of_bytes(message: &[u8]) -> u64 {
    let number = |from: usize, to: usize| {
        message[from..to].iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
    };
    let (locate, reference) = (|| number(1, 3), || number(11, 19));
    match message[0] {
        b'A' | b'F' => locate() + reference() + number(20, 24) + number(32, 36),
        b'E' | b'C' | b'X' => locate() + reference() + number(19, 23),
        b'D' => locate() + reference(),
        b'U' => locate() + reference() + number(19, 27) + number(27, 31) + number(31, 35),
        _ => 0,
    }
}
