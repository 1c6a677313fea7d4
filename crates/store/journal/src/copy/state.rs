//! What a copy has, as its source must know it to continue.

use super::{ContentDigest, HeadDigest, SegmentHead};
use crate::{
    Corruption, ErrorKind, JournalError, Position,
    catalog::Catalog,
    disk::Disk,
    names,
    segment::{
        layout::at,
        view::{Contents, View},
    },
    stored,
};

/// The contents of a copy: which segments, and how much of the last one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CopyState {
    /// The number that its segments share; 0 without segments.
    pub journal: u64,
    /// The digest of the head of each segment, the oldest first.
    pub heads: Vec<HeadDigest>,
    /// The position after its last excerpt.
    pub end: Position,
    /// Whether its last segment has its end mark.
    pub is_ended: bool,
    /// The number of its next excerpt.
    pub next_sequence: u64,
    /// The incarnation of its last segment.
    pub incarnation: u64,
    /// The digest of the excerpts in its last segment.
    pub digest: ContentDigest,
}

impl CopyState {
    /// The state of a journal that is not being written.
    pub(crate) fn of<D: Disk>(disk: &D) -> Result<Self, JournalError> {
        let mut state = Self { next_sequence: 1, ..Self::default() };
        let catalog = match Catalog::read(disk) {
            // A new folder.
            Err(error) if *error.kind() == ErrorKind::NotFound => return Ok(state),
            catalog => catalog?,
        };
        let mut last = None;
        for listed in catalog.listed.iter().filter(|listed| listed.is_entered()) {
            let Some(head) = SegmentHead::read(disk, &listed.kept)? else { continue };
            state.journal = head.journal();
            state.heads.push(head.digest());
            state.incarnation = head.incarnation();
            last = Some(listed.kept);
        }
        if let (Some(kept), Some(HeadDigest { number, .. })) = (last, state.heads.last()) {
            let stored = stored::open_kept(disk, &kept)?;
            let damaged =
                |word, damage| JournalError::damaged(disk, &names::segment(*number), word, damage);
            let view = View::new(stored.words()).map_err(|damage| damaged(0, damage))?;
            let view = view.ok_or_else(|| damaged(at::ACTIVATION, Corruption::Activation))?;
            let ((place, found), digest) = ContentDigest::of(&view, |_, _| true);
            state.digest = digest;
            state.is_ended = matches!(found, Ok(Contents::End(_)));
            let (word, sequence) = match found {
                Ok(Contents::End(front)) => (place.at + front.total_words(), front.sequence),
                Ok(_) => (place.at, place.sequence),
                Err(damage) => return Err(damaged(place.at, damage)),
            };
            (state.end, state.next_sequence) = (Position::at(*number, word), sequence);
        }
        Ok(state)
    }
}
