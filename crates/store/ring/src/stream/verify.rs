//! Checks the whole contents of a stream ring: counters, index, frames, sequence numbers.
//!
//! Protocol: as a reader's that joins. Words that were overwritten during the check are ignored:
//! this is a lap, not damage, and the check continues half a ring after the oldest word.
//! Bounds: it ends at the end of the ring at its start, and allocates one list of the index's
//! entries.

use nanotape_shm::{OwnerState, ReadWord, SharedRegion};

use super::{
    index::{Boundary, GONE},
    join,
    layout::{COMMITTED, ENTRY_WORDS, Layout, RESERVED},
    walk::{Step, Walk},
};
use crate::{
    Corruption, ReadError, Rejoin, RingError, Verified,
    edges::{COMMIT, INDEX, RESERVE},
};

/// Limit of laps during the check, after which it ends with what it has checked.
const TRIES: u64 = 1_000;

/// Checks a ring; see [`RingMonitor::verify`](crate::RingMonitor::verify).
pub(crate) fn verify(region: &SharedRegion) -> Result<Verified, RingError> {
    let layout = Layout::of(region.spec())?;
    // A writer that exited stores nothing more: then the whole contents can be followed to the end.
    let is_written = region.owner().state == OwnerState::Alive;
    let mut check = Check { layout, words: region.words(), verified: Verified::default() };
    let entries = check.index()?;
    let committed = check.counters()?;
    Check::order(&entries, committed)?;
    check.frames(&entries, committed, is_written)?;
    Ok(check.verified)
}

struct Check<'ring> {
    layout: Layout,
    words: &'ring [ReadWord],
    verified: Verified,
}

/// An index entry and its position.
#[derive(Clone, Copy)]
struct Entry {
    word: usize,
    leads_to: Boundary,
}

impl Check<'_> {
    /// Entries that point to existing frames, by position.
    fn index(&mut self) -> Result<Vec<Entry>, ReadError> {
        let mut entries = Vec::with_capacity(Layout::blocks());
        for block in 0..Layout::blocks() as u64 {
            let at = self.layout.entry(block << self.layout.block_shift);
            let entry = &self.words[at..][..ENTRY_WORDS];
            // SYNC(ring.index): pairs with the writer's store of the position.
            let position = entry[0].observe(INDEX);
            let sequence = entry[1].load();
            if position == GONE {
                continue;
            }
            let damaged = |word, what| ReadError::Damaged { word, sequence, what };
            if self.layout.entry(position) != at {
                return Err(damaged(at, Corruption::Position(position)));
            }
            if sequence == 0 {
                return Err(damaged(at + 1, Corruption::Sequence(0)));
            }
            entries.push(Entry { word: at, leads_to: Boundary { position, sequence } });
        }
        // An entry that is being replaced may have its old position with its new number; then its
        // frame is overwritten already.
        // SYNC(ring.reserve): pairs with the writer's fence after its store of `reserved`.
        RESERVE.acquire_fence();
        let oldest = self.words[RESERVED].load().saturating_sub(self.layout.capacity);
        entries.retain(|entry| entry.leads_to.position >= oldest);
        entries.sort_by_key(|entry| entry.leads_to.position);
        self.verified.entries = entries.len() as u64;
        Ok(entries)
    }

    /// Checks that entries point to published frames, and that numbers increase with positions.
    fn order(entries: &[Entry], committed: u64) -> Result<(), ReadError> {
        if let Some(entry) = entries.last().filter(|last| last.leads_to.position > committed) {
            let Boundary { position, sequence } = entry.leads_to;
            let what = Corruption::Position(position);
            return Err(ReadError::Damaged { word: entry.word, sequence, what });
        }
        for pair in entries.windows(2) {
            let (before, after) = (pair[0].leads_to.sequence, pair[1].leads_to.sequence);
            if after <= before {
                let (word, what) = (pair[1].word + 1, Corruption::Sequence(after));
                return Err(ReadError::Damaged { word, sequence: before + 1, what });
            }
        }
        Ok(())
    }

    /// The position up to which everything is published.
    fn counters(&self) -> Result<u64, ReadError> {
        loop {
            // SYNC(ring.commit): pairs with the writer's store of `committed`.
            let committed = self.words[COMMITTED].observe(COMMIT);
            let reserved = self.words[RESERVED].load();
            let ahead = reserved.checked_sub(committed);
            if ahead.is_some_and(|ahead| ahead <= self.layout.capacity) {
                return Ok(committed);
            }
            // Messages published between the two loads must not appear as damage.
            if ahead.is_none() || self.words[COMMITTED].load() == committed {
                let (word, what) = (COMMITTED, Corruption::Counters);
                return Err(ReadError::Damaged { word, sequence: 0, what });
            }
        }
    }

    fn frames(
        &mut self,
        entries: &[Entry],
        committed: u64,
        is_written: bool,
    ) -> Result<(), ReadError> {
        let mut rejoin = Rejoin::Oldest;
        while self.verified.overtaken < TRIES {
            let found = join::rejoin(self.layout, self.words, rejoin)?;
            match found.map(|start| self.stretch(start, entries, committed, is_written)) {
                Some(Ok(true)) => return Ok(()),
                Some(Err(error)) => return Err(error),
                Some(Ok(false)) | None => self.verified.overtaken += 1,
            }
            rejoin = Rejoin::Halfway;
        }
        Ok(())
    }

    /// Follows the frames from one boundary to the end, unless the writer overtakes.
    fn stretch(
        &mut self,
        start: Boundary,
        entries: &[Entry],
        committed: u64,
        is_written: bool,
    ) -> Result<bool, ReadError> {
        let mut walk = Walk::new(self.layout, self.words, start);
        let ahead = entries.partition_point(|entry| entry.leads_to.position < start.position);
        let mut entries = entries[ahead..].iter().peekable();
        self.verified.begin(start.sequence);
        loop {
            let before = walk.at;
            let wrong = entries
                .next_if(|entry| entry.leads_to.position <= before.position)
                .filter(|entry| entry.leads_to != before);
            let step = walk.step();
            // SYNC(ring.reserve): pairs with the writer's fence after its store of `reserved`.
            RESERVE.acquire_fence();
            let reserved = self.words[RESERVED].load();
            if reserved.saturating_sub(before.position) > self.layout.capacity {
                return Ok(false);
            }
            if let Some(&Entry { word, leads_to }) = wrong {
                let (word, what) = match leads_to.position == before.position {
                    true => (word + 1, Corruption::Sequence(leads_to.sequence)),
                    false => (word, Corruption::Position(leads_to.position)),
                };
                return Err(ReadError::Damaged { word, sequence: before.sequence, what });
            }
            let counters_differ = walk.at.position > committed && before.position < committed;
            let damaged = |what| {
                let word = self.layout.word(before.position);
                ReadError::Damaged { word, sequence: before.sequence, what }
            };
            match step? {
                Step::End if before.position < committed => {
                    return Err(damaged(Corruption::Header(0)));
                }
                Step::End => return Ok(true),
                _ if is_written && before.position >= committed => return Ok(true),
                _ if counters_differ || walk.at.position >= reserved => {
                    return Err(damaged(Corruption::Counters));
                }
                Step::Message => self.verified.message(before.sequence),
                Step::Padding => self.verified.paddings += 1,
                Step::Skip => self.verified.skip(walk.at.sequence),
            }
        }
    }
}
