//! The writer of one segment: consecutive excerpts, and an entry of the index for some of them.
//!
//! Protocol: `docs/formats/journal.md`. What is behind the writer's place is zero, always: an
//! excerpt that is given up is made zero again, because the next one may be shorter.
//! Cost: no system call, no allocation, no lock. An excerpt touches its own lines and nothing else.
//! It is stored from its end to its beginning, so that the line that tailers look at is written
//! last, at once.

use std::sync::Arc;

use nanotape_shm::{Word, as_read_only, copy_into, prefetch_for_writing};

use super::{
    excerpt::{Front, HEADER_WORDS, Kind, MAX_LENGTH, commit_word, excerpt_words, seed},
    header::{Activation, Header, hints},
    index,
    layout::{CACHE_LINE_WORDS, Layout},
    view::Place,
};
use crate::{checksum::checksum_filled, disk::WritableFile, edges::COMMIT};

/// How far in front of its place the writer brings lines into its core.
const AHEAD_WORDS: usize = 96;

/// How much of that is brought in with an excerpt at the most: the processor follows longer ones by
/// itself.
const MOST_AHEAD_WORDS: usize = 64;

/// The writer of the active segment.
#[derive(Debug)]
pub(crate) struct SegmentWriter<F> {
    file: Arc<F>,
    header: Header,
    seed: u32,
    place: Place,
    /// Where excerpts must end.
    limit: usize,
    /// The last time of the cycle.
    last_ns: u64,
    /// From here on an entry of the index is due.
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

    /// Goes on at a place in an active segment, behind which everything is zero.
    pub(crate) fn resume(
        file: Arc<F>,
        header: Header,
        activation: &Activation,
        place: Place,
    ) -> Self {
        let layout = header.layout;
        let seed = seed(header.journal, header.number);
        // Whether the block it is in has its entry already; if it has, there was an excerpt in it
        // before.
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

    /// Whether an excerpt of so many words, or several that have so many together, may be here.
    #[inline(always)]
    pub(crate) fn has_room(&self, words: usize, ts_ns: u64) -> bool {
        self.place.at + words <= self.limit && ts_ns <= self.last_ns
    }

    /// The next sequence number will be this one, which is not below what it would have been.
    pub(crate) fn skip_to(&mut self, sequence: u64) {
        debug_assert!(sequence >= self.place.sequence, "numbers only grow");
        self.place.sequence = sequence;
    }

    /// Writes and commits an excerpt that there is room for; returns its sequence number.
    #[inline(always)]
    pub(crate) fn append(&mut self, type_id: u16, ts_ns: u64, payload: &[u8]) -> u64 {
        let front = self.front(type_id, ts_ns, payload.len());
        let commit = self.write(self.place.at, &front, payload);
        // SYNC(journal.commit): pairs with a reader's look at a commit word.
        self.file.words()[self.place.at].publish(commit, COMMIT);
        self.pass(&front);
        front.sequence
    }

    /// What the next excerpt has in front. There is room for it.
    #[inline(always)]
    pub(crate) fn front(&self, type_id: u16, ts_ns: u64, length: usize) -> Front {
        let sequence = self.place.sequence;
        Front { kind: Kind::Message, length: length as u32, type_id, sequence, ts_ns }
    }

    /// Writes all of an excerpt but its commit word, which is returned.
    #[inline(always)]
    pub(crate) fn write(&self, at: usize, front: &Front, payload: &[u8]) -> u64 {
        let said = front.words();
        let sum = checksum_filled(self.seed, said, payload);
        let words = self.file.words();
        let end = at + front.total_words();
        for ahead in [AHEAD_WORDS, AHEAD_WORDS + CACHE_LINE_WORDS] {
            prefetch_for_writing(words, end + ahead);
        }
        // Of a longer one as many as it has itself.
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

    /// The payload of an excerpt that begins at the place, to be written by somebody else.
    pub(crate) fn payload(&self, length: usize) -> &[Word] {
        let at = self.place.at;
        &self.file.words()[at + HEADER_WORDS..at + excerpt_words(length)]
    }

    /// Commits an excerpt whose payload somebody has written.
    #[inline]
    pub(crate) fn commit(&mut self, front: &Front) {
        let payload = self.payload(front.length as usize);
        if let (Some(last), rest @ 1..) = (payload.last(), front.length % 8) {
            // In whatever order of bytes: those behind the length.
            let kept = last.as_read_only().load().to_le() & ((1 << (rest * 8)) - 1);
            last.store(u64::from_le(kept));
        }
        front.commit(&self.file.words()[self.place.at..], self.seed);
        self.pass(front);
    }

    /// Writes an excerpt of a batch; returns the gate of the batch: the commit word of its first
    /// excerpt, which is stored last. 0 is no gate, and this is the first.
    #[inline(always)]
    pub(crate) fn stage(&self, at: usize, gate: u64, front: &Front, payload: &[u8]) -> u64 {
        let commit = self.write(at, front, payload);
        if gate == 0 {
            return commit;
        }
        // Inverted it is of no kind: should the batch be given up, and the power fail before the
        // disk has the zeros that then are stored here, no reader takes this for an excerpt after
        // another.
        self.file.words()[at].store(!commit);
        gate
    }

    /// Stores the commit words of excerpts that lie one behind the other from the place on, which
    /// are there inverted, but for that of the first one.
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

    /// Commits a batch that ends at a place.
    pub(crate) fn commit_staged(&mut self, gate: u64, end: &Place) {
        self.turn_back(gate, end.at);
        // SYNC(journal.commit): pairs with a reader's look at a commit word.
        self.file.words()[self.place.at].publish(gate, COMMIT);
        if end.at <= self.next_block {
            self.place = *end;
            return;
        }
        // Entries are due for excerpts that begin in the blocks between: seen behind the gate only.
        let file = Arc::clone(&self.file);
        let words = as_read_only(file.words());
        while self.place.at < end.at {
            let at = self.place.at;
            let found = super::view::look(words, at, self.seed, false);
            let Ok(super::view::Look::Excerpt(front)) = found else { break };
            self.pass(&front);
        }
        self.place = *end;
    }

    /// Makes words from the place on zero again: of an excerpt that is given up.
    pub(crate) fn clear(&self, end: usize) {
        for word in self.file.words()[self.place.at..end].iter().rev() {
            word.store(0);
        }
    }

    /// Ends the segment; returns the position behind the end mark.
    pub(crate) fn end(&mut self) -> usize {
        let front = self.place.end_mark();
        let commit = self.write(self.place.at, &front, &[]);
        // SYNC(journal.commit): pairs with a reader's look at a commit word.
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
