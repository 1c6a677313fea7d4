//! Repairs a damaged journal so that readers can pass the damage, and deletes nothing.
//!
//! Protocol: `docs/formats/journal.md`, Repair. Segments are checked in order, as `verify` does,
//! and invalid parts are repaired. Data that is replaced is on disk in `cut` before it is
//! overwritten.
//! Failure: after a kill at any moment, it can be run again and does the rest. Data that was being
//! covered might then be in `cut` twice.

mod buffer;
mod done;
mod header;
mod rename;
mod segment;

use std::{path::Path, sync::Arc};

use buffer::RepairBuffer;
pub use done::{Action, Done, Repaired};
use nanotape_shm::{OwnedRegion, ReadWord, Word, as_read_only};

use crate::{
    Corruption, ErrorKind, JournalError,
    catalog::{Catalog, Head, Listed},
    disk::{Disk, Folder},
    names::{self, Kept},
    quarantine,
    segment::{
        header::Header,
        layout::{at, position_bytes},
        view::View,
    },
    segment_locks,
    stored::{self, Stored},
    upkeep,
    verify::{
        Found, Severity, Verified,
        check::{Checker, Context},
    },
};

/// The most words of a compressed segment, if no segment states its length.
const USUAL_WORDS: usize = (64 << 20) / 8;

/// Repairs a journal that has no appender. A dry run only reports the actions, and writes nothing.
pub fn repair(
    path: &Path,
    is_dry_run: bool,
    progress: impl FnMut(u64, u64),
) -> Result<Repaired, JournalError> {
    let (folder, _upkeep) = upkeep::locked_unless(is_dry_run, path)?;
    repair_on(&folder, is_dry_run, progress)
}

/// No process appends to a journal, compresses, prunes or repairs it as long as this exists.
#[derive(Debug)]
pub struct Exclusive {
    _appender: OwnedRegion,
    _upkeep: OwnedRegion,
}

/// Locks a journal as a repair does: for changes of the files beside its segments.
pub fn exclusive(path: &Path) -> Result<Exclusive, JournalError> {
    let (folder, upkeep): (Folder, _) = upkeep::locked(path)?;
    Ok(Exclusive { _appender: folder.lock()?, _upkeep: upkeep })
}

/// An error if a process appends to a journal, compresses, prunes or repairs it. Writes nothing.
pub fn check_idle(path: &Path) -> Result<(), JournalError> {
    Ok(upkeep::unlocked(path)?.check_unlocked()?)
}

/// [`repair`] on another disk. The caller ensures that no process compresses or prunes meanwhile.
pub fn repair_on<D: Disk>(
    disk: &D,
    is_dry_run: bool,
    mut progress: impl FnMut(u64, u64),
) -> Result<Repaired, JournalError> {
    if !names::Files::list(disk)?.is_journal {
        return Err(JournalError::new(disk.path(""), ErrorKind::NotFound));
    }
    let _lock = match is_dry_run {
        true => disk.check_unlocked().map(|()| None)?,
        false => Some(disk.lock()?),
    };
    segment_locks::check(disk)?;
    let mut catalog = Catalog::read(disk)?;
    let renamed = rename::to_own_names(disk, &catalog, is_dry_run)?;
    if !renamed.is_empty() {
        if is_dry_run {
            // What else is needed depends on these segments.
            return Ok(Repaired { actions: renamed });
        }
        catalog = Catalog::read(disk)?;
    }
    let total = catalog.listed.iter().map(|listed| listed.kept.bytes).sum();
    let mut repair = Repair {
        disk,
        is_dry_run,
        journal: catalog.journal,
        entered: Vec::new(),
        known: Vec::new(),
        checker: Checker::default(),
        report: Repaired { actions: renamed },
    };
    let mut is_plain_out = false;
    for number in &catalog.files.twice {
        is_plain_out |= repair.settle_twice(*number)?;
    }
    if is_plain_out {
        if is_dry_run {
            // What else is needed depends on these segments.
            return Ok(repair.report);
        }
        catalog = Catalog::read(disk)?;
    }
    repair.survey(&catalog)?;
    let mut done = 0;
    for index in 0..catalog.listed.len() {
        let kept = &catalog.listed[index].kept;
        repair.segment(&catalog, index, &mut |bytes| progress((done + bytes).min(total), total))?;
        done += kept.bytes;
        progress(done, total);
    }
    Ok(repair.report)
}

/// One repair.
struct Repair<'disk, D: Disk> {
    disk: &'disk D,
    is_dry_run: bool,
    /// The number that all segments share, if it is known.
    journal: Option<u64>,
    /// Whether each segment has or had excerpts.
    entered: Vec<bool>,
    /// Valid headers, as a source for invalid ones.
    known: Vec<Header>,
    checker: Checker,
    report: Repaired,
}

/// The words of a segment to be repaired.
struct Loaded<F> {
    stored: Stored<F>,
    /// Whether a compressed segment could be unpacked completely.
    is_whole: bool,
}

impl<D: Disk> Repair<'_, D> {
    fn note(&mut self, name: &str, offset: u64, done: Done) {
        self.report.actions.push(Action { path: self.disk.path(name), offset, done });
    }

    /// Collects the segments with excerpts, and the known headers. An invalid header is derived
    /// from its excerpts here, so that the last segment is known.
    fn survey(&mut self, catalog: &Catalog) -> Result<(), JournalError> {
        let most_common = self.journal;
        let is_own = |number, journal, listed: &Listed| {
            number == listed.kept.number && most_common.is_none_or(|known| known == journal)
        };
        for listed in &catalog.listed {
            if let Ok(head) = &listed.head
                && is_own(head.header.number, head.header.journal, listed)
            {
                self.known.push(head.header);
            }
        }
        for listed in &catalog.listed {
            let is_entered = match &listed.head {
                Ok(head) if !is_own(head.header.number, head.header.journal, listed) => false,
                Ok(_) if listed.is_entered() => true,
                _ => {
                    let loaded = self.load(&listed.kept)?;
                    let found = self.find_header(listed.kept.number, loaded.stored.words());
                    if let (None, Some(found)) = (self.journal, &found) {
                        self.journal = Some(found.header.journal);
                        self.known.push(found.header);
                    }
                    found.is_some_and(|found| found.is_entered)
                }
            };
            self.entered.push(is_entered);
        }
        Ok(())
    }

    fn load(&self, kept: &Kept) -> Result<Loaded<D::Readable>, JournalError> {
        if kept.is_packed {
            let name = kept.name();
            let packed = self.disk.read(&name);
            let packed = packed.map_err(JournalError::system(self.disk.path(&name), "read"))?;
            // Behind a damaged header nothing was unpacked.
            let has_header = |words: &Arc<[Word]>| Header::load(as_read_only(words)).is_ok();
            if let Some(words) = stored::unpack(&packed).ok().filter(has_header) {
                return Ok(Loaded { stored: Stored::Unpacked(words), is_whole: true });
            }
            // As much of it as can be unpacked. Without its header it is as long as other segments.
            let most = self.known.iter().map(|header| header.layout.words).max();
            let words = stored::unpack_damaged(&packed, most.unwrap_or(USUAL_WORDS));
            return Ok(Loaded { stored: Stored::Unpacked(words.into()), is_whole: false });
        }
        match stored::open_kept(self.disk, kept) {
            Ok(stored) => Ok(Loaded { stored, is_whole: true }),
            // Too short to be mapped.
            Err(error)
                if matches!(error.kind(), ErrorKind::Damaged { damage: Corruption::Short, .. }) =>
            {
                Ok(Loaded { stored: Stored::Unpacked(Arc::new([])), is_whole: true })
            }
            Err(error) => Err(error),
        }
    }

    /// Checks a segment, and repairs it if it is invalid.
    fn segment(
        &mut self,
        catalog: &Catalog,
        index: usize,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), JournalError> {
        let kept = &catalog.listed[index].kept;
        let loaded = self.load(kept)?;
        let before = self.checker;
        if self.is_good(index, kept, loaded.stored.words(), progress) && loaded.is_whole {
            return Ok(());
        }
        self.checker = before;
        let words = loaded.stored.words();
        let found = self.find_header(kept.number, words);
        // A segment without any valid part is moved out, except one of another version, whose
        // excerpts another program might read.
        if found.is_none()
            && let Err(damage @ (Corruption::Version { .. } | Corruption::ByteOrder)) =
                Header::load(words)
        {
            return Err(JournalError::damaged(self.disk, &kept.name(), 0, damage));
        }
        self.begin_incarnation(catalog, index)?;
        let Some(found) = found else { return self.move_out(kept) };
        if !self.entered[index] {
            // Only prepared, but its words are not zero.
            return self.move_out(kept);
        }
        let buffer = self.buffer(kept, &found.header, loaded)?;
        let end = self.repair_segment(index, kept.number, &found, &buffer)?;
        self.finish_buffer(index, kept.number, buffer, end)
    }

    /// A repair might assign numbers again that were read. So the next appender must treat the
    /// journal as one of another boot, and begin another incarnation. This is stored before other
    /// changes.
    fn begin_incarnation(&self, catalog: &Catalog, index: usize) -> Result<(), JournalError> {
        if self.is_dry_run {
            return Ok(());
        }
        for (at, listed) in catalog.listed.iter().enumerate().skip(index.saturating_sub(1)) {
            let is_own = |head: &Head| self.journal.is_none_or(|own| own == head.header.journal);
            // A restored header has no boot either, and segments of other journals stay unchanged.
            // One that does not belong there might be moved out already.
            if listed.kept.is_packed
                || !self.entered[at]
                || !listed.is_entered()
                || !listed.head.as_ref().is_ok_and(is_own)
            {
                continue;
            }
            let name = listed.kept.name();
            let stored = self.disk.store(&name, at::BOOT, 0);
            stored.map_err(JournalError::system(self.disk.path(&name), "write"))?;
        }
        Ok(())
    }

    /// Checks a segment; the checker then moves to the next one.
    fn is_good(
        &mut self,
        index: usize,
        kept: &Kept,
        words: &[ReadWord],
        progress: &mut dyn FnMut(u64),
    ) -> bool {
        let is_followed = self.is_followed(index);
        let mut verified = Verified::default();
        let context = Context {
            path: &self.disk.path(&kept.name()),
            number: kept.number,
            journal: self.journal,
            is_followed: &|| is_followed,
            is_last: !is_followed,
            is_packed: kept.is_packed,
        };
        self.checker.segment(&context, words, &mut verified, progress);
        verified.findings.iter().all(|finding| {
            finding.severity() == Severity::Note
                && !matches!(finding.found, Found::MissingEntries(_))
        })
    }

    /// Whether a later segment has excerpts.
    fn is_followed(&self, index: usize) -> bool {
        self.entered[index + 1..].contains(&true)
    }

    /// Syncs the segment, frees the space after its end mark, and moves the checker to the next
    /// one.
    fn finish_buffer(
        &mut self,
        index: usize,
        number: u64,
        buffer: RepairBuffer<D>,
        end: Option<usize>,
    ) -> Result<(), JournalError> {
        let name = names::segment(number);
        buffer.sync().map_err(JournalError::system(self.disk.path(&name), "sync"))?;
        let kept = Kept { number, is_packed: false, bytes: 0 };
        self.is_good(index, &kept, as_read_only(buffer.words()), &mut |_| ());
        let is_file = buffer.is_file();
        drop(buffer);
        if is_file && let Some(end) = end {
            let cut = self.disk.shrink(&name, position_bytes(end));
            cut.map_err(JournalError::system(self.disk.path(&name), "cut"))?;
        }
        Ok(())
    }

    fn move_out(&mut self, kept: &Kept) -> Result<(), JournalError> {
        let name = kept.name();
        let to = match self.is_dry_run {
            true => None,
            false => Some(quarantine::whole(self.disk, kept)?.path),
        };
        self.note(&name, 0, Done::Moved { bytes: kept.bytes, to });
        Ok(())
    }

    /// A segment that exists both compressed and plain, left by a killed compression: one of the
    /// two is moved out. Returns whether that is the plain one, which has the name that readers
    /// prefer.
    fn settle_twice(&mut self, number: u64) -> Result<bool, JournalError> {
        let name = names::packed(number);
        let packed = self.disk.read(&name);
        let packed = packed.map_err(JournalError::system(self.disk.path(&name), "read"))?;
        let bytes = packed.len() as u64;
        let loaded = self.load(&Kept { number, is_packed: false, bytes: 0 })?;
        let words = loaded.stored.words();
        let (is_plain_whole, plain_bytes) = (is_whole(number, words), position_bytes(words.len()));
        let unpacked = stored::unpack(&packed);
        let is_packed_whole = unpacked.is_ok_and(|words| is_whole(number, as_read_only(&words)));
        let is_plain_out = is_packed_whole && !is_plain_whole;
        let bytes = if is_plain_out { plain_bytes } else { bytes };
        self.move_out(&Kept { number, is_packed: !is_plain_out, bytes })?;
        Ok(is_plain_out)
    }
}

/// Whether these are the words of a closed segment of this number, without damage.
fn is_whole(number: u64, words: &[ReadWord]) -> bool {
    let is_own = Header::load(words).is_ok_and(|header| header.number == number);
    let view = View::new(words).ok().flatten();
    is_own && view.is_some_and(|view| view.check_closed().is_ok())
}
