//! nanotape itself: the decoder alone, and the whole path into the books of all stocks.

use core::ops::ControlFlow;
use std::path::Path;

use nanotape_book::{DefaultBooks, Outcome as Applied};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::{DaySource, MessageHandler, book_event, read_day};
use nanotape_market::{Damage, MarketEvent, Position};
use nanotape_types::{BookEvent, Side, StockLocate};
use nanotape_wire::itch50::Message;
use rivals_measure::Failure;

use crate::{
    digest::{BookDigest, FieldSum},
    measured::{Outcome, measured},
};

/// Live orders to reserve memory for: a full day peaks at about two million.
const ORDERS: usize = 1 << 21;

/// Decodes bytes to book events, and reads every field of the events.
pub(crate) fn decode(file: &Path) -> Result<Outcome, Failure> {
    let mut sum = FieldSum::default();
    let (read, measured) = measured(|| book_events(file, |event| sum.add(fields(event))))?;
    Ok(Outcome {
        kind: "parse",
        messages: read.messages,
        measured,
        answer: [("field_sum", sum.0)].into(),
        notes: [("damaged", read.damaged)].into(),
    })
}

/// Builds books from bytes, and counts the messages that changed a best bid or offer.
pub(crate) fn books(file: &Path) -> Result<Outcome, Failure> {
    let ((engine, insides, report), measured) = measured(|| {
        let mut engine = BookEngine::new(DefaultBooks::with_capacity(ORDERS));
        let mut insides = InsideChanges(0);
        let report = engine.run(&mut DaySource::open(file)?, &mut insides, |_| ())?;
        Ok((engine, insides, report))
    })?;
    if let Some(fault) = report.summary.fault {
        return Err(fault.into());
    }
    let mut answer = digest(&engine).answers();
    answer.insert("inside_changes", insides.0);
    Ok(Outcome {
        kind: "books",
        messages: report.summary.records,
        measured,
        answer,
        notes: [("damaged", report.damage.total())].into(),
    })
}

/// How many messages a day had, and how many of them were damaged.
pub(crate) struct Read {
    pub(crate) messages: u64,
    pub(crate) damaged: u64,
}

/// Decodes a day and calls `take` with every book event.
pub(crate) fn book_events(file: &Path, take: impl FnMut(BookEvent)) -> Result<Read, Failure> {
    let mut handler = Events { take, damaged: 0 };
    let summary = read_day(&mut DaySource::open(file)?, &mut handler, |_| ())?;
    match summary.fault {
        Some(fault) => Err(fault.into()),
        None => Ok(Read { messages: summary.records, damaged: handler.damaged }),
    }
}

struct Events<F> {
    take: F,
    damaged: u64,
}

impl<F: FnMut(BookEvent)> MessageHandler for Events<F> {
    #[inline(always)]
    fn message(&mut self, _: Position, message: Message<'_>) -> ControlFlow<()> {
        if let Some(event) = book_event(&message) {
            (self.take)(event);
        }
        ControlFlow::Continue(())
    }

    fn damage(&mut self, _: Damage) {
        self.damaged += 1;
    }
}

fn digest(engine: &BookEngine<DefaultBooks>) -> BookDigest {
    let mut digest = BookDigest::default();
    for locate in 0..=u16::MAX {
        let book = engine.books().book(StockLocate::new(locate));
        for side in [Side::Buy, Side::Sell] {
            for level in book.depth(side) {
                let (price, orders) = (level.price.code().into(), level.orders.get().into());
                digest.level((locate, side), price, level.shares.get(), orders);
            }
        }
    }
    digest
}

struct InsideChanges(u64);

impl<B> Observer<B> for InsideChanges {
    #[inline]
    fn after(
        &mut self,
        _: &BookEngine<B>,
        _: Position,
        _: &MarketEvent,
        applied: Option<Applied>,
    ) -> ControlFlow<()> {
        self.0 += u64::from(applied.is_some_and(|applied| applied.inside_changed));
        ControlFlow::Continue(())
    }
}

#[inline]
fn fields(event: BookEvent) -> u64 {
    let (locate, references, shares, price) = match event {
        BookEvent::Add { stock_locate, reference, shares, price, .. } => {
            (stock_locate, reference.get(), shares.get(), price.code())
        }
        BookEvent::Execute { stock_locate, reference, shares }
        | BookEvent::Cancel { stock_locate, reference, shares } => {
            (stock_locate, reference.get(), shares.get(), 0)
        }
        BookEvent::Delete { stock_locate, reference } => (stock_locate, reference.get(), 0, 0),
        BookEvent::Replace { stock_locate, original, replacement, shares, price } => {
            (stock_locate, original.get() + replacement.get(), shares.get(), price.code())
        }
    };
    u64::from(locate.get()) + references + u64::from(shares) + u64::from(price)
}
