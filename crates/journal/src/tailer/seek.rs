//! How a tailer finds its place: by sequence number, by time, at the beginning or the end.
//!
//! Cost: the headers of as many segments as the logarithm of their number says, the index of one,
//! and the excerpts of one block.

use super::{Back, Current, Start, Tailer};
use crate::{
    JournalError, Problem,
    disk::Disk,
    names::{self, Files},
    segment::{
        header::{Activation, Incarnation},
        index::Entry,
        view::{Look, Place},
    },
    stored,
};

/// How often the folder is listed again because a segment is gone.
const LISTS: usize = 16;

impl<D: Disk> Tailer<D> {
    /// Goes on elsewhere. Where that cannot be found the tailer stays where it is.
    pub fn seek(&mut self, start: Start) -> Result<(), JournalError> {
        // Segments may be removed between the list and a look: then the list is another one.
        for _ in 0..LISTS {
            match self.try_seek(start) {
                Err(error) if *error.problem() == Problem::NotFound => {}
                outcome => return outcome,
            }
        }
        self.try_seek(start)
    }

    fn try_seek(&mut self, start: Start) -> Result<(), JournalError> {
        let files = Files::list(&self.disk)?;
        let numbers: Vec<u64> = files.segments.into_keys().collect();
        let found = match start {
            Start::Oldest => self.find(&numbers, |_| false, |_| false, |_, _| false)?,
            Start::Newest => self.find(&numbers, |_| true, |_| true, |_, _| true)?,
            Start::Sequence(sequence) => self.find(
                &numbers,
                |segment| segment.first_sequence <= sequence,
                |entry| entry.sequence <= sequence,
                |_, front_sequence| front_sequence < sequence,
            )?,
            Start::Time(time) => self.find_time(&numbers, time.unix_ns())?,
        };
        let Some((current, mut place, is_there)) = found else {
            let wanted = if let Start::Sequence(sequence) = start { sequence } else { 0 };
            if wanted > 1 {
                return Err(self.not_yet(wanted, 1, 1));
            }
            (self.current, self.place) = (None, Place { at: 0, sequence: wanted, max_ts: 0 });
            return Ok(());
        };
        if let Start::Sequence(sequence) = start {
            if !is_there && sequence > place.sequence {
                return Err(self.not_yet(sequence, place.sequence, current.number));
            }
            // What was there once, and what never was, is told by the first read.
            place.sequence = sequence.max(1);
        }
        self.known = self.incarnation_of(&current, &numbers).unwrap_or(self.known);
        (self.current, self.place, self.ahead) = (Some(current), place, None);
        (self.back, self.idles) = (Back::default(), 0);
        self.arrive();
        Ok(())
    }

    /// The incarnation of a segment. If the power took the words that say it, and nobody has
    /// appended since, it is that of a later one which began before this segment did.
    fn incarnation_of(
        &self,
        current: &Current<D::Readable>,
        numbers: &[u64],
    ) -> Option<Incarnation> {
        let mut known = current.incarnation;
        let mut number = current.number;
        while known.is_none() {
            // What is wrong with it is said when its turn comes.
            let later = self.next_active(numbers, number).ok().flatten()?;
            known = later.incarnation;
            number = later.number;
            let first = current.activation.first_sequence;
            if known.is_some_and(|known| known.from > first) {
                return None;
            }
        }
        known
    }

    fn not_yet(&self, sequence: u64, next: u64, number: u64) -> JournalError {
        let path = self.disk.path(&names::segment(number));
        JournalError::new(path, Problem::NotYet { sequence, next })
    }

    fn find_time(
        &self,
        numbers: &[u64],
        ts_ns: u64,
    ) -> Result<Option<Found<D::Readable>>, JournalError> {
        self.find_by(
            numbers,
            |segment| segment.max_ts_before < ts_ns,
            |entry| entry.max_ts < ts_ns,
            |_, _, front_ts| front_ts < ts_ns,
        )
    }

    fn find(
        &self,
        numbers: &[u64],
        is_segment_before: impl Fn(&Activation) -> bool,
        is_entry_before: impl Fn(&Entry) -> bool,
        is_before: impl Fn(&Place, u64) -> bool,
    ) -> Result<Option<Found<D::Readable>>, JournalError> {
        let is_before = |place: &Place, sequence, _| is_before(place, sequence);
        self.find_by(numbers, is_segment_before, is_entry_before, is_before)
    }

    /// The first place with an excerpt that is not before what is wanted, and whether there is one.
    /// In the last active segment that begins early enough, or the first of all.
    fn find_by(
        &self,
        numbers: &[u64],
        is_segment_before: impl Fn(&Activation) -> bool,
        is_entry_before: impl Fn(&Entry) -> bool,
        is_before: impl Fn(&Place, u64, u64) -> bool,
    ) -> Result<Option<Found<D::Readable>>, JournalError> {
        let Some(current) = self.find_segment(numbers, is_segment_before)? else { return Ok(None) };
        let view = current.view(self.is_checked);
        let start = view.by_index(is_entry_before);
        let walked = view.walk(start, |place, front| is_before(place, front.sequence, front.ts_ns));
        let (place, look) = walked.map_err(|(place, damage)| {
            let path = self.disk.path(&names::segment(current.number));
            JournalError::new(path, Problem::damaged(place.at, damage))
        })?;
        let (place, is_there) = match look {
            Look::Excerpt(front) => (Place { sequence: front.sequence, ..place }, true),
            // What comes next is in the next segment, if that is active.
            Look::End(front) => {
                let is_there = self.open_segment(current.number + 1)?.is_some();
                (Place { sequence: front.sequence, ..place }, is_there)
            }
            Look::Nothing => (place, false),
        };
        Ok(Some((current, place, is_there)))
    }

    /// The last active segment of which this is so, else the first active one.
    pub(super) fn find_segment(
        &self,
        numbers: &[u64],
        is_before: impl Fn(&Activation) -> bool,
    ) -> Result<Option<Current<D::Readable>>, JournalError> {
        let (mut low, mut high) = (0, numbers.len());
        let (mut best, mut first) = (None, None);
        // Segments that are prepared only are behind all others, so they count as too late.
        while low < high {
            let middle = low + (high - low) / 2;
            let number = numbers[middle];
            let Some(stored) = stored::open(&self.disk, number)? else {
                let path = self.disk.path(&names::segment(number));
                return Err(JournalError::new(path, Problem::NotFound));
            };
            match self.enter(number, stored)? {
                Some(current) if is_before(&current.activation) => {
                    best = Some(current);
                    low = middle + 1;
                }
                found => {
                    first = found;
                    high = middle;
                }
            }
        }
        Ok(best.or(first))
    }
}

/// A segment, a place in it, and whether there is an excerpt.
type Found<F> = (Current<F>, Place, bool);
