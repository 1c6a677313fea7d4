//! The recovery at opening: finds the end of the journal, and removes what is not valid.
//!
//! Protocol: `docs/formats/journal.md`, Recovery. A segment of this boot lost nothing, because
//! shared memory outlives processes. In one of an earlier boot only synced excerpts are certain;
//! the rest is checked.
//! Failure: damage that no crash explains is an error, left for `journal repair`.

mod write;

use std::{collections::VecDeque, sync::Arc};

use nanotape_shm::ReadWord;

use crate::{
    Corruption, JournalError, Quarantined,
    appender::{
        prepare::{Plan, Prepared},
        sync,
    },
    disk::{Disk, FileLock, WritableFile as _},
    names::{Files, Kept},
    quarantine,
    segment::{
        header::{Header, Incarnation, hints},
        layout::{at, position_bytes},
        view::{Contents, Place, View},
        writer::SegmentWriter,
    },
    segment_locks::{self, Locks},
    stored::{self, Stored},
};

/// The report of an appender's recovery.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Recovery {
    /// Segments that were read because the machine was restarted after they were written.
    pub segments_checked: u64,
    /// Bytes of excerpts that were read in those and in the last segment.
    pub bytes_checked: u64,
    /// Nonzero bytes after the last excerpt: unfinished writes of the last appender.
    pub bytes_pruned: u64,
    /// Data that was moved out after a loss of power, and its new files.
    pub quarantined: Vec<Quarantined>,
    /// Index entries that were missing.
    pub index_entries_stored: u64,
}

/// The state from which an appender continues.
#[derive(Debug)]
pub(crate) struct Recovered<D: Disk> {
    /// The active segment, if it has not ended.
    pub(crate) writer: Option<SegmentWriter<D::Writable>>,
    /// The lock of the active segment.
    pub(crate) segment_lock: FileLock,
    /// The next excerpt, and the largest time before it.
    pub(crate) sequence: u64,
    pub(crate) max_ts: u64,
    /// Prepared segments after the last active one.
    pub(crate) spares: VecDeque<Prepared<D::Writable>>,
    /// The number of the next segment to prepare.
    pub(crate) next_number: u64,
    /// The incarnation of the next segment.
    pub(crate) incarnation: Incarnation,
    /// The number that all segments share; `None` in a new journal.
    pub(crate) journal: Option<u64>,
    pub(crate) report: Recovery,
}

/// The position up to which a segment was read, and what is there.
type Found = (Place, Result<Contents, Corruption>);

/// Recovers a journal. The caller holds the lock.
pub(crate) fn recover<D: Disk>(
    disk: &D,
    plan_of: impl Fn(u64) -> Plan,
) -> Result<Recovered<D>, JournalError> {
    recover_for(disk, Some(&plan_of))
}

/// The same for a copy of another journal: its last segment goes on also after a loss of power,
/// because its source sends again what is missing, and only the source begins incarnations.
pub(crate) fn recover_copy<D: Disk>(disk: &D) -> Result<Recovered<D>, JournalError> {
    recover_for(disk, None)
}

/// Recovers a journal to append to it with this plan, or to copy another one to it.
fn recover_for<D: Disk>(
    disk: &D,
    plan_of: Option<&dyn Fn(u64) -> Plan>,
) -> Result<Recovered<D>, JournalError> {
    let is_copy = plan_of.is_none();
    let (mut pass, parts, last, mut locks) = segment_locks::retry(disk, || find(disk))?;
    for part in parts {
        disk.remove(&part).map_err(JournalError::system(disk.path(&part), "remove"))?;
    }
    pass.is_copy = is_copy;
    let Some(last) = last else {
        pass.clear_behind(0, true)?;
        let incarnation = Incarnation::default();
        return Ok(Recovered { journal: None, incarnation, ..pass.nothing_left(0) });
    };
    // The last segment is compressed only if a repair moved out those after it.
    let is_same_boot = last.boot == pass.boot && pass.boot != 0 && !pass.kept[last.index].is_packed;
    let journal = last.journal;
    let mut spares = VecDeque::new();
    if is_same_boot && let Some(plan_of) = plan_of {
        spares = pass.reuse(last.index, &plan_of(journal), &mut locks);
        if !spares.is_empty() {
            // Their creator might have ended before their names were on disk.
            pass.sync_names()?;
        }
    }
    pass.clear_behind(last.index + 1 + spares.len(), !is_same_boot)?;
    let Some(end) = pass.find_end(last, is_same_boot)? else {
        return Ok(pass.nothing_left(journal));
    };
    if end.is_quarantined {
        // Everything after the end was moved.
        spares.clear();
    }
    let last_number = pass.kept[end.index].number;
    let next_number = last_number + 1 + spares.len() as u64;
    let (sequence, max_ts) = (end.place.sequence, end.place.max_ts);
    // A tailer might have read what the power loss took. So nothing is appended to this segment:
    // the tailer finds nothing, and then the next segment, which has another incarnation.
    let writer = match end.is_ended {
        true => None,
        false if is_same_boot => Some(pass.reopen(&end, is_same_boot)?),
        false if is_copy => {
            let writer = pass.reopen(&end, is_same_boot)?;
            hints::store_boot(writer.file().words(), pass.boot);
            Some(writer)
        }
        false => {
            pass.end_segment(&end)?;
            None
        }
    };
    let incarnation = if is_same_boot { last.incarnation } else { last.incarnation.then(sequence) };
    let segment_lock = locks.remove(&pass.kept[end.index].name()).unwrap_or_default();
    Ok(Recovered {
        writer,
        segment_lock,
        sequence,
        max_ts,
        spares,
        next_number,
        incarnation,
        journal: Some(journal),
        report: pass.report,
    })
}

/// The start of a recovery: the segments, the files to remove, the last active segment, and the
/// locks of it and of all later segments.
type Beginning<'disk, D> = (Pass<'disk, D>, Vec<String>, Option<Last>, Locks);

/// Finds the last active segment and locks it and those after it, before any change. `None` if
/// another process changes the folder meanwhile.
fn find<D: Disk>(disk: &D) -> Result<Option<Beginning<'_, D>>, JournalError> {
    let mut files = Files::list(disk)?;
    let kept: Vec<Kept> = files.segments.values().copied().collect();
    let pass = Pass { disk, kept, report: Recovery::default(), boot: disk.boot(), is_copy: false };
    let last = match pass.last_active() {
        // A process without the lock removed it: check again.
        Err(error) if error.kind().is_of_no_file() => return Ok(None),
        last => last?,
    };
    let first = last.map_or(0, |last| pass.kept[last.index].number);
    let Some(locks) = segment_locks::lock(disk, &files, first)? else { return Ok(None) };
    Ok(Some((pass, std::mem::take(&mut files.parts), last, locks)))
}

/// Whether the excerpts of a segment of this boot lead to an end mark.
fn has_ended(view: &View<'_>) -> bool {
    let (_, found) = view.walk(view.by_index(|_| true), |_, _| true);
    matches!(found, Ok(Contents::End(_)))
}

/// One recovery.
struct Pass<'disk, D: Disk> {
    disk: &'disk D,
    /// The segments, sorted by number.
    kept: Vec<Kept>,
    report: Recovery,
    boot: u64,
    /// Whether this is a copy of another journal.
    is_copy: bool,
}

/// The last active segment.
#[derive(Clone, Copy)]
struct Last {
    /// Its index in `kept`.
    index: usize,
    journal: u64,
    incarnation: Incarnation,
    boot: u64,
}

/// The end of the journal.
struct End {
    /// The index of the last segment in `kept`.
    index: usize,
    place: Place,
    /// Whether there is an end mark.
    is_ended: bool,
    /// Whether data after it was moved out.
    is_quarantined: bool,
}

impl<D: Disk> Pass<'_, D> {
    fn open(&self, index: usize) -> Result<Stored<D::Readable>, JournalError> {
        stored::open_kept(self.disk, &self.kept[index])
    }

    fn damaged(&self, index: usize, word: usize, damage: Corruption) -> JournalError {
        JournalError::damaged(self.disk, &self.kept[index].name(), word, damage)
    }

    /// Searches from the end. Later segments never became active, or lost that with the power.
    fn last_active(&self) -> Result<Option<Last>, JournalError> {
        // The oldest of the segments at the end that are too short for a header.
        let mut short = None;
        for index in (0..self.kept.len()).rev() {
            let kept = self.kept[index];
            if kept.bytes < (at::INDEX * 8) as u64 && !kept.is_packed {
                short = Some(index);
                continue;
            }
            let stored = self.open(index)?;
            let words = stored.words();
            let boot = hints::boot(words);
            match View::new(words) {
                Ok(Some(view)) => {
                    if view.header.number != kept.number {
                        let (number, journal) = (view.header.number, view.header.journal);
                        return Err(self.damaged(
                            index,
                            0,
                            Corruption::Stranger { number, journal },
                        ));
                    }
                    let incarnation = Incarnation::load(words).unwrap_or_default();
                    let journal = view.header.journal;
                    let is_same_boot = boot == self.boot && boot != 0;
                    // The next segment is active before the end mark, and had its length before.
                    if is_same_boot && short == Some(index + 1) && has_ended(&view) {
                        return Err(self.damaged(index + 1, 0, Corruption::Short));
                    }
                    return Ok(Some(Last { index, journal, incarnation, boot }));
                }
                Ok(None) if !self.was_on_disk(words) => {}
                Ok(None) => {
                    return Err(self.damaged(index, at::ACTIVATION, Corruption::Activation));
                }
                // Its name reached the disk and its words did not.
                Err(Corruption::Magic(0)) if words.iter().all(|word| word.load() == 0) => {}
                // A loss of power tears an activation, but nothing else of a synced header.
                Err(Corruption::Activation) if boot != self.boot && !self.was_on_disk(words) => {}
                Err(damage) => return Err(self.damaged(index, 0, damage)),
            }
        }
        match short {
            Some(short) if self.has_words(short)? => Err(self.damaged(short, 0, Corruption::Short)),
            _ => Ok(None),
        }
    }

    /// Whether a file has more than zeros.
    fn has_words(&self, index: usize) -> Result<bool, JournalError> {
        let name = self.kept[index].name();
        let bytes = self.disk.read(&name);
        let bytes = bytes.map_err(JournalError::system(self.disk.path(&name), "read"))?;
        Ok(bytes.iter().any(|&byte| byte != 0))
    }

    /// Whether a segment states that its activation was on disk: it states this only after a sync.
    fn was_on_disk(&self, words: &[ReadWord]) -> bool {
        hints::synced(words) > 0 || hints::is_sealed(words)
    }

    /// The prepared segments after the last active one that match the plan.
    fn reuse(
        &self,
        last: usize,
        plan: &Plan,
        locks: &mut Locks,
    ) -> VecDeque<Prepared<D::Writable>> {
        let mut spares = VecDeque::new();
        for index in last + 1..self.kept.len() {
            let kept = self.kept[index];
            let is_next = kept.number == self.kept[last].number + 1 + spares.len() as u64;
            if !is_next || kept.is_packed {
                break;
            }
            // Empty or invalid: not reusable.
            let Ok(stored) = self.open(index) else { break };
            let Ok(header) = Header::load(stored.words()) else { break };
            let is_as_planned = header.journal == plan.journal
                && header.layout == plan.layout
                && header.cycle_ns == plan.cycle_ns;
            if !is_as_planned {
                break;
            }
            let name = kept.name();
            let opened = self.disk.open(&name, plan.layout.segment_bytes());
            // Without space for all of it, the segment is not reusable.
            let Ok(file) = opened else { break };
            let lock = locks.remove(&name).unwrap_or_default();
            spares.push_back(Prepared { file: Arc::new(file), header, lock });
        }
        spares
    }

    /// Clears the segments from `first` on. Those that were never used are removed. After a loss of
    /// power, those with contents are moved to `cut`.
    fn clear_behind(&mut self, first: usize, is_checked: bool) -> Result<(), JournalError> {
        for index in (first..self.kept.len()).rev() {
            let is_empty = !is_checked || self.kept[index].bytes == 0 || {
                let stored = self.open(index)?;
                let words = stored.words();
                let behind_header = words.len().min(at::CHECK + 1);
                words[behind_header..].iter().all(|word| word.load() == 0)
            };
            if is_empty {
                let name = self.kept[index].name();
                let removed = self.disk.remove(&name);
                removed.map_err(JournalError::system(self.disk.path(&name), "remove"))?;
            } else {
                self.quarantine(index)?;
            }
        }
        if first < self.kept.len() {
            self.kept.truncate(first);
            self.sync_names()?;
        }
        Ok(())
    }

    /// Finds the end of the valid excerpts, and moves out the rest; `None` if nothing is left.
    fn find_end(&mut self, last: Last, is_same_boot: bool) -> Result<Option<End>, JournalError> {
        let mut index = if is_same_boot { last.index } else { self.first_unsure(last.index)? };
        loop {
            let is_last = index == last.index;
            let Some((place, found)) = self.end_of(index, is_same_boot)? else {
                // Its activation was lost, and with it the whole segment.
                self.quarantine_from(index)?;
                let Some(before) = index.checked_sub(1) else { return Ok(None) };
                return match self.end_of(before, is_same_boot)? {
                    Some((place, Ok(Contents::End(_)))) => {
                        Ok(Some(End { index: before, place, is_ended: true, is_quarantined: true }))
                    }
                    Some((place, found)) => {
                        let damage = found.err().unwrap_or(Corruption::Hole);
                        Err(self.damaged(before, place.at, damage))
                    }
                    None => Err(self.damaged(before, at::ACTIVATION, Corruption::Activation)),
                };
            };
            if !is_same_boot && !self.is_copy {
                self.restore_incarnation(index)?;
            }
            let is_ended = matches!(found, Ok(Contents::End(_)));
            if is_ended && !is_last {
                self.check_next(index, &place)?;
            }
            if is_ended && !is_same_boot {
                self.seal(index)?;
            }
            match found {
                Ok(Contents::End(_)) if !is_last => index += 1,
                Ok(_) if is_last => {
                    return Ok(Some(End { index, place, is_ended, is_quarantined: false }));
                }
                _ if is_same_boot => {
                    let damage = found.err().unwrap_or(Corruption::Hole);
                    return Err(self.damaged(index, place.at, damage));
                }
                _ => {
                    self.quarantine_from(index + 1)?;
                    return Ok(Some(End { index, place, is_ended: false, is_quarantined: true }));
                }
            }
        }
    }

    /// The first of the segments up to the last one that might have lost data with the power.
    fn first_unsure(&self, last: usize) -> Result<usize, JournalError> {
        let mut first = last;
        while first > 0 && !self.kept[first - 1].is_packed {
            let is_next = self.kept[first - 1].number + 1 == self.kept[first].number;
            let stored = self.open(first - 1)?;
            let is_sure = match View::new(stored.words()) {
                Ok(Some(view)) => view.is_sealed(),
                // The activation is also missing: the segment is checked and moved out later.
                _ => false,
            };
            if is_sure || !is_next {
                break;
            }
            first -= 1;
        }
        Ok(first)
    }

    /// Reads a segment to its end: the position, and what is there. `None` without an activation.
    fn end_of(&mut self, index: usize, is_same_boot: bool) -> Result<Option<Found>, JournalError> {
        let stored = self.open(index)?;
        let view = match View::new(stored.words()) {
            Ok(Some(view)) => view,
            Ok(None) | Err(Corruption::Activation) if !self.was_on_disk(stored.words()) => {
                return Ok(None);
            }
            Ok(None) => return Err(self.damaged(index, at::ACTIVATION, Corruption::Activation)),
            Err(damage) => return Err(self.damaged(index, 0, damage)),
        };
        let synced = view.synced();
        // Memory outlives processes, but a failed sync can damage it.
        let start = match is_same_boot && hints::sync_pending(stored.words()) == 0 {
            true => view.by_index(|_| true),
            false => view.by_index(|entry| entry.at <= synced),
        };
        let (mut place, found) = view.walk(start, |_, _| true);
        if let Ok(Contents::End(front)) = found {
            // The end mark has the number after the skipped ones.
            place.sequence = front.sequence;
        }
        self.report.segments_checked += u64::from(!is_same_boot);
        self.report.bytes_checked += position_bytes(place.at - start.at);
        if place.at < synced && !matches!(found, Ok(Contents::End(_))) {
            let damage = found.err().unwrap_or(Corruption::Hole);
            return Err(self.damaged(index, place.at, damage));
        }
        Ok(Some((place, found)))
    }

    /// Checks that the next segment continues where this one ends.
    fn check_next(&self, index: usize, end: &Place) -> Result<(), JournalError> {
        let stored = self.open(index + 1)?;
        if let Ok(Some(view)) = View::new(stored.words()) {
            let found = view.activation.first_sequence;
            if found < end.sequence {
                let damage = Corruption::Sequence { found, least: end.sequence };
                return Err(self.damaged(index + 1, at::FIRST_SEQUENCE, damage));
            }
        }
        Ok(())
    }

    /// Notes in a segment, after it was read to its end mark, that it is on disk.
    fn seal(&self, index: usize) -> Result<(), JournalError> {
        let kept = self.kept[index];
        if kept.is_packed {
            return Ok(());
        }
        let sealed = sync::seal(self.disk, kept.number, false);
        sealed.map_err(|failure| failure.into_error(self.disk, kept.number))
    }

    /// Moves the segments from `first` on out of the journal, the last one first.
    fn quarantine_from(&mut self, first: usize) -> Result<(), JournalError> {
        for index in (first..self.kept.len()).rev() {
            self.quarantine(index)?;
        }
        self.kept.truncate(first);
        Ok(())
    }

    /// The state of a journal without segments.
    fn nothing_left(self, journal: u64) -> Recovered<D> {
        Recovered {
            writer: None,
            segment_lock: FileLock::default(),
            sequence: 1,
            max_ts: 0,
            spares: VecDeque::new(),
            next_number: 1,
            incarnation: Incarnation::begin(1),
            journal: Some(journal),
            report: self.report,
        }
    }

    /// Moves a whole segment out of the journal.
    fn quarantine(&mut self, index: usize) -> Result<(), JournalError> {
        let taken = quarantine::whole(self.disk, &self.kept[index])?;
        self.report.quarantined.push(taken);
        Ok(())
    }

    fn sync_names(&self) -> Result<(), JournalError> {
        let synced = self.disk.sync_names();
        synced.map_err(JournalError::system(self.disk.path(""), "sync"))
    }
}
