//! Finds the end of a stream ring: a new writer continues there, wherever the old one died.
//!
//! Protocol: the frames decide. From the newest index entry, follow the commit words to the first
//! that is zero; nothing after it was ever visible. `committed` may lag this end by a frame or a
//! batch, if the old writer died between two stores, but is never ahead of it. Then `committed` and
//! the index are corrected, without an effect on readers.
//! Failure: a ring whose words contradict each other is refused. Its content is not trusted.

use nanotape_shm::{Word, as_read_only};

use super::{
    index::{self, Boundary},
    layout::{COMMITTED, Layout, RESERVED},
    walk::{Step, Walk},
};
use crate::{
    Corruption, ReadError, RingError,
    edges::{COMMIT, RESERVE},
};

/// The end of the last writer's messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    pub(super) position: u64,
    pub(super) sequence: u64,
    pub(super) reserved: u64,
}

/// Finds the end, and completes the stores that the dead writer omitted.
pub(super) fn recover(layout: Layout, words: &[Word]) -> Result<End, RingError> {
    let (reserved, committed) = (words[RESERVED].load(), words[COMMITTED].load());
    let damaged = |what| ReadError::Damaged { word: COMMITTED, sequence: 0, what };
    let ahead = reserved.checked_sub(committed).filter(|&ahead| ahead <= layout.capacity);
    if ahead.is_none() || reserved > u64::MAX / 2 {
        return Err(damaged(Corruption::Counters).into());
    }
    let read_only = as_read_only(words);
    // An entry is stored after `committed` includes its position; readers that join rely on that.
    if index::boundaries(layout, read_only).any(|boundary| boundary.position > committed) {
        return Err(damaged(Corruption::Index).into());
    }
    let oldest = reserved.saturating_sub(layout.capacity);
    let start = index::boundaries(layout, read_only)
        .filter(|boundary| (oldest..=committed).contains(&boundary.position))
        .max_by_key(|boundary| boundary.position)
        .ok_or(damaged(Corruption::Index))?;
    let mut walk = Walk::new(layout, read_only, start);
    while walk.at.position < reserved && walk.step()? != Step::End {}
    let Boundary { position, sequence } = walk.at;
    if position < committed || position >= reserved {
        return Err(damaged(Corruption::Counters).into());
    }
    // SYNC(ring.reserve): the new writer overwrites words that the dead one reserved. This must be
    // visible as if it had reserved them itself.
    RESERVE.release_fence();
    // SYNC(ring.commit): as the writer's.
    words[COMMITTED].publish(position, COMMIT);
    index::store_if_missing(layout, words, walk.at);
    Ok(End { position, sequence, reserved })
}
