//! The two sides of every row: what they open, and which loop they run.

use std::thread;

use nanotape_journal::{Appender, Start, Tailer};

use super::{
    append,
    error::JournalBenchError,
    job::Job,
    limits,
    rows::{Target, What},
    tail,
};
use crate::{
    sides::{
        self, Amount, SideError, Told,
        cpus::keep_off,
        message::{LARGER_BYTES, Larger, Length, Usual},
    },
    wait::Wait,
};

type Stage = sides::Stage<Job>;

/// The journal, in the folder to write in.
const JOURNAL: &str = "journal";

/// Plays the part of a job.
pub(super) fn play(stage: &mut Stage) -> Result<Told, JournalBenchError> {
    match stage.job.row.length {
        LARGER_BYTES => of_length(stage, Larger),
        _ => of_length(stage, Usual),
    }
}

fn of_length(stage: &mut Stage, length: impl Length) -> Result<Told, JournalBenchError> {
    match (stage.job.row.what, stage.job.is_reader) {
        (What::Line, false) => Ok(stage.bounce(Amount::Messages(stage.job.amount), Wait::Busy)?),
        (What::Line, true) => Ok(stage.bounce_back(Wait::Busy)?),
        (What::Copy { target, timed }, _) => copy(stage, length, target, timed),
        (What::Fdatasync { batch }, _) => {
            let messages = stage.job.amount * u64::from(batch);
            let file = limits::written_file(&stage.job.data, messages, length)?;
            stage.begin(&[])?;
            Ok(limits::fdatasync(&file, length, stage.clock, stage.job.amount, batch)?)
        }
        (_, false) => appender(stage, length),
        (_, true) => tailer(stage, length),
    }
}

fn copy(
    stage: &mut Stage,
    length: impl Length,
    target: Target,
    timed: bool,
) -> Result<Told, JournalBenchError> {
    let (clock, amount) = (stage.clock, stage.job.amount);
    if target == Target::Memory {
        let mut memory = limits::memory(amount, length);
        stage.begin(&[])?;
        return Ok(limits::copy_to_memory(&mut memory, length, clock));
    }
    let mapping = limits::mapping(&stage.job.data, amount, length, target == Target::Mapped)?;
    stage.begin(&[])?;
    Ok(match timed {
        true => limits::copy_timed(mapping.words(), length, clock, amount),
        false => limits::copy(mapping.words(), length, clock, amount),
    })
}

fn appender(stage: &mut Stage, length: impl Length) -> Result<Told, JournalBenchError> {
    let appender = &mut open_off(&stage.job)?;
    let readers = usize::from(stage.job.row.is_read());
    let progress = stage.join_readers(readers)?;
    stage.begin(&progress)?;
    let (clock, amount) = (stage.clock, stage.job.amount);
    match stage.job.row.what {
        What::Append { timed: true, .. } => append::timed(appender, length, clock, amount),
        What::Tail { rate } => {
            let (patience, word) = (&mut stage.patience(Wait::Busy), &progress[0].words()[0]);
            append::paced(appender, length, clock, (rate, amount), word, patience)
        }
        What::Burst => {
            append::wait_until_prepared(appender, length, stage.job.burst_bytes())?;
            append::flat_out(appender, length, clock, amount)
        }
        What::Sync { batch: 1 } => append::timed(appender, length, clock, amount),
        What::Sync { batch } => append::batches(appender, length, clock, amount, batch),
        _ => append::flat_out(appender, length, clock, amount),
    }
}

/// Opens the journal on a thread that keeps off the appender's processor, so that its helper does.
fn open_off(job: &Job) -> Result<Appender, JournalBenchError> {
    let open = || {
        keep_off(job.cpu);
        Appender::open(&job.data.join(JOURNAL), &job.options())
    };
    let opened = thread::scope(|scope| scope.spawn(open).join());
    let died = |_| SideError::System {
        what: "open the journal: the thread for it died",
        source: std::io::ErrorKind::Other.into(),
    };
    Ok(opened.map_err(died)??)
}

fn tailer(stage: &mut Stage, length: impl Length) -> Result<Told, JournalBenchError> {
    let told = stage.own_progress(0)?;
    let word = &told.words()[0];
    let path = stage.job.data.join(JOURNAL);
    let tailer = &mut stage.meet(|_| Tailer::open(&path, Start::Oldest))?;
    stage.ready()?;
    // Nothing was appended yet: the number may not be known, and means that it reads.
    word.store(tailer.next_sequence().max(1));
    match stage.job.row.what {
        What::Tail { .. } => {
            let patience = &mut stage.patience(Wait::Busy);
            tail::timed(tailer, length, stage.clock, stage.job.amount, word, patience)
        }
        _ => tail::flat_out(tailer, length, stage.clock, &mut stage.patience(Wait::Pause)),
    }
}
