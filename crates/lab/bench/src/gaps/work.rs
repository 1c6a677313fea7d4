//! The loops of each row.

use core::hint::black_box;

use nanotape_clock::Clock;
use nanotape_machine::{
    Attributor, Gap, GapMeter, Watch, WatchOptions,
    jitter::cells::{CellReader, CellWriter, Cells, Direction},
};
use nanotape_ring::{Publish, Read, Start, Subscribe, slots, stream};
use nanotape_shm::{RegionOptions, Word};
use serde_json::json;

use super::{
    Gaps,
    rows::{Kind, Query, What},
};
use crate::{
    engine::{
        Reading, Taken, Timeout, Wait, Worker, Written,
        sample::{Rounds, repeat},
    },
    error::Error,
};

/// The threshold of the meter in all loops.
const THRESHOLD_NS: u64 = 100;

/// Shorter than this no loop with a stamp can detect: pauses are from this to half as much more.
const LEAST_PAUSE_NS: u64 = 100;

/// Cells of a ring: one page.
const CELLS: usize = 512;

/// Size of the rings for data.
const RING_BYTES: usize = 1 << 16;

const TYPE_ID: u16 = 1;

/// The value that ends the answering side.
const END: u64 = 1 << 62;

/// What a turn of a loop does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Reads the clock.
    Stamp,
    /// And compares it with the last time.
    Meter,
    /// And keeps interruptions with their causes.
    Watch,
}

pub(super) fn work(worker: &mut Worker<Gaps>) -> Result<Reading, Error> {
    match (worker.row.work, worker.reader()) {
        (What::Turn(turn), _) => turns(worker, turn),
        (What::Seen, _) => pauses(worker),
        (What::Attribution(Query::Again), _) => attributions(worker),
        (What::Attribution(Query::AfterGaps), _) => attributions_after_gaps(worker),
        (What::Line, None) => worker.bounce(worker.job.options.timed.amount(), Wait::Busy),
        (What::Line, Some(_)) => worker.bounce_back(Wait::Busy),
        (What::RoundTrip(kind), _) => round_trips(worker, kind),
    }
}

/// Turns between two reads of the clock.
const BLOCK: u64 = 1 << 16;

fn turns(worker: &mut Worker<Gaps>, turn: Turn) -> Result<Reading, Error> {
    worker.begin(&[])?;
    let clock = worker.clock;
    let mut watch = Watch::start(
        &clock,
        WatchOptions { threshold_ns: THRESHOLD_NS, ..WatchOptions::default() },
    );
    let mut meter = GapMeter::start(&clock, THRESHOLD_NS);
    let until = worker.until(worker.job.options.timed.amount());
    let mut blocks: Vec<u64> = Vec::with_capacity(1 << 16);
    while until.share(0) < 1.0 && blocks.len() < blocks.capacity() {
        let begin = clock.stamp_start();
        match turn {
            Turn::Stamp => (0..BLOCK).for_each(|_| {
                black_box(clock.stamp_unfenced());
            }),
            Turn::Meter => (0..BLOCK).for_each(|_| {
                if let Some(gap) = meter.turn(clock.stamp_unfenced()) {
                    black_box(gap);
                }
            }),
            Turn::Watch => (0..BLOCK).for_each(|_| {
                watch.turn(clock.stamp_unfenced());
            }),
        }
        blocks.push(clock.nanos_between(begin, clock.stamp()));
        watch.skip_to(clock.stamp());
        meter.skip_to(clock.stamp());
    }
    // The median block: a mean would be that of the interruptions.
    blocks.sort_unstable();
    let nanos = blocks.get(blocks.len() / 2).copied().unwrap_or(0);
    Ok(Written { messages: BLOCK, nanos }.into())
}

/// Makes pauses in a loop with a meter, and counts those that it sees.
fn pauses(worker: &mut Worker<Gaps>) -> Result<Reading, Error> {
    worker.begin(&[])?;
    let clock = worker.clock;
    let until = worker.until(worker.job.options.timed.amount());
    let mut meter = GapMeter::start(&clock, THRESHOLD_NS);
    let (mut made, mut seen, mut turns) = (0_u64, 0_u64, 0_u64);
    while until.share(0) < 1.0 {
        let pause_ns = LEAST_PAUSE_NS + 1 + made % (LEAST_PAUSE_NS / 2);
        meter.skip_to(clock.stamp_unfenced());
        // Some turns, so that the last one before the pause is a usual one.
        let mut before = clock.stamp_unfenced();
        for _ in 0..4 {
            before = clock.stamp_unfenced();
            meter.turn(before);
        }
        while clock.nanos_between(before, clock.stamp_unfenced()) <= pause_ns {}
        made += 1;
        seen += u64::from(meter.turn(clock.stamp_unfenced()).is_some());
        turns += 5;
    }
    let nanos = until.nanos();
    Ok(Reading {
        detail: json!({ "made": made, "seen": seen }),
        ..Written { messages: turns, nanos }.into()
    })
}

fn attributions(worker: &mut Worker<Gaps>) -> Result<Reading, Error> {
    worker.begin(&[])?;
    let clock = worker.clock;
    let mut attributor = Attributor::open(&clock);
    let until = worker.until(worker.job.options.timed.amount());
    let (written, times) = repeat(clock, &until, |_| {
        let from = clock.stamp_start();
        black_box(attributor.attribute(&Gap { from, to: from }));
        Ok::<_, Error>((from, clock.stamp()))
    })?;
    Ok(Reading { times: Some(times), ..written.into() })
}

/// Checks for interruptions of this machine, and attributes those that a watch attributes.
fn attributions_after_gaps(worker: &mut Worker<Gaps>) -> Result<Reading, Error> {
    worker.begin(&[])?;
    let clock = worker.clock;
    let mut attributor = Attributor::open(&clock);
    let mut meter = GapMeter::start(&clock, WatchOptions::default().attribute_ns);
    let until = worker.until(worker.job.options.timed.amount());
    let mut rounds = Rounds::new(&until);
    let (mut done, mut turns) = (0, 0_u64);
    loop {
        turns += 1;
        if turns.is_multiple_of(BLOCK) {
            if until.share(0) >= 1.0 {
                break;
            }
            meter.skip_to(clock.stamp());
        }
        let Some(gap) = meter.turn(clock.stamp_unfenced()) else { continue };
        let from = clock.stamp_start();
        black_box(attributor.attribute(&gap));
        let to = clock.stamp();
        if !rounds.goes_on(done) {
            break;
        }
        rounds.sample.add(&clock, from, to);
        meter.skip_to(clock.stamp());
        done += 1;
    }
    let times = (done > 0).then(|| rounds.sample.times(clock));
    Ok(Reading { times, ..Written { messages: done, nanos: until.nanos() }.into() })
}

/// One way of a round trip.
trait Send {
    fn send(&mut self, value: u64) -> Result<(), Error>;
}

/// The other way.
trait Take {
    fn take(&mut self) -> Result<Option<u64>, Error>;
}

impl Send for CellWriter {
    #[inline(always)]
    fn send(&mut self, value: u64) -> Result<(), Error> {
        CellWriter::send(self, value);
        Ok(())
    }
}

impl Take for CellReader {
    #[inline(always)]
    fn take(&mut self) -> Result<Option<u64>, Error> {
        Ok(self.try_take())
    }
}

struct Data<End>(End);

impl<W: Publish> Send for Data<W> {
    #[inline(always)]
    fn send(&mut self, value: u64) -> Result<(), Error> {
        self.0.publish(TYPE_ID, &value.to_le_bytes())?;
        Ok(())
    }
}

impl<R: Subscribe> Take for Data<R> {
    #[inline(always)]
    fn take(&mut self) -> Result<Option<u64>, Error> {
        let mut bytes = [0; 8];
        match self.0.try_read(&mut bytes)? {
            Read::Message(_) => Ok(Some(u64::from_le_bytes(bytes))),
            Read::Empty => Ok(None),
            Read::Lapped(lapped) => Err(Error::Lost { count: lapped.count() }),
        }
    }
}

/// Opens both ways, and runs the side of this process.
fn round_trips(worker: &mut Worker<Gaps>, kind: Kind) -> Result<Reading, Error> {
    let ways = [("there", Direction::There), ("back", Direction::Back)];
    let [(own, own_way), (other, other_way)] = match worker.reader() {
        None => ways,
        Some(_) => [ways[1], ways[0]],
    };
    let (own, other) = (worker.path(own), worker.path(other));
    let options = RegionOptions::default();
    match kind {
        Kind::Cells | Kind::WatchedCells => {
            let rings = map_cells(worker)?;
            let (mut own, mut other) = (rings.writer(own_way), rings.reader(other_way));
            if kind == Kind::Cells {
                return side(worker, &mut own, &mut other, &mut Nothing);
            }
            let mut watch = Watch::start(&worker.clock, WatchOptions::default());
            side(worker, &mut own, &mut other, &mut watch)
        }
        Kind::Slots => {
            let slots = RING_BYTES / 64;
            let mut own = Data(slots::Writer::create(&own, slots, 8, &options)?.0);
            let mut other = Data(worker.meet(|_| slots::Reader::open(&other, Start::Oldest))?);
            side(worker, &mut own, &mut other, &mut Nothing)
        }
        Kind::Stream => {
            let mut own = Data(stream::Writer::create(&own, RING_BYTES, &options)?.0);
            let mut other = Data(worker.meet(|_| stream::Reader::open(&other, Start::Oldest))?);
            side(worker, &mut own, &mut other, &mut Nothing)
        }
    }
}

fn side(
    worker: &mut Worker<Gaps>,
    own: &mut impl Send,
    other: &mut impl Take,
    poll: &mut impl Poll,
) -> Result<Reading, Error> {
    match worker.reader() {
        None => ping(worker, own, other, poll),
        Some(_) => pong(worker, own, other, poll),
    }
}

/// The rings of cells of this reading, which both processes map.
fn map_cells(worker: &Worker<Gaps>) -> Result<Cells, Error> {
    Cells::map(&worker.path("cells"), CELLS).map_err(Error::system("map the rings of cells"))
}

/// What a side does between two polls.
trait Poll {
    fn poll(&mut self, clock: &Clock);
    fn rest(&mut self);
}

struct Nothing;

impl Poll for Nothing {
    #[inline(always)]
    fn poll(&mut self, _: &Clock) {}
    #[inline(always)]
    fn rest(&mut self) {}
}

impl Poll for Watch {
    #[inline(always)]
    fn poll(&mut self, clock: &Clock) {
        self.notice(clock.stamp_unfenced());
    }
    #[inline(always)]
    fn rest(&mut self) {
        self.settle();
    }
}

fn ping(
    worker: &mut Worker<Gaps>,
    there: &mut impl Send,
    back: &mut impl Take,
    poll: &mut impl Poll,
) -> Result<Reading, Error> {
    let progress = worker.join_readers(1)?;
    worker.begin(&progress)?;
    let clock = worker.clock;
    let until = worker.until(worker.job.options.timed.amount());
    let timeout = &mut worker.timeout(Wait::Busy);
    let (written, times) = repeat(clock, &until, |done| {
        let sent = clock.stamp_start();
        there.send(2 * done)?;
        let answer = wait(&clock, back, poll, timeout, done)?;
        let back = clock.stamp();
        if answer != 2 * done + 1 {
            let found = format!("got {answer}, expected {}", 2 * done + 1);
            return Err(Error::found("a round trip", found));
        }
        poll.rest();
        Ok((sent, back))
    })?;
    there.send(END)?;
    Ok(Reading { times: Some(times), ..written.into() })
}

fn pong(
    worker: &mut Worker<Gaps>,
    back: &mut impl Send,
    there: &mut impl Take,
    poll: &mut impl Poll,
) -> Result<Reading, Error> {
    let progress = worker.own_progress(0)?;
    worker.ready()?;
    let clock = worker.clock;
    let ready: &Word = &progress.words()[0];
    let timeout = &mut worker.timeout(Wait::Busy);
    ready.store(1);
    let mut taken = Taken::default();
    loop {
        let value = wait(&clock, there, poll, timeout, taken.messages)?;
        if value == END {
            return Ok(taken.into());
        }
        back.send(value + 1)?;
        poll.rest();
        taken.messages += 1;
    }
}

#[inline(always)]
fn wait(
    clock: &Clock,
    from: &mut impl Take,
    poll: &mut impl Poll,
    timeout: &mut Timeout,
    done: u64,
) -> Result<u64, Error> {
    loop {
        if let Some(value) = from.take()? {
            return Ok(value);
        }
        poll.poll(clock);
        timeout.idle(done)?;
    }
}
