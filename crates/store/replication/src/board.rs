//! The followers of a leader, and how far each is: the region `followers` in the folder of its
//! journal, in shared memory.
//!
//! Layout: `docs/formats/replication.md`, Followers. Where: the process that serves writes it;
//! appenders that wait for followers, and `nanotape journal stat`, read it.
//! Protocol: an acknowledgement counts only with its incarnation; see `acknowledge.rs`.
//! Failure: a reader trusts no word. A wrong number can only make a commit return too early.

use std::path::{Path, PathBuf};

use nanotape_journal::FOLLOWERS;
use nanotape_link::{ClockOffset, NAME_MAX_BYTES};
use nanotape_shm::{
    OwnedRegion, OwnerState, ReadWord, RegionError, RegionOptions, RegionSpec, SharedRegion, Word,
    copy_into, copy_out,
};

use crate::{CopyProgress, FollowerStatus, Term, acknowledge};

/// The kind of the region.
pub const REPLICAS_KIND: [u8; 8] = *b"REPLICAS";

/// Changes whenever the meaning of any of its words changes.
pub const REPLICAS_LAYOUT: u64 = u64::from_be_bytes(*b"replica1");

/// The most followers of a journal.
pub const MOST_FOLLOWERS: usize = 64;

const HEAD_WORDS: usize = 16;
const SLOT_WORDS: usize = 64;

const SPEC: RegionSpec = RegionSpec {
    kind: REPLICAS_KIND,
    layout: REPLICAS_LAYOUT,
    parameters: [0; 4],
    words: HEAD_WORDS + MOST_FOLLOWERS * SLOT_WORDS,
};

/// Words of the head.
mod head {
    pub(super) const EPOCH: usize = 0;
    pub(super) const LEADER: usize = 1;
    pub(super) const NOW: usize = 2;
    pub(super) const NEXT_SEQUENCE: usize = 3;
    pub(super) const DEPOSED_BY: usize = 4;
    pub(super) const REFUSED: usize = 5;
    pub(super) const COUNT: usize = 6;
    pub(super) const BYTES_PER_S: usize = 7;
}

/// Words of a slot.
mod slot {
    pub(super) const NAME: usize = 0;
    pub(super) const STATE: usize = 8;
    pub(super) const SINCE: usize = 9;
    /// The incarnation, the next number, and that of its disk.
    pub(super) const ACKNOWLEDGED: std::ops::Range<usize> = 10..10 + crate::acknowledge::WORDS;
    pub(super) const SENT_NEXT: usize = 13;
    pub(super) const RECEIVED: usize = 14;
    pub(super) const PROGRESSED: usize = 15;
    pub(super) const CONNECTIONS: usize = 16;
    pub(super) const CATCH_UPS: usize = 17;
    pub(super) const IS_LIVE: usize = 18;
    pub(super) const SENT_BYTES: usize = 19;
    pub(super) const OFFSET_LEAST: usize = 20;
    pub(super) const OFFSET_MOST: usize = 21;
    pub(super) const HAS_OFFSET: usize = 22;
    pub(super) const ARRIVED: usize = 23;
    pub(super) const SENT: usize = 24;
    pub(super) const BYTES_PER_S: usize = 25;
    pub(super) const REASON: usize = 32;
    pub(super) const REASON_BYTES: usize = 256;
}

/// Whether a follower is connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// It was named, and has not connected yet.
    Expected,
    /// It is connected.
    Connected,
    /// It was connected.
    Gone,
}

/// What is known of a follower.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaRow {
    /// Its name.
    pub name: String,
    /// Whether it is connected.
    pub presence: Presence,
    /// Since when, in ns since the UNIX epoch.
    pub since_ns: u64,
    /// The incarnation of its last segment.
    pub incarnation: u64,
    /// It has all excerpts before this number; 0: not known yet.
    pub next_sequence: u64,
    /// It has all excerpts before this number on its disk.
    pub on_disk: u64,
    /// All excerpts before this number were sent to it.
    pub sent_next: u64,
    /// When something came from it last, in ns since the UNIX epoch.
    pub received_ns: u64,
    /// When `next_sequence` moved last.
    pub progressed_ns: u64,
    /// Connections so far.
    pub connections: u64,
    /// How often it fell behind after it had everything.
    pub catch_ups: u64,
    /// Whether it has been sent everything.
    pub is_live: bool,
    /// Bytes of excerpts that were sent to it.
    pub sent_bytes: u64,
    /// Bytes of excerpts a second that were sent to it lately.
    pub bytes_per_s: u64,
    /// How far its clock is ahead; `None`: not known.
    pub offset: Option<ClockOffset>,
    /// When its last excerpts were sent by the leader's clock, and arrived by its own.
    pub sent_ns: u64,
    /// The arrival.
    pub arrived_ns: u64,
    /// Why it cannot go on, or why it left; empty if neither.
    pub reason: String,
}

/// The followers of a journal, as the process that serves it writes them.
#[derive(Debug)]
pub struct ReplicasBoard {
    region: OwnedRegion,
}

impl ReplicasBoard {
    /// Creates the region in the folder of a journal. Replaces that of a process that ended.
    pub fn create(journal: &Path, term: Term, mode: u32) -> Result<Self, RegionError> {
        let options = RegionOptions { mode, ..RegionOptions::default() };
        let initialise = |words: &[Word]| {
            words[head::EPOCH].store(term.epoch);
            words[head::LEADER].store(term.leader);
        };
        let path = journal.join(FOLLOWERS);
        let region = match OwnedRegion::replace(&path, SPEC, &options, initialise) {
            Err(error) if error.is_bad_data() => {
                OwnedRegion::replace_zeros(&path, SPEC, &options, initialise)
            }
            created => created,
        };
        Ok(Self { region: region?.0 })
    }

    /// Checks that no other process truncated, removed or replaced the region.
    pub fn check(&self) -> Result<(), RegionError> {
        self.region.check()
    }

    /// The slot of a follower: that with its name, a free one, or that of the one which is gone for
    /// longest; `None` if all are connected or expected.
    pub fn slot(&self, name: &str, now_ns: u64) -> Option<usize> {
        let count = self.region.words()[head::COUNT].as_read_only().load() as usize;
        let shared = self.region.share();
        let known = (0..count.min(MOST_FOLLOWERS))
            .find(|slot| name_of(slot_of(shared.words(), *slot)) == name);
        if known.is_some() {
            return known;
        }
        // One that was gone for longest gives way.
        let gone_since = |slot: &usize| {
            let words = slot_of(shared.words(), *slot);
            (words[slot::STATE].load() == 2).then(|| words[slot::SINCE].load())
        };
        let gone = (0..count).filter(|slot| gone_since(slot).is_some()).min_by_key(gone_since);
        let is_full = count >= MOST_FOLLOWERS;
        let slot = if is_full { gone? } else { count };
        let words = self.words(slot);
        words.iter().for_each(|word| word.store(0));
        let mut bytes = [0; NAME_MAX_BYTES];
        let name = &name.as_bytes()[..name.len().min(NAME_MAX_BYTES)];
        bytes[..name.len()].copy_from_slice(name);
        copy_into(&words[slot::NAME..slot::STATE], &bytes);
        words[slot::SINCE].store(now_ns);
        if !is_full {
            self.region.words()[head::COUNT].store(count as u64 + 1);
        }
        Some(slot)
    }

    /// A follower connects.
    pub fn connected(&self, slot: usize, now_ns: u64) {
        let words = self.words(slot);
        self.store_reason(slot, "");
        let connections = words[slot::CONNECTIONS].as_read_only().load();
        words[slot::CONNECTIONS].store(connections + 1);
        words[slot::SINCE].store(now_ns);
        words[slot::RECEIVED].store(now_ns);
        words[slot::PROGRESSED].store(now_ns);
        words[slot::STATE].store(1);
    }

    /// A follower is no longer connected.
    pub fn gone(&self, slot: usize, reason: &str, now_ns: u64) {
        let words = self.words(slot);
        words[slot::IS_LIVE].store(0);
        words[slot::BYTES_PER_S].store(0);
        words[slot::SINCE].store(now_ns);
        self.store_reason(slot, reason);
        words[slot::STATE].store(2);
    }

    /// Stores how far a follower is. Returns its incarnation, which is `before` in the next call of
    /// the same connection; the first one has `u64::MAX`.
    #[inline]
    pub fn acknowledge(&self, slot: usize, before: u64, status: &FollowerStatus) -> u64 {
        let words = self.words(slot);
        let CopyProgress { incarnation, next_sequence, on_disk, .. } = status.progress;
        let now = [incarnation, next_sequence, on_disk];
        acknowledge::store(&words[slot::ACKNOWLEDGED], before, now);
        incarnation
    }

    /// Stores what else is known of a follower.
    pub fn update(
        &self,
        slot: usize,
        status: &FollowerStatus,
        offset: Option<ClockOffset>,
        [received_ns, progressed_ns, bytes_per_s]: [u64; 3],
    ) {
        let words = self.words(slot);
        let values = [
            (slot::SENT_NEXT, status.sent_next),
            (slot::RECEIVED, received_ns),
            (slot::PROGRESSED, progressed_ns),
            (slot::CATCH_UPS, status.catch_ups),
            (slot::IS_LIVE, u64::from(status.is_live)),
            (slot::SENT_BYTES, status.sent_bytes),
            (slot::BYTES_PER_S, bytes_per_s),
            (slot::ARRIVED, status.progress.arrived_ns),
            (slot::SENT, status.progress.sent_ns),
        ];
        values.into_iter().for_each(|(word, value)| words[word].store(value));
        if let Some(ClockOffset { least_ns, most_ns, .. }) = offset {
            words[slot::OFFSET_LEAST].store(least_ns.cast_unsigned());
            words[slot::OFFSET_MOST].store(most_ns.cast_unsigned());
        }
        words[slot::HAS_OFFSET].store(u64::from(offset.is_some()));
        self.store_reason(slot, &status.progress.trouble);
    }

    /// Stores what is known of the journal: its next number, and how fast it grows.
    pub fn beat(&self, now_ns: u64, next_sequence: u64, bytes_per_s: u64) {
        let words = self.region.words();
        words[head::NEXT_SEQUENCE].store(next_sequence);
        words[head::BYTES_PER_S].store(bytes_per_s);
        words[head::NOW].store(now_ns);
    }

    /// A follower has a later epoch: commits are over.
    pub fn depose(&self, epoch: u64) {
        self.region.words()[head::DEPOSED_BY].store(epoch);
    }

    /// A connection was refused.
    pub fn refuse(&self) {
        let words = self.region.words();
        let refused = words[head::REFUSED].as_read_only().load();
        words[head::REFUSED].store(refused + 1);
    }

    /// The number before which some follower has all excerpts of an incarnation.
    pub fn acknowledged(&self, incarnation: u64) -> u64 {
        let shared = self.region.share();
        let count = shared.words()[head::COUNT].load() as usize;
        let slots = 0..count.min(MOST_FOLLOWERS);
        let words = |slot| &slot_of(shared.words(), slot)[slot::ACKNOWLEDGED];
        let of = |slot| acknowledge::load(words(slot), incarnation, false);
        slots.map(of).max().unwrap_or(0)
    }

    fn words(&self, slot: usize) -> &[Word] {
        &self.region.words()[HEAD_WORDS + slot * SLOT_WORDS..][..SLOT_WORDS]
    }

    fn store_reason(&self, slot: usize, reason: &str) {
        let mut bytes = [0; slot::REASON_BYTES];
        let length = reason.len().min(bytes.len());
        bytes[..length].copy_from_slice(&reason.as_bytes()[..length]);
        copy_into(&self.words(slot)[slot::REASON..][..slot::REASON_BYTES / 8], &bytes);
    }
}

/// What the followers of a journal need: the name of each, and the number of the excerpt that it
/// needs next, as far as it was known last. None of a journal that was never served.
pub fn followers_need(journal: &Path) -> Result<Vec<(String, u64)>, RegionError> {
    if !journal.join(FOLLOWERS).exists() {
        return Ok(Vec::new());
    }
    let rows = ReplicasReader::open(journal)?.rows();
    // One that has not connected yet needs everything.
    Ok(rows.into_iter().map(|row| (row.name, row.next_sequence.max(1))).collect())
}

/// The words of a slot.
fn slot_of(words: &[ReadWord], slot: usize) -> &[ReadWord] {
    &words[HEAD_WORDS + slot * SLOT_WORDS..][..SLOT_WORDS]
}

fn name_of(words: &[ReadWord]) -> String {
    text_of(&words[slot::NAME..slot::STATE])
}

/// Text that ends with a zero, without characters that a terminal would obey.
fn text_of(words: &[ReadWord]) -> String {
    let mut bytes = vec![0; words.len() * 8];
    copy_out(words, &mut bytes);
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.chars().filter(|letter| !letter.is_control()).collect()
}

/// The followers of a journal, as any process reads them.
#[derive(Debug)]
pub struct ReplicasReader {
    region: SharedRegion,
    path: PathBuf,
}

impl ReplicasReader {
    /// Opens the region in the folder of a journal.
    pub fn open(journal: &Path) -> Result<Self, RegionError> {
        let path = journal.join(FOLLOWERS);
        let region = SharedRegion::open_as(&path, SPEC.kind, SPEC.layout, SPEC.words)?;
        Ok(Self { region, path })
    }

    /// Whether the process that serves is alive and the region is still in its place.
    pub fn is_served(&self) -> bool {
        self.region.owner().state == OwnerState::Alive && self.region.check().is_ok()
    }

    /// The file of the region.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The term of the leader.
    pub fn term(&self) -> Term {
        let words = self.region.words();
        Term { epoch: words[head::EPOCH].load(), leader: words[head::LEADER].load() }
    }

    /// The later epoch that replaced this leader; 0: none.
    pub fn deposed_by(&self) -> u64 {
        self.region.words()[head::DEPOSED_BY].load()
    }

    /// Connections that were refused.
    pub fn refused(&self) -> u64 {
        self.region.words()[head::REFUSED].load()
    }

    /// The next number of the journal, the bytes a second by which it grows, and when this was
    /// stored, in ns since the UNIX epoch.
    pub fn journal(&self) -> (u64, u64, u64) {
        let words = self.region.words();
        let word = |at: usize| words[at].load();
        (word(head::NEXT_SEQUENCE), word(head::BYTES_PER_S), word(head::NOW))
    }

    /// The number of followers.
    #[inline]
    pub fn count(&self) -> usize {
        (self.region.words()[head::COUNT].load() as usize).min(MOST_FOLLOWERS)
    }

    /// The number before which a follower has all excerpts of an incarnation, in memory or on its
    /// disk; 0: none of them.
    #[inline]
    pub fn acknowledged(&self, follower: usize, incarnation: u64, on_disk: bool) -> u64 {
        let words = slot_of(self.region.words(), follower);
        acknowledge::load(&words[slot::ACKNOWLEDGED], incarnation, on_disk)
    }

    /// What is known of each follower.
    pub fn rows(&self) -> Vec<ReplicaRow> {
        (0..self.count()).map(|slot| self.row(slot)).collect()
    }

    /// What is known of a follower.
    pub fn row(&self, follower: usize) -> ReplicaRow {
        let words = slot_of(self.region.words(), follower);
        let word = |at: usize| words[at].load();
        let offset = (word(slot::HAS_OFFSET) != 0).then(|| ClockOffset {
            least_ns: word(slot::OFFSET_LEAST).cast_signed(),
            most_ns: word(slot::OFFSET_MOST).cast_signed(),
        });
        ReplicaRow {
            name: name_of(words),
            presence: match word(slot::STATE) {
                0 => Presence::Expected,
                1 => Presence::Connected,
                _ => Presence::Gone,
            },
            since_ns: word(slot::SINCE),
            incarnation: word(slot::ACKNOWLEDGED.start),
            next_sequence: word(slot::ACKNOWLEDGED.start + 1),
            on_disk: word(slot::ACKNOWLEDGED.start + 2),
            sent_next: word(slot::SENT_NEXT),
            received_ns: word(slot::RECEIVED),
            progressed_ns: word(slot::PROGRESSED),
            connections: word(slot::CONNECTIONS),
            catch_ups: word(slot::CATCH_UPS),
            is_live: word(slot::IS_LIVE) != 0,
            sent_bytes: word(slot::SENT_BYTES),
            bytes_per_s: word(slot::BYTES_PER_S),
            offset,
            sent_ns: word(slot::SENT),
            arrived_ns: word(slot::ARRIVED),
            reason: text_of(&words[slot::REASON..][..slot::REASON_BYTES / 8]),
        }
    }
}
