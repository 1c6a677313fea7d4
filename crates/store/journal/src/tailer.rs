//! The tailer: reads a journal from any position, forwards and backwards, while it is written.
//!
//! Protocol: `docs/formats/journal.md`, To read. A tailer writes nothing.
//! Bounds: one segment is mapped, and also the next one if it exists; a compressed one is
//! completely in memory.
//! Failure: damage is an error with its position, missing numbers are a [`Gap`]. A tailer never
//! waits for a dead appender: if nothing is committed it returns [`Tail::Nothing`].
//! Cost: a read allocates nothing and makes no system call, except at the end of a segment and for
//! the pages of each half megabyte. After the last excerpt, rare polls check the file system.

mod back;
mod bookmark;
mod excerpt;
mod follow;
mod seek;
mod source;

#[cfg(not(nanotape_loom))]
use std::path::Path;

use back::Back;
pub use bookmark::{Bookmark, Resumed};
pub use excerpt::Excerpt;
use nanotape_tape::{Gap, Reused, Start};
pub use source::TailerSource;

use crate::{
    Corruption, ErrorKind, JournalError,
    disk::{Disk, Folder},
    names::{self, Files},
    segment::{
        excerpt::{Front, Kind},
        header::{Activation, Header, Incarnation, hints},
        view::{Contents, Place, View, read_at},
    },
    stored::{self, Stored},
};

/// The result of a read.
#[derive(Debug)]
pub enum Tail<'tailer> {
    /// An excerpt.
    Excerpt(Excerpt<'tailer>),
    /// Missing excerpts.
    Gap(Gap),
    /// Sequence numbers that were used again, after a loss of power, or because the folder was
    /// restored from an older copy: reading continues at the first of them.
    Reused(Reused),
    /// Nothing more, for now.
    Nothing,
}

/// A reader of a journal.
#[derive(Debug)]
pub struct Tailer<D: Disk = Folder> {
    disk: D,
    /// `None` while no segment is active.
    current: Option<Current<D::Readable>>,
    /// The next segment, which might be only prepared: opened before it is needed.
    ahead: Option<(u64, Stored<D::Readable>)>,
    place: Place,
    /// The incarnation of the position, as far as it is known.
    known: Incarnation,
    /// Positions of excerpts before this one, for reading backwards.
    back: Back,
    /// Whether checksums are verified.
    is_checked: bool,
    /// Whether to read only what is on disk.
    is_durable: bool,
    /// Whether the caller stops where nothing follows.
    stops_at_end: bool,
    /// The position at which the end was last looked up, and the end: two sequence numbers.
    end: Option<(u64, u64)>,
    /// Consecutive polls without an excerpt.
    idles: u32,
    /// The word before which pages are in memory.
    touched: usize,
    /// The word at which the next chores are due, for a tailer that is never idle.
    next_chore: usize,
    /// The expected length of the next excerpt in words, at least 1.
    expected: usize,
}

/// The segment that is being read.
#[derive(Debug)]
struct Current<F> {
    stored: Stored<F>,
    number: u64,
    header: Header,
    activation: Activation,
    seed: u32,
    /// `None` if its words are not valid.
    incarnation: Option<Incarnation>,
    /// The boot of the last appender that opened it, as it was when the tailer entered the segment.
    boot: u64,
}

/// The result of one step forwards.
pub(crate) enum Step {
    Excerpt(Front),
    Gap(Gap),
    Reused(Reused),
    Nothing,
    /// Internal: poll again.
    Again,
}

#[cfg(not(nanotape_loom))]
impl Tailer<Folder> {
    /// Opens a journal to read it.
    pub fn open(path: &Path, start: Start) -> Result<Self, JournalError> {
        Self::open_on(Folder::new(path, 0), start)
    }
}

impl<D: Disk> Tailer<D> {
    /// The same on another disk.
    pub fn open_on(disk: D, start: Start) -> Result<Self, JournalError> {
        let files = Files::list(&disk)?;
        if !files.is_journal {
            return Err(JournalError::new(disk.path(""), ErrorKind::NotFound));
        }
        let place = Place { at: 0, sequence: 0, max_ts: 0 };
        let mut tailer = Self {
            disk,
            current: None,
            ahead: None,
            place,
            known: Incarnation::default(),
            back: Back::default(),
            is_checked: true,
            is_durable: false,
            stops_at_end: false,
            end: None,
            idles: 0,
            touched: 0,
            next_chore: usize::MAX,
            expected: 1,
        };
        tailer.seek(start)?;
        Ok(tailer)
    }

    /// The next excerpt, or the reason why there is none.
    #[expect(clippy::should_implement_trait, reason = "an excerpt borrows its tailer")]
    #[inline]
    pub fn next(&mut self) -> Result<Tail<'_>, JournalError> {
        loop {
            match self.step()? {
                Step::Excerpt(front) => {
                    let at = self.place.at;
                    self.place = self.place.behind(&front);
                    self.expect(front.total_words());
                    self.idles = follow::CHECKED;
                    if self.place.at >= self.next_chore {
                        self.do_chores();
                    }
                    return Ok(match &self.current {
                        Some(current) => Tail::Excerpt(current.excerpt(at, front)),
                        None => Tail::Nothing,
                    });
                }
                Step::Gap(gap) => {
                    self.place.sequence = gap.to + 1;
                    return Ok(Tail::Gap(gap));
                }
                Step::Reused(reused) => return Ok(Tail::Reused(reused)),
                Step::Nothing if self.is_at_end()? => return Ok(Tail::Nothing),
                Step::Nothing | Step::Again => {}
            }
        }
    }

    /// The next step, without moving there; a gap is returned once.
    pub(crate) fn peek(&mut self) -> Result<Step, JournalError> {
        loop {
            match self.step()? {
                Step::Gap(gap) => {
                    self.place.sequence = gap.to + 1;
                    return Ok(Step::Gap(gap));
                }
                Step::Nothing if self.is_at_end()? => return Ok(Step::Nothing),
                Step::Nothing | Step::Again => {}
                step => return Ok(step),
            }
        }
    }

    /// The sequence number of the next excerpt to read, as far as it is known; 0 in a journal that
    /// has none yet. To continue there another time, keep a [`bookmark`](Self::bookmark).
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        self.place.sequence
    }

    /// The number of the current segment, and the position in bytes from the beginning of its file.
    pub fn position(&self) -> (u64, u64) {
        let number = self.current.as_ref().map_or(0, |current| current.number);
        (number, crate::segment::layout::position_bytes(self.place.at))
    }

    /// The file of the current segment, and the position in bytes in its words; the folder before
    /// the first segment. For messages about what is there.
    pub fn place(&self) -> (std::path::PathBuf, u64) {
        let (number, offset) = self.position();
        let name = match &self.current {
            None => return (self.disk.path(""), 0),
            Some(Current { stored: Stored::Unpacked(_), .. }) => names::packed(number),
            Some(_) => names::segment(number),
        };
        (self.disk.path(&name), offset)
    }

    /// Whether the folder that this tailer reads has become another journal than that of `other`.
    fn is_of_other_journal(&self, other: &Self) -> bool {
        let journal = |of: &Self| of.current.as_ref().map(|current| current.header.journal);
        matches!((journal(self), journal(other)), (Some(own), Some(other)) if own != other)
    }

    /// Makes the next read without an excerpt check whether the segment was removed, or recovered
    /// by an appender. Reads check this themselves, but rarely: a caller that sleeps between reads
    /// should call this periodically.
    pub fn recheck(&mut self) {
        self.idles = 0;
        self.end = None;
    }

    /// Sets whether the caller stops at [`Tail::Nothing`]. Default: false. Then it is returned only
    /// at the end of the journal, and an end before excerpts that exist is damage: a part of the
    /// journal was overwritten with zeros. Cost: at the end, the journal is opened again.
    pub fn set_stops_at_end(&mut self, stops_at_end: bool) {
        self.stops_at_end = stops_at_end;
    }

    /// Sets whether the checksums of excerpts are verified. Default: true.
    pub fn set_checked(&mut self, is_checked: bool) {
        self.is_checked = is_checked;
    }

    /// Sets whether to read only excerpts that are known to be on disk. Default: false. With
    /// [`SyncPolicy::Never`](crate::SyncPolicy::Never) there are none.
    pub fn set_durable(&mut self, is_durable: bool) {
        self.is_durable = is_durable;
    }

    #[inline(always)]
    fn step(&mut self) -> Result<Step, JournalError> {
        let Some(current) = &self.current else { return self.begin() };
        let words = current.stored.words();
        if self.is_durable && !current.is_on_disk(self.place.at) {
            return self.idle();
        }
        match read_at(words, self.place.at, current.seed, self.is_checked) {
            Ok(Contents::Excerpt(front)) => {
                if front.sequence == self.place.sequence && front.kind == Kind::Message {
                    return Ok(Step::Excerpt(front));
                }
                self.out_of_order(front)
            }
            Ok(Contents::Nothing) => self.idle(),
            Ok(Contents::End(_)) => self.end(),
            Err(damage) => self.damaged_or_recovered(damage),
        }
    }

    /// An excerpt that does not have the expected number.
    #[cold]
    fn out_of_order(&mut self, front: Front) -> Result<Step, JournalError> {
        let least = self.place.sequence;
        if front.sequence < least {
            return self
                .damaged_or_recovered(Corruption::Sequence { found: front.sequence, least });
        }
        if front.kind == Kind::Lost {
            self.place = Place { sequence: least, ..self.place.behind(&front) };
            return Ok(Step::Again);
        }
        Ok(Step::Gap(Gap { from: least, to: front.sequence - 1 }))
    }

    #[cold]
    fn damaged(&self, damage: Corruption) -> JournalError {
        let (number, is_lost) = self
            .current
            .as_ref()
            .map_or((0, false), |current| (current.number, current.stored.is_lost()));
        let damage = if is_lost { Corruption::Truncated } else { damage };
        JournalError::damaged(&self.disk, &names::segment(number), self.place.at, damage)
    }

    /// Opens a segment for reading; `None` while it is only prepared, or if it does not exist.
    fn open_segment(&self, number: u64) -> Result<Option<Current<D::Readable>>, JournalError> {
        match stored::open(&self.disk, number)? {
            Some(stored) => self.enter(number, stored),
            None => Ok(None),
        }
    }

    fn enter(
        &self,
        number: u64,
        stored: Stored<D::Readable>,
    ) -> Result<Option<Current<D::Readable>>, JournalError> {
        let journal = self.current.as_ref().map(|current| current.header.journal);
        let name = names::segment(number);
        let view = stored::view(&self.disk, &name, stored.words(), number, journal)?;
        let Some(View { header, activation, seed, .. }) = view else { return Ok(None) };
        let boot = hints::boot(stored.words());
        let incarnation = Incarnation::load(stored.words());
        Ok(Some(Current { stored, number, header, activation, seed, incarnation, boot }))
    }
}

impl<F: crate::disk::ReadableFile> Current<F> {
    fn view(&self, is_checked: bool) -> View<'_> {
        let Self { header, activation, seed, .. } = *self;
        let words = header.layout.used(self.stored.words());
        View { words, header, activation, seed, is_checked }
    }

    #[inline(always)]
    fn excerpt(&self, at: usize, front: Front) -> Excerpt<'_> {
        let header = crate::segment::excerpt::HEADER_WORDS;
        let payload = &self.stored.words()[at + header..at + front.total_words()];
        Excerpt { payload, front, segment: self.number, at }
    }

    /// Whether the excerpt at a word is known to be on disk.
    fn is_on_disk(&self, at: usize) -> bool {
        let view = self.view(false);
        at < view.synced() || view.is_sealed()
    }
}
