//! Reading backwards. Excerpts state only their own length. So the positions of earlier ones are
//! found by reading forwards from an entry of the index, and kept.

use std::collections::VecDeque;

use super::{Gap, Step, Tail, Tailer};
use crate::{
    Corruption, JournalError,
    disk::Disk,
    names::{self, Files},
    segment::{
        excerpt::{Front, Kind},
        view::{Contents, Place},
    },
};

/// The most positions to keep: more than most blocks have.
const KEPT: usize = 4096;

/// Positions of consecutive excerpts, and the end of the last one.
#[derive(Debug, Default)]
pub(super) struct Back {
    places: VecDeque<(Place, Front)>,
    end: usize,
}

/// What precedes a position.
enum Before {
    Excerpt(Place, Front),
    Gap(Gap),
    Nothing,
}

impl Back {
    pub(super) fn forget(&mut self) {
        self.places.clear();
    }
}

impl<D: Disk> Tailer<D> {
    /// Moves to the excerpt before the position and returns it: the next read forwards returns it
    /// again. [`Tail::Nothing`] at the beginning of the journal.
    pub fn previous(&mut self) -> Result<Tail<'_>, JournalError> {
        if self.is_recovered()
            && let Step::Reused(reused) = self.find_again()?
        {
            return Ok(Tail::Reused(reused));
        }
        let (place, front) = match self.find_previous()? {
            Before::Excerpt(place, front) => (place, front),
            Before::Gap(gap) => return Ok(Tail::Gap(gap)),
            Before::Nothing => return Ok(Tail::Nothing),
        };
        if front.sequence + 1 < self.place.sequence {
            let gap = Gap { from: front.sequence + 1, to: self.place.sequence - 1 };
            self.place.sequence = gap.from;
            return Ok(Tail::Gap(gap));
        }
        self.back.places.pop_back();
        self.back.end = place.at;
        self.place = Place { sequence: front.sequence, ..place };
        self.idles = 0;
        Ok(match &self.current {
            Some(current) => Tail::Excerpt(current.excerpt(place.at, front)),
            None => Tail::Nothing,
        })
    }

    /// Finds what precedes the position; if it is an excerpt, it is then the last kept one.
    fn find_previous(&mut self) -> Result<Before, JournalError> {
        loop {
            let Some(current) = &self.current else { return Ok(Before::Nothing) };
            if self.back.end != self.place.at {
                self.back.forget();
            }
            if let Some(last) = self.back.places.back() {
                return Ok(Before::Excerpt(last.0, last.1));
            }
            if self.place.at > current.header.layout.data {
                self.collect()?;
                if !self.back.places.is_empty() {
                    continue;
                }
            }
            let least = self.place.sequence;
            if !self.enter_previous()? {
                return Ok(Before::Nothing);
            }
            let next = self.place.sequence;
            if next < least {
                return Ok(Before::Gap(Gap { from: next, to: least - 1 }));
            }
        }
    }

    /// Keeps the positions of excerpts before the current one, from an index entry on.
    fn collect(&mut self) -> Result<(), JournalError> {
        let Some(current) = &self.current else { return Ok(()) };
        let end = self.place.at;
        let view = current.view(self.is_checked);
        let mut before = end;
        // A block might contain only excerpts that cover damage: then an earlier entry is used.
        while self.back.places.is_empty() && before > current.header.layout.data {
            let start = view.by_index(|entry| entry.at < before);
            let (place, found) = view.walk(start, |place, front| {
                if place.at < end && front.kind == Kind::Message {
                    if self.back.places.len() == KEPT {
                        self.back.places.pop_front();
                    }
                    self.back.places.push_back((*place, *front));
                }
                place.at < end
            });
            if let Err(damage) = found
                && place.at < end
            {
                self.back.forget();
                let name = names::segment(current.number);
                return Err(JournalError::damaged(&self.disk, &name, place.at, damage));
            }
            before = start.at;
        }
        self.back.end = end;
        Ok(())
    }

    /// Moves to the end of the previous segment; false if there is none.
    fn enter_previous(&mut self) -> Result<bool, JournalError> {
        let Some(current) = &self.current else { return Ok(false) };
        let number = current.number;
        let files = Files::list(&self.disk)?;
        for before in files.segments.range(..number).rev() {
            let Some(entered) = self.open_segment(*before.0)? else { continue };
            let view = entered.view(self.is_checked);
            let (place, found) = view.walk(view.by_index(|_| true), |_, _| true);
            let Ok(Contents::End(front)) = found else {
                let (name, damage) = (names::segment(*before.0), found.err());
                let damage = damage.unwrap_or(Corruption::Hole);
                return Err(JournalError::damaged(&self.disk, &name, place.at, damage));
            };
            // Numbers that were skipped between the two segments belong to neither.
            let sequence = front.sequence.min(self.place.sequence);
            self.place = Place { sequence, ..place };
            self.known = entered.incarnation.unwrap_or(self.known);
            (self.current, self.ahead) = (Some(entered), None);
            self.arrive();
            self.back.forget();
            return Ok(true);
        }
        Ok(false)
    }
}
