//! The meaning of each word of a recorder's region.

use nanotape_shm::{WORD_BYTES, field};

/// The kind of region.
pub const KIND: [u8; 8] = *b"RECORDER";

/// Changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"record 1");

/// Bytes of the longest path that is stored: longer than the kernel accepts.
pub(super) const JOURNAL_BYTES: usize = 4096;

pub(super) const STATE: usize = 0;
pub(super) const STARTING: u64 = 0;
pub(super) const RECORDING: u64 = 1;
pub(super) const WAITING_FOR_ROOM: u64 = 2;
pub(super) const JOURNAL_GONE: u64 = 3;

/// Time of the last update.
pub(super) const UPDATED_NS: usize = 1;
/// The number of the next message to record.
pub(super) const NEXT_SEQUENCE: usize = 2;
/// Its position in the ring.
pub(super) const POSITION: usize = 3;
pub(super) const RECORDED: usize = 4;
pub(super) const LOST: usize = 5;
pub(super) const GAPS: usize = 6;
/// The path of the journal: its length in bytes, and the bytes.
pub(super) const JOURNAL_LENGTH: usize = 15;
pub(super) const JOURNAL: usize = 16;
pub(super) const WORDS: usize = JOURNAL + JOURNAL_BYTES / WORD_BYTES;

/// Offset and size in bytes and the name of each word, as in `docs/formats/recorder.md`.
pub const FIELDS: [(usize, usize, &str); 9] = [
    field(STATE, 1, "state"),
    field(UPDATED_NS, 1, "updated_ns"),
    field(NEXT_SEQUENCE, 1, "next_sequence"),
    field(POSITION, 1, "position_bytes"),
    field(RECORDED, 1, "recorded"),
    field(LOST, 1, "lost"),
    field(GAPS, 1, "gaps"),
    field(JOURNAL_LENGTH, 1, "journal_length"),
    field(JOURNAL, JOURNAL_BYTES / WORD_BYTES, "journal"),
];
