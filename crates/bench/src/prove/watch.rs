//! What `journal prove` watches while its workers work: how far each tailer is, and how much space
//! the journal takes. Segments that every tailer has read are removed, so that the appender can go
//! on.
//!
//! Protocol: tailers are watched from outside, by the places that the journal keeps for their
//! names. A tailer is stuck if it has something to read and its place does not change for as long
//! as the caller is patient; one that is slow moves.

use std::{io, path::Path, path::PathBuf, time::Duration};

use anyhow::Context as _;
use nanotape_clock::{Clock, Stamp};
use nanotape_journal::{PruneOptions, prune, tailers};
use nanotape_shm::SharedRegion;

use super::journal_worker::{JournalJob, NOTE_KIND, tailer_name};
use crate::error::failed;

/// Between two looks: often enough for an appender that waits for space, and nothing beside its
/// work.
const PERIOD: Duration = Duration::from_millis(20);

/// How many segments the space of a journal must have room for: the active one, the next one, one
/// that is being made, and some to be read.
pub(super) const LEAST_SEGMENTS: u64 = 8;

/// Segments that may be made after an appender has found that there is space.
const SEGMENTS_TO_COME: u64 = 2;

/// Looks at tailers and space.
pub(super) struct Watch {
    journal: PathBuf,
    note: PathBuf,
    /// Bytes that the journal may take; 0: any number, and nothing is removed.
    space: u64,
    patience: Duration,
    clock: Clock,
    looked: Stamp,
    places: Vec<Place>,
    peak_bytes: u64,
}

/// Where a tailer is.
#[derive(Clone, Copy)]
struct Place {
    /// The next excerpt that it reads; None until the journal knows its name.
    next_sequence: Option<u64>,
    /// Since when it is there and has something to read.
    since: Stamp,
}

impl Watch {
    /// Watches so many tailers of the job's journal.
    pub(super) fn new(job: &JournalJob, tailers: u64, patience: Duration) -> Self {
        let clock = Clock::monotonic();
        let looked = clock.stamp();
        let place = Place { next_sequence: None, since: looked };
        Self {
            journal: job.journal(),
            note: job.note(),
            space: job.space,
            patience,
            clock,
            looked,
            places: vec![place; tailers as usize],
            peak_bytes: 0,
        }
    }

    /// Looks at everything, if it is time to.
    pub(super) fn look(&mut self) -> anyhow::Result<()> {
        let now = self.clock.stamp();
        if Duration::from_nanos(self.clock.nanos_between(self.looked, now)) < PERIOD {
            return Ok(());
        }
        self.looked = now;
        let committed = match SharedRegion::open(&self.note, NOTE_KIND) {
            Ok(note) => note.words()[0].load(),
            // The next appender has not made it yet.
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
        // What a named tailer has not read is not removed, once the journal knows the name.
        let all_known = self.places.iter().all(|place| place.next_sequence.is_some());
        if self.space > 0 && bytes > self.space / 2 && all_known {
            let options = PruneOptions { keep_bytes: Some(0), ..PruneOptions::default() };
            prune(&self.journal, &options).map_err(failed).context("cannot prune")?;
        }
        Ok(())
    }

    /// The next excerpt that a tailer read when this looked last; 0: it had read none.
    pub(super) fn next_sequence(&self, number: usize) -> u64 {
        self.places[number].next_sequence.unwrap_or(0)
    }

    /// Whether a tailer has something to read, and has not moved for as long as this is patient.
    pub(super) fn is_stuck(&self, number: usize) -> bool {
        let Place { next_sequence, since } = self.places[number];
        // A process has to start first, which takes long on a loaded machine.
        let patience = self.patience * if next_sequence.is_some() { 1 } else { 10 };
        Duration::from_nanos(self.clock.nanos_between(since, self.looked)) >= patience
    }

    /// The largest number of bytes that the journal was seen to take.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }
}

/// Whether an appender may fill one more segment.
pub(super) fn has_space(job: &JournalJob) -> io::Result<bool> {
    let to_come = SEGMENTS_TO_COME * job.segment_bytes;
    Ok(job.space == 0 || folder_bytes(&job.journal())? + to_come <= job.space)
}

/// Bytes of all files in a folder, not of those in folders in it.
fn folder_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in folder.read_dir()? {
        // One that is removed meanwhile takes nothing.
        if let Ok(metadata) = entry?.metadata()
            && metadata.is_file()
        {
            bytes += metadata.len();
        }
    }
    Ok(bytes)
}
