//! An unbounded log on disk: one process appends, and any number of processes read concurrently.
//!
//! Where: store, beside RING. It handles bytes, sequence numbers and times, and does not
//! interpret payloads. RING passes messages in memory and drops them; a journal stores them.
//! Layout: `docs/formats/journal.md`.
//! Failure: see [`ErrorKind`]. A killed appender loses nothing that it committed, a loss of power
//! nothing that was synced, and a full disk makes the append fail.
#![forbid(unsafe_code)]
#![cfg_attr(nanotape_loom, allow(dead_code, reason = "models are of a part"))]

#[cfg(not(nanotape_loom))]
mod appender;
#[cfg(not(nanotape_loom))]
mod beside;
mod catalog;
mod companion;
#[cfg(not(nanotape_loom))]
mod compress;
#[cfg(not(nanotape_loom))]
mod copy;
mod disk;
mod edges;
mod error;
#[cfg(not(nanotape_loom))]
mod keeper;
mod merge;
#[cfg(all(test, nanotape_loom))]
mod models;
#[cfg(not(nanotape_loom))]
mod named;
mod names;
mod options;
mod position;
mod progress;
#[cfg(not(nanotape_loom))]
mod prune;
#[cfg(not(nanotape_loom))]
mod quarantine;
#[cfg(not(nanotape_loom))]
mod recovery;
#[cfg(not(nanotape_loom))]
mod repair;
#[cfg(not(nanotape_loom))]
mod rewind;
#[cfg(not(nanotape_loom))]
mod scan;
mod segment;
#[cfg(not(nanotape_loom))]
mod segment_locks;
#[cfg(not(nanotape_loom))]
mod stat;
mod stored;
mod tailer;
#[cfg(not(nanotape_loom))]
mod upkeep;
#[cfg(not(nanotape_loom))]
mod verify;

pub use companion::{
    CompanionFile, CompanionScope, EPOCHS, FOLLOWERS, LEADER, QUARANTINE, RECORDED_FROM, REPLICA,
    RUNS, SNAPSHOTS, TAILERS,
};
pub use disk::{
    Disk, FileLock, Folder, Listed, Preallocation, ReadableFile, Whereabouts, WritableFile,
};
pub use error::{Cause, Corruption, ErrorKind, JournalError, OptionsError};
pub use merge::{Merge, Merged};
pub use nanotape_shm::{checksum, checksum_bytes};
pub use nanotape_tape::{Gap, Reused, Start};
pub use options::{AppenderOptions, RollCycle, RollTimes, SyncPolicy};
pub use position::Position;
pub use segment::{
    excerpt::{MAX_LENGTH, MAX_SEQUENCE},
    layout::{
        ENTRY_FIELDS, EXCERPT_FIELDS, FIELDS, FORMAT_VERSION, LAYOUT, MAGIC, MAX_BLOCK_BYTES,
        MAX_SEGMENT_BYTES, MIN_BLOCK_BYTES, MIN_SEGMENT_BYTES,
    },
};
pub use tailer::{Bookmark, Excerpt, Resumed, Tail, Tailer, TailerSource};
#[cfg(not(nanotape_loom))]
pub use {
    appender::{Appender, Batch, Claim},
    beside::{open_beside, read_beside},
    compress::{CompressOptions, Compressed, compress, compress_on, uncompress, uncompress_on},
    copy::{
        ContentDigest, Copied, Copier, CopyState, HeadDigest, Replica, Resume, SegmentHead,
        SegmentSum, last_incarnation, segment_sums,
    },
    disk::{APPENDER_KIND, APPENDER_LAYOUT, UPKEEP_KIND, UPKEEP_LAYOUT},
    keeper::{Keeper, KeeperError, KeeperHook},
    named::{
        NamedTailer, TAILER_FIELDS, TAILER_KIND, TAILER_LAYOUT, TailerInfo, is_tailer_name,
        remove_tailer, tailers,
    },
    prune::{PruneOptions, Pruned, PrunedSegment, prune, prune_on},
    quarantine::Quarantined,
    recovery::Recovery,
    repair::{Action, Done, Exclusive, Repaired, check_idle, exclusive, repair, repair_on},
    stat::{KeptAs, SegmentStat, Stat, stat},
    verify::{Finding, Found, Severity, Verified, verify, verify_on},
};

/// Bytes that an excerpt with `length` bytes of payload takes in the journal.
pub const fn excerpt_bytes(length: usize) -> usize {
    segment::excerpt::excerpt_words(length) * 8
}
