//! How far a follower is, in three shared words: an incarnation, and two numbers that count only
//! with it.
//!
//! Layout: `docs/formats/replication.md`, Followers. Where: one thread of the process that serves
//! stores, and the appender's process loads.
//! Protocol: for another incarnation, the writer stores 0 in both numbers, then the incarnation,
//! then the numbers. A reader loads the incarnation, a number, and the incarnation again.

use nanotape_shm::{Edge, ReadWord, Word};

/// A number is seen after the incarnation that was stored before it, and an incarnation after the
/// zeros.
pub(crate) const ACKNOWLEDGE: Edge = Edge::new("replication.acknowledge");

/// The words: the incarnation, the number before which it has all, and that of its disk.
pub(crate) const WORDS: usize = 3;

/// An incarnation that no journal has: that of a writer that has stored nothing yet.
pub(crate) const NO_INCARNATION: u64 = u64::MAX;

/// Stores the words; `before` is the incarnation that this writer stored last.
#[inline]
pub(crate) fn store(words: &[Word], before: u64, now: [u64; WORDS]) {
    let [incarnation, next_sequence, on_disk] = now;
    if before != incarnation {
        words[1].store(0);
        words[2].store(0);
        // SYNC(replication.acknowledge): pairs with the first load in `load`.
        words[0].publish(incarnation, ACKNOWLEDGE);
    }
    // SYNC(replication.acknowledge): pairs with the load of the number in `load`.
    words[2].publish(on_disk, ACKNOWLEDGE);
    // SYNC(replication.acknowledge): pairs with the load of the number in `load`.
    words[1].publish(next_sequence, ACKNOWLEDGE);
}

/// The number before which a follower has all excerpts of an incarnation; 0: it has none of them.
#[inline]
pub(crate) fn load(words: &[ReadWord], incarnation: u64, on_disk: bool) -> u64 {
    // SYNC(replication.acknowledge): pairs with the store of the incarnation in `store`.
    if words[0].observe(ACKNOWLEDGE) != incarnation {
        return 0;
    }
    // SYNC(replication.acknowledge): pairs with the stores of numbers in `store`.
    let number = words[1 + usize::from(on_disk)].observe(ACKNOWLEDGE);
    if words[0].load() == incarnation { number } else { 0 }
}
