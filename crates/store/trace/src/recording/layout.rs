//! Type ids, fields and bounds of the entries, as in `docs/formats/spans-journal.md`.

use crate::spans::SPAN_BYTES;

/// The first type id that is reserved for recordings.
pub const FIRST_TYPE_ID: u16 = 0xFF10;

/// The last type id that is reserved for recordings.
pub const LAST_TYPE_ID: u16 = 0xFF1F;

/// A collector starts.
pub const START: u16 = 0xFF10;

/// A thread is announced.
pub const THREAD: u16 = 0xFF11;

/// Consecutive spans of a thread.
pub const SPANS: u16 = 0xFF12;

/// Spans of a thread that are missing.
pub const LOST: u16 = 0xFF13;

/// The longest text; longer ones are cut.
pub const MAX_NAME_BYTES: usize = 512;

/// Most spans of an entry.
pub const MAX_SPANS: usize = 256;

/// Most threads of a recording that a decoder keeps.
pub const MAX_THREADS: usize = 4096;

/// Bytes of a span in an entry: the number of its site, and the words of the ring.
pub const SPAN_ITEM_BYTES: usize = 8 + SPAN_BYTES;

/// Offset, size and name of each field of an entry before its texts or spans.
pub const START_FIELDS: [(usize, usize, &str); 1] = [(0, 8, "zero")];

/// As [`START_FIELDS`].
pub const THREAD_FIELDS: [(usize, usize, &str); 8] = [
    (0, 4, "thread"),
    (4, 4, "pid"),
    (8, 8, "created_ns"),
    (16, 8, "build"),
    (24, 8, "ticks_per_second"),
    (32, 8, "anchor_ticks"),
    (40, 8, "anchor_utc_ns"),
    (48, 8, "sites"),
];

/// As [`START_FIELDS`].
pub const SPANS_FIELDS: [(usize, usize, &str); 3] =
    [(0, 4, "thread"), (4, 4, "count"), (8, 8, "first")];

/// Of each span of an entry.
pub const SPAN_FIELDS: [(usize, usize, &str); 5] = [
    (0, 8, "site"),
    (8, 8, "from_ticks"),
    (16, 8, "to_ticks"),
    (24, 8, "number"),
    (32, 8, "value"),
];

/// As [`START_FIELDS`].
pub const LOST_FIELDS: [(usize, usize, &str); 4] =
    [(0, 4, "thread"), (4, 4, "reason"), (8, 8, "first"), (16, 8, "count")];

/// Why spans are missing: they were overwritten before they were read.
pub(super) const OVERWRITTEN: u32 = 0;
/// Why spans are missing: what the ring has there is not a span.
pub(super) const NOT_A_SPAN: u32 = 1;

/// The bytes of the fields.
pub(super) const fn bytes_of(fields: &[(usize, usize, &str)]) -> usize {
    let (offset, size, _) = fields[fields.len() - 1];
    offset + size
}
