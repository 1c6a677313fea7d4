//! An unbounded log on disk: one process appends, any number of processes read while it does.
//!
//! Where: layer 2, beside RING. It knows bytes, sequence numbers and times, and nothing of what is
//! stored. RING hands messages over in memory and forgets them; a journal keeps them.
//! Layout: `docs/formats/journal.md`.
//! Failure: see [`Problem`]. A killed appender loses nothing that it committed, a loss of power nothing that
//! was synced, and a full disk is an error of the append that finds it.
#![forbid(unsafe_code)]

mod appender;
mod catalog;
mod compress;
mod cut;
mod disk;
mod edges;
mod error;
mod names;
mod options;
mod prune;
mod recovery;
mod repair;
mod scan;
mod segment;
mod stat;
mod stored;
mod tailer;
mod upkeep;
mod verify;

pub use appender::{Appender, Batch, Claim};
pub use compress::{CompressOptions, Compressed, compress, compress_on, uncompress, uncompress_on};
pub use cut::Cut;
pub use disk::{
    APPENDER_KIND, APPENDER_LAYOUT, Disk, Folder, Listed, ReadableFile, Room, UPKEEP_KIND,
    UPKEEP_LAYOUT, WritableFile,
};
pub use edges::{ACTIVATE, ALL as EDGES, COMMIT, INDEX, SYNCED};
pub use error::{Damage, JournalError, OptionsError, Problem};
pub use names::{CUT, TAILERS};
pub use options::{AppenderOptions, RollCycle, SyncPolicy};
pub use prune::{PruneOptions, Pruned, PrunedSegment, prune, prune_on};
pub use recovery::Recovery;
pub use repair::{Action, Done, Repaired, repair, repair_on};
pub use segment::{
    excerpt::{MAX_LENGTH, MAX_SEQUENCE},
    layout::{
        ENTRY_FIELDS, EXCERPT_FIELDS, FIELDS, FORMAT_VERSION, LAYOUT, MAGIC, MAX_BLOCK_BYTES,
        MAX_SEGMENT_BYTES, MIN_BLOCK_BYTES, MIN_SEGMENT_BYTES,
    },
};
pub use stat::{KeptAs, SegmentStat, Stat, TailerStat, stat, stat_on};
pub use tailer::{Excerpt, Gap, Start, Tail, Tailer};
pub use verify::{Finding, Found, Severity, Verified, verify, verify_on};

/// A segment that the appender has closed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ClosedSegment {
    /// Its number.
    pub number: u64,
    /// Its file.
    pub path: std::path::PathBuf,
    /// Bytes up to and with the end mark.
    pub bytes: u64,
    /// The sequence number of its first excerpt.
    pub first_sequence: u64,
    /// The one behind its last excerpt.
    pub next_sequence: u64,
}

/// Bytes that an excerpt with so many bytes of payload has in the journal.
pub const fn excerpt_bytes(length: usize) -> usize {
    segment::excerpt::excerpt_words(length) * 8
}
