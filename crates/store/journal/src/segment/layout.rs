//! The positions of all parts of a segment, and their capacities.
//!
//! Layout: `docs/formats/journal.md`, byte by byte; a test compares its tables with [`FIELDS`],
//! [`EXCERPT_FIELDS`] and [`ENTRY_FIELDS`]. In memory a segment is a slice of words.

use nanotape_shm::{ReadWord, WORD_BYTES};

use super::excerpt::{END_WORDS, HEADER_WORDS, MAX_LENGTH};

/// The first eight bytes of every segment, in every version and byte order.
pub const MAGIC: [u8; 8] = *b"nanojrnl";

/// The version of the header that this crate writes and reads.
pub const FORMAT_VERSION: u64 = 1;

/// Changes whenever the meaning of any word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"excerpt1");

/// The smallest segment; models are smaller.
pub const MIN_SEGMENT_BYTES: u64 = if cfg!(nanotape_loom) { 256 } else { 1 << 16 };

/// The largest segment.
pub const MAX_SEGMENT_BYTES: u64 = 1 << 36;

/// The smallest block; models are smaller.
pub const MIN_BLOCK_BYTES: u64 = if cfg!(nanotape_loom) { 128 } else { 4096 };

/// The largest block.
pub const MAX_BLOCK_BYTES: u64 = 1 << 30;

/// The most blocks of a segment: those of the largest one in blocks of the usual size. More would
/// let a small compressed file state an index of half a gigabyte.
pub(crate) const MAX_BLOCKS: usize = 1 << 20;

/// The block size of journals with large segments.
const USUAL_BLOCK_BYTES: u64 = 1 << 16;

/// The page size: segments, and the part before their excerpts, are multiples of it.
pub(crate) const PAGE_BYTES: u64 = if cfg!(nanotape_loom) { 8 } else { 4096 };

/// Words of a cache line.
pub(crate) const CACHE_LINE_WORDS: usize = 8;

/// Words of an index entry.
pub(crate) const ENTRY_WORDS: usize = 4;

/// Word numbers of the header; models have no gaps.
pub(crate) mod at {
    const fn either(usual: usize, model: usize) -> usize {
        if cfg!(nanotape_loom) { model } else { usual }
    }

    pub(crate) const MAGIC: usize = 0;
    pub(crate) const BYTE_ORDER_MARK: usize = 1;
    pub(crate) const FORMAT_VERSION: usize = 2;
    pub(crate) const LAYOUT: usize = 3;
    pub(crate) const JOURNAL: usize = 4;
    pub(crate) const NUMBER: usize = 5;
    pub(crate) const SEGMENT_BYTES: usize = 6;
    pub(crate) const BLOCK_BYTES: usize = 7;
    pub(crate) const CYCLE: usize = 8;
    pub(crate) const CREATED: usize = 9;
    pub(crate) const CHECK: usize = 10;
    pub(crate) const FIRST_SEQUENCE: usize = either(32, 11);
    pub(crate) const MAX_TS_BEFORE: usize = FIRST_SEQUENCE + 1;
    pub(crate) const CYCLE_NUMBER: usize = FIRST_SEQUENCE + 2;
    pub(crate) const ACTIVATION: usize = FIRST_SEQUENCE + 3;
    pub(crate) const BOOT: usize = either(64, 15);
    pub(crate) const SYNCED: usize = BOOT + 1;
    pub(crate) const SEALED: usize = BOOT + 2;
    pub(crate) const SYNC_PENDING: usize = BOOT + 3;
    pub(crate) const INCARNATION: usize = BOOT + 4;
    pub(crate) const INCARNATION_FROM: usize = BOOT + 5;
    pub(crate) const INCARNATION_CHECK: usize = BOOT + 6;
    pub(crate) const INDEX: usize = either(512, 22);
}

/// Offset, size in bytes and name of each field of a segment.
pub const FIELDS: [(usize, usize, &str); 23] = [
    (at::MAGIC * WORD_BYTES, 8, "magic"),
    (at::BYTE_ORDER_MARK * WORD_BYTES, 8, "byte_order_mark"),
    (at::FORMAT_VERSION * WORD_BYTES, 8, "format_version"),
    (at::LAYOUT * WORD_BYTES, 8, "layout"),
    (at::JOURNAL * WORD_BYTES, 8, "journal"),
    (at::NUMBER * WORD_BYTES, 8, "number"),
    (at::SEGMENT_BYTES * WORD_BYTES, 8, "segment_bytes"),
    (at::BLOCK_BYTES * WORD_BYTES, 8, "block_bytes"),
    (at::CYCLE * WORD_BYTES, 8, "cycle_ns"),
    (at::CREATED * WORD_BYTES, 8, "created_ns"),
    (at::CHECK * WORD_BYTES, 8, "check"),
    (at::FIRST_SEQUENCE * WORD_BYTES, 8, "first_sequence"),
    (at::MAX_TS_BEFORE * WORD_BYTES, 8, "max_ts_before"),
    (at::CYCLE_NUMBER * WORD_BYTES, 8, "cycle"),
    (at::ACTIVATION * WORD_BYTES, 8, "activation"),
    (at::BOOT * WORD_BYTES, 8, "boot"),
    (at::SYNCED * WORD_BYTES, 8, "synced"),
    (at::SEALED * WORD_BYTES, 8, "sealed"),
    (at::SYNC_PENDING * WORD_BYTES, 8, "sync_pending"),
    (at::INCARNATION * WORD_BYTES, 8, "incarnation"),
    (at::INCARNATION_FROM * WORD_BYTES, 8, "incarnation_from"),
    (at::INCARNATION_CHECK * WORD_BYTES, 8, "incarnation_check"),
    (at::INDEX * WORD_BYTES, ENTRY_WORDS * WORD_BYTES, "index"),
];

/// The same for an excerpt. Its first word states the length of the payload.
pub const EXCERPT_FIELDS: [(usize, usize, &str); 3] =
    [(0, 8, "commit"), (8, 8, "sequence"), (16, 8, "ts_ns")];

/// The same for an index entry.
pub const ENTRY_FIELDS: [(usize, usize, &str); 4] =
    [(0, 8, "position"), (8, 8, "sequence"), (16, 8, "max_ts"), (24, 8, "check")];

/// The sizes of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Words of the segment as written.
    pub(crate) words: usize,
    /// The binary logarithm of a block's words.
    block_shift: u32,
    /// The first word of the first excerpt.
    pub(crate) data: usize,
}

impl Layout {
    /// The layout for these sizes of segments and blocks; `None` if they are invalid.
    pub(crate) fn new(segment_bytes: u64, block_bytes: u64) -> Option<Self> {
        let is_good = (MIN_SEGMENT_BYTES..=MAX_SEGMENT_BYTES).contains(&segment_bytes)
            && segment_bytes.is_multiple_of(PAGE_BYTES)
            && (MIN_BLOCK_BYTES..=MAX_BLOCK_BYTES).contains(&block_bytes)
            && block_bytes.is_power_of_two();
        if !is_good {
            return None;
        }
        let words = usize::try_from(segment_bytes).ok()? / WORD_BYTES;
        let block_shift = (block_bytes / WORD_BYTES as u64).trailing_zeros();
        let entries = words.div_ceil(1 << block_shift);
        if entries > MAX_BLOCKS {
            return None;
        }
        let page_words = PAGE_BYTES as usize / WORD_BYTES;
        let data = (at::INDEX + entries * ENTRY_WORDS).next_multiple_of(page_words);
        let layout = Self { words, block_shift, data };
        (data + HEADER_WORDS + END_WORDS < words).then_some(layout)
    }

    /// The size of blocks for segments of this size.
    pub(crate) fn usual_block_bytes(segment_bytes: u64) -> u64 {
        let sixteenth = (segment_bytes / 16).checked_next_power_of_two().unwrap_or(MAX_BLOCK_BYTES);
        sixteenth.clamp(MIN_BLOCK_BYTES, USUAL_BLOCK_BYTES)
    }

    pub(crate) fn segment_bytes(self) -> u64 {
        (self.words * WORD_BYTES) as u64
    }

    pub(crate) fn block_bytes(self) -> u64 {
        (WORD_BYTES as u64) << self.block_shift
    }

    /// The words of a file that belong to the segment: a closed segment can be shorter than before.
    pub(crate) fn used(self, words: &[ReadWord]) -> &[ReadWord] {
        &words[..words.len().min(self.words)]
    }

    /// The word before which excerpts must end, so that an end mark fits after them.
    pub(crate) fn limit(self) -> usize {
        self.words - END_WORDS
    }

    /// The longest payload, in bytes.
    pub(crate) fn max_length(self) -> usize {
        let room = (self.limit() - self.data - HEADER_WORDS) * WORD_BYTES;
        room.min(MAX_LENGTH as usize)
    }

    /// The block of a word.
    #[inline]
    pub(crate) fn block(self, word: usize) -> usize {
        word >> self.block_shift
    }

    /// The first word of the block after the one that contains `word`.
    #[inline]
    pub(crate) fn next_block(self, word: usize) -> usize {
        (self.block(word) + 1) << self.block_shift
    }

    /// The first word of a block's entry.
    #[inline]
    pub(crate) fn entry(self, block: usize) -> usize {
        at::INDEX + block * ENTRY_WORDS
    }
}

/// A position in a segment as it is reported: bytes from the beginning of the file.
pub(crate) fn position_bytes(word: usize) -> u64 {
    (word * WORD_BYTES) as u64
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_more_blocks_than_the_largest_usual_one_is_refused() {
        let usual = Layout::usual_block_bytes(MAX_SEGMENT_BYTES);
        assert!(Layout::new(MAX_SEGMENT_BYTES, usual).is_some());
        assert_eq!(Layout::new(MAX_SEGMENT_BYTES, usual / 2), None);
        assert!(Layout::new((MAX_BLOCKS as u64) * 4096, 4096).is_some());
    }

    #[test]
    fn excerpts_begin_behind_the_index_and_leave_room_for_an_end_mark() {
        let layout = Layout::new(1 << 16, 4096).unwrap();
        assert_eq!((layout.words, layout.data), (8192, 1024));
        assert_eq!(layout.limit(), 8189);
        assert_eq!(layout.max_length(), (8189 - 1024 - 3) * 8);
        assert_eq!((layout.block(511), layout.block(512), layout.next_block(512)), (0, 1, 1024));
        let large = Layout::new(MAX_SEGMENT_BYTES, USUAL_BLOCK_BYTES).unwrap();
        assert_eq!(large.max_length(), MAX_LENGTH as usize);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for (segment, block) in [
            (0, 4096),
            (1 << 15, 4096),
            ((1 << 16) + 8, 4096),
            (1 << 37, 4096),
            (1 << 16, 0),
            (1 << 16, 2048),
            (1 << 16, 4097),
            (1 << 16, 1 << 31),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(Layout::new(segment, block), None, "{segment} {block}");
        }
    }

    #[test]
    fn the_usual_blocks_make_a_layout_of_every_segment() {
        let mut bytes = MIN_SEGMENT_BYTES;
        while bytes <= MAX_SEGMENT_BYTES {
            let layout = Layout::new(bytes, Layout::usual_block_bytes(bytes)).unwrap();
            assert!(layout.data * 8 <= layout.words, "an eighth at most is not data: {bytes}");
            bytes *= 2;
        }
    }
}
