//! The files that the processes of a row open, and the loop that each runs.

use super::{
    Ring,
    designs::{Design, Slots, Stream},
    limits,
    read::{self, Progress},
    rows::{What, Work},
    timed, write,
};
use crate::{
    engine::{
        Benchmark as _, Reading, Wait, Worker,
        message::{Any, Length, USUAL_BYTES, Usual},
        pace::{Window, progress_interval},
    },
    error::Error,
};

/// Runs the work of a process of a row.
pub(super) fn work(worker: &mut Worker<Ring>) -> Result<Reading, Error> {
    match worker.job.options.bytes() {
        USUAL_BYTES => of_design(worker, Usual),
        length => of_design(worker, Any(length)),
    }
}

fn of_design(worker: &mut Worker<Ring>, length: impl Length) -> Result<Reading, Error> {
    let Work { what, design } = worker.row.work;
    match (what, worker.reader(), design) {
        (What::Copy, ..) => {
            worker.begin(&[])?;
            let until = worker.until(worker.job.options.amount());
            Ok(limits::copy(length, worker.job.options.capacity, &until).into())
        }
        (What::Line { .. }, None, _) => {
            worker.bounce(worker.job.options.amount(), wait_on_line(what))
        }
        (What::Line { .. }, Some(_), _) => worker.bounce_back(wait_on_line(what)),
        (_, None, Some("slots")) => writer::<Slots>(worker, length),
        (_, None, _) => writer::<Stream>(worker, length),
        (_, Some(index), Some("slots")) => reader::<Slots>(worker, length, index),
        (_, Some(index), _) => reader::<Stream>(worker, length, index),
    }
}

fn writer<R: Design>(worker: &mut Worker<Ring>, length: impl Length) -> Result<Reading, Error> {
    let capacity = worker.job.options.capacity;
    let ring = &mut R::create(&worker.path("ring"), capacity, length.bytes())?;
    let progress = worker.join_readers(Ring::readers(worker.row))?;
    if worker.row.work.what == What::RoundTrip {
        let echo = &mut worker.meet(|worker| R::open(&worker.path("echo")))?;
        worker.begin(&progress)?;
        let (until, timeout) =
            (worker.until(worker.job.options.amount()), &mut worker.timeout(Wait::Busy));
        let (written, times) = timed::ping(ring, echo, length, worker.clock, &until, timeout)?;
        return Ok(Reading { times: Some(times), ..written.into() });
    }
    worker.begin(&progress)?;
    let until = worker.until(worker.job.options.amount());
    let written = match worker.row.work.what {
        What::OneWay => {
            let (rate, timeout) = (
                (worker.job.options.rate, worker.job.options.amount()),
                &mut worker.timeout(Wait::Busy),
            );
            timed::send(ring, length, worker.clock, rate, &progress[0].words()[0], timeout)?
        }
        What::Flow { paced: true, .. } => {
            let messages = R::messages(capacity, length.bytes()) / 2;
            let window = Window { progress: &progress[0].words()[0], messages };
            let timeout = &mut worker.timeout(Wait::Pause);
            write::lossless(ring, length, &until, &window, timeout)?
        }
        What::Flow { write_batches: true, .. } => write::batches(ring, length, &until)?,
        _ => write::single(ring, length, &until)?,
    };
    Ok(written.into())
}

fn reader<R: Design>(
    worker: &mut Worker<Ring>,
    length: impl Length,
    index: usize,
) -> Result<Reading, Error> {
    let capacity = worker.job.options.capacity;
    let progress = worker.own_progress(index)?;
    let word = &progress.words()[0];
    let ring = &mut worker.meet(|worker| R::open(&worker.path("ring")))?;
    let clock = worker.clock;
    match worker.row.work.what {
        What::RoundTrip => {
            let echo = &mut R::create(&worker.path("echo"), capacity, length.bytes())?;
            worker.ready()?;
            let timeout = &mut worker.timeout(Wait::Busy);
            let taken = timed::pong(echo, ring, length, word, timeout)?;
            Ok(taken.into())
        }
        What::OneWay => {
            worker.ready()?;
            let messages = worker.job.options.amount().messages_at(worker.job.options.rate);
            let timeout = &mut worker.timeout(Wait::Busy);
            let (taken, times) = timed::receive(ring, length, clock, messages, word, timeout)?;
            Ok(Reading { times: Some(times), ..taken.into() })
        }
        what => {
            let (paced, in_batches) = match what {
                What::Flow { paced, read_batches, .. } => (paced, read_batches),
                _ => (false, false),
            };
            let holds = R::messages(capacity, length.bytes());
            let progress = Progress { word, interval: paced.then(|| progress_interval(holds)) };
            worker.ready()?;
            let timeout = &mut worker.timeout(Wait::Pause);
            let taken = match in_batches {
                true => read::batches(ring, length, clock, &progress, timeout)?,
                false => read::single(ring, length, clock, &progress, timeout)?,
            };
            Ok(taken.into())
        }
    }
}

fn wait_on_line(what: What) -> Wait {
    if what == (What::Line { pause: true }) { Wait::Pause } else { Wait::Busy }
}
