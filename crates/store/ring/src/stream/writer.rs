//! The writer of a stream ring: it never waits, and never reads what readers write.
//!
//! Protocol, for one frame at the writer's position:
//! 1. If the frame, and the word after it, extend past the reserved range: store a larger
//!    `reserved` ([`GROW`], [`RESERVE`]). A block is reserved at a time, so that this line rarely
//!    changes.
//! 2. Store zero into the commit word after the frame, then the payload and the sequence number.
//!    Stores go from the end to the beginning, so that the line that readers poll is written last,
//!    at once.
//! 3. Store the commit word ([`PUBLISH`]): now readers can see the frame.
//! 4. Store `committed` ([`COMMIT`]) for readers of batches.
//! 5. If the next frame begins in another block: store that block's index entry ([`INDEX`]). For a
//!    batch that enters several blocks: the entry of each.
//!
//! A batch does 2 for all of its frames, and the commit words of all but the first. The first one
//! is the gate that holds readers back, so a batch is visible as a whole or not at all. Messages
//! that are held back are such a batch, which ends when they are shown.
//! Cost: no system call, allocation or lock. A message touches the lines of its frame and one line
//! of counters.

use nanotape_shm::{OwnedRegion, WORD_BYTES, Word, as_read_only, copy_into, prefetch_for_writing};

use super::{
    batch::Batch,
    claim::Claim,
    frame::{Commit, HEADER_WORDS, frame_words},
    index::{self, Boundary, SEQUENCE_LIMIT},
    layout::{COMMITTED, HEARTBEAT, Layout, RESERVED, TS_PUBLISH},
    reader::Reader,
    recovery::{self, End},
    walk::{Step, Walk},
};
use crate::{
    Batched as _, Publish, PublishError, RingError, Start,
    edges::{COMMIT, GROW, PUBLISH, RESERVE},
};

/// The sequence number of a ring's first message.
pub(crate) const FIRST_SEQUENCE: u64 = 1;

/// How far ahead the writer prefetches lines, which are in readers' caches or in none. A writer
/// that only publishes needs a third of this (bench: ring/stream). One with a message every hundred
/// nanoseconds, and other uses of its caches meanwhile, needs all of it (bench: plant). More has no
/// effect.
const AHEAD_WORDS: u64 = 96;

const CACHE_LINE_WORDS: u64 = 8;

/// The one writer of a stream ring.
#[derive(Debug)]
pub struct Writer {
    region: OwnedRegion,
    layout: Layout,
    /// The position of the first frame that is not published.
    position: u64,
    /// The sequence number of its message.
    sequence: u64,
    /// Whether messages are held back.
    holds: bool,
    /// What is held back.
    held: Option<Held>,
    /// The value in the region.
    reserved: u64,
    /// The position from which on an index entry is due.
    next_block: u64,
    /// The time that the caller set last.
    now_ns: u64,
}

impl Writer {
    /// The writer of a ring in private memory: for threads, and for tests.
    pub fn on_heap(capacity_bytes: usize) -> Result<Self, RingError> {
        let layout = Layout::new(capacity_bytes)?;
        let region = OwnedRegion::on_heap(layout.spec());
        initialise(layout, region.words());
        Self::resume(region)
    }

    /// Continues in a region that the caller owns, after the last writer's last message.
    pub fn resume(region: OwnedRegion) -> Result<Self, RingError> {
        let layout = Layout::of(region.spec())?;
        let End { position, sequence, reserved } = recovery::recover(layout, region.words())?;
        let next_block = layout.next_block(position);
        let (holds, held, now_ns) = (false, None, 0);
        Ok(Self { region, layout, position, sequence, holds, held, reserved, next_block, now_ns })
    }

    /// Ends as if this process were killed: readers and the next writer find a dead writer. For the
    /// copy of a ring whose writer was killed.
    pub fn abandon(self) {
        self.region.abandon();
    }

    /// Releases the region to the next writer, as at the end of a process.
    #[cfg(nanotape_loom)]
    pub fn into_region(self) -> OwnedRegion {
        self.region
    }

    /// Reserves a frame at `position`, or at the beginning of the ring if it does not fit.
    #[inline(always)]
    pub(super) fn frame(
        &mut self,
        position: u64,
        type_id: u16,
        length: usize,
    ) -> Result<Frame, PublishError> {
        let max = self.layout.max_length();
        let length = match u32::try_from(length) {
            Ok(length) if length <= max => length,
            _ => return Err(PublishError::TooLong { length, max: max as usize }),
        };
        let words = frame_words(length);
        let fits = self.layout.place(position) + words <= self.layout.capacity;
        let start = if fits { position } else { self.layout.next_lap(position) };
        let frame = Frame { position, start, end: start + words, length, type_id };
        if frame.end - self.position > self.layout.max_batch() {
            return Err(PublishError::BatchFull { length: length as usize });
        }
        // The word after the frame is written too.
        if frame.end + 1 > self.reserved {
            self.reserve(frame.end + 1);
        }
        self.region.words()[self.layout.word(frame.end)].store(0);
        for ahead in [AHEAD_WORDS, AHEAD_WORDS + CACHE_LINE_WORDS] {
            prefetch_for_writing(self.region.words(), self.layout.word(frame.end + ahead));
        }
        Ok(frame)
    }

    /// Writes all of a frame but the gate, which it returns with the position after the frame.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        next: (u64, u64),
        type_id: u16,
        payload: &[u8],
        gate: Option<Gate>,
    ) -> Result<(Gate, u64), PublishError> {
        let fill = |words: &[Word]| copy_into(words, payload);
        match self.write_at_once(next, (type_id, payload.len()), gate, fill) {
            Some(written) => Ok(written),
            None => self.write_in_pieces(next, type_id, payload, gate),
        }
    }

    /// At the end of a lap or of the reserved range; or finds that there is no room. It takes and
    /// returns values, because a batch whose address it had would be counted in memory.
    #[cold]
    #[inline(never)]
    pub(super) fn write_in_pieces(
        &mut self,
        (position, sequence): (u64, u64),
        type_id: u16,
        payload: &[u8],
        gate: Option<Gate>,
    ) -> Result<(Gate, u64), PublishError> {
        let mut frame = self.frame(position, type_id, payload.len());
        // What is held back takes room from the batch after it, whose first message always fits
        // once it is shown.
        if gate.is_none() && matches!(frame, Err(PublishError::BatchFull { .. })) {
            self.show_held();
            frame = self.frame(position, type_id, payload.len());
        }
        let frame = frame?;
        copy_into(self.payload(&frame), payload);
        Ok((self.finish(&frame, sequence, gate), frame.end))
    }

    /// The usual case, with one check of bounds: the frame and the word after it are reserved and
    /// in one lap. `None` in all other cases.
    #[inline(always)]
    pub(super) fn write_at_once(
        &self,
        (position, sequence): (u64, u64),
        (type_id, length): (u16, usize),
        gate: Option<Gate>,
        fill: impl FnOnce(&[Word]),
    ) -> Option<(Gate, u64)> {
        let length = u32::try_from(length).ok()?;
        let end = position + frame_words(length);
        if !self.layout.takes(length)
            || self.layout.place(position) + frame_words(length) + 1 > self.layout.capacity
            || end + 1 > self.reserved
            || end - self.position > self.layout.max_batch()
        {
            return None;
        }
        let (at, count) = (self.layout.word(position), frame_words(length) as usize);
        let all = self.region.words();
        let (frame, after) = all[at..][..count + 1].split_at(count);
        after[0].store(0);
        for ahead in [AHEAD_WORDS, AHEAD_WORDS + CACHE_LINE_WORDS] {
            prefetch_for_writing(all, at + count + ahead as usize);
        }
        let (header, payload) = frame.split_at(HEADER_WORDS as usize);
        fill(payload);
        header[1].store(sequence);
        let first = Gate { word: at, commit: Commit::message(length, type_id) };
        if gate.is_some() {
            header[0].store(first.commit);
        }
        Some((gate.unwrap_or(first), end))
    }

    #[cold]
    fn reserve(&mut self, end: u64) {
        self.reserved = end.next_multiple_of(self.layout.block_words());
        // SYNC(ring.grow): pairs with the load of `reserved` at the start of a search.
        self.region.words()[RESERVED].publish(self.reserved, GROW);
        // SYNC(ring.reserve): pairs with the fence before each reader's load of `reserved`.
        RESERVE.release_fence();
    }

    /// The words of a frame's payload.
    #[inline(always)]
    pub(super) fn payload(&self, frame: &Frame) -> &[Word] {
        let first = self.layout.word(frame.start) + HEADER_WORDS as usize;
        &self.region.words()[first..][..(frame.end - frame.start - HEADER_WORDS) as usize]
    }

    /// Writes all of a frame but its payload and the gate: the commit word that readers check
    /// first. It is returned, to be stored last.
    #[inline(always)]
    pub(super) fn finish(&self, frame: &Frame, sequence: u64, gate: Option<Gate>) -> Gate {
        self.finish_as(Commit::message(frame.length, frame.type_id), frame, sequence, gate)
    }

    #[inline(always)]
    fn finish_as(&self, commit: u64, frame: &Frame, sequence: u64, gate: Option<Gate>) -> Gate {
        let words = self.region.words();
        let at = self.layout.word(frame.start);
        words[at + 1].store(sequence);
        let mut first = Gate { word: at, commit };
        if frame.start != frame.position {
            words[at].store(first.commit);
            let word = self.layout.word(frame.position);
            first = Gate { word, commit: Commit::padding() };
        }
        if gate.is_some() {
            words[first.word].store(first.commit);
        }
        gate.unwrap_or(first)
    }

    /// Publishes everything up to `end`; returns the first new sequence number.
    #[inline(always)]
    pub(super) fn open(&mut self, gate: Gate, end: u64, count: u64) -> u64 {
        let words = self.region.words();
        // SYNC(ring.publish): pairs with a reader's load of a commit word.
        words[gate.word].publish(gate.commit, PUBLISH);
        words[TS_PUBLISH].store(self.now_ns);
        // SYNC(ring.commit): pairs with the load of `committed` by readers of batches.
        words[COMMITTED].publish(end, COMMIT);
        if end >= self.next_block {
            self.enter_blocks(end, count);
        }
        let first = self.sequence;
        self.sequence += count;
        self.position = end;
        first
    }

    /// Publishes a batch, or adds it to what is held back. Returns its first sequence number.
    #[inline(always)]
    pub(super) fn complete(&mut self, gate: Gate, end: u64, count: u64) -> u64 {
        if self.holds { self.hold(gate, end, count) } else { self.open(gate, end, count) }
    }

    /// Adds a batch to those that are held back, behind whose gate no reader comes. The next block
    /// is the end of what is held back.
    #[inline(always)]
    fn hold(&mut self, gate: Gate, end: u64, count: u64) -> u64 {
        let first = self.next_sequence();
        match &mut self.held {
            None => self.held = Some(Held { gate, end, count }),
            Some(held) => {
                self.region.words()[gate.word].store(gate.commit);
                (held.end, held.count) = (end, held.count + count);
            }
        }
        if end >= self.next_block {
            self.show_all();
        }
        first
    }

    #[inline(never)]
    fn show_all(&mut self) {
        if let Some(Held { gate, end, count }) = self.held.take() {
            self.open(gate, end, count);
        }
    }

    #[cold]
    #[inline(never)]
    fn publish_held(&mut self, type_id: u16, payload: &[u8]) -> Result<u64, PublishError> {
        let mut batch = self.batch();
        batch.push(type_id, payload)?;
        Ok(batch.publish())
    }

    /// Stores the entries of the blocks in which boundaries of the messages up to `end` are: one
    /// for a message, and for a batch one for each block that it enters.
    #[cold]
    fn enter_blocks(&mut self, end: u64, count: u64) {
        let words = self.region.words();
        let first = Boundary { position: self.position, sequence: self.sequence };
        let end = Boundary { position: end, sequence: first.sequence + count };
        let mut walk = Walk::new(self.layout, as_read_only(words), first);
        while walk.at.sequence + 1 < end.sequence {
            let is_message = match walk.step() {
                Ok(Step::Message) => true,
                Ok(Step::Padding) => false,
                // Another program wrote to the ring: a batch has no skip frame.
                Ok(Step::End | Step::Skip) | Err(_) => break,
            };
            if is_message && walk.at.position >= self.next_block {
                index::store(self.layout, words, walk.at.position, walk.at.sequence);
                self.next_block = self.layout.next_block(walk.at.position);
            }
        }
        if end.position >= self.next_block {
            index::store(self.layout, words, end.position, end.sequence);
            self.next_block = self.layout.next_block(end.position);
        }
    }

    /// The next message, after those that are held back.
    #[inline(always)]
    pub(super) fn next(&self) -> Boundary {
        match &self.held {
            None => Boundary { position: self.position, sequence: self.sequence },
            Some(held) => Boundary { position: held.end, sequence: self.sequence + held.count },
        }
    }
}

impl Publish for Writer {
    type Reader = Reader;
    type Claim<'writer> = Claim<'writer>;
    type Batch<'writer> = Batch<'writer>;

    #[inline(always)]
    fn publish(&mut self, type_id: u16, payload: &[u8]) -> Result<u64, PublishError> {
        if self.holds {
            return self.publish_held(type_id, payload);
        }
        let (gate, end) = self.write((self.position, self.sequence), type_id, payload, None)?;
        Ok(self.open(gate, end, 1))
    }

    #[inline(always)]
    fn claim(&mut self, type_id: u16, length: usize) -> Result<Claim<'_>, PublishError> {
        self.show_held();
        let frame = self.frame(self.position, type_id, length)?;
        Ok(Claim::new(self, frame))
    }

    #[inline]
    fn batch(&mut self) -> Batch<'_> {
        Batch::new(self)
    }

    #[inline]
    fn next_sequence(&self) -> u64 {
        self.next().sequence
    }

    fn skip_to(&mut self, sequence: u64) -> Result<(), PublishError> {
        let next = self.next_sequence();
        if sequence == next {
            return Ok(());
        }
        if !(next..=SEQUENCE_LIMIT).contains(&sequence) {
            return Err(PublishError::Sequence { sequence, next, max: SEQUENCE_LIMIT });
        }
        self.show_held();
        let is_first = self.position == 0;
        let frame = self.frame(self.position, 0, 0)?;
        let gate = self.finish_as(Commit::skip(), &frame, sequence, None);
        self.sequence = sequence;
        self.open(gate, frame.end, 0);
        if is_first {
            // A reader that joins an empty ring at its oldest message has missed nothing.
            index::store(self.layout, self.region.words(), frame.end, sequence);
        }
        Ok(())
    }

    #[inline]
    fn position_bytes(&self) -> u64 {
        self.next().position.saturating_mul(WORD_BYTES as u64)
    }

    fn max_length(&self) -> usize {
        self.layout.max_length() as usize
    }

    fn set_holding(&mut self, holds: bool) {
        self.show_held();
        self.holds = holds;
    }

    #[inline]
    fn show_held(&mut self) {
        if self.held.is_some() {
            self.show_all();
        }
    }

    #[inline]
    fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    fn heartbeat(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        self.region.words()[HEARTBEAT].store(now_ns);
    }

    fn region(&self) -> &OwnedRegion {
        &self.region
    }

    fn reader(&self, start: Start) -> Result<Reader, RingError> {
        Reader::join(self.region.share(), start)
    }
}

/// Room for one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// The position at which readers expect the frame.
    position: u64,
    /// The beginning of the frame: at `position`, or at the beginning of the next lap.
    start: u64,
    /// The position after it.
    pub(super) end: u64,
    /// Bytes of payload.
    pub(super) length: u32,
    type_id: u16,
}

/// Complete batches that are not published yet.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// The gate of the first one.
    gate: Gate,
    /// The position after the last one.
    end: u64,
    /// Number of their messages.
    count: u64,
}

/// The commit word that holds readers back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    word: usize,
    commit: u64,
}

/// Initialises an empty ring in words that are zero.
pub(crate) fn initialise(layout: Layout, words: &[Word]) {
    words[RESERVED].store(layout.block_words());
    for block in 0..Layout::blocks() as u64 {
        index::clear(layout, words, block << layout.block_shift);
    }
    index::store(layout, words, 0, FIRST_SEQUENCE);
}
