//! Digests of the excerpts of a segment: two copies that differ have different ones.
//!
//! A digest is a fold over the first two words of each excerpt. The first one has the checksum of
//! all its words, so one pass through the excerpts is enough. End marks do not count: they are
//! compared by their position.

use nanotape_shm::ReadWord;

use crate::{
    JournalError, Position,
    disk::Disk,
    names,
    segment::view::{Contents, View},
    stored,
};

/// A digest of the first excerpts of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ContentDigest(pub u64);

impl ContentDigest {
    /// The digest after the excerpt with these first words.
    #[inline]
    pub(crate) fn after(self, excerpt: &[ReadWord]) -> Self {
        let both = [excerpt[0].load(), excerpt[1].load()];
        Self(both.into_iter().fold(self.0 ^ 0x9e37_79b9_7f4a_7c15, |mixed, word| {
            (mixed ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
        }))
    }

    /// The digest of the excerpts of a segment that have a smaller number, and the number after
    /// them, or a smaller one that no excerpt has; `None` if the journal has no such segment. The
    /// walk ends at damage.
    ///
    /// Cost: reads the segment up to there, and unpacks a compressed one.
    pub fn before<D: Disk>(
        disk: &D,
        segment: u64,
        sequence: u64,
    ) -> Result<Option<(Self, u64)>, JournalError> {
        let Some(stored) = stored::open(disk, segment)? else { return Ok(None) };
        let name = names::segment(segment);
        let damaged = |damage| JournalError::damaged(disk, &name, 0, damage);
        let Some(view) = View::new(stored.words()).map_err(damaged)? else { return Ok(None) };
        let ((place, _), digest) = Self::of(&view, |_, number| number < sequence);
        Ok(Some((digest, place.sequence)))
    }

    /// The number of the first excerpt at a position or after it, as this journal has it; `None` if
    /// it has no such segment.
    pub(crate) fn number_at<D: Disk>(
        disk: &D,
        position: Position,
    ) -> Result<Option<u64>, JournalError> {
        let Some(stored) = stored::open(disk, position.segment)? else { return Ok(None) };
        let name = names::segment(position.segment);
        let damaged = |damage| JournalError::damaged(disk, &name, 0, damage);
        let Some(view) = View::new(stored.words()).map_err(damaged)? else { return Ok(None) };
        let word = position.word();
        Ok(Some(Self::of(&view, |to, _| to <= word).0.0.sequence))
    }

    /// The digest of the excerpts that `goes_on` accepts, by their word and their number, and where
    /// they end.
    pub(crate) fn of(view: &View<'_>, goes_on: impl Fn(usize, u64) -> bool) -> (Walked, Self) {
        let mut digest = Self::default();
        let walked = view.walk(view.beginning(), |place, front| {
            let is_in = goes_on(place.at + front.total_words(), front.sequence);
            if is_in {
                digest = digest.after(&view.words[place.at..]);
            }
            is_in
        });
        (walked, digest)
    }
}

/// Where a walk ended, and what is there.
pub(crate) type Walked = (crate::segment::view::Place, Result<Contents, crate::Corruption>);
