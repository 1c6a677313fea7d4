//! The files that the processes of a row open, and the loop that each runs.

use std::{path::Path, thread};

use nanotape_journal::{Appender, AppenderOptions, Start, Tailer};

use super::{
    Journal, append, limits, pruned,
    rows::{Target, What},
    tail,
};
use crate::{
    engine::{
        Amount, Benchmark, Reading, Wait, Worker,
        message::{LARGER_BYTES, Larger, Length, Usual},
        run_on,
    },
    error::Error,
};

/// Name of the journal in its folder.
pub(super) const JOURNAL: &str = "journal";

/// Runs the work of a process of a row.
pub(super) fn work(worker: &mut Worker<Journal>) -> Result<Reading, Error> {
    match worker.row.work.length {
        LARGER_BYTES => of_length(worker, Larger),
        _ => of_length(worker, Usual),
    }
}

fn of_length(worker: &mut Worker<Journal>, length: impl Length) -> Result<Reading, Error> {
    match (worker.row.work.what, worker.reader().is_some()) {
        (What::Line, false) => worker.bounce(Amount::Messages(amount(worker)), Wait::Busy),
        (What::Line, true) => worker.bounce_back(Wait::Busy),
        (What::Copy { target, timed }, _) => copy(worker, length, target, timed),
        (What::Fdatasync { batch }, _) => {
            let messages = amount(worker) * u64::from(batch);
            let file = limits::written_file(&worker.job.data, messages, length)?;
            worker.begin(&[])?;
            limits::fdatasync(&file, length, worker.clock, amount(worker), batch)
        }
        (_, false) => appender(worker, length),
        (_, true) => tailer(worker, length),
    }
}

fn copy(
    worker: &mut Worker<Journal>,
    length: impl Length,
    target: Target,
    timed: bool,
) -> Result<Reading, Error> {
    let (clock, amount) = (worker.clock, amount(worker));
    if target == Target::Memory {
        let mut memory = limits::memory(amount, length);
        worker.begin(&[])?;
        return Ok(limits::copy_to_memory(&mut memory, length, clock));
    }
    let mapping = limits::mapping(&worker.job.data, amount, length, target == Target::Mapped)?;
    worker.begin(&[])?;
    Ok(match timed {
        true => limits::copy_timed(mapping.words(), length, clock, amount),
        false => limits::copy(mapping.words(), length, clock, amount),
    })
}

fn appender(worker: &mut Worker<Journal>, length: impl Length) -> Result<Reading, Error> {
    let (path, options) = (worker.job.data.join(JOURNAL), worker.job.options.appender(worker.row));
    let appender = &mut open_off(worker, &path, &options)?;
    let readers = Journal::readers(worker.row);
    let progress = worker.join_readers(readers)?;
    if let What::Pruned { timed } = worker.row.work.what {
        return pruned::pruned(worker, appender, length, timed);
    }
    worker.begin(&progress)?;
    let (clock, amount) = (worker.clock, amount(worker));
    match worker.row.work.what {
        What::Append { timed: true, .. } => append::timed(appender, length, clock, amount),
        What::Tail { rate } => {
            let (timeout, word) = (&mut worker.timeout(Wait::Busy), &progress[0].words()[0]);
            append::paced(appender, length, clock, (rate, amount), word, timeout)
        }
        What::Burst => {
            append::wait_until_prepared(
                appender,
                length,
                worker.job.options.burst_bytes(worker.row),
            )?;
            append::flat_out(appender, length, clock, amount)
        }
        What::Sync { batch: 1 } => append::timed(appender, length, clock, amount),
        What::Sync { batch } => append::batches(appender, length, clock, amount, batch),
        _ => append::flat_out(appender, length, clock, amount),
    }
}

/// Opens a journal on a thread that avoids the appender's processor, so that its pretoucher avoids
/// it too.
pub(crate) fn open_off<B: Benchmark>(
    worker: &Worker<B>,
    path: &Path,
    options: &AppenderOptions,
) -> Result<Appender, Error> {
    let cpus = worker.other_cpus();
    let open = || {
        run_on(cpus);
        Appender::open(path, options)
    };
    let opened = thread::scope(|scope| scope.spawn(open).join());
    let died = |_| Error::System {
        what: "open the journal: its thread panicked",
        source: std::io::ErrorKind::Other.into(),
    };
    Ok(opened.map_err(died)??)
}

fn tailer(worker: &mut Worker<Journal>, length: impl Length) -> Result<Reading, Error> {
    let progress = worker.own_progress(0)?;
    let word = &progress.words()[0];
    let path = worker.job.data.join(JOURNAL);
    let tailer = &mut worker.meet(|_| Tailer::open(&path, Start::Oldest))?;
    worker.ready()?;
    // Before the first excerpt the number can be unknown; 1 reports that the tailer reads.
    word.store(tailer.next_sequence().max(1));
    match worker.row.work.what {
        What::Tail { .. } => {
            let timeout = &mut worker.timeout(Wait::Busy);
            tail::timed(tailer, length, worker.clock, amount(worker), word, timeout)
        }
        _ => tail::flat_out(tailer, length, worker.clock, &mut worker.timeout(Wait::Pause)),
    }
}

fn amount(worker: &Worker<Journal>) -> u64 {
    worker.job.options.amount(worker.row)
}
