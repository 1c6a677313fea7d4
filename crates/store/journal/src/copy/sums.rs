//! A digest of each segment, to compare a journal with its copy on another machine.
//!
//! What it sums: what is equal in every copy: the header, the activation, the incarnation and the
//! excerpts. Each machine has its own words about syncs, and its own compression.
//! Failure: the checksums of excerpts are not computed again: a caller verifies the journal first.

use std::path::Path;

use super::{ContentDigest, SegmentHead, head::mixed};
use crate::{
    JournalError,
    catalog::Catalog,
    disk::Folder,
    segment::view::{Contents, View},
    stored,
};

/// What a segment has, and its digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentSum {
    /// The number of the segment.
    pub number: u64,
    /// The number of its first excerpt, present or future.
    pub first_sequence: u64,
    /// The number after its last excerpt.
    pub next_sequence: u64,
    /// Whether it has its end mark.
    pub is_ended: bool,
    /// Two segments that differ have different ones.
    pub digest: u64,
}

/// Sums each segment of a journal, the oldest first, as far as its excerpts have numbers below
/// `before`. Segments that begin later are left out.
///
/// Cost: reads the whole journal, and unpacks what is compressed.
pub fn segment_sums(
    journal: &Path,
    before: u64,
    mut each: impl FnMut(SegmentSum),
) -> Result<(), JournalError> {
    let disk = Folder::new(journal, 0);
    for listed in Catalog::read(&disk)?.listed {
        let Some(head) = SegmentHead::read(&disk, &listed.kept)? else { continue };
        if head.first_sequence() >= before {
            return Ok(());
        }
        let stored = stored::open_kept(&disk, &listed.kept)?;
        let name = listed.kept.name();
        let damaged = |word, damage| JournalError::damaged(&disk, &name, word, damage);
        let Some(view) = View::new(stored.words()).map_err(|damage| damaged(0, damage))? else {
            continue;
        };
        let ((place, found), contents) = ContentDigest::of(&view, |_, number| number < before);
        let (next_sequence, is_ended) = match found {
            // Skipped numbers can be between the last excerpt and the end mark. Where both have all
            // excerpts, only one of them may have it.
            Ok(Contents::End(front)) if front.sequence < before => (front.sequence, true),
            Ok(_) => (place.sequence, false),
            Err(damage) => return Err(damaged(place.at, damage)),
        };
        let known = head.digest();
        let all =
            [known.identity, known.incarnation, contents.0, next_sequence, u64::from(is_ended)];
        each(SegmentSum {
            number: known.number,
            first_sequence: head.first_sequence(),
            next_sequence,
            is_ended,
            digest: mixed(all.map(u64::to_le_bytes).as_flattened()),
        });
    }
    Ok(())
}
