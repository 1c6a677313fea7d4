//! Appends to a journal that keeps only its newest bytes: another thread removes the oldest
//! segments meanwhile, and these become the next ones.
//!
//! ```text
//! appender, on one processor ==> segments, on to the oldest --> pruner, on another --.
//!    '-- its pretoucher <------------------------------- spare segments <------------'
//! ```
//!
//! A user concludes how fast a journal of a bounded size is, without new pages from the kernel.

use std::{path::Path, thread, time::Duration};

use nanotape_journal::{Appender, PruneOptions, excerpt_bytes, prune};
use nanotape_shm::Word;

use super::{Journal, append, work::JOURNAL};
use crate::{
    engine::{Reading, Worker, message::Length, run_on},
    error::Error,
};

/// The journal has as many segments as this; more than the caches of a processor hold.
pub(super) const KEPT_SEGMENTS: u64 = 8;

/// Sleep of the pruner.
const PAUSE: Duration = Duration::from_micros(200);

/// Fills the journal up to its size, then runs the measured loop.
pub(super) fn pruned(
    worker: &mut Worker<Journal>,
    appender: &mut Appender,
    length: impl Length,
    is_timed: bool,
) -> Result<Reading, Error> {
    let (cpus, path) = (worker.other_cpus().to_vec(), worker.job.data.join(JOURNAL));
    let (clock, amount) = (worker.clock, worker.job.options.amount(worker.row));
    let keep_bytes = KEPT_SEGMENTS * worker.job.options.segment_bytes;
    let stop = &Word::new(0);
    thread::scope(|scope| {
        let pruner = scope.spawn(move || {
            run_on(&cpus);
            prune_until(stop, &path, keep_bytes)
        });
        let mut append = || {
            append::flat_out(
                appender,
                length,
                clock,
                2 * keep_bytes / excerpt_bytes(length.bytes()) as u64,
            )?;
            worker.begin(&[])?;
            match is_timed {
                true => append::timed(appender, length, clock, amount),
                false => append::flat_out(appender, length, clock, amount),
            }
        };
        let report = append();
        stop.store(1);
        let pruned = pruner.join().unwrap_or_else(|_| {
            let (what, source) = ("prune: its thread panicked", std::io::ErrorKind::Other.into());
            Err(Error::System { what, source })
        });
        pruned.and(report)
    })
}

fn prune_until(stop: &Word, path: &Path, keep_bytes: u64) -> Result<(), Error> {
    let options = PruneOptions { keep_bytes: Some(keep_bytes), ..PruneOptions::default() };
    while stop.as_read_only().load() == 0 {
        prune(path, &options)?;
        thread::sleep(PAUSE);
    }
    Ok(())
}
