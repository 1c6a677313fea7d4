//! The position of a reader, for another reader to continue there. A sequence number is not enough.
//!
//! After a loss of power the journal might assign numbers again, to other excerpts than those that
//! were read. A bookmark has the [incarnation](crate::segment::header::Incarnation) of the journal
//! in addition to the number. So a reader that continues, and a tailer that is open during a
//! recovery, can find those numbers.
//! Cost: a comparison reads the headers of as many segments as the logarithm of their number, and
//! only if the incarnation of the journal is different.

use super::{Current, Reused, Start, Step, Tailer, seek::listing_again};
use crate::{ErrorKind, JournalError, disk::Disk, names::Files, segment::header::Incarnation};

/// A position that outlives its reader: see [`Tailer::bookmark`] and [`Tailer::resume`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bookmark {
    /// The number of the journal; 0 if it had no excerpt yet, or if it is not known.
    pub journal: u64,
    /// The incarnation of the journal at the reader's position; 0 is the first one.
    pub incarnation: u64,
    /// The first sequence number of that incarnation; 0 for the first one.
    pub incarnation_from: u64,
    /// The sequence number of the next excerpt to read; 0 if the journal had no excerpt yet.
    pub next_sequence: u64,
}

/// Where a reader continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resumed {
    /// At the requested position: there was no earlier reader.
    New,
    /// At the next excerpt that was not read.
    At(u64),
    /// At the end, because the position is after it: a loss of power took excerpts that were not
    /// synced. Numbers from `next` on will be used again, for other excerpts than those that were
    /// read.
    Beyond {
        /// The number that would have been read next.
        sequence: u64,
        /// The next excerpt to be written.
        next: u64,
    },
    /// At `from`, because numbers from there on were used again after a loss of power or a repair,
    /// for other excerpts than those that were read. A journal that was removed and created again
    /// returns this with 1, and reading continues at its beginning.
    Reused {
        /// The first number that was used again.
        from: u64,
        /// The number that would have been read next.
        sequence: u64,
    },
}

impl<D: Disk> Tailer<D> {
    /// The position of this tailer. The last result counts as read.
    pub fn bookmark(&self) -> Bookmark {
        let Incarnation { id, from } = self.known;
        Bookmark {
            journal: self.current.as_ref().map_or(0, |current| current.header.journal),
            incarnation: id,
            incarnation_from: from,
            next_sequence: self.place.sequence,
        }
    }

    /// Continues at a bookmark, or earlier if the journal has other excerpts since.
    pub fn resume(&mut self, bookmark: &Bookmark) -> Result<Resumed, JournalError> {
        let Bookmark { journal, incarnation, incarnation_from, next_sequence: sequence } =
            *bookmark;
        self.seek(Start::Oldest)?;
        if sequence == 0 {
            return Ok(Resumed::At(self.place.sequence));
        }
        let found = self.current.as_ref().map(|current| current.header.journal);
        // Another journal: none of its excerpts was read, wherever it begins.
        if journal > 0 && sequence > 1 && found.is_some_and(|found| found != journal) {
            return Ok(Resumed::Reused { from: 1, sequence });
        }
        let known = Incarnation { id: incarnation, from: incarnation_from };
        // Bookmarks without a journal come from an earlier version and have no incarnation.
        if journal > 0
            && let Some(from) = self.first_reused(known, sequence)?
        {
            // The end is before `from` if numbers were skipped when that incarnation began.
            let from = self.seek_up_to(from)?.unwrap_or(from);
            return Ok(Resumed::Reused { from, sequence });
        }
        match self.seek_up_to(sequence)? {
            None => Ok(Resumed::At(sequence)),
            Some(next) => Ok(Resumed::Beyond { sequence, next }),
        }
    }

    /// The first excerpt that a reader with this bookmark reads, including those with a reused
    /// number.
    pub(crate) fn first_needed(&self, bookmark: &Bookmark) -> Result<u64, JournalError> {
        let current = self.current.as_ref().map(|current| current.header.journal);
        let next = bookmark.next_sequence;
        if bookmark.journal == 0 || current.is_none() {
            return Ok(next);
        }
        if current != Some(bookmark.journal) {
            return Ok(0);
        }
        let known = Incarnation { id: bookmark.incarnation, from: bookmark.incarnation_from };
        Ok(self.first_reused(known, next)?.unwrap_or(next))
    }

    /// Searches the next position again, as after opening.
    pub(super) fn find_again(&mut self) -> Result<Step, JournalError> {
        let next = self.place.sequence;
        self.return_to(self.first_reused(self.known, next)?.unwrap_or(next))
    }

    /// Continues at this number, or at the end if that is before it. Numbers from there on up to
    /// the position come again.
    pub(super) fn return_to(&mut self, from: u64) -> Result<Step, JournalError> {
        let next = self.place.sequence;
        let from = self.seek_up_to(from)?.unwrap_or(from);
        Ok(match from < next {
            true => Step::Reused(Reused { from, to: next - 1 }),
            false => Step::Again,
        })
    }

    /// Moves to this sequence number, or to the end if that is before it; then returns the end.
    fn seek_up_to(&mut self, sequence: u64) -> Result<Option<u64>, JournalError> {
        match self.seek(Start::Sequence(sequence)) {
            Ok(()) => Ok(None),
            Err(error) => {
                let ErrorKind::NotYet { next, .. } = *error.kind() else { return Err(error) };
                // Not the current end: excerpts that were appended meanwhile must be read.
                self.seek(Start::Sequence(next))?;
                Ok(Some(next))
            }
        }
    }

    /// The first number below `next` that the journal has used again after this incarnation; `None`
    /// if there is none.
    pub(super) fn first_reused(
        &self,
        known: Incarnation,
        next: u64,
    ) -> Result<Option<u64>, JournalError> {
        listing_again(|| self.try_first_reused(known, next))
    }

    fn try_first_reused(&self, known: Incarnation, next: u64) -> Result<Option<u64>, JournalError> {
        let numbers: Vec<u64> = Files::list(&self.disk)?.segments.into_keys().collect();
        let Some(last) = self.find_segment(&numbers, |it| it.first_sequence < next)? else {
            return Ok(None);
        };
        let is_known = |it: &Current<_>| it.incarnation.is_none_or(|found| found.id == known.id);
        let reused = |it: Current<_>| {
            let found = it.incarnation.filter(|found| found.id != known.id)?;
            Some(found.from.max(1)).filter(|from| *from < next)
        };
        if last.activation.first_sequence >= next {
            // No excerpt that was read still exists. But the found segment is of an earlier
            // incarnation if it has nothing before the start of the known one; ids are times.
            let is_there = last.activation.first_sequence == next && next == known.from;
            let is_earlier = last.incarnation.is_some_and(|found| found.id < known.id);
            return Ok(reused(last).filter(|_| !(is_there && is_earlier)));
        }
        if is_known(&last) {
            return Ok(self.next_active(&numbers, last.number)?.and_then(reused));
        }
        let Some(begin) = self.find_segment(&numbers, |it| it.first_sequence <= known.from)? else {
            return Ok(None);
        };
        let oldest = begin.activation.first_sequence;
        // If numbers were skipped at its beginning, it begins in the next segment.
        let begin = match is_known(&begin) {
            true => Some(begin),
            false => self.next_active(&numbers, begin.number)?,
        };
        let first = match begin.filter(is_known) {
            Some(begin) => self.end_of_incarnation(&numbers, begin.number, known.id)?,
            // All segments of that incarnation are gone or pruned.
            None => {
                let first = known.from.max(oldest.min(next)).max(1);
                // A later one may have begun before it.
                let later = self.first_of(&numbers, |found| found.id > known.id)?;
                Some(later.map_or(first, |later| later.max(1).min(first)))
            }
        };
        Ok(first.filter(|first| *first < next))
    }

    /// The first active segment after this one.
    pub(super) fn next_active(
        &self,
        numbers: &[u64],
        number: u64,
    ) -> Result<Option<Current<D::Readable>>, JournalError> {
        for after in &numbers[numbers.partition_point(|found| *found <= number)..] {
            if let Some(current) = self.open_segment(*after)? {
                return Ok(Some(current));
            }
        }
        Ok(None)
    }

    /// The first sequence number of the incarnation after the one of this segment.
    fn end_of_incarnation(
        &self,
        numbers: &[u64],
        begin: u64,
        id: u64,
    ) -> Result<Option<u64>, JournalError> {
        let after = numbers.partition_point(|number| *number <= begin);
        self.first_of(&numbers[after..], |found| found.id != id)
    }

    /// The first sequence number of the first of these segments whose incarnation is accepted. Then
    /// those of all later segments are too.
    fn first_of(
        &self,
        numbers: &[u64],
        is_it: impl Fn(&Incarnation) -> bool,
    ) -> Result<Option<u64>, JournalError> {
        let (mut low, mut high) = (0, numbers.len());
        let mut first = None;
        while low < high {
            let middle = low + (high - low) / 2;
            match self.open_segment(numbers[middle])? {
                Some(Current { incarnation: Some(found), .. }) if is_it(&found) => {
                    first = Some(found.from);
                    high = middle;
                }
                Some(_) => low = middle + 1,
                // Prepared only.
                None => high = middle,
            }
        }
        Ok(first)
    }
}
