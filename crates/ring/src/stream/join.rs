//! Finding a place in a stream ring: to join it, or to go on after a lap.
//!
//! Protocol: take an index entry, follow commit words from there if need be, and then look at
//! `reserved`: if the entry may have been overwritten meanwhile, begin again. The number of tries
//! is bounded; a writer that overtakes every one of them has a ring too small for its rate.

use nanotape_shm::ReadWord;

use super::{
    index::{self, Boundary},
    layout::{COMMITTED, Layout, RESERVED},
    walk::{Step, Walk},
};
use crate::{
    Damage, ReadError, Rejoin, Start, StartError,
    edges::{GROW, RESERVE},
};

/// How often to begin again.
const TRIES: u32 = 64;

/// Where a reader that starts so begins.
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

/// Where a reader that was lapped goes on; nothing if it was overtaken at every try.
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

/// A ring that is searched.
struct Place<'ring> {
    layout: Layout,
    words: &'ring [ReadWord],
}

impl Place<'_> {
    /// The first boundary that is still there and at least so many words behind the oldest word;
    /// the last one if there is none.
    fn first_behind(&self, words: u64) -> Result<Option<Boundary>, ReadError> {
        self.search(0, |boundary, oldest| {
            let far_enough = boundary.position >= oldest + words;
            // Far enough before not far enough, and then the nearest one to what was wanted.
            let nearness =
                if far_enough { u64::MAX - boundary.position } else { boundary.position };
            (far_enough, nearness)
        })
    }

    /// Behind the last message.
    fn end(&self) -> Result<Option<Boundary>, ReadError> {
        self.search(u64::MAX, |boundary, _| (true, boundary.position))
    }

    /// In front of a message, or at the end if it is not published; if it is lost, where a reader
    /// finds that out.
    fn message(&self, sequence: u64) -> Result<Option<Boundary>, ReadError> {
        let lost = Boundary { position: 0, sequence };
        match self.first_behind(0)? {
            // A lap behind everything: the first read is told what was lost since.
            Some(oldest) if sequence < oldest.sequence => return Ok(Some(lost)),
            Some(_) => {}
            None => return Ok(None),
        }
        let found = self.search(sequence, |boundary, _| {
            let before = boundary.sequence <= sequence;
            (before, if before { boundary.position } else { u64::MAX - boundary.position })
        })?;
        // Overwritten since the look above.
        Ok(found.map(|at| if at.sequence > sequence { lost } else { at }))
    }

    /// Begins at the boundary with the highest rank and follows the frames up to message `until`,
    /// or to the end. Tries until nothing that the answer rests on was overwritten meanwhile.
    fn search(
        &self,
        until: u64,
        rank: impl Fn(Boundary, u64) -> (bool, u64),
    ) -> Result<Option<Boundary>, ReadError> {
        for _ in 0..TRIES {
            // SYNC(ring.grow): pairs with the writer's store of `reserved`. A count that is newer
            // than `committed` and the index could leave no way in.
            let reserved = self.words[RESERVED].observe(GROW);
            // Needs no order of its own: an older value leaves out entries, and never all of them.
            let committed = self.words[COMMITTED].load();
            let oldest = reserved.saturating_sub(self.layout.capacity);
            let from = index::boundaries(self.layout, self.words)
                .filter(|boundary| (oldest..=committed).contains(&boundary.position))
                .max_by_key(|&boundary| rank(boundary, oldest));
            let found = from.map(|from| (from.position, self.walk(from, until)));
            // SYNC(ring.reserve): pairs with the writer's fence behind its store of `reserved`.
            RESERVE.acquire_fence();
            let reserved_now = self.words[RESERVED].load();
            match found {
                Some((from, found))
                    if reserved_now.saturating_sub(from) <= self.layout.capacity =>
                {
                    return found.map(Some);
                }
                // Nobody wrote, and yet there is no way in.
                None if reserved_now == reserved => {
                    let (word, what) = (super::layout::INDEX, Damage::Index);
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
        // More than a ring behind where it began it reads what it has read before.
        let limit = from.position.saturating_add(self.layout.capacity);
        while walk.at.sequence < until && walk.at.position < limit {
            if walk.step()? == Step::End {
                break;
            }
        }
        Ok(walk.at)
    }
}
