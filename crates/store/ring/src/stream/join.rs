//! Finds a position in a stream ring, to join it, or to continue after a lap.
//!
//! Protocol: take an index entry, follow commit words from there if necessary, and then load
//! `reserved`: if the entry may have been overwritten meanwhile, retry. The number of retries is
//! bounded; if a writer overtakes all of them, the ring is too small for its rate.

use nanotape_shm::ReadWord;

use super::{
    index::{self, Boundary},
    layout::{COMMITTED, Layout, RESERVED},
    walk::{Step, Walk},
};
use crate::{
    Corruption, ReadError, Rejoin, Start, StartError,
    edges::{GROW, RESERVE},
};

/// Limit of retries.
const TRIES: u32 = 64;

/// The position of a new reader.
pub(super) fn find(
    layout: Layout,
    words: &[ReadWord],
    start: Start,
) -> Result<Boundary, StartError> {
    let place = Place { layout, words };
    let found = match start {
        Start::Oldest => place.first_behind(0)?,
        Start::Newest => place.end()?,
        Start::Sequence(0) => return Err(StartError::Zero),
        Start::Sequence(sequence) => place.message(sequence)?,
        Start::Time(_) => return Err(StartError::NoTimes),
    };
    match (start, found) {
        (_, None) => Err(StartError::Overtaken { capacity_bytes: layout.capacity_bytes() }),
        (Start::Sequence(sequence), Some(at)) if at.sequence < sequence => {
            Err(StartError::NotYet { sequence, next: at.sequence })
        }
        (_, Some(at)) => Ok(at),
    }
}

/// The position of a reader after a lap; `None` if it was overtaken at every attempt.
pub(super) fn rejoin(
    layout: Layout,
    words: &[ReadWord],
    rejoin: Rejoin,
) -> Result<Option<Boundary>, ReadError> {
    let place = Place { layout, words };
    match rejoin {
        Rejoin::Oldest => place.first_behind(0),
        Rejoin::Halfway => place.first_behind(layout.capacity / 2),
        Rejoin::Newest => place.end(),
    }
}

/// A ring to search.
struct Place<'ring> {
    layout: Layout,
    words: &'ring [ReadWord],
}

impl Place<'_> {
    /// The first boundary that still exists and is at least `words` after the oldest word; the last
    /// one if there is none.
    fn first_behind(&self, words: u64) -> Result<Option<Boundary>, ReadError> {
        self.search(0, |boundary, oldest| {
            let far_enough = boundary.position >= oldest + words;
            // Prefers boundaries that are far enough, and then the nearest one to the requested
            // distance.
            let nearness =
                if far_enough { u64::MAX - boundary.position } else { boundary.position };
            (far_enough, nearness)
        })
    }

    /// The end of the last message.
    fn end(&self) -> Result<Option<Boundary>, ReadError> {
        self.search(u64::MAX, |boundary, _| (true, boundary.position))
    }

    /// The beginning of a message, or the end of the ring if it is not published. For a lost
    /// message, a position at which the reader reports the loss.
    fn message(&self, sequence: u64) -> Result<Option<Boundary>, ReadError> {
        let lost = Boundary { position: 0, sequence };
        match self.first_behind(0)? {
            // A lap before everything: the first read reports the loss.
            Some(oldest) if sequence < oldest.sequence => return Ok(Some(lost)),
            Some(_) => {}
            None => return Ok(None),
        }
        let found = self.search(sequence, |boundary, _| {
            let before = boundary.sequence <= sequence;
            (before, if before { boundary.position } else { u64::MAX - boundary.position })
        })?;
        // Overwritten since the search above.
        Ok(found.map(|at| if at.sequence > sequence { lost } else { at }))
    }

    /// Starts at the boundary with the highest rank and follows the frames up to message `until`,
    /// or to the end. Retries until nothing that the result depends on was overwritten meanwhile.
    fn search(
        &self,
        until: u64,
        rank: impl Fn(Boundary, u64) -> (bool, u64),
    ) -> Result<Option<Boundary>, ReadError> {
        for _ in 0..TRIES {
            // SYNC(ring.grow): pairs with the writer's store of `reserved`. With a count that is
            // newer than `committed` and the index, the search could find no entry.
            let reserved = self.words[RESERVED].observe(GROW);
            // Needs no order: an older value leaves out entries, but never all of them.
            let committed = self.words[COMMITTED].load();
            let oldest = reserved.saturating_sub(self.layout.capacity);
            let from = index::boundaries(self.layout, self.words)
                .filter(|boundary| (oldest..=committed).contains(&boundary.position))
                .max_by_key(|&boundary| rank(boundary, oldest));
            let found = from.map(|from| (from.position, self.walk(from, until)));
            // SYNC(ring.reserve): pairs with the writer's fence after its store of `reserved`.
            RESERVE.acquire_fence();
            let reserved_now = self.words[RESERVED].load();
            match found {
                Some((from, found))
                    if reserved_now.saturating_sub(from) <= self.layout.capacity =>
                {
                    return found.map(Some);
                }
                // No write happened, and yet there is no entry.
                None if reserved_now == reserved => {
                    let (word, what) = (super::layout::INDEX, Corruption::Index);
                    return Err(ReadError::Damaged { word, sequence: 0, what });
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Follows the frames to a message, or to the end.
    fn walk(&self, from: Boundary, until: u64) -> Result<Boundary, ReadError> {
        let mut walk = Walk::new(self.layout, self.words, from);
        // More than a ring after its start the walk would read the same frames again.
        let limit = from.position.saturating_add(self.layout.capacity);
        while walk.at.sequence < until && walk.at.position < limit {
            let position = walk.at.position;
            match walk.step()? {
                Step::End => break,
                // The message was never published: the first read reports that.
                Step::Skip if walk.at.sequence > until => {
                    return Ok(Boundary { position, sequence: until });
                }
                _ => {}
            }
        }
        Ok(walk.at)
    }
}
