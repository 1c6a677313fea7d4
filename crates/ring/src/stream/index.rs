//! The index: for each block of the ring, where its first frame begins and which message that is.
//!
//! Where: readers find their way with it when they join or were lapped, and a new writer when it
//! takes over. Nobody looks at it while messages flow.
//! Protocol: an entry is two words, written when the writer comes to the block: the sequence
//! number, then the position ([`INDEX`]). A reader loads them the other way round. So it may find
//! an old position with a newer number, but then the old position is overwritten: `reserved` was
//! stored before the number, and a reader looks at it behind everything else (`ring.reserve`).

use nanotape_shm::{ReadWord, Word};

use super::layout::{ENTRY_WORDS, Layout};
use crate::edges::INDEX;

/// No entry: positions are multiples of nothing so large.
pub(super) const GONE: u64 = u64::MAX;

/// Positions and sequence numbers that a writer comes to are below: so what follows from an entry
/// that something else wrote is never too large to be a number.
const LIMIT: u64 = u64::MAX / 2;

/// A place where a frame begins, or will begin, and the number that its message has or will have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Boundary {
    pub(super) position: u64,
    pub(super) sequence: u64,
}

/// Writes the entry of the block that `position` is in.
pub(super) fn store(layout: Layout, words: &[Word], position: u64, sequence: u64) {
    let entry = &words[layout.entry(position)..][..ENTRY_WORDS];
    entry[1].store(sequence);
    // SYNC(ring.index): pairs with a reader's look at the position.
    entry[0].publish(position, INDEX);
}

/// Writes the entry of the block that a boundary is in, if that has none from this lap.
pub(super) fn store_if_missing(layout: Layout, words: &[Word], at: Boundary) {
    let entry = &words[layout.entry(at.position)..][..ENTRY_WORDS];
    let block = at.position >> layout.block_shift;
    if entry[0].load() >> layout.block_shift != block || entry[1].load() == 0 {
        store(layout, words, at.position, at.sequence);
    }
}

/// Says that the block of `position` has no entry.
pub(super) fn clear(layout: Layout, words: &[Word], position: u64) {
    words[layout.entry(position)].store(GONE);
}

/// All entries, in the order of the blocks. What a writer is replacing meanwhile is not whole, and
/// its position is behind what `reserved` leaves.
pub(super) fn boundaries(layout: Layout, words: &[ReadWord]) -> impl Iterator<Item = Boundary> {
    (0..Layout::blocks() as u64).filter_map(move |block| {
        let at = layout.entry(block << layout.block_shift);
        let entry = &words[at..][..ENTRY_WORDS];
        // SYNC(ring.index): pairs with the writer's store of the position.
        let position = entry[0].observe(INDEX);
        let sequence = entry[1].load();
        // What a writer never stores is no entry, whoever stored it.
        let in_range = position < LIMIT && (1..LIMIT).contains(&sequence);
        let sound = in_range && layout.entry(position) == at;
        sound.then_some(Boundary { position, sequence })
    })
}
