//! The writes of a recovery to the remaining segments: the last one ends, or is reopened.

use std::sync::Arc;

use nanotape_shm::{Word, as_read_only};

use super::{End, Pass};
use crate::{
    Corruption, JournalError,
    appender::sync,
    disk::{Disk, WritableFile as _},
    names, quarantine,
    scan::{clear_index_behind, end_of_excerpts, end_of_rest, first_good},
    segment::{
        header::{Incarnation, hints},
        index,
        layout::{at, position_bytes},
        view::{Contents, Place, View},
        writer::SegmentWriter,
    },
    stored,
};

impl<D: Disk> Pass<'_, D> {
    /// Ends the last segment, on disk.
    pub(super) fn end_segment(&mut self, end: &End) -> Result<(), JournalError> {
        self.reopen(end, false)?.end();
        // Its unused end stays: a tailer might be there.
        self.seal(end.index)
    }

    /// Restores the incarnation of a segment if the power took its words: that of a later segment
    /// which began before this one, or a new one. The first segment does not get a new one, because
    /// in a journal of an earlier version no segment has an incarnation.
    pub(super) fn restore_incarnation(&self, index: usize) -> Result<(), JournalError> {
        let stored = self.open(index)?;
        let Ok(Some(view)) = View::new(stored.words()) else { return Ok(()) };
        if self.kept[index].is_packed || Incarnation::load(view.words).is_some() {
            return Ok(());
        }
        let first = view.activation.first_sequence;
        let own = match index.checked_sub(1) {
            None => None,
            Some(before) => match self.end_if_known(before)? {
                Some(end) => Some(Incarnation::begin(end.min(first))),
                // The previous segment has an earlier version, so this one has it too.
                None => return Ok(()),
            },
        };
        let Some(incarnation) = self.later_incarnation(index, first)?.or(own) else {
            return Ok(());
        };
        let name = self.kept[index].name();
        for (word, value) in incarnation.stored(&view.header) {
            let stored = self.disk.store(&name, word, value);
            stored.map_err(JournalError::system(self.disk.path(&name), "write"))?;
        }
        Ok(())
    }

    /// The incarnation of the first later segment with valid incarnation words that began at
    /// `first` or before.
    fn later_incarnation(
        &self,
        index: usize,
        first: u64,
    ) -> Result<Option<Incarnation>, JournalError> {
        for after in index + 1..self.kept.len() {
            let stored = self.open(after)?;
            let later = Incarnation::load(stored.words()).filter(|later| later.from <= first);
            if later.is_some() {
                return Ok(later);
            }
        }
        Ok(None)
    }

    /// The number after the last excerpt of a segment that states its incarnation.
    fn end_if_known(&self, index: usize) -> Result<Option<u64>, JournalError> {
        let stored = self.open(index)?;
        let view = View::new(stored.words()).ok().flatten();
        let known = view.filter(|view| Incarnation::load(view.words).is_some());
        Ok(known.map(|view| match view.walk(view.by_index(|_| true), |_, _| true) {
            (_, Ok(Contents::End(front))) => front.sequence,
            (place, _) => place.sequence,
        }))
    }

    /// Opens the last segment for writing, with zeros after its last excerpt.
    pub(super) fn reopen(
        &mut self,
        end: &End,
        is_same_boot: bool,
    ) -> Result<SegmentWriter<D::Writable>, JournalError> {
        let number = self.kept[end.index].number;
        let name = names::segment(number);
        let (header, activation) = {
            let stored = self.open(end.index)?;
            let view = stored::view(self.disk, &name, stored.words(), number, None)?;
            let view = view
                .ok_or_else(|| self.damaged(end.index, at::ACTIVATION, Corruption::Activation))?;
            (view.header, view.activation)
        };
        let opened = self.disk.open(&name, header.layout.segment_bytes());
        let file = opened.map_err(JournalError::system(self.disk.path(&name), "open"))?;
        let (words, at) = (file.words(), end.place.at);
        // A sync or recovery that was interrupted left words to store again.
        let pending = hints::sync_pending(as_read_only(words));
        let used = self.prune(number, &file, at, pending, is_same_boot)?;
        self.index(&file, at, is_same_boot);
        if pending > 0 {
            sync::store_again(words, hints::synced(as_read_only(words)).min(at)..at);
        }
        // Zeros are synced: otherwise the next loss of power could restore the old words, and these
        // could match what was written meanwhile.
        let is_all = pending > 0 || !is_same_boot;
        if is_all || used > at {
            let synced = file.sync(if is_all { 0 } else { at }..used);
            synced.map_err(JournalError::system(self.disk.path(&name), "sync"))?;
            if is_all {
                hints::store_synced(words, at);
            }
            hints::store_sync_pending(words, 0);
        }
        // Otherwise the next appender would also assume that this journal lost data with the power.
        if is_same_boot {
            hints::store_boot(words, self.boot);
        }
        Ok(SegmentWriter::resume(Arc::new(file), header, &activation, end.place))
    }

    /// Clears the words after the end, and keeps a copy if they might have been committed. Returns
    /// the word after the last one that was stored.
    fn prune(
        &mut self,
        number: u64,
        file: &D::Writable,
        end: usize,
        pending: usize,
        is_same_boot: bool,
    ) -> Result<usize, JournalError> {
        let words = as_read_only(file.words());
        let used = end_of_rest(words, end).unwrap_or(end);
        let view = View::new(words).ok().flatten();
        // A failed sync might have lost committed excerpts before these.
        let is_kept = !is_same_boot
            || pending > 0 && view.is_some_and(|view| first_good(&view, end).is_some());
        if !is_kept {
            self.report.bytes_pruned += position_bytes(used - end);
        } else if used > end {
            let kept = view.map_or(used, |view| end_of_excerpts(&view, end, used));
            let taken = quarantine::part(self.disk, number, end, &words[end..kept])?;
            self.report.quarantined.push(taken);
        }
        // Words that are already zero might not be on disk.
        let used = used.max(pending);
        if used > end {
            hints::store_sync_pending(file.words(), used);
            file.words()[end..used].iter().rev().for_each(|word| word.store(0));
        }
        Ok(used)
    }

    /// Stores missing or wrong index entries: after a loss of power all of them, otherwise those
    /// after the last good one. Entries after the end are cleared: otherwise they might lead to
    /// later excerpts, with outdated times.
    fn index(&mut self, file: &D::Writable, end: usize, is_same_boot: bool) {
        let words = as_read_only(file.words());
        let Ok(Some(view)) = View::new(words) else { return };
        let view = View { is_checked: false, ..view };
        let start = if is_same_boot { view.by_index(|_| true) } else { view.beginning() };
        self.report.index_entries_stored += rebuild_index(&view, file.words(), start, end);
        clear_index_behind(&view, file.words(), end);
    }
}

/// Stores missing or wrong entries of a segment's index between two positions; returns their
/// number.
fn rebuild_index(view: &View<'_>, words: &[Word], start: Place, end: usize) -> u64 {
    let layout = view.layout();
    let (mut stored, mut next_block) = (0, 0);
    let _ = view.walk(start, |place, front| {
        if place.at < end && place.at >= next_block {
            next_block = layout.next_block(place.at);
            let entry = Place { sequence: front.sequence, ..*place };
            let known = index::load(layout, view.seed, view.words, layout.block(place.at));
            if known != Some(entry) {
                index::store(&entry, layout, view.seed, words);
                stored += 1;
            }
        }
        place.at < end
    });
    stored
}
