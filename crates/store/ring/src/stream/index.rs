//! The index: the first frame of each block of the ring, and the number of its message.
//!
//! Where: used by readers that join or were lapped, and by a new writer when it takes over; unused
//! while messages flow.
//! Protocol: an entry is two words, written when the writer enters the block: the sequence number,
//! then the position ([`INDEX`]). A reader loads them in reverse order. So it may find an old
//! position with a newer number, but then the old position is overwritten: `reserved` was stored
//! before the number, and a reader loads it last (`ring.reserve`).

use nanotape_shm::{ReadWord, Word};

use super::layout::{ENTRY_WORDS, Layout};
use crate::edges::INDEX;

/// No entry: larger than any position.
pub(super) const GONE: u64 = u64::MAX;

/// Upper bound of positions and sequence numbers that a writer can reach, so that arithmetic on an
/// entry which another program wrote cannot overflow.
const LIMIT: u64 = u64::MAX / 2;

/// The largest number of a message.
pub(super) const SEQUENCE_LIMIT: u64 = LIMIT - 1;

/// The beginning of a frame, existing or next, and the number of its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Boundary {
    pub(super) position: u64,
    pub(super) sequence: u64,
}

/// Writes the entry of the block that `position` is in.
pub(super) fn store(layout: Layout, words: &[Word], position: u64, sequence: u64) {
    let entry = &words[layout.entry(position)..][..ENTRY_WORDS];
    entry[1].store(sequence);
    // SYNC(ring.index): pairs with a reader's load of the position.
    entry[0].publish(position, INDEX);
}

/// Writes the entry of the block that a boundary is in, unless it has one from this lap.
pub(super) fn store_if_missing(layout: Layout, words: &[Word], at: Boundary) {
    let entry = &words[layout.entry(at.position)..][..ENTRY_WORDS];
    let block = at.position >> layout.block_shift;
    if entry[0].load() >> layout.block_shift != block || entry[1].load() == 0 {
        store(layout, words, at.position, at.sequence);
    }
}

/// Removes the entry of the block that `position` is in.
pub(super) fn clear(layout: Layout, words: &[Word], position: u64) {
    words[layout.entry(position)].store(GONE);
}

/// All entries, in the order of the blocks. An entry that a writer is replacing meanwhile may be
/// torn; then its position is older than the range that `reserved` leaves.
pub(super) fn boundaries(layout: Layout, words: &[ReadWord]) -> impl Iterator<Item = Boundary> {
    (0..Layout::blocks() as u64).filter_map(move |block| {
        let at = layout.entry(block << layout.block_shift);
        let entry = &words[at..][..ENTRY_WORDS];
        // SYNC(ring.index): pairs with the writer's store of the position.
        let position = entry[0].observe(INDEX);
        let sequence = entry[1].load();
        // A value that no writer stores is not an entry.
        let in_range = position < LIMIT && (1..LIMIT).contains(&sequence);
        let sound = in_range && layout.entry(position) == at;
        sound.then_some(Boundary { position, sequence })
    })
}
