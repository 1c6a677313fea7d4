//! The writer of one segment: consecutive excerpts, and an entry of the index for some of them.
//!
//! Protocol: `docs/formats/journal.md`. All words after the writer's position are zero, always: an
//! excerpt that is discarded is cleared again, because the next one might be shorter.
//! Cost: no system call, no allocation, no lock. An excerpt touches only its own cache lines. It is
//! stored from its end to its beginning, so that the line that tailers poll is written last, at
//! once.

use std::sync::Arc;

use nanotape_shm::{
    ReadWord, Word, as_read_only, checksum_filled, copy_into, prefetch_for_writing,
};

use super::{
    excerpt::{
        self, Front, HEADER_WORDS, Kind, MAX_LENGTH, MAX_SEQUENCE, commit_word, excerpt_words, seed,
    },
    header::{Activation, Header, hints},
    index,
    layout::{CACHE_LINE_WORDS, Layout},
    view::Place,
};
use crate::{Corruption, disk::WritableFile, edges::COMMIT};

/// How far ahead of its position the writer prefetches cache lines.
const AHEAD_WORDS: usize = 96;

/// The most words of that to prefetch with one excerpt: the processor prefetches longer ones
/// itself.
const MOST_AHEAD_WORDS: usize = 64;

/// The writer of the active segment.
#[derive(Debug)]
pub(crate) struct SegmentWriter<F> {
    file: Arc<F>,
    header: Header,
    seed: u32,
    place: Place,
    /// The word before which excerpts must end.
    limit: usize,
    /// The last time of the cycle.
    last_ns: u64,
    /// The first excerpt from here on gets an entry in the index.
    next_block: usize,
}

impl<F: WritableFile> SegmentWriter<F> {
    /// Makes a prepared segment active.
    pub(crate) fn activate(
        file: Arc<F>,
        header: Header,
        activation: Activation,
        boot: u64,
    ) -> Self {
        hints::store_boot(file.words(), boot);
        activation.store(file.words());
        let place = Place {
            at: header.layout.data,
            sequence: activation.first_sequence,
            max_ts: activation.max_ts_before,
        };
        Self::resume(file, header, &activation, place)
    }

    /// Continues at a position in an active segment, with only zeros after it.
    pub(crate) fn resume(
        file: Arc<F>,
        header: Header,
        activation: &Activation,
        place: Place,
    ) -> Self {
        let layout = header.layout;
        let seed = seed(header.journal, header.number);
        // If the block of the position already has its entry, an excerpt before the position begins
        // in it.
        let block = layout.block(place.at);
        let has_entry = index::load(layout, seed, as_read_only(file.words()), block).is_some();
        let next_block = if has_entry { layout.next_block(place.at) } else { place.at };
        Self {
            last_ns: header.last_ns(activation),
            limit: layout.limit(),
            seed,
            next_block,
            file,
            header,
            place,
        }
    }

    pub(crate) fn file(&self) -> &Arc<F> {
        &self.file
    }

    pub(crate) fn number(&self) -> u64 {
        self.header.number
    }

    pub(crate) fn layout(&self) -> Layout {
        self.header.layout
    }

    #[inline(always)]
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Ends the cycle after this time, if not before.
    pub(crate) fn end_cycle_at(&mut self, last_ns: u64) {
        self.last_ns = self.last_ns.min(last_ns);
    }

    /// Whether excerpts of `words` words in total fit here, and the time is in this cycle.
    #[inline(always)]
    pub(crate) fn has_room(&self, words: usize, ts_ns: u64) -> bool {
        self.place.at + words <= self.limit && ts_ns <= self.last_ns
    }

    /// Sets the next sequence number, which is not below the current one.
    pub(crate) fn skip_to(&mut self, sequence: u64) {
        debug_assert!(sequence >= self.place.sequence, "numbers only grow");
        self.place.sequence = sequence;
    }

    /// Writes and commits an excerpt that fits; returns its sequence number.
    #[inline(always)]
    pub(crate) fn append(&mut self, type_id: u16, ts_ns: u64, payload: &[u8]) -> u64 {
        let front = self.front(type_id, ts_ns, payload.len());
        let commit = self.write(self.place.at, &front, payload);
        // SYNC(journal.commit): pairs with a reader's load of a commit word.
        self.file.words()[self.place.at].publish(commit, COMMIT);
        self.pass(&front);
        front.sequence
    }

    /// The header words of the next excerpt, which fits.
    #[inline(always)]
    pub(crate) fn front(&self, type_id: u16, ts_ns: u64, length: usize) -> Front {
        let sequence = self.place.sequence;
        Front { kind: Kind::Message, length: length as u32, type_id, sequence, ts_ns }
    }

    /// Writes all of an excerpt except its commit word, which is returned.
    #[inline(always)]
    pub(crate) fn write(&self, at: usize, front: &Front, payload: &[u8]) -> u64 {
        let said = front.words();
        let sum = checksum_filled(self.seed, said, payload);
        let words = self.file.words();
        let end = at + front.total_words();
        for ahead in [AHEAD_WORDS, AHEAD_WORDS + CACHE_LINE_WORDS] {
            prefetch_for_writing(words, end + ahead);
        }
        // For a longer excerpt, prefetch as many words as it has.
        for ahead in (2 * CACHE_LINE_WORDS..front.total_words().min(MOST_AHEAD_WORDS))
            .step_by(CACHE_LINE_WORDS)
        {
            prefetch_for_writing(words, end + AHEAD_WORDS + ahead);
        }
        let words = &words[at..end];
        copy_into(&words[HEADER_WORDS..], payload);
        words[2].store(said[2]);
        words[1].store(said[1]);
        commit_word(said[0], sum)
    }

    /// The payload of the next excerpt, for the caller to write.
    pub(crate) fn payload(&self, length: usize) -> &[Word] {
        let at = self.place.at;
        &self.file.words()[at + HEADER_WORDS..at + excerpt_words(length)]
    }

    /// Commits an excerpt whose payload the caller has written.
    #[inline]
    pub(crate) fn commit(&mut self, front: &Front) {
        let payload = self.payload(front.length as usize);
        if let (Some(last), rest @ 1..) = (payload.last(), front.length % 8) {
            // The bytes after the length, in either byte order.
            let kept = last.as_read_only().load().to_le() & ((1 << (rest * 8)) - 1);
            last.store(u64::from_le(kept));
        }
        front.commit(&self.file.words()[self.place.at..], self.seed);
        self.pass(front);
    }

    /// Writes an excerpt of a batch; returns the gate of the batch: the commit word of its first
    /// excerpt, which is stored last. A `gate` of 0 means that this is the first.
    #[inline(always)]
    pub(crate) fn stage(&self, at: usize, gate: u64, front: &Front, payload: &[u8]) -> u64 {
        let commit = self.write(at, front, payload);
        if gate == 0 {
            return commit;
        }
        // An inverted commit word has no valid kind. If the batch is discarded and the power fails
        // before the disk has the zeros that replace it, no reader takes this for a later excerpt.
        self.file.words()[at].store(!commit);
        gate
    }

    /// Inverts the stored commit words of the consecutive excerpts from the position on, except for
    /// the first one.
    fn turn_back(&self, gate: u64, end: usize) {
        let words = self.file.words();
        let behind =
            |at: usize, commit: u64| at + excerpt_words((commit as u32 & MAX_LENGTH) as usize);
        let mut at = behind(self.place.at, gate);
        while at < end {
            let commit = !words[at].as_read_only().load();
            words[at].store(commit);
            at = behind(at, commit);
        }
    }

    /// Commits a batch that ends at `end`.
    pub(crate) fn commit_staged(&mut self, gate: u64, end: &Place) {
        self.turn_back(gate, end.at);
        // SYNC(journal.commit): pairs with a reader's load of a commit word.
        self.file.words()[self.place.at].publish(gate, COMMIT);
        if end.at <= self.next_block {
            self.place = *end;
            return;
        }
        // The blocks between get entries for their excerpts: visible only after the gate.
        let file = Arc::clone(&self.file);
        let words = as_read_only(file.words());
        while self.place.at < end.at {
            let at = self.place.at;
            let found = super::view::read_at(words, at, self.seed, false);
            let Ok(super::view::Contents::Excerpt(front)) = found else { break };
            self.pass(&front);
        }
        self.place = *end;
    }

    /// Writes whole excerpts of another copy of this segment, which become visible together.
    /// Returns whether the last one is the end mark. The error has the word of the segment; then
    /// nothing is written.
    pub(crate) fn copy(&mut self, from: &[ReadWord]) -> Result<bool, (usize, Corruption)> {
        let (start, end) = (self.place.at, self.place.at + from.len());
        let (mut place, mut is_ended) = (self.place, false);
        while place.at < end {
            let at = place.at - start;
            let damaged = |damage| (place.at, damage);
            let commit = from[at].load();
            let front = excerpt::read(from, at, from.len(), self.seed, commit, true);
            let front = front.map_err(damaged)?;
            let limit = match front.kind {
                Kind::End => self.header.layout.words,
                Kind::Message | Kind::Lost => self.limit,
            };
            if is_ended || place.at + front.total_words() > limit {
                return Err(damaged(Corruption::Length(front.length)));
            }
            is_ended = front.kind == Kind::End;
            // The number after an excerpt must exist too.
            let most = MAX_SEQUENCE - u64::from(!is_ended);
            if !(place.sequence..=most).contains(&front.sequence) {
                let (found, least) = (front.sequence, place.sequence);
                return Err(damaged(Corruption::Sequence { found, least }));
            }
            place = place.behind(&front);
        }
        let file = Arc::clone(&self.file);
        let Some((gate, rest)) = file.words()[start..end].split_first() else { return Ok(false) };
        for (word, value) in rest.iter().zip(&from[1..]).rev() {
            word.store(value.load());
        }
        // SYNC(journal.commit): pairs with a reader's load of a commit word.
        gate.publish(from[0].load(), COMMIT);
        while self.place.at < end {
            let found = super::view::read_at(as_read_only(file.words()), self.place.at, 0, false);
            match found {
                Ok(super::view::Contents::Excerpt(front)) => {
                    // After skipped numbers. The entry of a block has that of its excerpt.
                    self.place.sequence = front.sequence;
                    self.pass(&front);
                }
                Ok(super::view::Contents::End(front)) => self.place = self.place.behind(&front),
                _ => break,
            }
        }
        Ok(is_ended)
    }

    /// Clears words from the position on, of an excerpt that is discarded.
    pub(crate) fn clear(&self, end: usize) {
        for word in self.file.words()[self.place.at..end].iter().rev() {
            word.store(0);
        }
    }

    /// Ends the segment; returns the position after the end mark.
    pub(crate) fn end(&mut self) -> usize {
        let front = self.place.end_mark();
        let commit = self.write(self.place.at, &front, &[]);
        // SYNC(journal.commit): pairs with a reader's load of a commit word.
        self.file.words()[self.place.at].publish(commit, COMMIT);
        self.place.at + front.total_words()
    }

    #[inline(always)]
    fn pass(&mut self, front: &Front) {
        if self.place.at >= self.next_block {
            self.enter_block();
        }
        self.place = self.place.behind(front);
    }

    #[cold]
    fn enter_block(&mut self) {
        let layout = self.header.layout;
        index::store(&self.place, layout, self.seed, self.file.words());
        self.next_block = layout.next_block(self.place.at);
    }
}
