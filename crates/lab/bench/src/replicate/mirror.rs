//! A ring, its mirror in another process, and a reader of the mirror; and a reader of the ring
//! itself.

use std::time::Duration;

use nanotape_ring::{Start, stream};
use nanotape_shm::RegionOptions;
use nanotape_tap::{Mirror, MirrorOptions};
use nanotape_tape::{ShutdownFlag, WaitStrategy};

use super::Replicate;
use crate::{
    engine::{
        Reading, Wait, Worker,
        message::{Any, Length, USUAL_BYTES, Usual},
    },
    error::Error,
    ring::timed,
};

/// The size of both rings.
const RING_BYTES: usize = 8 << 20;

const RING: &str = "ring";
const MIRRORED: &str = "mirrored";

/// Runs a process of a row: the writer, the reader, or the mirror.
pub(super) fn work(worker: &mut Worker<Replicate>, is_mirrored: bool) -> Result<Reading, Error> {
    match worker.job.options.bytes() {
        USUAL_BYTES => of_length(worker, is_mirrored, Usual),
        length => of_length(worker, is_mirrored, Any(length)),
    }
}

fn of_length(
    worker: &mut Worker<Replicate>,
    is_mirrored: bool,
    length: impl Length,
) -> Result<Reading, Error> {
    match worker.reader() {
        None => write(worker, is_mirrored, length),
        Some(0) => read(worker, if is_mirrored { MIRRORED } else { RING }, length),
        Some(_) => mirror(worker),
    }
}

fn write(
    worker: &mut Worker<Replicate>,
    is_mirrored: bool,
    length: impl Length,
) -> Result<Reading, Error> {
    let options = RegionOptions::default();
    let mut ring = stream::Writer::create(&worker.path(RING), RING_BYTES, &options)?.0;
    let progress = worker.join_readers(1 + usize::from(is_mirrored))?;
    worker.begin(&progress)?;
    let rate = (worker.job.options.rate, worker.job.options.timed.amount());
    let (timeout, word) = (&mut worker.timeout(Wait::Busy), &progress[0].words()[0]);
    Ok(timed::send(&mut ring, length, worker.clock, rate, word, timeout)?.into())
}

fn read(worker: &mut Worker<Replicate>, name: &str, length: impl Length) -> Result<Reading, Error> {
    let progress = worker.own_progress(0)?;
    let path = worker.path(name);
    let mut ring = worker.meet(|_| stream::Reader::open(&path, Start::Oldest))?;
    worker.ready()?;
    let (clock, messages) = (worker.clock, worker.job.options.scheduled());
    let (timeout, word) = (&mut worker.timeout(Wait::Busy), &progress.words()[0]);
    let (taken, times) = timed::receive(&mut ring, length, clock, messages, word, timeout)?;
    Ok(Reading { times: Some(times), ..taken.into() })
}

/// Mirrors until the writer has exited.
fn mirror(worker: &mut Worker<Replicate>) -> Result<Reading, Error> {
    let progress = worker.own_progress(1)?;
    let options = MirrorOptions {
        start: Start::Oldest,
        capacity: None,
        region: RegionOptions::default(),
        replaces: false,
        wait: Duration::from_secs(30),
        through_restarts: false,
        strategy: Some(if worker.job.shares { WaitStrategy::Yield } else { WaitStrategy::Spin }),
        shutdown: ShutdownFlag::new(),
    };
    let opened = Mirror::open(&worker.path(RING), &worker.path(MIRRORED), options)?;
    let mut mirror = opened.ok_or(Error::Interrupted)?;
    worker.ready()?;
    progress.words()[0].store(1);
    mirror.run(|_| ())?;
    let lost = mirror.summary().lost;
    if lost > 0 { Err(Error::Lost { count: lost }) } else { Ok(Reading::default()) }
}
