//! The two sides of every row: what they open, and which loop they run.

use nanotape_shm::{BouncedWord, OwnedRegion, RegionOptions, RegionSpec, SharedRegion};

use super::{
    designs::{Ring, Slots, Stream},
    error::RingBenchError,
    job::Part,
    limits,
    message::{Any, Length, USUAL_BYTES, Usual},
    pace::{Until, Window, progress_interval},
    read::{self, Progress},
    reading::Told,
    rows::{Design, What},
    timed,
    worker::Stage,
    write,
};
use crate::wait::{Patience, Wait};

/// Where a reader says how far it is: the next sequence number that it wants, 0 before it reads.
const PROGRESS: RegionSpec =
    RegionSpec { kind: *b"PROGRESS", layout: 1, parameters: [0; 4], words: 16 };

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
            let until = stage.until();
            let written = limits::copy(length, stage.job.capacity_bytes, &until)?;
            Ok(Told { written: Some(written), ..Told::default() })
        }
        (What::Line { .. }, Part::Writer, _) => bounce(stage),
        (What::Line { .. }, Part::Reader(index), _) => bounce_back(stage, index),
        (_, Part::Writer, Some(Design::Slots)) => writer::<Slots>(stage, length),
        (_, Part::Writer, _) => writer::<Stream>(stage, length),
        (_, Part::Reader(index), Some(Design::Slots)) => reader::<Slots>(stage, length, index),
        (_, Part::Reader(index), _) => reader::<Stream>(stage, length, index),
    }
}

fn writer<R: Ring>(stage: &mut Stage, length: impl Length) -> Result<Told, RingBenchError> {
    let capacity = stage.job.capacity_bytes;
    let ring = &mut R::create(&stage.path("ring"), capacity, length.bytes())?;
    let progress = join_readers(stage)?;
    if stage.job.row.what == What::RoundTrip {
        let echo = &mut stage.meet(|stage| R::open(&stage.path("echo")))?;
        stage.begin(&progress)?;
        let (until, patience) = (stage.until(), &mut stage.patience(Wait::Busy));
        let (written, times) = timed::ping(ring, echo, length, stage.clock, &until, patience)?;
        return Ok(Told { written: Some(written), taken: None, times: Some(times) });
    }
    stage.begin(&progress)?;
    let until = stage.until();
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
    let told = own_progress(stage, index)?;
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
            Ok(Told { written: None, taken: Some(taken), times: Some(times) })
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

fn bounce(stage: &mut Stage) -> Result<Told, RingBenchError> {
    let line = BouncedWord::create(&stage.path("line"))?;
    let progress = join_readers(stage)?;
    stage.begin(&progress)?;
    let (until, patience) = (stage.until(), &mut stage.patience(wait_on_line(stage)));
    let (written, times) = limits::bounce(line.word(), stage.clock, &until, patience)?;
    Ok(Told { written: Some(written), taken: None, times: Some(times) })
}

fn bounce_back(stage: &mut Stage, index: usize) -> Result<Told, RingBenchError> {
    let told = own_progress(stage, index)?;
    let line = stage.meet(|stage| BouncedWord::join(&stage.path("line")))?;
    stage.ready()?;
    let patience = &mut stage.patience(wait_on_line(stage));
    let taken = limits::bounce_back(line.word(), &told.words()[0], patience)?;
    Ok(Told { taken: Some(taken), ..Told::default() })
}

fn wait_on_line(stage: &Stage) -> Wait {
    match stage.job.row.what {
        What::Line { pause: true } => Wait::Pause,
        _ => Wait::Busy,
    }
}

fn progress_name(index: usize) -> String {
    format!("progress-{index}")
}

/// The region of a reader, in its own process.
fn own_progress(stage: &Stage, index: usize) -> Result<OwnedRegion, RingBenchError> {
    let path = stage.path(&progress_name(index));
    Ok(OwnedRegion::create(&path, PROGRESS, &RegionOptions::default(), |_| ())?.0)
}

/// The regions of all readers, in the writer's process.
fn join_readers(stage: &Stage) -> Result<Vec<SharedRegion>, RingBenchError> {
    let join = |index| {
        let name = progress_name(index);
        stage.meet(|stage| SharedRegion::open(&stage.path(&name), PROGRESS.kind))
    };
    (0..stage.job.row.readers()).map(join).collect()
}

impl Stage {
    /// Begins now to publish so much.
    fn until(&self) -> Until {
        Until::new(self.clock, self.job.amount)
    }

    /// To wait so, or by yielding where the processor is shared.
    fn patience(&self, alone: Wait) -> Patience {
        Patience::new(self.clock, if self.job.shares { Wait::Yield } else { alone })
    }
}
