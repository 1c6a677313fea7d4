//! A day through books of any structures: as fast as it goes, and message by message.

use core::ops::ControlFlow;

use nanotape_book::{Books, OrderStore, Outcome, PriceLevels};
use nanotape_clock::Clock;
use nanotape_market::{MarketEvent, Position};
use nanotape_plant::{BookEngine, Observer};
use nanotape_trace::Histogram;

use super::{
    Day, one_by_one,
    reading::{Answer, DayReading},
    survey::refuse_damage,
    usage::{Memory, Peak, Stopwatch},
};
use crate::{engine::Report, error::Error};

/// What is counted on the way: two increments a message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changes {
    pub(super) messages: u64,
    pub(super) inside_changes: u64,
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

/// The time and the memory that the whole file takes.
pub(super) fn measure<L: PriceLevels, S: OrderStore>(
    day: &Day,
    clock: Clock,
) -> Result<Report, Error> {
    let startup = Stopwatch::start(clock);
    let mut plant = plant::<L, S>(day);
    let (startup_nanos, _) = startup.stop();

    let mut peak = Peak::default();
    let mut changes = Changes::default();
    let mut source = day.open()?;
    let watch = Stopwatch::start(clock);
    for repetition in 1..=day.repeat {
        let report = plant.run(&mut source, &mut changes, |_| peak.pass())?;
        refuse_damage(day.path(), report)?;
        if repetition < day.repeat {
            source = day.open()?;
        }
    }
    let (wall_nanos, processor_nanos) = watch.stop();
    let memory = Memory::now();
    let reading = DayReading {
        startup_nanos,
        wall_nanos,
        processor_nanos,
        operations: day.operations(),
        answer: answer(&plant, changes),
        peak_memory_bytes: memory.peak,
        peak_anonymous_bytes: peak.and(memory),
    };
    Ok(reading.into())
}

/// The time of single messages.
pub(super) fn single<L: PriceLevels, S: OrderStore>(
    day: &Day,
    clock: Clock,
) -> Result<Report, Error> {
    let mut plant = plant::<L, S>(day);
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
