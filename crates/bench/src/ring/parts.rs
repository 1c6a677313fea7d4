//! The two sides of every row: what they open, and which loop they run.

use super::{
    designs::{Ring, Slots, Stream},
    error::RingBenchError,
    job::{Job, Part},
    limits,
    read::{self, Progress},
    rows::{Design, What},
    timed, write,
};
use crate::{
    sides::{
        self, Told,
        message::{Any, Length, USUAL_BYTES, Usual},
        pace::{Window, progress_interval},
    },
    wait::Wait,
};

type Stage = sides::Stage<Job>;

/// Plays the part of a job.
pub(super) fn play(stage: &mut Stage) -> Result<Told, RingBenchError> {
    match stage.job.length {
        USUAL_BYTES => of_design(stage, Usual),
        length => of_design(stage, Any(length)),
    }
}

fn of_design(stage: &mut Stage, length: impl Length) -> Result<Told, RingBenchError> {
    match (stage.job.row.what, stage.job.part, stage.job.row.design) {
        (What::Copy, ..) => {
            stage.begin(&[])?;
            let until = stage.until(stage.job.amount);
            let written = limits::copy(length, stage.job.capacity_bytes, &until);
            Ok(Told { written: Some(written), ..Told::default() })
        }
        (What::Line { .. }, Part::Writer, _) => {
            Ok(stage.bounce(stage.job.amount, wait_on_line(stage))?)
        }
        (What::Line { .. }, Part::Reader(_), _) => Ok(stage.bounce_back(wait_on_line(stage))?),
        (_, Part::Writer, Some(Design::Slots)) => writer::<Slots>(stage, length),
        (_, Part::Writer, _) => writer::<Stream>(stage, length),
        (_, Part::Reader(index), Some(Design::Slots)) => reader::<Slots>(stage, length, index),
        (_, Part::Reader(index), _) => reader::<Stream>(stage, length, index),
    }
}

fn writer<R: Ring>(stage: &mut Stage, length: impl Length) -> Result<Told, RingBenchError> {
    let capacity = stage.job.capacity_bytes;
    let ring = &mut R::create(&stage.path("ring"), capacity, length.bytes())?;
    let progress = stage.join_readers(stage.job.row.readers())?;
    if stage.job.row.what == What::RoundTrip {
        let echo = &mut stage.meet(|stage| R::open(&stage.path("echo")))?;
        stage.begin(&progress)?;
        let (until, patience) = (stage.until(stage.job.amount), &mut stage.patience(Wait::Busy));
        let (written, times) = timed::ping(ring, echo, length, stage.clock, &until, patience)?;
        return Ok(Told { written: Some(written), times: Some(times), ..Told::default() });
    }
    stage.begin(&progress)?;
    let until = stage.until(stage.job.amount);
    let written = match stage.job.row.what {
        What::OneWay => {
            let (rate, patience) =
                ((stage.job.rate, stage.job.amount), &mut stage.patience(Wait::Busy));
            timed::send(ring, length, stage.clock, rate, &progress[0].words()[0], patience)?
        }
        What::Flow { paced: true, .. } => {
            let messages = R::messages(capacity, length.bytes()) / 2;
            let window = Window { progress: &progress[0].words()[0], messages };
            let patience = &mut stage.patience(Wait::Pause);
            write::lossless(ring, length, &until, &window, patience)?
        }
        What::Flow { write_batches: true, .. } => write::batches(ring, length, &until)?,
        _ => write::single(ring, length, &until)?,
    };
    Ok(Told { written: Some(written), ..Told::default() })
}

fn reader<R: Ring>(
    stage: &mut Stage,
    length: impl Length,
    index: usize,
) -> Result<Told, RingBenchError> {
    let capacity = stage.job.capacity_bytes;
    let told = stage.own_progress(index)?;
    let word = &told.words()[0];
    let ring = &mut stage.meet(|stage| R::open(&stage.path("ring")))?;
    let clock = stage.clock;
    match stage.job.row.what {
        What::RoundTrip => {
            let echo = &mut R::create(&stage.path("echo"), capacity, length.bytes())?;
            stage.ready()?;
            let patience = &mut stage.patience(Wait::Busy);
            let taken = timed::pong(echo, ring, length, word, patience)?;
            Ok(Told { taken: Some(taken), ..Told::default() })
        }
        What::OneWay => {
            stage.ready()?;
            let messages = stage.job.amount.messages_at(stage.job.rate);
            let patience = &mut stage.patience(Wait::Busy);
            let (taken, times) = timed::receive(ring, length, clock, messages, word, patience)?;
            Ok(Told { taken: Some(taken), times: Some(times), ..Told::default() })
        }
        what => {
            let (paced, in_batches) = match what {
                What::Flow { paced, read_batches, .. } => (paced, read_batches),
                _ => (false, false),
            };
            let holds = R::messages(capacity, length.bytes());
            let progress = Progress { word, interval: paced.then(|| progress_interval(holds)) };
            stage.ready()?;
            let patience = &mut stage.patience(Wait::Pause);
            let taken = match in_batches {
                true => read::batches(ring, length, clock, &progress, patience)?,
                false => read::single(ring, length, clock, &progress, patience)?,
            };
            Ok(Told { taken: Some(taken), ..Told::default() })
        }
    }
}

fn wait_on_line(stage: &Stage) -> Wait {
    match stage.job.row.what {
        What::Line { pause: true } => Wait::Pause,
        _ => Wait::Busy,
    }
}
