//! Writes a copy of a journal: the words that a [`Copier`](super::Copier) reads.
//!
//! Protocol: as an appender, it holds the lock of the journal and that of its last segment, and
//! recovers what a killed process or a loss of power left. It never begins an incarnation and never
//! ends a segment by itself: only its source does. Excerpts that arrive together become visible
//! together: the first commit word is stored last.
//! Failure: words that are not the next ones of the journal change nothing.

use std::path::Path;

use nanotape_shm::{WORD_BYTES, Word, as_read_only, copy_into};

use super::{ContentDigest, CopyState, SegmentHead, ahead::Ahead};
use crate::{
    Corruption, ErrorKind, JournalError, Position, Quarantined, Recovery,
    appender::{
        prepare::{Plan, Prepared, prepare_as},
        sync::Syncer,
    },
    companion::REPLICA,
    disk::{Disk, FileLock, Folder, Preallocation, Whereabouts, WritableFile as _},
    names::{self, Files},
    recovery, rewind,
    segment::{
        excerpt::{Kind, MAX_LENGTH, excerpt_words},
        header::hints,
        layout::at::BOOT,
        view::Place,
        writer::SegmentWriter,
    },
};

/// Words that are brought into memory at a time, ahead of the next excerpt.
const TOUCH_WORDS: usize = 1 << 16;

/// The one writer of a copy.
#[derive(Debug)]
pub struct Replica<D: Disk = Folder> {
    disk: D,
    state: CopyState,
    /// `None` before the first segment, and after an end mark.
    writer: Option<SegmentWriter<D::Writable>>,
    segment_lock: FileLock,
    syncer: Syncer,
    /// The word before which pages are in memory.
    touched: usize,
    /// What arrived, as words.
    arrived: Vec<Word>,
    recovery: Recovery,
    boot: u64,
    /// Whether a thread creates the file of the next segment.
    prepares: bool,
    ahead: Option<Ahead<D>>,
    lock: Option<D::Lock>,
}

impl Replica<Folder> {
    /// Opens a journal to write a copy to it. Creates its folder if it does not exist, but not the
    /// parent folders. Files get these permission bits.
    pub fn open(path: &Path, mode: u32) -> Result<Self, JournalError> {
        Self::open_on(Folder::new(path, mode).with_large_pages())
    }
}

impl<D: Disk> Replica<D> {
    /// As [`open`](Self::open), on the given disk.
    pub fn open_on(disk: D) -> Result<Self, JournalError> {
        let folder = disk.path("");
        disk.make().map_err(JournalError::system(&folder, "make"))?;
        disk.sync_parent().map_err(JournalError::system(&folder, "sync the name of"))?;
        let files = Files::list(&disk)?;
        if !files.is_empty && !files.is_journal {
            return Err(JournalError::new(folder, ErrorKind::NotAJournal));
        }
        let lock = disk.lock()?;
        Self::resume(disk, lock)
    }

    fn resume(disk: D, lock: D::Lock) -> Result<Self, JournalError> {
        let found = recovery::recover_copy(&disk)?;
        let state = CopyState::of(&disk)?;
        Ok(Self {
            boot: disk.boot(),
            prepares: false,
            ahead: None,
            state,
            writer: found.writer,
            segment_lock: found.segment_lock,
            syncer: Syncer::default(),
            touched: 0,
            arrived: Vec::new(),
            recovery: found.report,
            disk,
            lock: Some(lock),
        })
    }

    /// Lets a thread create the file of each next segment, so that a roll of the source does not
    /// wait for it here.
    pub fn prepare_ahead(&mut self) {
        self.prepares = true;
    }

    /// Marks the journal as a copy, so that an appender refuses it: before anything is changed.
    pub fn mark(&self) -> Result<(), JournalError> {
        let failed = JournalError::system(self.disk.path(REPLICA), "write");
        if Files::list(&self.disk)?.is_copy {
            return Ok(());
        }
        self.disk.write(REPLICA, b"").and_then(|()| self.disk.sync_names()).map_err(failed)
    }

    /// Checks, with system calls, that the files of the copy are in their place: what is written
    /// to a file without a name is lost.
    pub fn check_place(&self) -> Result<(), JournalError> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let name = names::segment(self.state.end.segment);
        match self.disk.whereabouts(&name, writer.file()) {
            Whereabouts::InPlace => Ok(()),
            _ => Err(JournalError::new(self.disk.path(&name), ErrorKind::Gone)),
        }
    }

    /// What the copy has.
    pub fn state(&self) -> &CopyState {
        &self.state
    }

    /// The report of the recovery at opening.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Begins a segment: the one after the last, which has ended.
    pub fn begin(&mut self, head: &SegmentHead) -> Result<(), JournalError> {
        let (number, journal) = (head.number(), head.journal());
        let is_next = match self.state.heads.last() {
            None => true,
            Some(last) => {
                self.writer.is_none() && number == last.number + 1 && journal == self.state.journal
            }
        };
        let path = self.disk.path(&names::segment(number));
        let position = Position { segment: number, offset_bytes: 0 };
        let damaged = |damage| JournalError::new(&path, ErrorKind::Arrived { position, damage });
        if !is_next {
            return Err(damaged(Corruption::Stranger { number, journal }));
        }
        let (found, least) = (head.first_sequence(), self.state.next_sequence);
        // A segment of another incarnation gives numbers again only after a rewind.
        if found < least {
            return Err(damaged(Corruption::Sequence { found, least }));
        }
        let plan = Plan {
            journal,
            layout: head.header.layout,
            cycle_ns: head.header.cycle_ns,
            space: Preallocation::Reserved,
        };
        let bytes = plan.layout.segment_bytes();
        let blank = self.ahead.take().and_then(|ahead| ahead.take(bytes));
        let touched = blank.as_ref().map_or(0, |blank| blank.touched);
        let blank = blank.map(|blank| blank.file);
        let Prepared { file, header, lock } = prepare_as(&self.disk, &plan, head.header, blank)?;
        self.ahead = self.prepares.then(|| Ahead::start(&self.disk, bytes));
        hints::store_boot(file.words(), self.boot);
        head.store(file.words());
        let place = Place {
            at: header.layout.data,
            sequence: head.activation.first_sequence,
            max_ts: head.activation.max_ts_before,
        };
        self.writer = Some(SegmentWriter::resume(file, header, &head.activation, place));
        self.segment_lock = lock;
        self.touched = touched;
        self.state.journal = journal;
        self.state.heads.push(head.digest());
        self.state.incarnation = head.incarnation();
        self.state.end = Position::at(number, place.at);
        (self.state.is_ended, self.state.digest) = (false, ContentDigest::default());
        self.state.next_sequence = place.sequence;
        Ok(())
    }

    /// Gives a segment that the copy has the incarnation that it has at its source. A compressed
    /// segment keeps its own.
    pub fn correct(&mut self, head: &SegmentHead) -> Result<(), JournalError> {
        let digest = head.digest();
        let known = self.state.heads.iter_mut().find(|known| known.number == digest.number);
        let Some(known) = known.filter(|known| known.identity == digest.identity) else {
            return Ok(());
        };
        let name = names::segment(digest.number);
        for (word, value) in head.incarnation_words() {
            match self.disk.store(&name, word, value) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
                stored => stored.map_err(JournalError::system(self.disk.path(&name), "write"))?,
            }
        }
        *known = digest;
        if digest.number == self.state.end.segment {
            self.state.incarnation = head.incarnation();
        }
        Ok(())
    }

    /// Bytes of excerpts for which the last segment has room; 0 if it has ended.
    pub fn room_bytes(&self) -> u64 {
        let room_of = |writer: &SegmentWriter<_>| {
            let words = writer.layout().words.saturating_sub(writer.place().at);
            (words * WORD_BYTES) as u64
        };
        self.writer.as_ref().map_or(0, room_of)
    }

    /// Appends whole excerpts at a position, which must be the end of the copy.
    pub fn append(&mut self, position: Position, bytes: &[u8]) -> Result<(), JournalError> {
        let Some(writer) = self.writer.as_mut().filter(|_| position == self.state.end) else {
            let problem = ErrorKind::NotNext { position, end: self.state.end };
            let name = names::segment(position.segment);
            return Err(JournalError::new(self.disk.path(&name), problem));
        };
        let words = bytes.len().div_ceil(8);
        if self.arrived.len() < words {
            self.arrived.resize_with(words.next_power_of_two(), || Word::new(0));
        }
        let arrived = &self.arrived[..words];
        copy_into(arrived, bytes);
        let at = writer.place().at;
        if at + words > self.touched {
            let to = (at + words + TOUCH_WORDS).min(writer.layout().words);
            writer.file().touch(self.touched.max(at)..to);
            self.touched = to;
        }
        let copied = writer.copy(as_read_only(arrived));
        let is_ended = copied.map_err(|(word, damage)| {
            let name = names::segment(position.segment);
            let position = Position::at(position.segment, word);
            JournalError::new(self.disk.path(&name), ErrorKind::Arrived { position, damage })
        })?;
        let place = *writer.place();
        let mut at = 0;
        while let Some(excerpt) = arrived.get(at..).filter(|rest| !rest.is_empty()) {
            let excerpt = as_read_only(excerpt);
            let commit = excerpt[0].load();
            if commit >> 28 & 0xf != Kind::End as u64 {
                self.state.digest = self.state.digest.after(excerpt);
            }
            at += excerpt_words((commit as u32 & MAX_LENGTH) as usize);
        }
        self.state.end = Position::at(position.segment, place.at);
        self.state.next_sequence = place.sequence;
        if is_ended {
            self.writer = None;
            self.state.is_ended = true;
        }
        Ok(())
    }

    /// Sets aside everything after a position, which is one between two excerpts of the copy, or
    /// has the offset 0 for the segment and all later ones: its source no longer has that. Returns
    /// the files with it.
    pub fn back_to(&mut self, position: Position) -> Result<Vec<Quarantined>, JournalError> {
        if position == self.state.end {
            return Ok(Vec::new());
        }
        self.writer = None;
        self.segment_lock = FileLock::default();
        let mut taken = rewind::set_aside_after(&self.disk, position)?;
        let Some(lock) = self.lock.take() else { return Ok(taken) };
        // A recovery removes files that are being created.
        self.ahead = None;
        *self = Self { prepares: self.prepares, ..Self::resume(self.disk.clone(), lock)? };
        taken.extend_from_slice(&self.recovery.quarantined);
        Ok(taken)
    }

    /// Makes the copy a journal of its own, which an appender can open: the next excerpt begins
    /// another incarnation, in another segment. So what another copy has after this end is known
    /// to be from before.
    pub fn promote(mut self) -> Result<(), JournalError> {
        self.sync()?;
        self.ahead = None;
        let Position { segment, .. } = self.state.end;
        let name = names::segment(segment);
        if self.writer.take().is_some() {
            let stored = self.disk.store(&name, BOOT, 0);
            stored.map_err(JournalError::system(self.disk.path(&name), "write"))?;
        }
        let removed = match self.disk.remove(REPLICA) {
            // No leader has accepted it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| self.disk.sync_names()),
        };
        removed.map_err(JournalError::system(self.disk.path(REPLICA), "remove"))
    }

    /// The number of the first excerpt at a position or after it; `None` if the copy does not have
    /// its segment.
    pub fn number_at(&self, position: Position) -> Result<Option<u64>, JournalError> {
        ContentDigest::number_at(&self.disk, position)
    }

    /// The digest of the excerpts of a segment that have a smaller number, and the number after
    /// them; `None` without the segment.
    pub fn digest_before(
        &self,
        segment: u64,
        sequence: u64,
    ) -> Result<Option<(ContentDigest, u64)>, JournalError> {
        ContentDigest::before(&self.disk, segment, sequence)
    }

    /// Waits until everything is on disk; returns the position up to which it is.
    pub fn sync(&mut self) -> Result<Position, JournalError> {
        let Position { segment, .. } = self.state.end;
        let synced = match &self.writer {
            Some(writer) => self.syncer.sync(&self.disk, writer.file(), segment, writer.place().at),
            None => self.syncer.seal_before(&self.disk, segment + 1),
        };
        synced.map_err(|failure| failure.into_error(&self.disk, segment))?;
        Ok(self.state.end)
    }
}
