//! Seeks: by sequence number, by time, to the beginning or the end.
//!
//! Failure: damage is an error of the seek only if the position depends on it. Otherwise the tailer
//! begins before it, and reading reports it after everything that is before it.
//! Cost: the headers of as many segments as the logarithm of their number, the index of one
//! segment, and the excerpts of one block.

use super::{Back, Current, Start, Tailer};
use crate::{
    ErrorKind, JournalError,
    disk::Disk,
    names::{self, Files},
    segment::{
        excerpt::Front,
        header::{Activation, Incarnation},
        view::{Contents, Place},
    },
    stored,
};

/// Attempts to list the folder if a segment is gone.
const LISTS: usize = 16;

impl<D: Disk> Tailer<D> {
    /// Moves to another position. On an error the tailer stays where it is.
    pub fn seek(&mut self, start: Start) -> Result<(), JournalError> {
        listing_again(|| self.try_seek(start))
    }

    fn try_seek(&mut self, start: Start) -> Result<(), JournalError> {
        let files = Files::list(&self.disk)?;
        let numbers: Vec<u64> = files.segments.into_keys().collect();
        let segment =
            |is_before: &dyn Fn(&Activation) -> bool| self.find_segment(&numbers, is_before);
        let found = match start {
            Start::Oldest => self.find(&numbers, segment(&|_| false)?, |_| false, |_| false)?,
            Start::Newest => {
                let (last, behind) = self.search(&numbers, |_| true)?;
                behind?;
                self.find(&numbers, last, |_| true, |_| true)?
            }
            Start::Sequence(sequence) => self.find(
                &numbers,
                segment(&|segment| segment.first_sequence <= sequence)?,
                |entry| entry.sequence <= sequence,
                |front| front.sequence < sequence,
            )?,
            Start::Time(time) => self.find(
                &numbers,
                segment(&|segment| segment.max_ts_before < time.unix_ns())?,
                |entry| entry.max_ts < time.unix_ns(),
                |front| front.ts_ns < time.unix_ns(),
            )?,
        };
        let Some((current, mut place, is_there)) = found else {
            let wanted = if let Start::Sequence(sequence) = start { sequence } else { 0 };
            if wanted > 1 {
                return Err(self.not_yet(wanted, 1, 1));
            }
            (self.current, self.place) = (None, Place { at: 0, sequence: wanted, max_ts: 0 });
            return Ok(());
        };
        let mut known = self.incarnation_of(&current, &numbers);
        if let Start::Sequence(sequence) = start {
            if !is_there && sequence > place.sequence {
                return Err(self.not_yet(sequence, place.sequence, current.number));
            }
            // After the last number of its segment: it has passed none of that incarnation.
            if sequence > place.sequence
                && place.at > 0
                && let Ok(Some(next)) = self.next_active(&numbers, current.number)
            {
                known = next.incarnation.or(known);
            }
            // The first read reports numbers that were removed or never existed.
            place.sequence = sequence.max(1);
        }
        self.known = known.unwrap_or(self.known);
        (self.current, self.place, self.ahead) = (Some(current), place, None);
        (self.back, self.idles) = (Back::default(), 0);
        self.arrive();
        Ok(())
    }

    /// The incarnation of a segment. If the power took the words that state it, and no appender has
    /// opened the journal since, it is that of a later segment which began before this one.
    fn incarnation_of(
        &self,
        current: &Current<D::Readable>,
        numbers: &[u64],
    ) -> Option<Incarnation> {
        let mut known = current.incarnation;
        let mut number = current.number;
        while known.is_none() {
            // An error of that segment is returned when the tailer enters it.
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
        JournalError::new(path, ErrorKind::NotYet { sequence, next })
    }

    /// The first position with an excerpt that is not before the target, and whether there is one.
    /// Searches one segment, the last active one that begins early enough, or the first one.
    fn find(
        &self,
        numbers: &[u64],
        current: Option<Current<D::Readable>>,
        is_entry_before: impl Fn(&Place) -> bool,
        is_before: impl Fn(&Front) -> bool,
    ) -> Result<Option<Found<D::Readable>>, JournalError> {
        let Some(current) = current else { return Ok(None) };
        let view = current.view(self.is_checked);
        let start = view.by_index(is_entry_before);
        let (place, contents) = view.walk(start, |_, front| is_before(front));
        let name = names::segment(current.number);
        let contents = contents
            .map_err(|damage| JournalError::damaged(&self.disk, &name, place.at, damage))?;
        let (place, is_there) = match contents {
            Contents::Excerpt(front) => (Place { sequence: front.sequence, ..place }, true),
            // The next excerpt is in the next segment, if that is active.
            Contents::End(front) => {
                // Segments between the two may be missing. What is damaged is there.
                let is_there =
                    self.next_active(numbers, current.number).map_or(true, |next| next.is_some());
                (Place { sequence: front.sequence, ..place }, is_there)
            }
            Contents::Nothing => (place, false),
        };
        Ok(Some((current, place, is_there)))
    }

    /// The last active segment that matches, otherwise the first active one.
    pub(super) fn find_segment(
        &self,
        numbers: &[u64],
        is_before: impl Fn(&Activation) -> bool,
    ) -> Result<Option<Current<D::Readable>>, JournalError> {
        let (best, first) = self.search(numbers, is_before)?;
        best.map_or(first, |best| Ok(Some(best)))
    }

    /// The last segment that is before the target, and the first one that is not.
    fn search(
        &self,
        numbers: &[u64],
        is_before: impl Fn(&Activation) -> bool,
    ) -> Result<Border<D::Readable>, JournalError> {
        let (mut low, mut high) = (0, numbers.len());
        let (mut best, mut first) = (None, Ok(None));
        while low < high {
            let middle = low + (high - low) / 2;
            // Instead of a damaged segment the next readable one decides.
            let (mut at, mut damage) = (middle, None);
            let found = loop {
                match self.segment_in_list(numbers[at]) {
                    Err(error) if *error.kind() == ErrorKind::NotFound => return Err(error),
                    Err(error) => damage = damage.or(Some(error)),
                    Ok(found) => break found,
                }
                at += 1;
                if at == high {
                    break None;
                }
            };
            match found {
                Some(current) if is_before(&current.activation) => {
                    best = Some(current);
                    low = at + 1;
                }
                // Segments that are only prepared come after all others, so they count as too late.
                found => {
                    first = damage.map_or(Ok(found), Err);
                    high = middle;
                }
            }
        }
        Ok((best, first))
    }

    /// A segment that a list has; `None` if it is only prepared.
    fn segment_in_list(&self, number: u64) -> Result<Option<Current<D::Readable>>, JournalError> {
        match stored::open(&self.disk, number)? {
            Some(stored) => self.enter(number, stored),
            None => {
                let path = self.disk.path(&names::segment(number));
                Err(JournalError::new(path, ErrorKind::NotFound))
            }
        }
    }
}

/// The last segment before a target; the first one that is not, or what is damaged there.
type Border<F> = (Option<Current<F>>, Result<Option<Current<F>>, JournalError>);

/// A segment, a position in it, and whether an excerpt is there.
type Found<F> = (Current<F>, Place, bool);

/// Lists the folder again if a segment was removed between the listing and its read.
pub(super) fn listing_again<T>(
    mut attempt: impl FnMut() -> Result<T, JournalError>,
) -> Result<T, JournalError> {
    for _ in 0..LISTS {
        match attempt() {
            Err(error) if *error.kind() == ErrorKind::NotFound => {}
            outcome => return outcome,
        }
    }
    attempt()
}
