//! The layout of a slot ring's words.
//!
//! ```text
//!  line 0   committed: the number of the last message | ts_publish
//!  line 1   heartbeat
//!  slots    each: version | length and type id | payload
//! ```
//!
//! Message `n` is in slot `(n - 1) mod slots`. A slot's version is `2 n - 1` while message `n` is
//! being written and `2 n` after that.

use nanotape_shm::{RegionSpec, WORD_BYTES};

use crate::RingError;

/// The kind of a slot ring in the region's header.
pub const KIND: [u8; 8] = *b"SLOTS   ";

/// Changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"slots  1");

/// Words per control line; fewer in models.
const LINE_WORDS: usize = if cfg!(nanotape_loom) { 2 } else { 16 };

pub(crate) const COMMITTED: usize = 0;
pub(crate) const TS_PUBLISH: usize = 1;
pub(crate) const HEARTBEAT: usize = LINE_WORDS;
const SLOTS: usize = 2 * LINE_WORDS;

pub(crate) const VERSION: usize = 0;
pub(crate) const DESCRIPTION: usize = 1;
/// Words of a slot before the payload.
pub(crate) const HEADER_WORDS: usize = 2;

/// Slots begin at a cache line, except in models.
const SLOT_ALIGNMENT_WORDS: usize = if cfg!(nanotape_loom) { 1 } else { 8 };

/// The smallest number of slots.
pub const MIN_SLOTS: usize = if cfg!(nanotape_loom) { 2 } else { 8 };

/// The largest number of slots.
pub const MAX_SLOTS: usize = 1 << 32;

/// The longest payload of a slot.
pub const MAX_SLOT_BYTES: usize = 1 << 20;

/// Bytes of one slot for payloads up to `max_length` bytes.
pub const fn slot_bytes(max_length: usize) -> usize {
    let words = HEADER_WORDS + max_length.div_ceil(WORD_BYTES);
    words.next_multiple_of(SLOT_ALIGNMENT_WORDS) * WORD_BYTES
}

/// Offset from the end of the region's header, size and name of each field, in bytes. The size of
/// the last is that of the fewest slots for the shortest messages.
pub const FIELDS: [(usize, usize, &str); 4] = [
    (COMMITTED * WORD_BYTES, WORD_BYTES, "committed"),
    (TS_PUBLISH * WORD_BYTES, WORD_BYTES, "ts_publish_ns"),
    (HEARTBEAT * WORD_BYTES, WORD_BYTES, "heartbeat_ns"),
    (SLOTS * WORD_BYTES, MIN_SLOTS * slot_bytes(0), "slots"),
];

/// The fields of a slot before its payload.
pub const SLOT_FIELDS: [(usize, usize, &str); 2] = [
    (VERSION * WORD_BYTES, WORD_BYTES, "version"),
    (DESCRIPTION * WORD_BYTES, WORD_BYTES, "description"),
];

/// The sizes of one ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// A power of two.
    pub(crate) slots: u64,
    /// The longest payload.
    pub(crate) max_length: u32,
    pub(crate) slot_words: usize,
}

impl Layout {
    pub(crate) fn new(slots: usize, max_length: usize) -> Result<Self, RingError> {
        let possible = slots.is_power_of_two() && (MIN_SLOTS..=MAX_SLOTS).contains(&slots);
        if !possible || max_length > MAX_SLOT_BYTES {
            return Err(RingError::Slots { slots, max_length });
        }
        let slot_words = slot_bytes(max_length) / WORD_BYTES;
        Ok(Self { slots: slots as u64, max_length: max_length as u32, slot_words })
    }

    /// The sizes in a region's header, if they are consistent.
    pub(crate) fn of(spec: &RegionSpec) -> Result<Self, RingError> {
        if spec.layout != LAYOUT {
            return Err(RingError::Layout { found: spec.layout, known: LAYOUT });
        }
        let [slots, max_length, ..] = spec.parameters;
        let size = |parameter| usize::try_from(parameter).unwrap_or(usize::MAX);
        let layout = Self::new(size(slots), size(max_length))?;
        if spec.words < layout.words() {
            return Err(RingError::Words { words: spec.words, needed: layout.words() });
        }
        Ok(layout)
    }

    pub(crate) fn spec(self) -> RegionSpec {
        let parameters = [self.slots, u64::from(self.max_length), 0, 0];
        RegionSpec { kind: KIND, layout: LAYOUT, parameters, words: self.words() }
    }

    fn words(self) -> usize {
        SLOTS + self.slots as usize * self.slot_words
    }

    /// The first word of a message's slot.
    #[inline(always)]
    pub(crate) fn slot(self, sequence: u64) -> usize {
        let slot = sequence.wrapping_sub(1) & (self.slots - 1);
        SLOTS + slot as usize * self.slot_words
    }

    /// Bytes of the slots of all messages before this one.
    pub(crate) fn position_bytes(self, sequence: u64) -> u64 {
        let slot_bytes = (self.slot_words * WORD_BYTES) as u64;
        sequence.saturating_sub(1).saturating_mul(slot_bytes)
    }

    /// Length and type in the word that describes a message; `None` if no writer of this ring
    /// stores such a word.
    #[inline(always)]
    pub(crate) fn described(self, description: u64) -> Option<(u32, u16)> {
        let (length, type_id) = (description as u32, (description >> 32) as u16);
        let sound = description >> 48 == 0 && length <= self.max_length;
        sound.then_some((length, type_id))
    }

    /// Limit of messages in a batch.
    pub(crate) fn max_batch(self) -> u64 {
        (self.slots / 4).max(1)
    }
}

/// No writer publishes this number of messages: a larger number is damage, and doubling it to a
/// version could overflow.
pub(crate) const LIMIT: u64 = u64::MAX / 4;

/// A slot's version while the message is being written.
#[inline(always)]
pub(crate) const fn writing(sequence: u64) -> u64 {
    sequence * 2 - 1
}

/// A slot's version after the message is written.
#[inline(always)]
pub(crate) const fn written(sequence: u64) -> u64 {
    sequence * 2
}

/// Describes a number that the writer skipped: its slot has no message.
pub(crate) const SKIPPED: u64 = 1 << 63;

/// The word that describes a message.
#[inline(always)]
pub(crate) const fn description(length: u32, type_id: u16) -> u64 {
    (type_id as u64) << 32 | length as u64
}
