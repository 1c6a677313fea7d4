//! Computes which messages of the original are intact in a damaged day, from the bytes alone.
//!
//! A message is intact if its record, length included, is unchanged and in one piece in the damaged
//! bytes, where the damage has left or moved it. So
//!
//! - a message with one changed bit is not intact; if a reader takes it for another valid one, this
//!   is not a silent loss,
//! - a copy of a message does not count: it need not be delivered, and it does not replace an
//!   original that was overwritten,
//! - for compressed files, the output of `gzip -dc` or `zstd -dc` counts.

use std::ops::Range;

use crate::damage_campaign::kinds::Damaged;

/// The position of an original record in the damaged bytes.
pub(crate) struct Intact {
    pub(crate) offset: usize,
    pub(crate) record: Range<usize>,
}

/// The intact messages of an uncompressed day.
pub(crate) fn intact(day: &[u8], records: &[Range<usize>], damaged: &Damaged) -> Vec<Intact> {
    let mut found = Vec::new();
    for record in records {
        let inside = damaged
            .stretches
            .iter()
            .filter(|stretch| stretch.from.start <= record.start && record.end <= stretch.from.end);
        for stretch in inside {
            let offset = stretch.to + record.start - stretch.from.start;
            if damaged.bytes[offset..offset + record.len()] == day[record.clone()] {
                found.push(Intact { offset, record: record.clone() });
            }
        }
    }
    found
}

/// The intact messages of a day that was decompressed as far as possible: at the same position, or
/// moved by wrong bits by up to a kilobyte.
pub(crate) fn intact_in(day: &[u8], records: &[Range<usize>], unpacked: &[u8]) -> Vec<Intact> {
    const MOVED: usize = 1024;
    let mut found: Vec<Intact> = Vec::new();
    let mut shift = 0isize;
    let mut after = 0;
    for record in records {
        let bytes = &day[record.clone()];
        let stands_at = |offset: usize| {
            unpacked.get(offset..offset + bytes.len()).is_some_and(|there| there == bytes)
        };
        let expected = (record.start as isize + shift).max(after as isize) as usize;
        let offset = Some(expected).filter(|&offset| stands_at(offset)).or_else(|| {
            let from = expected.saturating_sub(MOVED).max(after);
            (from..expected + MOVED).find(|&offset| stands_at(offset))
        });
        if let Some(offset) = offset {
            shift = offset as isize - record.start as isize;
            after = offset + bytes.len();
            found.push(Intact { offset, record: record.clone() });
        }
    }
    found
}
