//! A reader of a slot ring.
//!
//! Protocol, for message `n`:
//! 1. Load the slot's version ([`SLOT_PUBLISH`]). Less than `2 n`: not there yet. More: lapped.
//! 2. Load the requested part of the slot.
//! 3. Load the version again ([`SLOT_CHANGE`]). If it changed, discard the loaded part.

use std::ops::ControlFlow;

use nanotape_shm::{ReadWord, SharedRegion, WORD_BYTES, copy_out, copy_out_many, prefetch};

use super::layout::{
    COMMITTED, DESCRIPTION, HEADER_WORDS, LIMIT, Layout, SKIPPED, VERSION, written,
};
use crate::{
    Corruption, Gap, Message, Read, ReadError, Received, Rejoin, RingError, Start, StartError,
    Subscribe,
    edges::{SLOT_CHANGE, SLOT_COMMIT, SLOT_PUBLISH},
    waiting::Waiting,
};

/// A reader of batches that are as long as this has no need to rest. Messages that take whole lines
/// need more of them than in the stream ring.
const SHORT_BATCH: u64 = 64;

const CACHE_LINE_WORDS: usize = 8;

/// Limit of slots that a reader of batches follows before it loads `committed`, whose line is
/// stored to for every message: as in the stream ring.
const FOLLOWED: u64 = if cfg!(nanotape_loom) { 2 } else { 16 };

/// One of any number of readers of a slot ring.
#[derive(Clone, Debug)]
pub struct Reader {
    region: SharedRegion,
    layout: Layout,
    /// The sequence number of the next message.
    sequence: u64,
    /// The last loaded value of `committed`.
    committed: u64,
    rejoin: Rejoin,
    waiting: Waiting,
}

impl Reader {
    /// Joins the ring in a region that the caller opened.
    pub fn join(region: SharedRegion, start: Start) -> Result<Self, RingError> {
        let layout = Layout::of(region.spec())?;
        let mut reader = Self {
            region,
            layout,
            sequence: 1,
            committed: 0,
            rejoin: Rejoin::default(),
            waiting: Waiting::new(),
        };
        reader.seek(start)?;
        Ok(reader)
    }

    /// Number of published messages from the reader's next on, if any.
    #[inline(always)]
    fn available(&mut self) -> Option<u64> {
        let known = (self.committed + 1).wrapping_sub(self.sequence);
        if known != 0 && known <= self.layout.slots {
            return Some(known);
        }
        // Locals, because after every ordered load the compiler reloads values behind a reference.
        let (layout, words, next) = (self.layout, self.region.words(), self.sequence);
        let most = FOLLOWED.min(layout.slots);
        for followed in 0..most {
            if !is_there(layout, words, next + followed) {
                return (followed != 0).then_some(followed);
            }
        }
        // SYNC(slots.commit): pairs with the writer's store of `committed`.
        self.committed = words[COMMITTED].observe(SLOT_COMMIT).min(LIMIT);
        let known = (self.committed + 1).wrapping_sub(self.sequence);
        let is_known = known != 0 && known <= self.layout.slots;
        Some(if is_known { known } else { self.follow_on(most) })
    }

    /// Number of messages that are published, but not yet in `committed`: the writer has not stored
    /// it yet, or died before. All of them, because a batch is visible as a whole.
    #[cold]
    fn follow_on(&self, mut followed: u64) -> u64 {
        let (layout, words) = (self.layout, self.region.words());
        while followed < layout.slots && is_there(layout, words, self.sequence + followed) {
            followed += 1;
        }
        followed
    }

    /// After an empty poll: if the reader waits, prefetches the second line of the next message.
    #[inline(always)]
    fn wait(&mut self) {
        if self.waiting.idle(self.sequence) {
            let slot = self.layout.slot(self.sequence);
            prefetch(self.region.words(), slot + CACHE_LINE_WORDS);
        }
    }

    /// There is no message for this reader: not yet, or no longer.
    #[inline]
    fn nothing<T>(&mut self) -> Result<Read<T>, ReadError> {
        let version = self.region.words()[self.layout.slot(self.sequence) + VERSION].load();
        if version <= written(self.sequence) { Ok(Read::Empty) } else { self.lapped() }
    }

    /// The writer lapped the reader: reports the loss, and continues after it.
    #[cold]
    fn lapped<T>(&mut self) -> Result<Read<T>, ReadError> {
        let slot = &self.region.words()[self.layout.slot(self.sequence)..];
        let version = slot[VERSION].load();
        let seen = version.div_ceil(2);
        // Doubling a number beyond `LIMIT` could overflow.
        let is_sound = seen > self.sequence && seen <= LIMIT;
        if !is_sound || !(seen - self.sequence).is_multiple_of(self.layout.slots) {
            return Err(self.damaged(Corruption::Header(version)));
        }
        // The messages being written are ahead of the published ones by at most a batch;
        // `committed` may be an older value than the version.
        let next = (self.committed()? + 1).max((seen + 1).saturating_sub(self.layout.max_batch()));
        let to = self.behind(next, self.rejoin).max(self.sequence + 1);
        self.waiting.lose();
        let gap = Gap { from: self.sequence, to: to - 1 };
        self.sequence = to;
        Ok(Read::Lapped(gap))
    }

    /// The numbers that the writer skipped, from the reader's next one on.
    #[cold]
    fn skipped(&mut self) -> Gap {
        let from = self.sequence;
        while self.sequence - from < self.layout.slots
            && is_there(self.layout, self.region.words(), self.sequence)
        {
            let slot = &self.region.words()[self.layout.slot(self.sequence)..];
            let described = slot[DESCRIPTION].load();
            if described != SKIPPED || !is_unchanged(&slot[VERSION], written(self.sequence)) {
                break;
            }
            self.sequence += 1;
        }
        // The caller has found that the first one is skipped.
        self.sequence = self.sequence.max(from + 1);
        Gap { from, to: self.sequence - 1 }
    }

    /// The number of the last message.
    fn committed(&self) -> Result<u64, ReadError> {
        // SYNC(slots.commit): pairs with the writer's store of `committed`.
        let committed = self.region.words()[COMMITTED].observe(SLOT_COMMIT);
        if committed > LIMIT {
            return Err(self.damaged(Corruption::Counters));
        }
        Ok(committed)
    }

    /// The number of the next published message. `committed` may lag the latest messages, for good
    /// if the writer died: a reader of those may join after them.
    fn next(&self) -> Result<u64, ReadError> {
        let committed = self.committed()?;
        // Only a count, which needs no order: the reader of the message observes the version again.
        let is_there = |&sequence: &u64| {
            let version = &self.region.words()[self.layout.slot(sequence) + VERSION];
            version.load() == written(sequence)
        };
        let most = committed + 1..=committed + self.layout.max_batch();
        Ok(most.take_while(is_there).last().unwrap_or(committed) + 1)
    }

    /// The position of a reader that rejoins; `next` is the next message or the one being written.
    fn behind(&self, next: u64, rejoin: Rejoin) -> u64 {
        let back = match rejoin {
            // The slot of the next message is being overwritten already.
            Rejoin::Oldest => self.layout.slots - 1,
            Rejoin::Halfway => self.layout.slots / 2,
            Rejoin::Newest => 0,
        };
        next.saturating_sub(back).max(1)
    }

    #[cold]
    fn damaged(&self, what: Corruption) -> ReadError {
        if self.region.is_lost() {
            return ReadError::Truncated { sequence: self.sequence };
        }
        let word = self.layout.slot(self.sequence);
        ReadError::Damaged { word, sequence: self.sequence, what }
    }
}

impl Subscribe for Reader {
    #[inline(always)]
    fn try_read(&mut self, buffer: &mut [u8]) -> Result<Read<Received>, ReadError> {
        let given = buffer.len();
        let read = self.try_visit(|message| {
            let received = message.received();
            if let Some(buffer) = buffer.get_mut(..received.length as usize) {
                copy_out(message.payload, buffer);
            }
            received
        })?;
        if let Read::Message(received) = read {
            let needed = received.length as usize;
            if needed > given {
                self.sequence -= 1;
                return Err(ReadError::BufferTooSmall { sequence: self.sequence, needed, given });
            }
        }
        Ok(read)
    }

    #[inline(always)]
    fn try_visit<T>(
        &mut self,
        visit: impl FnOnce(&Message<'_>) -> T,
    ) -> Result<Read<T>, ReadError> {
        let slot =
            &self.region.words()[self.layout.slot(self.sequence)..][..self.layout.slot_words];
        // SYNC(slots.publish): pairs with the writer's store of the version.
        let version = slot[VERSION].observe(SLOT_PUBLISH);
        if version != written(self.sequence) {
            if version > written(self.sequence) {
                return self.lapped();
            }
            self.wait();
            return Ok(Read::Empty);
        }
        let described = slot[DESCRIPTION].load();
        let made = self.layout.described(described).map(|(length, type_id)| {
            let received = Received { sequence: self.sequence, type_id, length };
            let payload = &slot[HEADER_WORDS..][..(length as usize).div_ceil(WORD_BYTES)];
            visit(&Message { payload, received })
        });
        if !is_unchanged(&slot[VERSION], version) {
            return self.lapped();
        }
        let Some(made) = made else {
            return match described {
                SKIPPED => Ok(Read::Lapped(self.skipped())),
                _ => Err(self.damaged(Corruption::Header(described))),
            };
        };
        self.sequence += 1;
        Ok(Read::Message(made))
    }

    #[inline]
    fn read_batch_while(
        &mut self,
        buffer: &mut [u8],
        mut visit: impl FnMut(Received, &[u8]) -> ControlFlow<()>,
    ) -> Result<Read<u64>, ReadError> {
        self.waiting.begin_batch(self.sequence);
        let Some(available) = self.available() else {
            self.wait();
            return self.nothing();
        };
        let slot_bytes = self.layout.slot_words * WORD_BYTES;
        let to_end = self.layout.slots - (self.sequence - 1) % self.layout.slots;
        let count = available.min(to_end).min((buffer.len() / slot_bytes) as u64) as usize;
        if count == 0 {
            let (sequence, given) = (self.sequence, buffer.len());
            return Err(ReadError::BufferTooSmall { sequence, needed: slot_bytes, given });
        }
        let first = self.sequence;
        let slots = &self.region.words()[self.layout.slot(first)..];
        let copies = &mut buffer[..count * slot_bytes];
        copy_out_many(slots, copies);
        // Slots are overwritten in order: if the first is unchanged, all of them are.
        if !is_unchanged(&slots[VERSION], written(self.sequence)) {
            let version = slots[VERSION].load();
            // An older version is damage, since everything up to `committed` was published.
            if version < written(self.sequence) {
                return Err(self.damaged(Corruption::Header(version)));
            }
            return self.lapped();
        }
        for copy in copies.chunks_exact(slot_bytes) {
            let word = |at: usize| {
                copy[at * WORD_BYTES..].first_chunk().map_or(0, |&bytes| u64::from_ne_bytes(bytes))
            };
            let (version, described) = (word(VERSION), word(DESCRIPTION));
            if version != written(self.sequence) {
                return Err(self.damaged(Corruption::Header(version)));
            }
            let Some((length, type_id)) = self.layout.described(described) else {
                if described == SKIPPED && self.sequence == first {
                    return Ok(Read::Lapped(self.skipped()));
                }
                if described == SKIPPED {
                    break;
                }
                return Err(self.damaged(Corruption::Header(described)));
            };
            let received = Received { sequence: self.sequence, type_id, length };
            let flow = visit(received, &copy[HEADER_WORDS * WORD_BYTES..][..length as usize]);
            self.sequence += 1;
            if flow.is_break() {
                break;
            }
        }
        let read = self.sequence - first;
        self.waiting.end_batch(read == available && read < SHORT_BATCH);
        Ok(Read::Message(read))
    }

    #[inline]
    fn next_sequence(&self) -> u64 {
        self.sequence
    }

    #[inline]
    fn position_bytes(&self) -> u64 {
        self.layout.position_bytes(self.sequence)
    }

    fn seek(&mut self, start: Start) -> Result<(), RingError> {
        let next = self.next()?;
        self.sequence = match start {
            Start::Oldest => self.behind(next, Rejoin::Oldest),
            Start::Newest => next,
            Start::Time(_) => return Err(StartError::NoTimes.into()),
            Start::Sequence(0) => return Err(StartError::Zero.into()),
            Start::Sequence(sequence) if sequence > next => {
                return Err(StartError::NotYet { sequence, next }.into());
            }
            Start::Sequence(sequence) => sequence,
        };
        Ok(())
    }

    fn set_rejoin(&mut self, rejoin: Rejoin) {
        self.rejoin = rejoin;
    }

    fn region(&self) -> &SharedRegion {
        &self.region
    }
}

/// Whether nothing loaded from a slot since it had this version can have been overwritten.
#[inline(always)]
fn is_unchanged(slot: &ReadWord, version: u64) -> bool {
    // SYNC(slots.change): pairs with the writer's fence after its store of the odd version.
    SLOT_CHANGE.acquire_fence();
    slot.load() == version
}

/// Whether a message is published and not overwritten.
#[inline(always)]
fn is_there(layout: Layout, words: &[ReadWord], sequence: u64) -> bool {
    // SYNC(slots.publish): pairs with the writer's store of the versions. Ordered at each slot:
    // after the first of a batch all others must be visible.
    words[layout.slot(sequence) + VERSION].observe(SLOT_PUBLISH) == written(sequence)
}
