//! What a tailer does where there is nothing to read: the end of a segment, the end of the journal.

use super::{Start, Step, Tailer};
use crate::{
    Damage, JournalError, Problem,
    disk::Disk,
    names::Files,
    segment::{
        header::{Activation, hints},
        layout::at,
        view::{Look, Place, look},
    },
    stored,
};

/// How many looks at nothing there are for one at the file system.
const LOOKS: u32 = 1024;

/// Words that are brought in at a time in front of where the next excerpt will be.
const TOUCH_WORDS: usize = 1 << 15;

impl<D: Disk> Tailer<D> {
    /// No segment was active when it was last looked.
    #[cold]
    pub(super) fn begin(&mut self) -> Result<Step, JournalError> {
        if !self.is_due() {
            return Ok(Step::Nothing);
        }
        let wanted = self.place.sequence;
        self.seek(Start::Beginning)?;
        if self.current.is_none() {
            return Ok(Step::Nothing);
        }
        self.idles = 0;
        // It wanted a number that nobody had: what was there before is missing.
        self.place.sequence = self.place.sequence.max(wanted);
        Ok(Step::Again)
    }

    /// Nothing is committed at the place.
    #[inline]
    pub(super) fn idle(&mut self) -> Result<Step, JournalError> {
        if self.is_due() { self.look_around() } else { Ok(Step::Nothing) }
    }

    #[inline]
    fn is_due(&mut self) -> bool {
        self.idles = self.idles.wrapping_add(1);
        self.idles % LOOKS == 1
    }

    /// Brings in what comes next, and asks whether anything comes at all.
    #[cold]
    fn look_around(&mut self) -> Result<Step, JournalError> {
        let Some(current) = &self.current else { return Ok(Step::Nothing) };
        if current.stored.is_lost() {
            return Err(self.damaged(Damage::Cut));
        }
        let (at, number) = (self.place.at, current.number);
        let wanted = (at + 2 * TOUCH_WORDS).min(current.stored.words().len());
        if self.touched < at + TOUCH_WORDS {
            current.stored.touch(self.touched.max(at)..wanted);
            self.touched = wanted;
        }
        if self.is_recovered() {
            return self.find_again();
        }
        let Some(current) = &self.current else { return Ok(Step::Nothing) };
        if !current.stored.is_current(number) {
            // Compressed, it would have ended: it was removed.
            return self.skip_removed(number);
        }
        self.look_ahead(number)?;
        let Some((_, next)) = &self.ahead else { return Ok(Step::Nothing) };
        if !matches!(Activation::load(next.words()), Ok(Some(_))) {
            return Ok(Step::Nothing);
        }
        // The end mark comes before the activation that was just seen.
        let Some(current) = &self.current else { return Ok(Step::Nothing) };
        match look(current.stored.words(), at, current.seed, self.is_checked) {
            Ok(Look::Nothing) if !self.is_durable => self.damaged_or_recovered(Damage::Hole),
            Ok(Look::Nothing) => Ok(Step::Nothing),
            _ if self.is_durable => Ok(Step::Nothing),
            _ => Ok(Step::Again),
        }
    }

    /// Opens the next segment ahead of need, or again if it is another file by now.
    fn look_ahead(&mut self, number: u64) -> Result<(), JournalError> {
        let is_good = matches!(
            &self.ahead,
            Some((ahead, stored)) if *ahead == number + 1 && stored.is_current(number + 1)
        );
        if !is_good {
            let next = stored::open(&self.disk, number + 1)?;
            // Too short to be anything: it is just being replaced.
            let next = next.filter(|stored| stored.words().len() > at::ACTIVATION);
            self.ahead = next.map(|stored| (number + 1, stored));
        }
        Ok(())
    }

    /// The segment ends here. The number of its end mark is not looked at: who comes from behind, or asked
    /// for a number that was skipped, may expect a larger one.
    #[cold]
    pub(super) fn end(&mut self) -> Result<Step, JournalError> {
        let Some(current) = &self.current else { return Ok(Step::Nothing) };
        let number = current.number;
        if !matches!(&self.ahead, Some((ahead, _)) if *ahead == number + 1) {
            self.look_ahead(number)?;
        }
        let is_prepared = |words| matches!(Activation::load(words), Ok(None));
        if let Some((_, stored)) = &self.ahead
            && is_prepared(stored.words())
        {
            // Prepared only; or the file of a name that another one has by now.
            return self.wait_for(number);
        }
        match self.ahead.take() {
            Some((next, stored)) => match self.enter(next, stored)? {
                Some(entered) => {
                    self.go_to(entered);
                    Ok(Step::Again)
                }
                None => Ok(Step::Nothing),
            },
            None => self.wait_for(number),
        }
    }

    fn wait_for(&mut self, number: u64) -> Result<Step, JournalError> {
        if self.is_due() {
            self.look_ahead(number)?;
            if self.ahead.is_none() {
                return self.skip_removed(number);
            }
        }
        Ok(Step::Nothing)
    }

    /// Damage, unless the journal was recovered since: then what is here may be something else by now.
    #[cold]
    pub(super) fn damaged_or_recovered(&mut self, damage: Damage) -> Result<Step, JournalError> {
        if self.is_recovered() {
            return self.find_again();
        }
        match &self.current {
            Some(current) if !current.stored.is_current(current.number) => {
                self.skip_removed(current.number)
            }
            _ => Err(self.damaged(damage)),
        }
    }

    /// Whether an appender has put in order, after a loss of power, what this tailer found before: from
    /// somewhere on it may be gone, and its numbers given to something else.
    pub(super) fn is_recovered(&self) -> bool {
        let Some(current) = &self.current else { return false };
        hints::boot(current.stored.words()) != current.boot
    }

    /// Looks for what comes next as if it had just been opened.
    pub(super) fn find_again(&mut self) -> Result<Step, JournalError> {
        let wanted = Start::Sequence(self.place.sequence);
        match self.seek(wanted) {
            // It never was, or was lost.
            Err(error) if matches!(error.problem(), Problem::NotYet { .. }) => {
                self.seek(Start::End)?;
            }
            outcome => outcome?,
        }
        Ok(Step::Again)
    }

    /// Goes on in the first segment that is there behind one that is not.
    fn skip_removed(&mut self, number: u64) -> Result<Step, JournalError> {
        let files = Files::list(&self.disk)?;
        // Another one of this number, or none from here on: this one was cut off by a recovery.
        let last = files.segments.keys().next_back();
        let is_cut =
            self.current.as_ref().is_some_and(|current| !current.stored.is_current(number));
        if is_cut && last.is_some_and(|&last| last < number || files.segments.contains_key(&number))
        {
            return self.find_again();
        }
        for next in files.segments.range(number + 1..) {
            if let Some(entered) = self.open_segment(*next.0)? {
                self.go_to(entered);
                return Ok(Step::Again);
            }
        }
        Ok(Step::Nothing)
    }

    /// Goes on at the beginning of a segment. What is missing before it the next excerpt shows; with none
    /// yet, its first sequence number does.
    fn go_to(&mut self, entered: super::Current<D::Readable>) {
        let place = entered.view(self.is_checked).beginning();
        self.place = Place { sequence: self.place.sequence, ..place };
        self.current = Some(entered);
        self.touched = place.at;
        self.back.forget();
        self.idles = 0;
    }
}
