//! Repairs one segment: its header, its activation, its excerpts, its index, in this order.

use nanotape_shm::{ReadWord, Word, as_read_only};

use super::{
    Done, Repair,
    buffer::RepairBuffer,
    header::{FoundHeader, first_good_in},
};
use crate::{
    Corruption, JournalError,
    disk::Disk,
    names, quarantine,
    scan::{Event, Scan, correct_index, end_of_rest},
    segment::{
        excerpt::{self, Front, HEADER_WORDS, Kind, MAX_LENGTH},
        header::{Activation, Header, hints},
        index,
        layout::{at, position_bytes},
        view::{Contents, Place, View, read_at},
    },
};

/// Words of the longest excerpt that covers damage.
const MOST_WORDS: usize = HEADER_WORDS + (MAX_LENGTH as usize) / 8;

impl<D: Disk> Repair<'_, D> {
    /// Repairs a segment; returns the word after its end mark, if it has one.
    pub(super) fn repair_segment(
        &mut self,
        index: usize,
        number: u64,
        found: &FoundHeader,
        buffer: &RepairBuffer<D>,
    ) -> Result<Option<usize>, JournalError> {
        let (name, words) = (names::segment(number), buffer.words());
        let is_followed = self.is_followed(index);
        if !found.is_written {
            // Its record of syncs is as doubtful as the rest.
            for at in (0..=at::CHECK).chain(at::BOOT..=at::SEALED) {
                words[at].store(0);
            }
            found.header.store(words);
            self.note(&name, 0, Done::Header);
        }
        self.activate(&name, &found.header, words);
        let read = as_read_only(words);
        let view =
            View::new(read).map_err(|damage| JournalError::damaged(self.disk, &name, 0, damage))?;
        let Some(view) = view else { return Ok(None) };
        let least = self.checker.next.map(|next| next.max(view.activation.first_sequence));
        let mut scan = Scan::new(view, least);
        let end = loop {
            match scan.next(|| is_followed) {
                Event::Excerpt(..) => {}
                Event::Damaged(place, damage, to) => {
                    self.cover(number, &view, words, &place, damage, to)?;
                    scan.place = place;
                }
                Event::Broken(place, damage) => {
                    self.end(number, &view, words, &place, damage, is_followed)?;
                    break is_followed.then_some(place.at + HEADER_WORDS);
                }
                Event::Ended(place, _) => break Some(place.at + HEADER_WORDS),
                Event::Open(_) => break None,
            }
        };
        let entries = correct_index(&view, words, &scan.entries);
        if entries > 0 {
            self.note(&name, position_bytes(at::INDEX), Done::Index { entries });
        }
        Ok(end)
    }

    /// Activates a segment again if its activation is invalid or contradicts earlier segments.
    fn activate(&mut self, name: &str, header: &Header, words: &[Word]) {
        let read = as_read_only(words);
        let known = Activation::load(read).ok().flatten();
        let (least, max_ts) = (self.checker.least.max(1), self.checker.max_ts);
        if known.is_some_and(|it| it.first_sequence >= least && it.max_ts_before >= max_ts) {
            return;
        }
        let first = first_front(header, read);
        let first_sequence = match (known, first) {
            (Some(known), _) => known.first_sequence.max(least),
            (None, Some(first)) => first.sequence.max(least),
            (None, None) => least,
        };
        // The first entry of the index also has it.
        let seed = excerpt::seed(header.journal, header.number);
        let block = header.layout.block(header.layout.data);
        let entry = index::load(header.layout, seed, read, block);
        let stated = known.map(|known| known.max_ts_before).or(entry.map(|entry| entry.max_ts));
        let max_ts_before = stated.unwrap_or(0).max(max_ts);
        let first_ts = first.map_or(0, |first| first.ts_ns);
        let cycle = header.cycle_of(max_ts_before.max(first_ts));
        Activation { first_sequence, max_ts_before, cycle }.store(words);
        self.note(name, position_bytes(at::FIRST_SEQUENCE), Done::Activated { first_sequence });
    }

    /// Covers damage up to a word with excerpts that mark it as lost.
    fn cover(
        &mut self,
        number: u64,
        view: &View<'_>,
        words: &[Word],
        place: &Place,
        damage: Corruption,
        to: usize,
    ) -> Result<(), JournalError> {
        let kept = self.keep(number, view.words, place.at, to)?;
        // The first one is stored last: until then the damage remains visible.
        for (at, length) in pieces(place.at, to).into_iter().rev() {
            let front = Front {
                kind: Kind::Lost,
                length: ((length - HEADER_WORDS) * 8) as u32,
                type_id: 0,
                sequence: place.sequence,
                ts_ns: place.max_ts,
            };
            words[at + HEADER_WORDS..at + length].iter().for_each(|word| word.store(0));
            front.commit(&words[at..], view.seed);
        }
        let bytes = position_bytes(to - place.at);
        let offset = position_bytes(place.at);
        self.note(&names::segment(number), offset, Done::Covered { damage, bytes, to: kept });
        Ok(())
    }

    /// Ends the excerpts at a position without valid excerpts after it.
    fn end(
        &mut self,
        number: u64,
        view: &View<'_>,
        words: &[Word],
        place: &Place,
        damage: Corruption,
        has_mark: bool,
    ) -> Result<(), JournalError> {
        let end = end_of_rest(view.words, place.at).unwrap_or(place.at);
        let kept = self.keep(number, view.words, place.at, end)?;
        words[place.at..end].iter().rev().for_each(|word| word.store(0));
        if has_mark {
            place.end_mark().commit(&words[place.at..], view.seed);
        } else if view.synced() > place.at {
            hints::store_synced(words, place.at);
        }
        let bytes = position_bytes(end - place.at);
        let done = Done::Ended { damage, bytes, to: kept, has_mark };
        self.note(&names::segment(number), position_bytes(place.at), done);
        Ok(())
    }

    /// Copies removed words to the quarantine unless all are zero; returns the path.
    fn keep(
        &mut self,
        number: u64,
        words: &[ReadWord],
        from: usize,
        to: usize,
    ) -> Result<Option<std::path::PathBuf>, JournalError> {
        let words = &words[from..to];
        if self.is_dry_run || words.iter().all(|word| word.load() == 0) {
            return Ok(None);
        }
        Ok(Some(quarantine::part(self.disk, number, from, words)?.path))
    }
}

/// The header words of a segment's first valid excerpt.
fn first_front(header: &Header, words: &[ReadWord]) -> Option<Front> {
    let first = first_good_in(header, words)?;
    match read_at(
        header.layout.used(words),
        first,
        excerpt::seed(header.journal, header.number),
        true,
    ) {
        Ok(Contents::Excerpt(front) | Contents::End(front)) => Some(front),
        _ => None,
    }
}

/// The excerpts that together cover a range: the first word and the length in words of each.
fn pieces(mut from: usize, to: usize) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    while from < to {
        let left = to - from;
        let length = match left {
            0..=MOST_WORDS => left,
            // The remainder must have room for one more excerpt.
            _ => MOST_WORDS.min(left - HEADER_WORDS),
        };
        pieces.push((from, length));
        from += length;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_range_without_gap_and_none_is_too_short_or_too_long() {
        for words in [3, 4, 100, MOST_WORDS - 1, MOST_WORDS, MOST_WORDS + 1, 3 * MOST_WORDS + 2] {
            let pieces = pieces(1000, 1000 + words);
            let mut at = 1000;
            for (from, length) in pieces {
                assert_eq!(from, at);
                assert!((HEADER_WORDS..=MOST_WORDS).contains(&length), "{words}: {length}");
                at += length;
            }
            assert_eq!(at, 1000 + words);
        }
    }
}
