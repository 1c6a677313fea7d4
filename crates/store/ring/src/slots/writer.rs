//! The writer of a slot ring.
//!
//! Protocol, for message `n`:
//! 1. Store the slot's version `2 n - 1` ([`SLOT_PUBLISH`]); all later stores come after it
//!    ([`SLOT_CHANGE`]).
//! 2. Store the payload and its description.
//! 3. Store the version `2 n` ([`SLOT_PUBLISH`]): now readers can see it.
//! 4. Store `committed` ([`SLOT_COMMIT`]) for readers that join, and for those of batches.
//!
//! A batch does 1 and 2 for all of its messages and then 3 from the last to the first. Readers
//! check the first one first, so they see all or nothing.

use nanotape_shm::{OwnedRegion, WORD_BYTES, Word, copy_into, prefetch_for_writing};

use super::{
    layout::{
        COMMITTED, DESCRIPTION, HEADER_WORDS, HEARTBEAT, LIMIT, Layout, SKIPPED, TS_PUBLISH,
        VERSION, description, writing, written,
    },
    reader::Reader,
};
use crate::{
    Batched, Claimed, Corruption, Publish, PublishError, ReadError, RingError, Start,
    edges::{SLOT_CHANGE, SLOT_COMMIT, SLOT_PUBLISH},
};

/// Number of slots that the writer prefetches ahead, the first two lines of each.
const SLOTS_AHEAD: u64 = 2;

const CACHE_LINE_WORDS: usize = 8;

/// The one writer of a slot ring.
#[derive(Debug)]
pub struct Writer {
    region: OwnedRegion,
    layout: Layout,
    /// The sequence number of the next message.
    sequence: u64,
    /// The time that the caller set last.
    now_ns: u64,
}

impl Writer {
    /// The writer of a ring in private memory: for threads, and for tests.
    pub fn on_heap(slots: usize, max_length: usize) -> Result<Self, RingError> {
        let layout = Layout::new(slots, max_length)?;
        Self::resume(OwnedRegion::on_heap(layout.spec()))
    }

    /// Continues in a region that the caller owns, after the last writer's last message.
    pub fn resume(region: OwnedRegion) -> Result<Self, RingError> {
        let layout = Layout::of(region.spec())?;
        let sequence = recover(layout, region.words())?;
        Ok(Self { region, layout, sequence, now_ns: 0 })
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

    /// Begins to overwrite a slot.
    #[inline(always)]
    fn open(&self, sequence: u64, type_id: u16, length: usize) -> Result<&[Word], PublishError> {
        let max = self.max_length();
        if length > max {
            return Err(PublishError::TooLong { length, max });
        }
        let words = self.region.words();
        prefetch_for_writing(words, self.layout.slot(sequence + SLOTS_AHEAD));
        prefetch_for_writing(words, self.layout.slot(sequence + SLOTS_AHEAD) + CACHE_LINE_WORDS);
        let slot = &words[self.layout.slot(sequence)..][..self.layout.slot_words];
        // SYNC(slots.publish): a reader that sees the change also sees the previous `committed`.
        slot[VERSION].publish(writing(sequence), SLOT_PUBLISH);
        // SYNC(slots.change): pairs with the fence before a reader's second load of the version.
        SLOT_CHANGE.release_fence();
        slot[DESCRIPTION].store(description(length as u32, type_id));
        Ok(&slot[HEADER_WORDS..][..length.div_ceil(WORD_BYTES)])
    }

    #[inline(always)]
    fn write(&self, sequence: u64, type_id: u16, payload: &[u8]) -> Result<(), PublishError> {
        copy_into(self.open(sequence, type_id, payload.len())?, payload);
        Ok(())
    }

    #[inline(always)]
    fn show(&self, sequence: u64) {
        let version = &self.region.words()[self.layout.slot(sequence) + VERSION];
        // SYNC(slots.publish): pairs with a reader's first load of the version.
        version.publish(written(sequence), SLOT_PUBLISH);
    }

    /// Stores the last message for readers that join; returns the first new sequence number.
    #[inline(always)]
    fn commit(&mut self, count: u64) -> u64 {
        let first = self.sequence;
        self.sequence += count;
        let words = self.region.words();
        words[TS_PUBLISH].store(self.now_ns);
        // SYNC(slots.commit): pairs with the load of `committed` by readers that join.
        words[COMMITTED].publish(self.sequence - 1, SLOT_COMMIT);
        first
    }
}

impl Publish for Writer {
    type Reader = Reader;
    type Claim<'writer> = Claim<'writer>;
    type Batch<'writer> = Batch<'writer>;

    #[inline(always)]
    fn publish(&mut self, type_id: u16, payload: &[u8]) -> Result<u64, PublishError> {
        let sequence = self.sequence;
        self.write(sequence, type_id, payload)?;
        self.show(sequence);
        Ok(self.commit(1))
    }

    #[inline]
    fn claim(&mut self, type_id: u16, length: usize) -> Result<Claim<'_>, PublishError> {
        let sequence = self.sequence;
        let payload = self.open(sequence, type_id, length)?;
        // Clears the rest of the last word, which could be from an older message.
        if let Some(last) = payload.last() {
            last.store(0);
        }
        Ok(Claim { writer: self, length })
    }

    #[inline]
    fn batch(&mut self) -> Batch<'_> {
        Batch { writer: self, count: 0 }
    }

    #[inline]
    fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// Marks the slots of the skipped numbers, each at most once, as batches: a writer that takes
    /// the ring over then finds the end of them.
    fn skip_to(&mut self, sequence: u64) -> Result<(), PublishError> {
        let next = self.sequence;
        if !(next..=LIMIT).contains(&sequence) {
            return Err(PublishError::Sequence { sequence, next, max: LIMIT });
        }
        self.sequence = next.max(sequence.saturating_sub(self.layout.slots));
        while self.sequence < sequence {
            let end = sequence.min(self.sequence + self.layout.max_batch());
            for skipped in self.sequence..end {
                self.open(skipped, 0, 0)?;
                let slot = self.layout.slot(skipped);
                self.region.words()[slot + DESCRIPTION].store(SKIPPED);
            }
            (self.sequence..end).rev().for_each(|skipped| self.show(skipped));
            self.commit(end - self.sequence);
        }
        Ok(())
    }

    #[inline]
    fn position_bytes(&self) -> u64 {
        self.layout.position_bytes(self.sequence)
    }

    fn max_length(&self) -> usize {
        self.layout.max_length as usize
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

/// Room for one message in the ring's own memory. Dropping it discards the message.
#[derive(Debug)]
#[must_use = "a claim that is dropped publishes nothing"]
pub struct Claim<'writer> {
    writer: &'writer mut Writer,
    length: usize,
}

impl Claimed for Claim<'_> {
    #[inline]
    fn publish(self) -> u64 {
        self.writer.show(self.writer.sequence);
        self.writer.commit(1)
    }

    #[inline]
    fn payload(&self) -> &[Word] {
        let first = self.writer.layout.slot(self.writer.sequence) + HEADER_WORDS;
        &self.writer.region.words()[first..][..self.length.div_ceil(WORD_BYTES)]
    }

    #[inline]
    fn len(&self) -> usize {
        self.length
    }
}

/// A batch in progress. Dropping it discards its messages.
#[derive(Debug)]
#[must_use = "a batch that is dropped publishes nothing"]
pub struct Batch<'writer> {
    writer: &'writer mut Writer,
    count: u64,
}

impl Batched for Batch<'_> {
    #[inline(always)]
    fn push(&mut self, type_id: u16, payload: &[u8]) -> Result<(), PublishError> {
        if self.count == self.writer.layout.max_batch() {
            return Err(PublishError::BatchFull { length: payload.len() });
        }
        self.writer.write(self.writer.sequence + self.count, type_id, payload)?;
        self.count += 1;
        Ok(())
    }

    fn len(&self) -> u64 {
        self.count
    }

    #[inline]
    fn publish(self) -> u64 {
        if self.count == 0 {
            return self.writer.sequence;
        }
        for sequence in (self.writer.sequence..self.writer.sequence + self.count).rev() {
            self.writer.show(sequence);
        }
        self.writer.commit(self.count)
    }
}

/// Finds the next sequence number, and removes the dead writer's versions of an unpublished batch:
/// they would let readers take its messages for those that the new writer is about to publish.
fn recover(layout: Layout, words: &[Word]) -> Result<u64, RingError> {
    let damaged = |what| ReadError::Damaged { word: COMMITTED, sequence: 0, what };
    let committed = words[COMMITTED].load();
    if committed > LIMIT {
        return Err(damaged(Corruption::Counters).into());
    }
    let version = |sequence| &words[layout.slot(sequence) + VERSION];
    if committed > 0 && version(committed).load() != written(committed) {
        return Err(damaged(Corruption::Index).into());
    }
    let mut last = committed;
    // Messages published after `committed` when the writer died: at most a batch.
    while last < committed + layout.max_batch() && version(last + 1).load() == written(last + 1) {
        last += 1;
    }
    for sequence in last + 1..=last + layout.slots {
        let version = version(sequence);
        if version.load() >= writing(sequence) {
            // SYNC(slots.publish): as the writer's.
            version.publish(writing(sequence), SLOT_PUBLISH);
        }
    }
    // SYNC(slots.commit): as the writer's.
    words[COMMITTED].publish(last, SLOT_COMMIT);
    Ok(last + 1)
}
