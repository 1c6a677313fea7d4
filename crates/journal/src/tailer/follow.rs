//! What a tailer does where there is nothing to read: the end of a segment, the end of the journal.

use super::{Step, Tailer};
use crate::{
    Damage, JournalError,
    disk::Disk,
    names::Files,
    segment::{
        excerpt::Front,
        header::Activation,
        layout::at,
        view::{Look, Place, look},
    },
    stored,
};

/// How many looks there are for one at the file system, where nothing can come but from there.
const LOOKS: u32 = 1 << 10;

/// How many looks at nothing behind an excerpt there are for the first at the file system, which takes some
/// microseconds: an excerpt that comes meanwhile waits. To look so often takes longer than it is from one
/// excerpt to the next at any rate that matters. Later there are twice as many each time.
const QUIET_LOOKS: u32 = 1 << 14;

/// The most of them.
const MOST_LOOKS: u32 = 1 << 17;

/// So many looks at nothing there were, it is said, where there was something just now: who has never looked
/// at the file system does so at once, and who reads along does not.
pub(super) const LOOKED: u32 = 1;

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
        self.seek(super::Start::Beginning)?;
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
        self.idles = self.idles.wrapping_add(1);
        let is_due = self.idles <= LOOKED
            || self.idles.is_multiple_of(QUIET_LOOKS)
                && (self.idles.is_power_of_two() || self.idles.is_multiple_of(MOST_LOOKS));
        if is_due { self.look_around() } else { Ok(Step::Nothing) }
    }

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
        if self.touched < at + TOUCH_WORDS {
            self.touch_ahead();
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
            Ok(Look::Nothing) if !self.is_durable => Err(self.damaged(Damage::Hole)),
            Ok(Look::Nothing) => Ok(Step::Nothing),
            _ if self.is_durable => Ok(Step::Nothing),
            _ => Ok(Step::Again),
        }
    }

    /// Brings in pages in front of the place.
    #[cold]
    pub(super) fn touch_ahead(&mut self) {
        let Some(current) = &self.current else { return };
        let at = self.place.at;
        let wanted = (at + 2 * TOUCH_WORDS).min(current.stored.words().len());
        current.stored.touch(self.touched.max(at)..wanted);
        self.touched = wanted;
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

    /// The segment ends here.
    #[cold]
    pub(super) fn end(&mut self, front: Front) -> Result<Step, JournalError> {
        let least = self.place.sequence;
        if front.sequence < least {
            return Err(self.damaged(Damage::Sequence { found: front.sequence, least }));
        }
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

    /// Goes on in the first segment that is there behind one that is not.
    fn skip_removed(&mut self, number: u64) -> Result<Step, JournalError> {
        let files = Files::list(&self.disk)?;
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
