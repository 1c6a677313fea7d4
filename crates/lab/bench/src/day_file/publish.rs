//! A day through a plant that publishes on a ring that other processes may read: at full speed, and
//! one message at a time. It uses the parts of `nanotape run`: a ring and a board in shared memory,
//! and the same loop.

use core::hint::black_box;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use nanotape_book::OrderStore as _;
use nanotape_clock::Clock;
use nanotape_plant::{
    PlantConfig, PlantRun, RecorderProcess, RecordingSummary, ShutdownFlag,
    records::{Notice, Record, RecordKind},
};
use nanotape_ring::Start;
use nanotape_tap::{Event, Subscription};
use nanotape_trace::Histogram;
use nanotape_types::Symbol;
use serde_json::{Value, json};

use super::{
    Day, Pass, one_by_one,
    plant_variants::{Shape, USUAL},
    profile::{TypeTimes, counted},
    reading::{Answer, DayReading},
    survey::refuse_damage,
    usage::{Peak, Stopwatch},
};
use crate::{
    engine::{Benchmark, Reading, Taken, Wait, Worker, Written},
    error::Error,
};

/// The trade date if the file's name has none: no time depends on it.
const DATE: &str = "2019-12-30";

pub(super) const RING: &str = "ring";

/// Limit of the time that a tap waits for the ring: the plant makes its tables first.
pub(super) const LONGEST_START: Duration = Duration::from_secs(60);

/// Runs the plant of a row, on its ring, or on another ring with a recorder.
pub(super) fn publish<B: Benchmark>(
    worker: &mut Worker<B>,
    shape: Shape,
    pass: Pass,
    recorded: Option<(PathBuf, RecorderProcess)>,
) -> Result<Reading, Error> {
    let clock = worker.clock;
    let day = &worker.job.options.day().cloned().unwrap_or_default();
    let startup = Stopwatch::start(clock);
    let stop = ShutdownFlag::new();
    let mut run = match &recorded {
        Some((ring, recorder)) => {
            PlantRun::open_recorded(&config(day, shape, ring), stop, recorder)?
        }
        None => PlantRun::open(&config(day, shape, &worker.path(RING)), stop)?,
    };
    let (startup_nanos, _) = startup.stop();
    worker.begin(&[])?;

    let (mut reading, mut histogram) = (DayReading::default(), Histogram::fine());
    let mut detail = Value::Null;
    let messages = match pass {
        Pass::Single => {
            let record = |_, nanos| histogram.record(nanos);
            one_by_one::run(&mut day.open()?, &clock, &mut run.live(), record)?;
            run.end().messages
        }
        Pass::Types => {
            let mut types = TypeTimes::new();
            let record = |tag, nanos| types.record(tag, nanos);
            one_by_one::run(&mut day.open()?, &clock, &mut run.live(), record)?;
            detail = types.detail(&clock);
            run.end().messages
        }
        Pass::Counters => {
            detail = counted(|| Ok(run.run(|_| ())?.stop.messages))?;
            run.end().messages
        }
        Pass::Measure => {
            let mut peak = Peak::default();
            let watch = Stopwatch::start(clock);
            let ended = run.run(|_| peak.pass())?;
            reading = watch.reading(startup_nanos, day.operations(), peak);
            refuse_damage(day.path(), ended.report)?;
            ended.stop.messages
        }
    };

    let answer = answer(&run, messages);
    let records = run.next_sequence() - run.first_sequence();
    if recorded.is_some() {
        detail = finish(run, records, clock)?;
    }
    Ok(Reading {
        detail,
        written: Written { messages: records, nanos: reading.wall_nanos },
        day: DayReading { answer, ..reading },
        ..one_by_one::report(&histogram, &clock, answer)
    })
}

/// The usual plant of a row, on its ring.
pub(super) fn open<B: Benchmark>(worker: &Worker<B>) -> Result<PlantRun, Error> {
    let day = worker.job.options.day().cloned().unwrap_or_default();
    Ok(PlantRun::open(&config(&day, USUAL, &worker.path(RING)), ShutdownFlag::new())?)
}

/// The configuration of a plant of this day.
pub(super) fn config(day: &Day, shape: Shape, ring: &Path) -> PlantConfig {
    let mut config = PlantConfig::default();
    config.input.file = day.path().to_owned();
    config.input.date = DATE.parse().ok();
    config.ring.name = ring.into();
    config.ring.capacity_bytes = Some(shape.capacity_bytes);
    config.publish.records = shape.kinds;
    config.machine.orders = Some(day.orders());
    config
}

/// What a plant has done with its messages.
pub(super) fn answer(run: &PlantRun, messages: u64) -> Answer {
    let counted = run.board().sample().records;
    let books = run.engine().books();
    Answer {
        messages: Some(messages),
        // One record per change.
        inside_changes: Some(counted[RecordKind::Bbo as usize]),
        orders_left: Some(books.orders().len() as u64),
        anomalies: Some(books.anomalies().total()),
        order_records: Some(counted[RecordKind::Mbo as usize]),
    }
}

/// Waits until a plant that has ended is recorded.
fn finish(run: PlantRun, records: u64, clock: Clock) -> Result<Value, Error> {
    let ended = clock.stamp_start();
    let summary =
        run.finish().recording?.ok_or_else(|| Error::found("the plant", "it has no recorder"))?;
    let drain_ns = clock.nanos_between(ended, clock.stamp());
    let RecordingSummary { recorded, lost, waited_ns, .. } = summary;
    if (recorded, lost) != (records, 0) {
        let found = format!("{records} records published, {recorded} recorded, {lost} lost");
        return Err(Error::found("the recorder", found));
    }
    Ok(json!({ "waited_ns": waited_ns, "drain_ns": drain_ns }))
}

/// Reads the ring of a plant until it ends.
pub(super) fn tap<B: Benchmark>(worker: &mut Worker<B>, day: &Day) -> Result<Reading, Error> {
    let symbol: Option<Symbol> = day.busiest.as_ref().and_then(|symbol| symbol.parse().ok());
    let mut subscriber = Subscription::to(&worker.path(RING).display().to_string())
        .symbols(symbol)
        .records([RecordKind::Bbo])
        .from(Start::Oldest)
        .wait(LONGEST_START)
        .open()?;
    worker.ready()?;
    let mut timeout = worker.timeout(Wait::Pause);
    let (mut passed, mut lost, mut wanted, mut prices) = (0, 0, 0_u64, 0_i64);
    let mut is_over = false;
    while !is_over {
        let polled = subscriber.poll(|event| match event {
            Event::Record(delivery) => match delivery.record {
                Record::Bbo(bbo) => {
                    wanted += 1;
                    prices ^= bbo.levels[0].bid_px ^ bbo.levels[0].ask_px;
                }
                Record::Notice(Notice::Stop(_)) => is_over = true,
                _ => {}
            },
            Event::Lost(lapped) => lost += lapped.count(),
            Event::Healed(_) | Event::Reported { .. } => {}
        })?;
        passed += polled;
        if polled == 0 {
            timeout.idle(passed)?;
        }
    }
    black_box(prices);
    Ok(Taken { messages: passed - lost, lost, wanted, ..Taken::default() }.into())
}
