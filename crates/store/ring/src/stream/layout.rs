//! The layout of a stream ring's words, and its limits.
//!
//! ```text
//!  line 0    reserved: the writer may have overwritten everything a ring before this position
//!  line 1    committed: everything before this position is published | ts_publish | messages
//!  line 2    heartbeat
//!  index     for each block of the ring: position and sequence number of its first boundary
//!  data      the ring
//! ```
//!
//! Positions count words since the ring was created and never wrap; the low bits of a position are
//! its offset in the ring. A line is 128 bytes: processors fetch cache lines in pairs.

use nanotape_shm::{RegionSpec, WORD_BYTES};

use super::frame::{HEADER_WORDS, frame_words};
use crate::RingError;

/// The kind of a stream ring in the region's header.
pub const KIND: [u8; 8] = *b"RING    ";

/// Changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"stream 1");

/// Words per control line; fewer in models.
const LINE_WORDS: usize = if cfg!(nanotape_loom) { 3 } else { 16 };

pub(crate) const RESERVED: usize = 0;
pub(crate) const COMMITTED: usize = LINE_WORDS;
pub(crate) const TS_PUBLISH: usize = LINE_WORDS + 1;
pub(crate) const HEARTBEAT: usize = 2 * LINE_WORDS;
pub(crate) const INDEX: usize = 3 * LINE_WORDS;

/// Words of an index entry.
pub(crate) const ENTRY_WORDS: usize = 2;

/// The smallest ring; smaller in models.
pub const MIN_CAPACITY_BYTES: usize = if cfg!(nanotape_loom) { 128 } else { 4096 };

/// The largest ring.
pub const MAX_CAPACITY_BYTES: usize = 1 << 40;

/// Blocks of a ring, each with an index entry.
const BLOCKS: u64 = if cfg!(nanotape_loom) { 4 } else { 64 };

/// Offset from the end of the region's header, size and name of each field, in bytes. The size of
/// the last is that of the smallest ring.
pub const FIELDS: [(usize, usize, &str); 6] = [
    (RESERVED * WORD_BYTES, WORD_BYTES, "reserved"),
    (COMMITTED * WORD_BYTES, WORD_BYTES, "committed"),
    (TS_PUBLISH * WORD_BYTES, WORD_BYTES, "ts_publish_ns"),
    (HEARTBEAT * WORD_BYTES, WORD_BYTES, "heartbeat_ns"),
    (INDEX * WORD_BYTES, BLOCKS as usize * ENTRY_WORDS * WORD_BYTES, "index"),
    (DATA * WORD_BYTES, MIN_CAPACITY_BYTES, "ring"),
];

/// The fields of an index entry.
pub const ENTRY_FIELDS: [(usize, usize, &str); 2] =
    [(0, WORD_BYTES, "position"), (WORD_BYTES, WORD_BYTES, "sequence")];

/// The fields of a frame; its first word has the length of the payload.
pub const FRAME_FIELDS: [(usize, usize, &str); 2] =
    [(0, WORD_BYTES, "commit"), (WORD_BYTES, WORD_BYTES, "sequence")];

/// The first word of the ring's data.
const DATA: usize = (INDEX + BLOCKS as usize * ENTRY_WORDS).next_multiple_of(LINE_WORDS);

/// The sizes of one ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Words of the ring: a power of two.
    pub(crate) capacity: u64,
    /// Words of a block, as a power of two.
    pub(crate) block_shift: u32,
}

impl Layout {
    pub(crate) fn new(capacity_bytes: usize) -> Result<Self, RingError> {
        let in_range = (MIN_CAPACITY_BYTES..=MAX_CAPACITY_BYTES).contains(&capacity_bytes);
        if !in_range || !capacity_bytes.is_power_of_two() {
            return Err(RingError::Capacity { capacity_bytes });
        }
        let capacity = (capacity_bytes / WORD_BYTES) as u64;
        Ok(Self { capacity, block_shift: (capacity / BLOCKS).trailing_zeros() })
    }

    /// The sizes in a region's header, if they are consistent.
    pub(crate) fn of(spec: &RegionSpec) -> Result<Self, RingError> {
        if spec.layout != LAYOUT {
            return Err(RingError::Layout { found: spec.layout, known: LAYOUT });
        }
        let capacity_bytes = usize::try_from(spec.parameters[0]).unwrap_or(usize::MAX);
        let layout = Self::new(capacity_bytes)?;
        if spec.words < layout.words() {
            return Err(RingError::Words { words: spec.words, needed: layout.words() });
        }
        Ok(layout)
    }

    pub(crate) fn spec(self) -> RegionSpec {
        let parameters = [self.capacity_bytes() as u64, 0, 0, 0];
        RegionSpec { kind: KIND, layout: LAYOUT, parameters, words: self.words() }
    }

    /// Words of the whole region.
    fn words(self) -> usize {
        self.data() + self.capacity as usize
    }

    pub(crate) fn capacity_bytes(self) -> usize {
        self.capacity as usize * WORD_BYTES
    }

    /// The longest payload: a quarter of the ring, so that half of the ring is always readable.
    pub(crate) fn max_length(self) -> u32 {
        u32::try_from(self.capacity_bytes() / 4).unwrap_or(u32::MAX)
    }

    /// Whether a payload is not longer than [`max_length`](Self::max_length): without an
    /// instruction if the length is known, and short enough for every ring.
    #[inline(always)]
    pub(crate) fn takes(self, length: u32) -> bool {
        let least = const { MIN_CAPACITY_BYTES as u32 / 4 };
        length <= least || u64::from(length) <= self.capacity * WORD_BYTES as u64 / 4
    }

    /// Limit of words from the first frame of a batch to the end of its last. Padding and one frame
    /// of the longest kind always fit, and messages that are not published yet never overtake a
    /// reader that has read everything.
    #[inline(always)]
    pub(crate) fn max_batch(self) -> u64 {
        self.capacity / 2 + 2 * HEADER_WORDS
    }

    #[inline(always)]
    pub(crate) fn block_words(self) -> u64 {
        1 << self.block_shift
    }

    /// The first position of the block after the one that holds `position`.
    pub(crate) fn next_block(self, position: u64) -> u64 {
        ((position >> self.block_shift) + 1) << self.block_shift
    }

    pub(crate) const fn blocks() -> usize {
        BLOCKS as usize
    }

    /// The first word of the ring's data.
    #[inline(always)]
    #[expect(clippy::unused_self, reason = "a property of the layout, if a constant one")]
    pub(crate) const fn data(self) -> usize {
        DATA
    }

    /// The offset of a position in the ring.
    #[inline(always)]
    pub(crate) fn place(self, position: u64) -> u64 {
        position & (self.capacity - 1)
    }

    /// The region's word at a position.
    #[inline(always)]
    pub(crate) fn word(self, position: u64) -> usize {
        self.data() + self.place(position) as usize
    }

    /// Whether a frame with `length` bytes of payload can begin at `position`.
    #[inline(always)]
    pub(crate) fn holds(self, position: u64, length: u32) -> bool {
        length <= self.max_length() && self.place(position) + frame_words(length) <= self.capacity
    }

    /// The region's word with the index entry for a position.
    pub(crate) fn entry(self, position: u64) -> usize {
        INDEX + (self.place(position) >> self.block_shift) as usize * ENTRY_WORDS
    }

    /// The position at the end of the lap that holds `position`.
    pub(crate) fn next_lap(self, position: u64) -> u64 {
        position - self.place(position) + self.capacity
    }
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_taken_up_to_the_longest() {
        for capacity_bytes in [MIN_CAPACITY_BYTES, 1 << 20, 1 << 33, MAX_CAPACITY_BYTES] {
            let layout = Layout::new(capacity_bytes).unwrap();
            let longest = layout.max_length();
            assert!(layout.takes(0) && layout.takes(longest));
            let longer = longest.checked_add(1);
            assert!(!longer.is_some_and(|length| layout.takes(length)), "{capacity_bytes}");
        }
    }
}
