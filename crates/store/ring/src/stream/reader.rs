//! A reader of a stream ring: it writes nothing, and gets the exact range of the messages that it
//! missed.
//!
//! Protocol, for the frame at the reader's position:
//! 1. Load the commit word ([`PUBLISH`]). Zero: no frame yet.
//! 2. Load the requested part of the frame.
//! 3. Load `reserved` ([`RESERVE`]). If it is more than a ring ahead of the position, discard the
//!    loaded part, which may be overwritten: the reader was lapped.
//!
//! So a message costs the lines of its frame, which come from the writer's core; the line of
//! `reserved` changes once per block. A reader of batches follows commit words for a few frames,
//! and loads `committed` ([`COMMIT`]) if there are more; it validates all of them with one load of
//! `reserved`. If `committed` lags, because its writer died before it stored it, the reader follows
//! all frames.
//!
//! A poll that finds nothing pauses, and prefetches the other lines of the expected message; a
//! reader just behind a fast writer rests. Both only on processors on which that helps
//! ([`Waiting`]).
//! Failure: everything in the region is checked before use. A value that no writer stores is
//! [`ReadError::Damaged`].

use std::ops::ControlFlow;

use nanotape_shm::{ReadWord, SharedRegion, WORD_BYTES, copy_out, copy_out_many, prefetch};

use super::{
    frame::{Commit, HEADER_WORDS, frame_words},
    index::{Boundary, SEQUENCE_LIMIT},
    join,
    layout::{COMMITTED, Layout, RESERVED},
};
use crate::{
    Corruption, Gap, Message, Read, ReadError, Received, Rejoin, RingError, Start, Subscribe,
    edges::{COMMIT, PUBLISH, RESERVE},
    waiting::Waiting,
};

/// Limit of frames that a reader of batches follows before it loads `committed`. The line of
/// `committed` is stored to for every message: a reader with a small lag that loaded it at each
/// poll would slow the writer to a third (bench: ring/stream/throughput/lossless-batch-read).
const FOLLOWED: u64 = if cfg!(nanotape_loom) { 2 } else { 16 };

/// A reader of batches that are as long as this has no need to rest.
const SHORT_BATCH: u64 = 32;

const CACHE_LINE_WORDS: usize = 8;

/// One of any number of readers of a stream ring.
#[derive(Clone, Debug)]
pub struct Reader {
    region: SharedRegion,
    layout: Layout,
    /// The position of the next frame.
    position: u64,
    /// The sequence number of the next message.
    sequence: u64,
    /// The last loaded value of `committed`.
    committed: u64,
    rejoin: Rejoin,
    /// Words of the last message.
    last_words: u64,
    waiting: Waiting,
}

/// The content at a reader's position, not yet validated.
enum Content<'ring> {
    Nothing,
    /// Numbers were skipped, up to this one.
    Skip {
        next: u64,
    },
    Frame {
        message: Message<'ring>,
        end: u64,
    },
}

impl Reader {
    /// Joins the ring in a region that the caller opened.
    pub fn join(region: SharedRegion, start: Start) -> Result<Self, RingError> {
        let layout = Layout::of(region.spec())?;
        let Boundary { position, sequence } = join::find(layout, region.words(), start)?;
        Ok(Self {
            region,
            layout,
            position,
            sequence,
            committed: 0,
            rejoin: Rejoin::default(),
            last_words: HEADER_WORDS,
            waiting: Waiting::new(),
        })
    }

    /// Passes the frames in a copy of the ring from the reader's position on to the visitor, and
    /// moves past them. `all`: the copy ends at the end of the published part, and so at the end of
    /// a frame.
    #[inline(always)]
    fn show(
        &mut self,
        copy: &[u8],
        all: bool,
        visit: &mut impl FnMut(Received, &[u8]) -> ControlFlow<()>,
    ) -> Result<Read<u64>, ReadError> {
        let first = self.sequence;
        let mut rest = copy;
        while let Some((commit, behind)) = rest.split_first_chunk::<WORD_BYTES>() {
            let commit = u64::from_ne_bytes(*commit);
            let (length, type_id) = match Commit::decode(commit) {
                Ok(Commit::Message { length, type_id }) => (length, type_id),
                Ok(Commit::Skip) if !self.layout.holds(self.position, 0) => {
                    return Err(self.damaged(Corruption::Header(commit)));
                }
                Ok(Commit::Skip) if self.sequence == first => {
                    let next = behind.first_chunk().map(|&next| u64::from_ne_bytes(next));
                    return match next {
                        Some(next) => self.skip(next).map(Read::Lapped),
                        None => Err(self.too_small(copy.len())),
                    };
                }
                // The next read reports it.
                Ok(Commit::Skip) => return Ok(Read::Message(self.sequence - first)),
                _ => {
                    self.skip_padding(commit)?;
                    return Ok(Read::Message(self.sequence - first));
                }
            };
            if !self.layout.holds(self.position, length) {
                return Err(self.damaged(Corruption::Length(length)));
            }
            let Some((sequence, payload)) = behind.split_first_chunk::<WORD_BYTES>() else { break };
            let padded = frame_words(length) as usize * WORD_BYTES - 2 * WORD_BYTES;
            let Some((payload, next)) = payload.split_at_checked(padded) else { break };
            let received = Received { sequence: u64::from_ne_bytes(*sequence), type_id, length };
            self.check_sequence(received)?;
            let flow = visit(received, &payload[..length as usize]);
            self.advance(self.position + frame_words(length));
            if flow.is_break() {
                return Ok(Read::Message(self.sequence - first));
            }
            rest = next;
        }
        if all && !rest.is_empty() {
            return Err(self.damaged(Corruption::Counters));
        }
        if self.sequence == first {
            return Err(self.too_small(copy.len()));
        }
        Ok(Read::Message(self.sequence - first))
    }

    /// Reads the reader's position; skips padding.
    #[inline(always)]
    fn peek(&mut self) -> Result<Content<'_>, ReadError> {
        loop {
            let at = self.layout.word(self.position);
            // SYNC(ring.publish): pairs with the writer's store of the commit word.
            let commit = self.region.words()[at].observe(PUBLISH);
            match Commit::decode(commit) {
                Ok(Commit::Message { length, type_id })
                    if self.layout.holds(self.position, length) =>
                {
                    let words = &self.region.words()[at..][..frame_words(length) as usize];
                    let (header, payload) = words.split_at(HEADER_WORDS as usize);
                    let received = Received { sequence: header[1].load(), type_id, length };
                    let message = Message { payload, received };
                    return Ok(Content::Frame {
                        message,
                        end: self.position + frame_words(length),
                    });
                }
                Ok(Commit::Nothing) => {
                    self.wait(at);
                    return Ok(Content::Nothing);
                }
                Ok(Commit::Skip) if self.layout.holds(self.position, 0) => {
                    return Ok(Content::Skip { next: self.region.words()[at + 1].load() });
                }
                // Not a word of this lap.
                _ if !self.is_whole() => return Ok(Content::Nothing),
                Ok(Commit::Message { length, .. }) => {
                    return Err(self.damaged(Corruption::Length(length)));
                }
                _ => self.skip_padding(commit)?,
            }
        }
    }

    /// Number of published words from the reader's position on, if any: whole frames.
    #[inline(always)]
    fn available(&mut self) -> Option<u64> {
        let known = self.committed.wrapping_sub(self.position);
        if known != 0 && known <= self.layout.capacity {
            return Some(known);
        }
        // Locals, because after every ordered load the compiler reloads values behind a reference.
        let (layout, words) = (self.layout, self.region.words());
        let mut end = self.position;
        for _ in 0..FOLLOWED {
            let Some(next) = follow(layout, words, end) else {
                let followed = end - self.position;
                return (followed != 0).then_some(followed);
            };
            end = next;
        }
        // SYNC(ring.commit): pairs with the writer's store of `committed`.
        self.committed = words[COMMITTED].observe(COMMIT);
        let known = self.committed.wrapping_sub(self.position);
        let is_known = known != 0 && known <= self.layout.capacity;
        Some(if is_known { known } else { self.follow_on(end) })
    }

    /// The end of the frames that are published, but not yet in `committed`: the writer has not
    /// stored it yet, or died before. All of them, because a batch is visible as a whole.
    #[cold]
    fn follow_on(&self, mut end: u64) -> u64 {
        let limit = self.position.saturating_add(self.layout.capacity);
        while end < limit
            && let Some(next) = follow(self.layout, self.region.words(), end)
        {
            end = next;
        }
        end - self.position
    }

    /// Whether nothing that was loaded from the reader's position on can have been overwritten.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        // SYNC(ring.reserve): pairs with the writer's fence after its store of `reserved`.
        RESERVE.acquire_fence();
        let reserved = self.region.words()[RESERVED].load();
        reserved.wrapping_sub(self.position) <= self.layout.capacity
    }

    #[inline(always)]
    fn check_sequence(&self, received: Received) -> Result<(), ReadError> {
        if received.sequence == self.sequence {
            return Ok(());
        }
        Err(self.damaged(Corruption::Sequence(received.sequence)))
    }

    /// After an empty poll of a word: if the reader waits, prefetches the lines after it that a
    /// message as long as the last one has.
    #[inline(always)]
    fn wait(&mut self, at: usize) {
        if self.waiting.idle(self.sequence) {
            prefetch(self.region.words(), at + CACHE_LINE_WORDS);
            prefetch(self.region.words(), at + self.last_words as usize - 1);
        }
    }

    /// Moves past a message.
    #[inline(always)]
    fn advance(&mut self, end: u64) {
        self.last_words = end - self.position;
        self.position = end;
        self.sequence += 1;
    }

    /// Moves past a skip frame, which was loaded whole.
    #[cold]
    fn skip(&mut self, next: u64) -> Result<Gap, ReadError> {
        if next <= self.sequence || next > SEQUENCE_LIMIT {
            return Err(self.damaged(Corruption::Sequence(next)));
        }
        let gap = Gap { from: self.sequence, to: next - 1 };
        (self.position, self.sequence) = (self.position + HEADER_WORDS, next);
        Ok(gap)
    }

    /// Moves to the beginning of the ring if the commit word is padding; any other word is damage.
    #[cold]
    fn skip_padding(&mut self, commit: u64) -> Result<(), ReadError> {
        // There is never padding at the beginning, so the loop ends.
        if commit != Commit::padding() || self.layout.place(self.position) == 0 {
            return Err(self.damaged(Corruption::Header(commit)));
        }
        self.position = self.layout.next_lap(self.position);
        Ok(())
    }

    /// There is no message at the reader's position: not yet, or no longer.
    #[inline]
    fn nothing<T>(&mut self) -> Result<Read<T>, ReadError> {
        if self.is_whole() { Ok(Read::Empty) } else { self.lapped() }
    }

    /// There is no message at the reader's position, but a skip frame: reports the numbers.
    #[cold]
    fn skipped<T>(&mut self, next: u64) -> Result<Read<T>, ReadError> {
        if self.is_whole() { self.skip(next).map(Read::Lapped) } else { self.lapped() }
    }

    /// The writer lapped the reader: reports the loss, and continues after it.
    #[cold]
    fn lapped<T>(&mut self) -> Result<Read<T>, ReadError> {
        if self.region.is_lost() {
            return Err(ReadError::Truncated { sequence: self.sequence });
        }
        if self.region.words()[RESERVED].load() < self.position {
            return Err(self.damaged(Corruption::Counters));
        }
        let Some(at) = join::rejoin(self.layout, self.region.words(), self.rejoin)? else {
            // Overtaken at every attempt. The reader keeps its position, and the next read retries.
            return Ok(Read::Empty);
        };
        if at.sequence <= self.sequence {
            return Err(self.damaged(Corruption::Sequence(at.sequence)));
        }
        self.waiting.lose();
        let gap = Gap { from: self.sequence, to: at.sequence - 1 };
        (self.position, self.sequence) = (at.position, at.sequence);
        Ok(Read::Lapped(gap))
    }

    #[cold]
    fn damaged(&self, what: Corruption) -> ReadError {
        if self.region.is_lost() {
            return ReadError::Truncated { sequence: self.sequence };
        }
        let word = self.layout.word(self.position);
        ReadError::Damaged { word, sequence: self.sequence, what }
    }

    #[cold]
    fn too_small(&self, given: usize) -> ReadError {
        let commit = self.region.words()[self.layout.word(self.position)].load();
        let needed = match Commit::decode(commit) {
            Ok(Commit::Message { length, .. }) => frame_words(length) as usize * WORD_BYTES,
            _ => HEADER_WORDS as usize * WORD_BYTES,
        };
        ReadError::BufferTooSmall { sequence: self.sequence, needed, given }
    }
}

impl Subscribe for Reader {
    #[inline(always)]
    fn try_read(&mut self, buffer: &mut [u8]) -> Result<Read<Received>, ReadError> {
        let (message, end) = match self.peek()? {
            Content::Frame { message, end } => (message, end),
            Content::Nothing => return self.nothing(),
            Content::Skip { next } => return self.skipped(next),
        };
        let Message { payload, received } = message;
        let (needed, given) = (received.length as usize, buffer.len());
        if let Some(buffer) = buffer.get_mut(..needed) {
            copy_out(payload, buffer);
        }
        if !self.is_whole() {
            return self.lapped();
        }
        self.check_sequence(received)?;
        if needed > given {
            return Err(ReadError::BufferTooSmall { sequence: self.sequence, needed, given });
        }
        self.advance(end);
        Ok(Read::Message(received))
    }

    #[inline]
    fn try_visit<T>(
        &mut self,
        visit: impl FnOnce(&Message<'_>) -> T,
    ) -> Result<Read<T>, ReadError> {
        let (message, end) = match self.peek()? {
            Content::Frame { message, end } => (message, end),
            Content::Nothing => return self.nothing(),
            Content::Skip { next } => return self.skipped(next),
        };
        let received = message.received;
        let made = visit(&message);
        if !self.is_whole() {
            return self.lapped();
        }
        self.check_sequence(received)?;
        self.advance(end);
        Ok(Read::Message(made))
    }

    #[inline]
    fn read_batch_while(
        &mut self,
        buffer: &mut [u8],
        mut visit: impl FnMut(Received, &[u8]) -> ControlFlow<()>,
    ) -> Result<Read<u64>, ReadError> {
        self.waiting.begin_batch(self.sequence);
        loop {
            let Some(available) = self.available() else {
                self.wait(self.layout.word(self.position));
                return self.nothing();
            };
            let first = self.position;
            let to_end = self.layout.capacity - self.layout.place(first);
            let published = available.min(to_end);
            let words = published.min((buffer.len() / WORD_BYTES) as u64);
            let copy = &mut buffer[..words as usize * WORD_BYTES];
            copy_out_many(&self.region.words()[self.layout.word(self.position)..], copy);
            if !self.is_whole() {
                return self.lapped();
            }
            match self.show(copy, words == published, &mut visit)? {
                // Only padding: the requested frames are at the beginning of the ring.
                Read::Message(0) => continue,
                Read::Message(count) => {
                    let is_all = self.position == first + available;
                    self.waiting.end_batch(is_all && count < SHORT_BATCH);
                    return Ok(Read::Message(count));
                }
                skipped => return Ok(skipped),
            }
        }
    }

    #[inline]
    fn next_sequence(&self) -> u64 {
        self.sequence
    }

    #[inline]
    fn position_bytes(&self) -> u64 {
        self.position.saturating_mul(WORD_BYTES as u64)
    }

    fn seek(&mut self, start: Start) -> Result<(), RingError> {
        let at = join::find(self.layout, self.region.words(), start)?;
        (self.position, self.sequence) = (at.position, at.sequence);
        Ok(())
    }

    fn set_rejoin(&mut self, rejoin: Rejoin) {
        self.rejoin = rejoin;
    }

    fn region(&self) -> &SharedRegion {
        &self.region
    }
}

/// The end of the frame at a position, if it is published.
#[inline(always)]
fn follow(layout: Layout, words: &[ReadWord], at: u64) -> Option<u64> {
    // SYNC(ring.publish): pairs with the writer's store of the commit words. Ordered at each frame:
    // after the first of a batch all others must be visible.
    match Commit::decode(words[layout.word(at)].observe(PUBLISH)) {
        Ok(Commit::Message { length, .. }) if layout.holds(at, length) => {
            Some(at + frame_words(length))
        }
        Ok(Commit::Padding) => Some(layout.next_lap(at)),
        Ok(Commit::Skip) if layout.holds(at, 0) => Some(at + HEADER_WORDS),
        _ => None,
    }
}
