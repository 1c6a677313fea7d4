//! Reads the words of a journal in order, from where a copy ends, while the journal is written.
//!
//! Protocol: whole excerpts, in the order of their positions, then the head of the next segment. A
//! journal that was recovered, repaired or given back since no longer has what was read: then
//! [`Copied::Changed`] is returned, and the copy has to state again what it has.
//! Failure: an excerpt with a wrong checksum is an error, and what is before it is returned first.
//! Cost: a read makes no system call and allocates nothing, except at the end of a segment.
//! [`check`](Copier::check) makes system calls.

use nanotape_shm::ReadWord;

use super::{ContentDigest, CopyState, HeadDigest, SegmentHead};
use crate::{
    Corruption, ErrorKind, JournalError, Position,
    catalog::Catalog,
    disk::{Disk, Folder},
    names::{self, Files},
    segment::{
        excerpt::{END_WORDS, Kind},
        header::hints,
        view::{Contents, Place, View, read_at},
    },
    stored::{self, Stored},
};

/// What a copy gets next.
#[derive(Debug)]
pub enum Copied<'copier> {
    /// A segment begins.
    Segment(SegmentHead),
    /// An earlier segment has another incarnation since the copy got it.
    Corrected(SegmentHead),
    /// Whole excerpts that begin at a position.
    Words {
        /// The position of the first one.
        position: Position,
        /// Their words.
        words: &'copier [ReadWord],
        /// The number of the excerpt after them.
        next_sequence: u64,
        /// The digest of the excerpts of their segment up to their end.
        digest: ContentDigest,
    },
    /// Nothing more, for now.
    Nothing,
    /// The journal no longer has what was read: see [`Copier::resume`].
    Changed,
}

/// Where a copy continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resume {
    /// Here. If this is before the end of the copy, it sets aside everything after it. The offset
    /// is 0 at the beginning of a segment that the copy does not have, or has with another head.
    At(Position),
    /// Nowhere: both have the same positions up to the end of the copy, and other excerpts.
    Differs {
        /// The last segment of the copy, which has the difference.
        segment: u64,
    },
    /// Nowhere: it is a copy of another journal.
    OtherJournal {
        /// The number of this journal; 0 if it has no segment.
        journal: u64,
    },
    /// Nowhere: the copy ends before the oldest segment, because later ones were pruned.
    Pruned {
        /// The first number that this journal has.
        first_sequence: u64,
    },
}

/// A reader of a journal for its copies.
#[derive(Debug)]
pub struct Copier<D: Disk = Folder> {
    disk: D,
    /// `None` before the first segment.
    current: Option<Segment<D::Readable>>,
    /// Heads that the copy has with another incarnation.
    corrections: Vec<SegmentHead>,
    /// Whether this journal is known to have lost what the copy has after the position of both.
    has_lost: bool,
}

#[derive(Debug)]
struct Segment<F> {
    stored: Stored<F>,
    head: SegmentHead,
    seed: u32,
    /// The boot word when it was opened.
    boot: u64,
    place: Place,
    /// Of the excerpts before the place.
    digest: ContentDigest,
    /// Whether its end mark was read.
    is_ended: bool,
    /// Whether its head was returned.
    is_begun: bool,
}

impl<D: Disk> Copier<D> {
    /// Continues where a copy ends, as far as both have the same; returns where that is.
    pub fn resume(disk: D, copy: &CopyState) -> Result<(Self, Resume), JournalError> {
        let mut copier = Self { disk, current: None, corrections: Vec::new(), has_lost: false };
        let catalog = Catalog::read(&copier.disk)?;
        let numbers: Vec<u64> = catalog
            .listed
            .iter()
            .filter(|listed| listed.active().is_some())
            .map(|listed| listed.kept.number)
            .collect();
        let Some(&oldest) = numbers.first() else {
            let resume = match copy.heads.is_empty() {
                true => Resume::At(Position::default()),
                false => Resume::OtherJournal { journal: 0 },
            };
            return Ok((copier, resume));
        };
        let first = copier.open(oldest)?;
        let (journal, first_sequence) = (first.head.journal(), first.head.first_sequence());
        let Some(HeadDigest { number: last, .. }) = copy.heads.last().copied() else {
            copier.current = Some(first);
            return Ok((copier, Resume::At(Position::default())));
        };
        if copy.journal != journal {
            return Ok((copier, Resume::OtherJournal { journal }));
        }
        let newest = copier.newest(&catalog)?;
        copier.has_lost = newest.is_some_and(|newest| newest.incarnation() != copy.incarnation);
        for (index, known) in copy.heads.iter().enumerate().rev() {
            let number = known.number;
            if numbers.binary_search(&number).is_err() {
                continue;
            }
            let segment = copier.open(number)?;
            if segment.head.digest().identity != known.identity {
                continue;
            }
            for earlier in &copy.heads[..=index] {
                let listed =
                    catalog.listed.binary_search_by_key(&earlier.number, |it| it.kept.number);
                let Ok(listed) = listed else { continue };
                let kept = &catalog.listed[listed].kept;
                let Some(head) = SegmentHead::read(&copier.disk, kept)? else { continue };
                let digest = head.digest();
                if digest.identity == earlier.identity && digest != *earlier {
                    copier.corrections.push(head);
                }
            }
            let resume = copier.enter_at(segment, copy)?;
            return Ok((copier, resume));
        }
        // Segments before the oldest one cannot be compared.
        if last >= oldest || last + 1 == oldest && copy.is_ended {
            copier.current = Some(first);
            return Ok((copier, Resume::At(Position { segment: oldest, offset_bytes: 0 })));
        }
        Ok((copier, Resume::Pruned { first_sequence }))
    }

    /// Enters a segment that a copy has up to a word, or to its end; returns the position up to
    /// which this journal has it too.
    fn enter_at(
        &mut self,
        mut segment: Segment<D::Readable>,
        copy: &CopyState,
    ) -> Result<Resume, JournalError> {
        let number = segment.head.number();
        let is_last = copy.end.segment == number;
        let end = if is_last { copy.end.word() } else { usize::MAX };
        let has_mark = is_last && copy.is_ended;
        let excerpts_end = if has_mark { end.saturating_sub(END_WORDS) } else { end };
        let ((place, found), digest) =
            ContentDigest::of(&segment.view(), |to, _| to <= excerpts_end);
        (segment.is_begun, segment.place, segment.digest) = (true, place, digest);
        let has_all = place.at == excerpts_end;
        match found {
            // Another end mark can have another number: that of skipped ones.
            Ok(Contents::End(front))
                if has_mark && has_all && front.sequence == copy.next_sequence =>
            {
                segment.is_ended = true;
                segment.place = Place { at: end, sequence: front.sequence, ..place };
            }
            // The copy has the end mark with another number.
            Ok(Contents::End(_)) if has_all => self.has_lost = true,
            // The copy has excerpts where this journal ends its segment: by a roll, or because it
            // lost them. Only then another incarnation begins after it.
            Ok(Contents::End(_)) => {
                let next = self.try_open(number + 1)?;
                let incarnation = segment.head.incarnation();
                self.has_lost |= next.is_some_and(|next| next.head.incarnation() != incarnation);
            }
            // The copy loses only its end mark.
            Ok(_) => self.has_lost |= has_mark && has_all,
            Err(damage) => {
                return Err(JournalError::damaged(
                    &self.disk,
                    &names::segment(number),
                    place.at,
                    damage,
                ));
            }
        }
        let at = segment.place.at;
        if has_all && digest != copy.digest {
            return Ok(Resume::Differs { segment: number });
        }
        self.current = Some(segment);
        Ok(Resume::At(Position::at(number, at)))
    }

    /// Whether this journal has given back, or lost with the power of its machine, what the copy
    /// has after the position where both continue. If not, it may be an older state of the journal
    /// that was restored.
    pub fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// The head of the last active segment.
    fn newest(&self, catalog: &Catalog) -> Result<Option<SegmentHead>, JournalError> {
        let newest = catalog.listed.iter().rfind(|listed| listed.active().is_some());
        newest.map_or(Ok(None), |newest| SegmentHead::read(&self.disk, &newest.kept))
    }

    /// The next words: at most about `most_bytes`, and at least one excerpt.
    pub fn next(&mut self, most_bytes: usize) -> Result<Copied<'_>, JournalError> {
        if let Some(head) = self.corrections.pop() {
            return Ok(Copied::Corrected(head));
        }
        let Some(current) = &self.current else { return self.begin() };
        if !current.is_begun {
            return Ok(self.show_head());
        }
        if current.is_ended {
            return self.cross();
        }
        let start = current.place.at;
        let run = self.run(most_bytes / 8)?;
        let Some(Segment { stored, place, head, digest, .. }) = &self.current else {
            return Ok(Copied::Nothing);
        };
        if !run {
            return Ok(Copied::Nothing);
        }
        Ok(Copied::Words {
            position: Position::at(head.number(), start),
            words: &stored.words()[start..place.at],
            next_sequence: place.sequence,
            digest: *digest,
        })
    }

    /// Moves past consecutive excerpts of about so many words; returns whether there were any.
    #[inline]
    fn run(&mut self, most_words: usize) -> Result<bool, JournalError> {
        let Some(current) = &mut self.current else { return Ok(false) };
        let Segment { stored, place, seed, head, is_ended, digest, .. } = current;
        let (start, words) = (place.at, head.header.layout.used(stored.words()));
        let damage = loop {
            let front = match read_at(words, place.at, *seed, true) {
                Ok(Contents::Nothing) => break None,
                Ok(Contents::Excerpt(front) | Contents::End(front)) => front,
                Err(damage) => break Some(damage),
            };
            let end = place.at + front.total_words();
            if front.sequence < place.sequence {
                let (found, least) = (front.sequence, place.sequence);
                break Some(Corruption::Sequence { found, least });
            }
            if end - start > most_words && place.at > start {
                break None;
            }
            if front.kind != Kind::End {
                *digest = digest.after(&words[place.at..]);
            }
            *place = place.behind(&front);
            if front.kind == Kind::End {
                *is_ended = true;
                break None;
            }
        };
        match damage {
            Some(damage) if place.at == start => {
                let name = names::segment(head.number());
                Err(JournalError::damaged(&self.disk, &name, place.at, damage))
            }
            _ => Ok(place.at > start),
        }
    }

    /// The first segment, once there is one.
    #[cold]
    fn begin(&mut self) -> Result<Copied<'_>, JournalError> {
        let catalog = match Catalog::read(&self.disk) {
            // Nothing is left of it, or nothing was there yet.
            Err(error) if *error.kind() == ErrorKind::NotFound => return Ok(Copied::Nothing),
            catalog => catalog?,
        };
        let oldest = catalog.listed.iter().find(|listed| listed.active().is_some());
        let Some(oldest) = oldest.map(|listed| listed.kept.number) else {
            return Ok(Copied::Nothing);
        };
        self.current = Some(self.open(oldest)?);
        Ok(self.show_head())
    }

    fn show_head(&mut self) -> Copied<'_> {
        match &mut self.current {
            Some(current) => {
                current.is_begun = true;
                Copied::Segment(current.head)
            }
            None => Copied::Nothing,
        }
    }

    /// Enters the segment after one that has ended.
    #[cold]
    fn cross(&mut self) -> Result<Copied<'_>, JournalError> {
        let Some(current) = &self.current else { return Ok(Copied::Nothing) };
        let (number, sequence) = (current.head.number(), current.place.sequence);
        let Some(next) = self.try_open(number + 1)? else { return Ok(Copied::Nothing) };
        // Before an appender that takes numbers back activates the next segment, it has replaced
        // this one. So the check comes after the next one was found.
        if !self.check()? || next.head.first_sequence() < sequence {
            return Ok(Copied::Changed);
        }
        self.current = Some(next);
        Ok(self.show_head())
    }

    /// Checks, with system calls, that the journal still has what was read; false if not. To be
    /// called from time to time, and before nothing is taken for the end.
    pub fn check(&mut self) -> Result<bool, JournalError> {
        let Some(current) = &self.current else { return Ok(true) };
        let number = current.head.number();
        let is_same = current.stored.is_current(number)
            && hints::boot(current.stored.words()) == current.boot;
        if is_same && !matches!(current.stored, Stored::Unpacked(_)) {
            return Ok(true);
        }
        let Some(mut again) = self.try_open(number)? else {
            // Pruned; what is mapped stays.
            let files = Files::list(&self.disk)?;
            let is_pruned = files.segments.keys().next().is_some_and(|oldest| *oldest > number);
            return Ok(is_pruned);
        };
        let Segment { place, digest, is_begun, is_ended, head, .. } = *current;
        if again.head != head {
            return Ok(false);
        }
        let start = again.view().by_index(|entry| entry.at <= place.at);
        let (it, found) =
            again.view().walk(start, |it, front| it.at + front.total_words() <= place.at);
        let is_there = match found {
            Ok(Contents::End(front)) if is_ended => {
                it.at + front.total_words() == place.at && front.sequence == place.sequence
            }
            _ => it.at == place.at && !is_ended,
        };
        if !is_there {
            return Ok(false);
        }
        (again.place, again.digest) = (place, digest);
        (again.is_begun, again.is_ended) = (is_begun, is_ended);
        self.current = Some(again);
        Ok(true)
    }

    /// The digest of the excerpts of the segment before the next one.
    pub fn digest(&self) -> ContentDigest {
        self.current.as_ref().map_or(ContentDigest::default(), |current| current.digest)
    }

    /// The number of the next excerpt, or a smaller one that no excerpt has; 1 before the first
    /// segment.
    pub fn next_sequence(&self) -> u64 {
        self.current.as_ref().map_or(1, |current| current.place.sequence)
    }

    /// The position of the next excerpt.
    pub fn position(&self) -> Position {
        self.current.as_ref().map_or(Position::default(), |current| match current.is_begun {
            true => Position::at(current.head.number(), current.place.at),
            false => Position { segment: current.head.number(), offset_bytes: 0 },
        })
    }

    fn open(&self, number: u64) -> Result<Segment<D::Readable>, JournalError> {
        self.try_open(number)?.ok_or_else(|| {
            JournalError::new(self.disk.path(&names::segment(number)), ErrorKind::NotFound)
        })
    }

    /// Opens a segment; `None` if it does not exist, or is only prepared.
    fn try_open(&self, number: u64) -> Result<Option<Segment<D::Readable>>, JournalError> {
        let Some(stored) = stored::open(&self.disk, number)? else { return Ok(None) };
        let name = names::segment(number);
        let journal = self.current.as_ref().map(|current| current.head.journal());
        let view = stored::view(&self.disk, &name, stored.words(), number, journal)?;
        let Some(View { seed, .. }) = view else { return Ok(None) };
        let damaged = |damage| JournalError::damaged(&self.disk, &name, 0, damage);
        let Some(head) = SegmentHead::load(stored.words()).map_err(damaged)? else {
            return Ok(None);
        };
        let boot = hints::boot(stored.words());
        let place = Place {
            at: head.header.layout.data,
            sequence: head.activation.first_sequence,
            max_ts: head.activation.max_ts_before,
        };
        let (digest, is_ended, is_begun) = (ContentDigest::default(), false, false);
        Ok(Some(Segment { stored, head, seed, boot, place, digest, is_ended, is_begun }))
    }
}

impl<F: crate::disk::ReadableFile> Segment<F> {
    fn view(&self) -> View<'_> {
        let SegmentHead { header, activation, .. } = self.head;
        let words = header.layout.used(self.stored.words());
        View { words, header, activation, seed: self.seed, is_checked: true }
    }
}
