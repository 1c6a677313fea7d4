//! A day through a plant that publishes, on a ring that other processes may read: as fast as it goes,
//! and message by message.
//!
//! Where: the process of one reading. Everything is as `nanotape run` has it: a ring and a board in
//! shared memory, and the same loop.

use nanotape_book::OrderStore as _;
use nanotape_clock::Clock;
use nanotape_lab::Placement;
use nanotape_market::MarketEvent;
use nanotape_plant::{PlantConfig, PlantRun, Stop, records::RecordKind};
use nanotape_trace::Histogram;
use serde_json::Value;

use super::{
    error::DayFileError,
    job::{Job, Role},
    one_by_one::{self, MessageLatency},
    plant_variants::Shape,
    reading::{Answer, Published, Reading},
    survey::refuse_damage,
    taps::{self, Tapping},
    usage::{Memory, Peak, Stopwatch},
    variants::{open, refuse},
};
use crate::folder::Folder;

/// The trade date, where the file's name states none: no time depends on it.
const DATE: &str = "2019-12-30";

/// Takes a reading of a plant, or reads one.
pub(super) fn take(job: &Job) -> Result<Value, DayFileError> {
    let Some(shape) = job.variant.shape else { return refuse(job) };
    match job.role {
        Role::Measure => measure(job, shape),
        Role::Latency => latency(job, shape),
        Role::Tap { shares } => taps::read(job, shares),
        Role::Types | Role::Counters | Role::Count { .. } => refuse(job),
    }
}

/// The time and the memory that the whole file takes.
fn measure(job: &Job, shape: Shape) -> Result<Value, DayFileError> {
    let mut stage = Stage::set(job, shape)?;
    let mut peak = Peak::default();
    let watch = Stopwatch::start(stage.clock);
    let ended = stage.run.run(|_| peak.pass())?;
    let (wall_nanos, processor_nanos) = watch.stop();
    let memory = Memory::now();
    refuse_damage(&job.settings.path, ended.report)?;
    let startup_nanos = stage.startup_nanos;
    let (answer, published) = stage.finish(ended.stop.messages)?;
    let reading = Reading {
        startup_nanos,
        wall_nanos,
        processor_nanos,
        accesses: None,
        answer,
        published: Some(published),
        peak_memory_bytes: memory.peak,
        peak_anonymous_bytes: peak.and(memory),
    };
    Ok(reading.to_json())
}

/// The time of single messages, from bytes to published records.
fn latency(job: &Job, shape: Shape) -> Result<Value, DayFileError> {
    let mut stage = Stage::set(job, shape)?;
    let mut histogram = Histogram::fine();
    let (run, clock) = (&mut stage.run, stage.clock);
    let apply = |at, event: &MarketEvent| run.apply(at, event);
    one_by_one::run(&mut open(job)?, &clock, apply, |_, nanos, _| histogram.record(nanos))?;
    let stop = stage.run.end();
    let (answer, published) = stage.finish(stop.messages)?;
    Ok(MessageLatency::told(&histogram, &clock, answer, Some(published)))
}

/// A plant before its first message, in its place, with everybody who reads it.
struct Stage {
    run: PlantRun,
    tapping: Tapping,
    clock: Clock,
    startup_nanos: u64,
    /// Of the measuring thread, as long as it measures.
    _placement: Placement,
    /// A plant stops when its ring is removed.
    _folder: Folder,
}

impl Stage {
    fn set(job: &Job, shape: Shape) -> Result<Self, DayFileError> {
        let folder = Folder::new("plant")
            .map_err(|source| DayFileError::System { what: "make a folder in memory", source })?;
        let ring = folder.path().join("ring");
        // They wait for the ring. What is started from here on would inherit the place.
        let mut tapping = Tapping::start(job, shape.taps, &ring)?;
        let placement = job.place();
        let clock = Clock::calibrate();
        let startup = Stopwatch::start(clock);
        let mut config = PlantConfig::default();
        config.input.file = job.settings.path.clone();
        config.input.date = DATE.parse().ok();
        config.ring.name = ring.display().to_string();
        config.ring.capacity_bytes = Some(shape.capacity_bytes);
        config.publish.records = shape.kinds;
        config.machine.orders = Some(job.settings.orders);
        let run = PlantRun::open(&config, Stop::new())?;
        let (startup_nanos, _) = startup.stop();
        tapping.meet()?;
        Ok(Self { run, tapping, clock, startup_nanos, _placement: placement, _folder: folder })
    }

    /// What came of a run that has ended, when everybody has read it.
    fn finish(self, messages: u64) -> Result<(Answer, Published), DayFileError> {
        let records = self.run.next_sequence() - self.run.first_sequence();
        let counted = self.run.board().look().records;
        let books = self.run.engine().books();
        let answer = Answer {
            messages: Some(messages),
            // One record for each change.
            inside_changes: Some(counted[RecordKind::Bbo as usize]),
            orders_left: Some(books.orders().len() as u64),
            anomalies: Some(books.anomalies().total()),
            order_records: Some(counted[RecordKind::Mbo as usize]),
        };
        Ok((answer, Published { records, ..self.tapping.end()? }))
    }
}
