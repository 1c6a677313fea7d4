//! nanotape itself: the decoder alone, and the whole path into the books of all stocks.

use core::ops::ControlFlow;
use std::{collections::BTreeMap, path::Path};

use nanotape_book::DefaultBooks;
use nanotape_feed::{Damage, DayHandler, DaySource, Position, book_event, read_day};
use nanotape_plant::{Applied, Observer, Plant};
use nanotape_types::{BookEvent, Side, StockLocate};
use nanotape_wire::itch50::Message;

use crate::{
    digest::{BookDigest, FieldSum, LevelState},
    outcome::{Failure, Memory, Outcome, Stopwatch},
};

/// Live orders to make room for: a full day peaks at about two million.
const ORDERS: usize = 1 << 21;

/// Bytes to book events, every field of them read.
pub(crate) fn decode(file: &Path) -> Result<Outcome, Failure> {
    let watch = Stopwatch::start();
    let mut handler = Decoded::default();
    let summary = read_day(&mut DaySource::open(file)?, &mut handler, |_| ())?;
    let elapsed = watch.stop();
    let memory = Memory::now();
    if let Some(fault) = summary.fault {
        return Err(fault.into());
    }
    Ok(Outcome {
        kind: "parse",
        messages: summary.records,
        elapsed,
        answers: BTreeMap::from([("field_sum", handler.sum.0)]),
        notes: BTreeMap::from([("damaged", handler.damaged)]),
        memory,
    })
}

/// Bytes to books, and which messages changed a best bid or offer.
pub(crate) fn books(file: &Path) -> Result<Outcome, Failure> {
    let watch = Stopwatch::start();
    let mut plant = Plant::new(DefaultBooks::with_capacity(ORDERS));
    let mut insides = InsideChanges(0);
    let report = plant.run(&mut DaySource::open(file)?, &mut insides, |_| ())?;
    let elapsed = watch.stop();
    let memory = Memory::now();
    if let Some(fault) = report.summary.fault {
        return Err(fault.into());
    }
    let mut answers = digest(&plant).answers();
    answers.insert("inside_changes", insides.0);
    Ok(Outcome {
        kind: "books",
        messages: report.summary.records,
        elapsed,
        answers,
        notes: BTreeMap::from([("damaged", report.damage.total())]),
        memory,
    })
}

fn digest(plant: &Plant<DefaultBooks>) -> BookDigest {
    let mut digest = BookDigest::default();
    for locate in 0..=u16::MAX {
        let book = plant.books().book(StockLocate::new(locate));
        for (is_offer, side) in [(0, Side::Buy), (1, Side::Sell)] {
            for level in book.depth(side) {
                digest.level(&LevelState {
                    locate,
                    is_offer,
                    price: u64::from(level.price.get()),
                    shares: level.shares.get(),
                    orders: u64::from(level.orders.get()),
                });
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
        _: &Plant<B>,
        _: Position,
        _: &Message<'_>,
        applied: Applied,
    ) -> ControlFlow<()> {
        self.0 += u64::from(applied.inside_changed());
        ControlFlow::Continue(())
    }
}

#[derive(Default)]
struct Decoded {
    sum: FieldSum,
    damaged: u64,
}

impl DayHandler for Decoded {
    #[inline]
    fn message(&mut self, _: Position, message: Message<'_>) -> ControlFlow<()> {
        if let Ok(Some(event)) = book_event(&message) {
            self.sum.add(fields(event));
        }
        ControlFlow::Continue(())
    }

    fn damage(&mut self, _: Damage) {
        self.damaged += 1;
    }
}

#[inline]
fn fields(event: BookEvent) -> u64 {
    match event {
        BookEvent::Add { stock_locate, reference, shares, price, .. } => {
            u64::from(stock_locate.get())
                + reference.get()
                + u64::from(shares.get())
                + u64::from(price.get())
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
                + u64::from(price.get())
        }
    }
}
