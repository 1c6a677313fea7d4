//! Checks the whole contents of a slot ring: the version and description of every slot.
//!
//! Protocol: as a reader's. A slot that was overwritten during the check is a lap, not damage.

use nanotape_shm::{ReadWord, SharedRegion};

use super::layout::{COMMITTED, DESCRIPTION, Layout, SKIPPED, VERSION, written};
use crate::{
    Corruption, ReadError, RingError, Verified,
    edges::{SLOT_CHANGE, SLOT_COMMIT, SLOT_PUBLISH},
};

/// Checks a ring; see [`RingMonitor::verify`](crate::RingMonitor::verify).
pub(crate) fn verify(region: &SharedRegion) -> Result<Verified, RingError> {
    let layout = Layout::of(region.spec())?;
    let words = region.words();
    let damaged = |word, sequence, what| ReadError::Damaged { word, sequence, what };
    // SYNC(slots.commit): pairs with the writer's store of `committed`.
    let committed = words[COMMITTED].observe(SLOT_COMMIT);
    if committed > u64::MAX / 4 {
        return Err(damaged(COMMITTED, 0, Corruption::Counters).into());
    }
    let mut verified = Verified::default();
    verified.begin(committed.saturating_sub(layout.slots - 1).max(1));
    // One step for each slot: each slot is checked once, whatever it contains.
    for back in (0..layout.slots).rev() {
        let Some(sequence) = committed.checked_sub(back).filter(|&sequence| sequence > 0) else {
            // No message was published in this slot; an unpublished batch may have changed it.
            continue;
        };
        match read_slot(layout, words, sequence)? {
            Slot::Holds => verified.message(sequence),
            Slot::Skipped => verified.skip(sequence + 1),
            Slot::Overwritten => {
                verified.overtaken += 1;
                verified.begin(sequence + 1);
            }
        }
    }
    Ok(verified)
}

/// The state of a slot in which a message was published.
enum Slot {
    Holds,
    /// No message: the writer skipped its number.
    Skipped,
    /// A later message, or a part of one.
    Overwritten,
}

fn read_slot(layout: Layout, words: &[ReadWord], sequence: u64) -> Result<Slot, ReadError> {
    let at = layout.slot(sequence);
    let damaged = |word, what| Err(ReadError::Damaged { word, sequence, what });
    // SYNC(slots.publish): pairs with the writer's store of the version.
    let version = words[at + VERSION].observe(SLOT_PUBLISH);
    let described = words[at + DESCRIPTION].load();
    // SYNC(slots.change): pairs with the writer's fence after its store of the odd version.
    SLOT_CHANGE.acquire_fence();
    let is_stable = words[at + VERSION].load() == version;
    if version > written(sequence) {
        let later = version.div_ceil(2);
        // At least as new as the version, by the order of that load.
        let committed = words[COMMITTED].load();
        let is_of_this_slot = (later - sequence).is_multiple_of(layout.slots);
        // The writer may be ahead of `committed` by a batch.
        if !is_of_this_slot || later > committed.saturating_add(layout.max_batch()) {
            return damaged(at + VERSION, Corruption::Header(version));
        }
        return Ok(Slot::Overwritten);
    }
    if version < written(sequence) {
        return damaged(at + VERSION, Corruption::Header(version));
    }
    if !is_stable {
        return Ok(Slot::Overwritten);
    }
    if described == SKIPPED {
        return Ok(Slot::Skipped);
    }
    if layout.described(described).is_none() {
        return damaged(at + DESCRIPTION, Corruption::Header(described));
    }
    Ok(Slot::Holds)
}
