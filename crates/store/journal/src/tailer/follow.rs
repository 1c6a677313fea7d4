//! A tailer without a next excerpt: at the end of a segment, or at the end of the journal.

use nanotape_shm::prefetch;

use super::{Start, Step, Tailer};
use crate::{
    Corruption, JournalError,
    disk::Disk,
    names::Files,
    segment::{
        header::{Activation, Incarnation, hints},
        layout::{CACHE_LINE_WORDS, at},
        view::{Contents, Place, read_at},
    },
    stored::{self, Stored},
};

/// Polls without an excerpt before the first check of the file system, which takes some
/// microseconds. The number doubles with each check. Models check at each poll.
const QUIET_POLLS: u32 = if cfg!(nanotape_loom) { 1 } else { 1 << 14 };

/// The most polls between two checks.
const MOST_POLLS: u32 = if cfg!(nanotape_loom) { 1 } else { 1 << 17 };

/// Polls between two checks after an end mark, where the next segment might be replaced before it
/// becomes active.
const POLLS_AT_END: u32 = if cfg!(nanotape_loom) { 1 } else { 32 };

/// Idle count after a successful read: a new tailer, at 0, checks the file system at once.
pub(super) const CHECKED: u32 = 1;

/// The most words after the commit word whose cache lines are prefetched with it.
const MOST_EXPECTED: usize = 64;

/// Words whose pages are mapped at a time, ahead of the next excerpt.
const TOUCH_WORDS: usize = 1 << 15;

impl<D: Disk> Tailer<D> {
    /// Checks again whether a segment is active.
    #[cold]
    pub(super) fn begin(&mut self) -> Result<Step, JournalError> {
        let wanted = self.place.sequence;
        self.seek(Start::Oldest)?;
        if self.current.is_none() {
            return Ok(Step::Nothing);
        }
        self.idles = 0;
        // A reader that wants number 1 gets a gap for numbers that the journal does not have.
        if wanted > 0 {
            self.place.sequence = wanted;
        }
        Ok(Step::Again)
    }

    /// Nothing is committed at the position.
    #[inline]
    pub(super) fn idle(&mut self) -> Result<Step, JournalError> {
        self.idles = self.idles.wrapping_add(1);
        let is_due = self.idles <= CHECKED
            || self.idles.is_multiple_of(QUIET_POLLS)
                && (self.idles.is_power_of_two() || self.idles.is_multiple_of(MOST_POLLS));
        if is_due {
            return self.check_files();
        }
        self.expect_lines();
        Ok(Step::Nothing)
    }

    /// Whether nothing is the answer, for a caller that goes on or at the end of the journal;
    /// otherwise another read is due. The end is looked up before that read, so what an appender
    /// adds meanwhile is read.
    #[inline]
    pub(super) fn is_at_end(&mut self) -> Result<bool, JournalError> {
        if !self.stops_at_end { Ok(true) } else { self.confirm_end() }
    }

    #[cold]
    fn confirm_end(&mut self) -> Result<bool, JournalError> {
        let here = self.place.sequence;
        match self.end {
            Some((at, end)) if at == here && end <= here => Ok(true),
            Some((at, _)) if at == here => Err(self.damaged(Corruption::Hole)),
            _ => {
                // What is not on disk yet does not count.
                let end = match self.is_durable {
                    true => here,
                    false => Self::open_on(self.disk.clone(), Start::Newest)?.next_sequence(),
                };
                self.end = Some((here, end));
                self.idles = 0;
                Ok(false)
            }
        }
    }

    /// Prefetches the cache lines of the next excerpt, if it is as long as the last one. They come
    /// from the appender's cache together with the line of the commit word and not after it, which
    /// saves a quarter of the time from write to read (bench: journal/tail).
    #[inline(always)]
    fn expect_lines(&self) {
        let Some(current) = &self.current else { return };
        let (words, last) = (current.stored.words(), self.place.at + self.expected - 1);
        for word in (self.place.at + CACHE_LINE_WORDS..last).step_by(CACHE_LINE_WORDS) {
            prefetch(words, word);
        }
        prefetch(words, last);
    }

    /// Expects the next excerpt to be as long as this one.
    #[inline(always)]
    pub(super) fn expect(&mut self, words: usize) {
        self.expected = words.min(MOST_EXPECTED);
    }

    /// Whether a check is due after an end mark: at once, since the next segment might be removed.
    fn is_due_at_end(&mut self) -> bool {
        self.idles = self.idles.wrapping_add(1);
        self.idles <= CHECKED + 1 || self.idles.is_multiple_of(POLLS_AT_END)
    }

    /// Starts at a position: pages are brought in from here on, and towards the end also the next
    /// segment.
    pub(super) fn arrive(&mut self) {
        self.touched = self.place.at;
        self.next_chore = self.place.at;
    }

    /// Brings in pages ahead of the position, and towards the end of the segment opens the next
    /// one, even while there are excerpts to read: so the roll does not have to wait for this.
    #[cold]
    pub(super) fn do_chores(&mut self) {
        self.touch_ahead();
        let Some(current) = &self.current else { return };
        let words = current.stored.words().len();
        self.next_chore = self.touched.max(self.place.at + TOUCH_WORDS / 8);
        // An error of the next segment is returned when the tailer enters it.
        if self.place.at >= words - words / 8
            && self.ahead.is_none()
            && self.open_ahead(current.number).is_ok()
            && let Some((_, next)) = &self.ahead
        {
            next.touch(0..2 * TOUCH_WORDS);
        }
    }

    /// Brings in what comes next, and checks whether the journal continues elsewhere.
    #[cold]
    fn check_files(&mut self) -> Result<Step, JournalError> {
        let Some(current) = &self.current else { return Ok(Step::Nothing) };
        if current.stored.is_lost() {
            return Err(self.damaged(Corruption::Truncated));
        }
        let (at, number) = (self.place.at, current.number);
        if self.touched < at + TOUCH_WORDS {
            self.touch_ahead();
        }
        if self.is_recovered() {
            return self.find_again();
        }
        let Some(current) = &self.current else { return Ok(Step::Nothing) };
        if !current.stored.is_current(number) {
            return self.enter_again(number);
        }
        self.open_ahead(number)?;
        let Some((_, next)) = &self.ahead else { return Ok(Step::Nothing) };
        if !matches!(Activation::load(next.words()), Ok(Some(_))) {
            return Ok(Step::Nothing);
        }
        // The end mark comes before the activation that was just observed.
        let Some(current) = &self.current else { return Ok(Step::Nothing) };
        let next = Incarnation::load(next.words());
        let is_other = next.is_some_and(|next| next.id != self.known.id);
        match read_at(current.stored.words(), at, current.seed, self.is_checked) {
            Ok(Contents::Nothing) if is_other || !self.is_durable => {
                self.damaged_or_recovered(Corruption::Hole)
            }
            Ok(Contents::Nothing) => Ok(Step::Nothing),
            _ if self.is_durable => Ok(Step::Nothing),
            _ => Ok(Step::Again),
        }
    }

    /// Brings in pages ahead of the position.
    #[cold]
    pub(super) fn touch_ahead(&mut self) {
        let Some(current) = &self.current else { return };
        let at = self.place.at;
        let wanted = (at + 2 * TOUCH_WORDS).min(current.stored.words().len());
        current.stored.touch(self.touched.max(at)..wanted);
        self.touched = wanted;
    }

    /// Opens the next segment before it is needed, or opens it again if its file was replaced.
    fn open_ahead(&mut self, number: u64) -> Result<(), JournalError> {
        let is_good = matches!(
            &self.ahead,
            Some((ahead, stored)) if *ahead == number + 1 && stored.is_current(number + 1)
        );
        if !is_good {
            let next = stored::open(&self.disk, number + 1)?;
            // Too short for a header: it is being replaced.
            let next = next.filter(|stored| stored.words().len() > at::ACTIVATION);
            self.ahead = next.map(|stored| (number + 1, stored));
        }
        Ok(())
    }

    /// The segment ends here. The number of its end mark is not checked: a reader that came
    /// backwards, or that sought a skipped number, might expect a larger one.
    #[cold]
    pub(super) fn end(&mut self) -> Result<Step, JournalError> {
        let Some(current) = &self.current else { return Ok(Step::Nothing) };
        let number = current.number;
        if !matches!(&self.ahead, Some((ahead, _)) if *ahead == number + 1) {
            self.open_ahead(number)?;
        }
        let is_prepared = |words| matches!(Activation::load(words), Ok(None));
        if let Some((_, stored)) = &self.ahead
            && is_prepared(stored.words())
        {
            // Only prepared; or its name belongs to another file by now.
            return self.wait_for(number);
        }
        match self.ahead.take() {
            Some((next, stored)) => {
                let is_current = stored.is_current(next);
                match self.enter(next, stored) {
                    Ok(Some(entered)) => self.cross(entered),
                    Ok(None) => Ok(Step::Nothing),
                    // It was damaged, and a recovery has moved it out.
                    Err(_) if !is_current => Ok(Step::Again),
                    Err(error) => Err(error),
                }
            }
            None => self.wait_for(number),
        }
    }

    fn wait_for(&mut self, number: u64) -> Result<Step, JournalError> {
        if self.is_due_at_end() {
            self.open_ahead(number)?;
            if self.ahead.is_none() {
                return self.skip_removed(number);
            }
        }
        Ok(Step::Nothing)
    }

    /// Damage, unless the journal was recovered since: then the contents here might have changed.
    #[cold]
    pub(super) fn damaged_or_recovered(
        &mut self,
        damage: Corruption,
    ) -> Result<Step, JournalError> {
        // Only the damage here is reported, not errors elsewhere.
        let reused = self.first_reused(self.known, self.place.sequence);
        if self.is_recovered() || matches!(reused, Ok(Some(_))) {
            return self.find_again();
        }
        match &self.current {
            Some(current) if !current.stored.is_current(current.number) => {
                self.skip_removed(current.number)
            }
            _ => Err(self.damaged(damage)),
        }
    }

    /// Whether an appender has recovered this segment after a loss of power, since the tailer
    /// entered it: its excerpts might be gone from somewhere on, and their numbers used again.
    pub(super) fn is_recovered(&self) -> bool {
        let Some(current) = &self.current else { return false };
        hints::boot(current.stored.words()) != current.boot
    }

    /// Opens the segment again: its file was compressed, removed or replaced.
    fn enter_again(&mut self, number: u64) -> Result<Step, JournalError> {
        let Some(entered) = self.open_segment(number)? else { return self.skip_removed(number) };
        let is_same = self.current.as_ref().is_some_and(|current| current.header == entered.header);
        if is_same {
            if let Some(from) = self.first_changed(&entered) {
                return self.return_to(from);
            }
            // Excerpts that were appended since the last poll are there too, and on disk.
            self.current = Some(entered);
            return Ok(Step::Again);
        }
        self.find_in_restored()
    }

    /// The number of the first excerpt before the position that another file of this segment does
    /// not have: the folder was restored from an older copy while it was read.
    fn first_changed(&self, entered: &super::Current<D::Readable>) -> Option<u64> {
        let current = self.current.as_ref()?;
        let (old, new) = (current.stored.words(), entered.stored.words());
        let view = current.view(false);
        let begin = view.beginning();
        let is_equal = |at: usize| {
            let pair = (old.get(at), new.get(at));
            matches!(pair, (Some(old), Some(new)) if old.load() == new.load())
        };
        let changed = (begin.at..self.place.at).find(|&at| !is_equal(at))?;
        let (place, _) = view.walk(begin, |place, front| place.behind(front).at <= changed);
        Some(place.sequence)
    }

    /// Searches the next position after the segment that was read has become another one. If no
    /// incarnation explains that, an older copy was restored and appended to, in which nothing is
    /// known: all of it comes again.
    fn find_in_restored(&mut self) -> Result<Step, JournalError> {
        let next = self.place.sequence;
        if let Some(from) = self.first_reused(self.known, next)? {
            return self.return_to(from);
        }
        self.seek(Start::Oldest)?;
        let oldest = self.place.sequence;
        self.place.sequence = next;
        self.return_to(oldest)
    }

    /// Continues in the first existing segment after one that is missing.
    fn skip_removed(&mut self, number: u64) -> Result<Step, JournalError> {
        let files = Files::list(&self.disk)?;
        // Another file with this number, or no segment from here on: a recovery removed this one.
        let last = files.segments.keys().next_back();
        let is_replaced = self.current.as_ref().is_some_and(|current| match &current.stored {
            // In memory: its file was unpacked, moved out or replaced.
            Stored::Unpacked(_) => files.segments.get(&number).is_none_or(|kept| !kept.is_packed),
            mapped => !mapped.is_current(number),
        });
        if is_replaced
            && last.is_some_and(|&last| last < number || files.segments.contains_key(&number))
        {
            return self.find_again();
        }
        for next in files.segments.range(number + 1..) {
            if let Some(entered) = self.open_segment(*next.0)? {
                return self.cross(entered);
            }
        }
        Ok(Step::Nothing)
    }

    /// Continues in a later segment, unless that uses numbers again that were read.
    fn cross(&mut self, entered: super::Current<D::Readable>) -> Result<Step, JournalError> {
        if entered.incarnation.is_some_and(|entered| entered.id != self.known.id)
            && self.first_reused(self.known, self.place.sequence)?.is_some()
        {
            return self.find_again();
        }
        self.go_to(entered);
        Ok(Step::Again)
    }

    /// Continues at the beginning of a segment. The next excerpt shows what is missing before it;
    /// without an excerpt, the segment's first sequence number does.
    fn go_to(&mut self, entered: super::Current<D::Readable>) {
        let place = entered.view(self.is_checked).beginning();
        self.place = Place { sequence: self.place.sequence, ..place };
        self.known = entered.incarnation.unwrap_or(self.known);
        self.current = Some(entered);
        self.arrive();
        self.back.forget();
        self.idles = 0;
    }
}
