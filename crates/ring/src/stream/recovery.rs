//! Where a stream ring ends: what a new writer must know to go on after the old one died anywhere.
//!
//! Protocol: the frames themselves decide. From the newest index entry, follow the commit words to
//! the first that is zero; what is behind it nobody has seen. `committed` may be behind that place,
//! by a frame or a batch, but not before: the old writer died between two stores. Then `committed`
//! and the index are set right, and readers notice nothing.
//! Failure: a ring whose words contradict each other is refused. Its content is not trusted.

use nanotape_shm::{Word, as_read_only};

use super::{
    index::{self, Boundary},
    layout::{COMMITTED, Layout, RESERVED},
    walk::{Step, Walk},
};
use crate::{
    Damage, ReadError, RingError,
    edges::{COMMIT, RESERVE},
};

/// Where the last writer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    pub(super) position: u64,
    pub(super) sequence: u64,
    pub(super) reserved: u64,
}

/// Finds the end, and stores what the dead writer did not come to store.
pub(super) fn recover(layout: Layout, words: &[Word]) -> Result<End, RingError> {
    let (reserved, committed) = (words[RESERVED].load(), words[COMMITTED].load());
    let damaged = |what| ReadError::Damaged { word: COMMITTED, sequence: 0, what };
    let ahead = reserved.checked_sub(committed).filter(|&ahead| ahead <= layout.capacity);
    if ahead.is_none() || reserved > u64::MAX / 2 {
        return Err(damaged(Damage::Counters).into());
    }
    let read_only = as_read_only(words);
    // An entry follows its position into `committed`; who joins would believe one that is ahead.
    if index::boundaries(layout, read_only).any(|boundary| boundary.position > committed) {
        return Err(damaged(Damage::Index).into());
    }
    let oldest = reserved.saturating_sub(layout.capacity);
    let start = index::boundaries(layout, read_only)
        .filter(|boundary| (oldest..=committed).contains(&boundary.position))
        .max_by_key(|boundary| boundary.position)
        .ok_or(damaged(Damage::Index))?;
    let mut walk = Walk::new(layout, read_only, start);
    while walk.at.position < reserved && walk.step()? != Step::End {}
    let Boundary { position, sequence } = walk.at;
    if position < committed || position >= reserved {
        return Err(damaged(Damage::Counters).into());
    }
    // SYNC(ring.reserve): what the dead writer reserved the new one overwrites, and has to be seen
    // to do so as if it had reserved it.
    RESERVE.release_fence();
    // SYNC(ring.commit): as the writer's.
    words[COMMITTED].publish(position, COMMIT);
    index::store_if_missing(layout, words, walk.at);
    Ok(End { position, sequence, reserved })
}
