//! The progress of a recorder, in shared memory beside its ring: how far it is, what it lost, and
//! into which journal it records.
//!
//! Where: [`Recorder`](super::Recorder) stores it after each poll; a plant that waits for its
//! recorder, and `nanotape stat`, read it. `docs/formats/recorder.md` describes each word.
//! Protocol: one recorder owns the region. After its death the next recorder of the ring takes the
//! region over, and readers that have it mapped see the words of the next recorder. The counters
//! continue if the journal is the same. What the previous recorder recorded or lost between its
//! last store and its death follows from the two sequence numbers, its own and that of the journal.
//! Failure: a reader trusts no word: any number might be wrong, and no offset depends on one.
//! Cost: six stores a poll.

mod layout;
mod reader;

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use nanotape_shm::{OwnedRegion, RegionError, RegionOptions, RegionSpec, beside};

use crate::beside::is_to_replace;

#[doc(hidden)]
pub use layout::{FIELDS as RECORDER_FIELDS, KIND as RECORDER_KIND, LAYOUT as RECORDER_LAYOUT};
use layout::{KIND, LAYOUT, WORDS};
pub use reader::{RecorderReader, RecorderStat, RecorderState};

/// The region of the recorder of the ring at a path.
pub fn recorder_path(ring: &Path) -> PathBuf {
    beside(ring, ".recorder")
}

/// The writer's side.
#[derive(Debug)]
pub struct RecorderProgress {
    region: OwnedRegion,
    counts: Counts,
}

/// The counters of all recorders of one ring and one journal.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Counts {
    next_sequence: u64,
    recorded: u64,
    lost: u64,
    gaps: u64,
}

impl RecorderProgress {
    /// Takes over the region beside a ring that was created at this time, or creates it. The
    /// journal's next excerpt has the number `next_sequence`.
    pub fn own(
        ring: &Path,
        created_ns: u64,
        journal: &Path,
        next_sequence: u64,
    ) -> Result<Self, RegionError> {
        let path = recorder_path(ring);
        let parameters = [created_ns, 0, 0, 0];
        let spec = RegionSpec { kind: KIND, layout: LAYOUT, parameters, words: WORDS };
        // The users that can read the ring can read how it is recorded.
        let mode = fs::metadata(ring).map_or(0o600, |ring| ring.mode() & 0o777 | 0o600);
        let options = RegionOptions { mode, ..RegionOptions::default() };
        let region = match OwnedRegion::create(&path, spec, &options, |_| ()) {
            // Of another ring or another version, or damaged; and without an owner.
            Err(error) if is_to_replace(error.refusal()) => {
                OwnedRegion::replace(&path, spec, &options, |_| ())?.0
            }
            created => created?.0,
        };
        let journal = std::path::absolute(journal).unwrap_or_else(|_| journal.to_owned());
        let mut progress = Self { region, counts: Counts::default() };
        progress.enter(&journal, next_sequence);
        Ok(progress)
    }

    /// Continues with the counters of the previous recorder if it recorded into the same journal.
    fn enter(&mut self, journal: &Path, next_sequence: u64) {
        let before = RecorderReader::of(self.region.share()).sample();
        self.region.words()[layout::STATE].store(layout::STARTING);
        self.counts = if before.journal == journal {
            // Either the previous recorder died before it showed what it had recorded, or it had
            // shown a gap before the first excerpt after it. This recorder finds that gap again.
            let unshown = next_sequence.saturating_sub(before.next_sequence);
            let again = before.next_sequence.saturating_sub(next_sequence);
            Counts {
                next_sequence,
                recorded: before.recorded.saturating_add(unshown),
                lost: before.lost.saturating_sub(again),
                gaps: before.gaps.saturating_sub(u64::from(again > 0)),
            }
        } else {
            self.store_journal(journal);
            Counts { next_sequence, ..Counts::default() }
        };
        self.store_counts();
    }

    fn store_journal(&self, journal: &Path) {
        let words = self.region.words();
        let bytes = journal.as_os_str().as_bytes();
        let bytes = &bytes[..bytes.len().min(layout::JOURNAL_BYTES)];
        // A reader that meets this store finds no path, and not half of each.
        words[layout::JOURNAL_LENGTH].store(0);
        nanotape_shm::copy_into(&words[layout::JOURNAL..], bytes);
        words[layout::JOURNAL_LENGTH].store(bytes.len() as u64);
    }

    /// Shows a poll: `recorded` messages more, up to `next_sequence`, and the position in the ring.
    #[inline]
    pub fn polled(&mut self, recorded: u64, next_sequence: u64, position_bytes: u64, now_ns: u64) {
        self.counts.recorded = self.counts.recorded.saturating_add(recorded);
        self.counts.next_sequence = next_sequence;
        let words = self.region.words();
        words[layout::UPDATED_NS].store(now_ns);
        words[layout::POSITION].store(position_bytes);
        self.store_counts();
    }

    /// Shows that of the messages before `next_sequence` the last `lost` are not in the journal any
    /// more; `u64::MAX` for all.
    pub fn unrecorded(&mut self, next_sequence: u64, lost: u64) {
        let unshown = next_sequence.saturating_sub(self.counts.next_sequence);
        self.counts.recorded = self.counts.recorded.saturating_add(unshown);
        self.counts.next_sequence = self.counts.next_sequence.max(next_sequence);
        let lost = lost.min(self.counts.recorded);
        self.counts.recorded -= lost;
        self.counts.lost = self.counts.lost.saturating_add(lost);
        self.counts.gaps += u64::from(lost > 0);
        self.store_counts();
    }

    /// Counts a gap; the next poll shows it.
    pub fn lost(&mut self, lost: u64) {
        self.counts.lost = self.counts.lost.saturating_add(lost);
        self.counts.gaps = self.counts.gaps.saturating_add(1);
    }

    /// Shows whether it records, or waits for room on the disk.
    pub fn set_state(&self, state: RecorderState) {
        self.region.words()[layout::STATE].store(match state {
            RecorderState::Recording => layout::RECORDING,
            RecorderState::WaitingForRoom => layout::WAITING_FOR_ROOM,
            RecorderState::JournalGone => layout::JOURNAL_GONE,
            RecorderState::Starting | RecorderState::Gone | RecorderState::Dead => layout::STARTING,
        });
    }

    fn store_counts(&self) {
        let words = self.region.words();
        words[layout::RECORDED].store(self.counts.recorded);
        words[layout::LOST].store(self.counts.lost);
        words[layout::GAPS].store(self.counts.gaps);
        words[layout::NEXT_SEQUENCE].store(self.counts.next_sequence);
    }
}

#[cfg(test)]
mod tests;
