//! Watches the tailers of `journal prove` and the space of the journal. It removes segments that
//! every tailer has read, so that the appender can continue.
//!
//! Protocol: the watch reads the positions that the journal stores for named tailers. A tailer is
//! stuck if it has excerpts to read and its position does not change during the patience of the
//! caller. A slow tailer moves, so it is not stuck.

use std::{io, path::Path, path::PathBuf, time::Duration};

use anyhow::Context as _;
use nanotape_clock::{Clock, Stamp};
use nanotape_journal::{PruneOptions, prune, tailers};
use nanotape_shm::SharedRegion;

use super::journal_worker::{JournalJob, NOTE_KIND, tailer_name};
use crate::error::failed;

/// Time between two checks: short enough for an appender that waits for space, and negligible
/// beside its work.
const PERIOD: Duration = Duration::from_millis(20);

/// Segments that the space of a journal must hold at least: the active one, the next one, one in
/// preparation, and some to read.
pub(super) const LEAST_SEGMENTS: u64 = 8;

/// Segments that may be made after an appender has found space.
const SEGMENTS_TO_COME: u64 = 2;

/// Checks tailers and space.
pub(super) struct Watch {
    journal: PathBuf,
    note: PathBuf,
    /// Bytes that the journal may occupy; 0: no limit, and nothing is removed.
    space: u64,
    patience: Duration,
    clock: Clock,
    checked: Stamp,
    places: Vec<Place>,
    peak_bytes: u64,
}

/// Position of a tailer.
#[derive(Clone, Copy)]
struct Place {
    /// The next excerpt to read; None until the journal has its name.
    next_sequence: Option<u64>,
    /// The tailer has been there, with excerpts to read, since this stamp.
    since: Stamp,
}

impl Watch {
    /// Watches `tailers` tailers of the job's journal.
    pub(super) fn new(job: &JournalJob, tailers: u64, patience: Duration) -> Self {
        let clock = Clock::monotonic();
        let checked = clock.stamp();
        let place = Place { next_sequence: None, since: checked };
        Self {
            journal: job.journal(),
            note: job.note(),
            space: job.space,
            patience,
            clock,
            checked,
            places: vec![place; tailers as usize],
            peak_bytes: 0,
        }
    }

    /// Checks everything if the period is over.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        let now = self.clock.stamp();
        if Duration::from_nanos(self.clock.nanos_between(self.checked, now)) < PERIOD {
            return Ok(());
        }
        self.checked = now;
        let committed = match SharedRegion::open(&self.note, NOTE_KIND) {
            Ok(note) => note.words()[0].load(),
            // The next appender has not created it yet.
            Err(_) => 0,
        };
        let known = tailers(&self.journal).map_err(failed)?;
        for (number, place) in self.places.iter_mut().enumerate() {
            let name = tailer_name(number as u64);
            let found = known.iter().find(|tailer| tailer.name == name);
            let Some(found) = found else { continue };
            let next_sequence = Some(found.next_sequence);
            if next_sequence != place.next_sequence || next_sequence > Some(committed) {
                *place = Place { next_sequence, since: now };
            }
        }
        let bytes = folder_bytes(&self.journal)?;
        self.peak_bytes = self.peak_bytes.max(bytes);
        // Nothing that a named tailer has not read is removed, after the journal has its name.
        let all_known = self.places.iter().all(|place| place.next_sequence.is_some());
        if self.space > 0 && bytes > self.space / 2 && all_known {
            let options = PruneOptions { keep_bytes: Some(0), ..PruneOptions::default() };
            prune(&self.journal, &options).map_err(failed).context("cannot prune")?;
        }
        Ok(())
    }

    /// The next excerpt of a tailer at the last check; 0: it had not started.
    pub(super) fn next_sequence(&self, number: usize) -> u64 {
        self.places[number].next_sequence.unwrap_or(0)
    }

    /// Whether a tailer has excerpts to read and has not moved during the patience.
    pub(super) fn is_stuck(&self, number: usize) -> bool {
        let Place { next_sequence, since } = self.places[number];
        // A process must start first, which takes long on a loaded machine.
        let patience = self.patience * if next_sequence.is_some() { 1 } else { 10 };
        Duration::from_nanos(self.clock.nanos_between(since, self.checked)) >= patience
    }

    /// Highest observed number of bytes of the journal.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }
}

/// Whether an appender may fill one more segment.
pub(super) fn has_space(job: &JournalJob) -> io::Result<bool> {
    let to_come = SEGMENTS_TO_COME * job.segment_bytes;
    Ok(job.space == 0 || folder_bytes(&job.journal())? + to_come <= job.space)
}

/// Bytes of all files in a folder, without its subfolders.
fn folder_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in folder.read_dir()? {
        // A file that is removed meanwhile counts as empty.
        if let Ok(metadata) = entry?.metadata()
            && metadata.is_file()
        {
            bytes += metadata.len();
        }
    }
    Ok(bytes)
}
