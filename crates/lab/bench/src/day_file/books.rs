//! A day through books of any structures: at full speed, and one message at a time.

use nanotape_book::{Books, OrderStore, PriceLevels};
use nanotape_clock::Clock;
use nanotape_engine::BookEngine;
use nanotape_trace::Histogram;

use super::{
    Day, one_by_one,
    reading::{Answer, DayReading},
    survey::refuse_damage,
    usage::{Peak, Stopwatch},
};
use crate::{book::Changes, engine::Reading, error::Error};

/// Time and memory of the whole file.
pub(super) fn measure<L: PriceLevels, S: OrderStore>(
    day: &Day,
    clock: Clock,
) -> Result<Reading, Error> {
    let startup = Stopwatch::start(clock);
    let mut plant = plant::<L, S>(day);
    let (startup_nanos, _) = startup.stop();

    let mut peak = Peak::default();
    let mut changes = Changes::default();
    let mut source = day.open()?;
    let mut messages = 0;
    let watch = Stopwatch::start(clock);
    for repetition in 1..=day.repeat {
        let report = plant.run(&mut source, &mut changes, |_| peak.pass())?;
        messages += refuse_damage(day.path(), report)?.records;
        if repetition < day.repeat {
            source = day.open()?;
        }
    }
    let reading = watch.reading(startup_nanos, day.operations(), peak);
    let answer = Answer { messages: Some(messages), ..answer(&plant, changes) };
    Ok(DayReading { answer, ..reading }.into())
}

/// Times of single messages.
pub(super) fn single<L: PriceLevels, S: OrderStore>(
    day: &Day,
    clock: Clock,
) -> Result<Reading, Error> {
    // A live plant does the same.
    let mut plant = BookEngine::new(Books::<L, S>::with_capacity(day.orders()).touched());
    let mut histogram = Histogram::fine();
    let mut changes = Changes::default();
    for _ in 0..day.repeat {
        let mut live = plant.live(&mut changes);
        one_by_one::run(&mut day.open()?, &clock, &mut live, |_, nanos| histogram.record(nanos))?;
    }
    Ok(one_by_one::report(&histogram, &clock, answer(&plant, changes)))
}

/// Books with room for the orders of the day.
pub(super) fn plant<L: PriceLevels, S: OrderStore>(day: &Day) -> BookEngine<Books<L, S>> {
    BookEngine::new(Books::with_capacity(day.orders()))
}

fn answer<L: PriceLevels, S: OrderStore>(
    plant: &BookEngine<Books<L, S>>,
    changes: Changes,
) -> Answer {
    Answer {
        messages: Some(changes.messages),
        inside_changes: Some(changes.inside_changes),
        orders_left: Some(plant.books().orders().len() as u64),
        anomalies: Some(plant.books().anomalies().total()),
        order_records: None,
    }
}
