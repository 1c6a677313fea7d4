//! Reads a stream that is still being written, to its end.
//!
//! Protocol, for one [`step`](Follow::step):
//! 1. Poll. If items were read, return.
//! 2. If idle: wait by the strategy, and poll again.
//! 3. When a [check is due](Waiter::is_check_due), check the stream and its writer. If the writer
//!    exited, or the stream was removed, take the number of the [end](Tape::end) *then*, and poll
//!    without waiting up to that number or until idle. Only after that report it.
//!
//! Step 3 ensures that nothing is lost: between the last poll and the check, the writer may have
//! written its last messages and ended. The number limits the drain if a successor continues.
//! Bounds: a step returns when items were read, at the first idle poll, once for each writer that
//! exited, or on a shutdown. Otherwise it waits, for as long as the writer is alive.

#[cfg(test)]
mod tests;

use std::{ops::ControlFlow, time::Duration};

use crate::{
    Deadline, Item, Progress, ShutdownFlag, Source, Tape, WaitStrategy, Waiter, Writer, WriterState,
};

/// Polls that read items between two checks of the stream. They detect a removed file whose writer
/// never pauses.
const READS_PER_CHECK: u32 = 1 << 10;

/// Time between two checks of steps that do not wait.
const TIME_PER_CHECK: Duration = Duration::from_millis(20);

/// Reads a stream while it is written, and all messages that a dead writer left.
///
/// ```no_run
/// # fn follow<S: nanotape_tape::Source>(source: S) -> Result<(), S::Error> {
/// use nanotape_tape::{Follow, Item};
///
/// let mut follow = Follow::new(source);
/// while let Some(item) = follow.next()? {
///     match item {
///         Item::Message(message) => println!("{} {:?}", message.sequence, message.payload),
///         Item::Gap(gap) => println!("{gap}"),
///         Item::Reused(reused) => println!("numbers from {} on come again", reused.from),
///     }
/// }
/// println!("the writer is {}", follow.tape().writer().state);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Follow<T: Tape> {
    tape: T,
    waiter: Waiter,
    shutdown: ShutdownFlag,
    /// How long to wait for a first writer.
    deadline: Option<Deadline>,
    /// The first number that is not read.
    until: u64,
    has_read: bool,
    /// Whether the first idle poll was reported.
    is_idle: bool,
    /// How long nothing is read before that is reported.
    quiet_after: Option<Duration>,
    /// When that is over; `None` if it was reported, or something was read.
    quiet: Option<Deadline>,
    /// When a step that does not wait checks the stream; `None` at once.
    next_check: Option<Deadline>,
    reads: u32,
    end: Option<End<T::Error>>,
    /// The epoch of the last writer whose end was reported.
    reported: Option<u64>,
    /// The epoch of the only writer to follow, if there is one.
    only: Option<u64>,
    payload: Vec<u8>,
    #[cfg(test)]
    skips_last_drain: bool,
}

/// An end that was detected, and is reported after the last drain.
#[derive(Debug)]
struct End<E> {
    why: Why<E>,
    /// The number up to which to drain.
    sequence: u64,
}

#[derive(Debug)]
enum Why<E> {
    Gone(Writer),
    Lost(E),
}

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The step read items.
    Read,
    /// The step read items, and the visitor stopped it.
    Stopped,
    /// There is nothing to read: the moment to flush output. Reported once, until the next read.
    Idle,
    /// Nothing was read for the time of [`Follow::quiet_after`]. Reported once, until the next
    /// read.
    Quiet,
    /// The writer exited, and all of its messages were read. Reported once for each writer. The
    /// next step waits for a successor. `Alive`: a successor has already taken the stream over from
    /// the [only writer](Follow::set_only_writer).
    Gone(WriterState),
    /// Everything up to [`Follow::until`] was read.
    Complete,
    /// A shutdown was requested.
    Shutdown,
}

impl<T: Tape> Follow<T> {
    /// Follows from the reader's position: spins first, then sleeps.
    pub fn new(tape: T) -> Self {
        let sleep = Duration::from_millis(1);
        Self {
            tape,
            waiter: Waiter::new(WaitStrategy::Backoff { polls: 200, sleep }),
            shutdown: ShutdownFlag::new(),
            deadline: None,
            until: u64::MAX,
            has_read: false,
            is_idle: false,
            quiet_after: None,
            quiet: None,
            next_check: None,
            reads: 0,
            end: None,
            reported: None,
            only: None,
            payload: Vec::new(),
            #[cfg(test)]
            skips_last_drain: false,
        }
    }

    /// Sets the wait strategy.
    #[must_use]
    pub fn strategy(mut self, strategy: WaitStrategy) -> Self {
        self.waiter = Waiter::new(strategy);
        self
    }

    /// Ends when this flag is set.
    #[must_use]
    pub fn shutdown(mut self, shutdown: &ShutdownFlag) -> Self {
        self.shutdown = shutdown.clone();
        self
    }

    /// Waits for a writer up to the deadline: until then, and until the first read, a writer that
    /// exited counts as one that has not started yet.
    #[must_use]
    pub fn deadline(mut self, deadline: Deadline) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Reports when nothing was read for this long: [`Step::Quiet`]. Checked about every 20 ms.
    #[must_use]
    pub fn quiet_after(mut self, time: Duration) -> Self {
        self.quiet_after = Some(time);
        self
    }

    /// Reports a quiet time once more, without a read since the last report.
    pub fn expect_quiet(&mut self) {
        self.quiet = self.quiet_after.map(Deadline::after);
    }

    /// Reads only numbers below this one.
    #[must_use]
    pub fn until(mut self, sequence: u64) -> Self {
        self.until = sequence;
        self
    }

    /// Follows the writer of this epoch only: it also counts as gone when a successor has taken the
    /// stream over. Without this, a successor that is fast enough is followed like its predecessor.
    pub fn set_only_writer(&mut self, epoch: u64) {
        self.only = Some(epoch);
    }

    /// The stream.
    pub fn tape(&self) -> &T {
        &self.tape
    }

    /// The stream.
    pub fn tape_mut(&mut self) -> &mut T {
        &mut self.tape
    }

    /// One step, with the caller's own poll.
    #[inline]
    pub fn step_by<E: From<T::Error>>(
        &mut self,
        mut poll: impl FnMut(&mut T) -> Result<Progress, E>,
    ) -> Result<Step, E> {
        loop {
            if let Some(step) = self.attempt(&mut poll)? {
                return Ok(step);
            }
            if !self.is_idle {
                self.is_idle = true;
                self.quiet = self.quiet_after.map(Deadline::after);
                return Ok(Step::Idle);
            }
            if self.wait().is_break() {
                return Ok(Step::Quiet);
            }
        }
    }

    /// The same without a wait: [`Step::Idle`] each time that there is nothing to read. An idle
    /// step checks the stream and its writer if the last check was 20 ms ago.
    #[inline]
    pub fn try_step_by<E: From<T::Error>>(
        &mut self,
        mut poll: impl FnMut(&mut T) -> Result<Progress, E>,
    ) -> Result<Step, E> {
        loop {
            if let Some(step) = self.attempt(&mut poll)? {
                return Ok(step);
            }
            if self.next_check.as_ref().is_some_and(|check| !check.is_over()) {
                return Ok(Step::Idle);
            }
            self.check();
            self.check_writer();
            if self.end.is_none() {
                self.next_check = Some(Deadline::after(TIME_PER_CHECK));
                return Ok(Step::Idle);
            }
        }
    }

    /// A poll, and what follows from it; `None` if there is nothing to read and nothing has ended.
    #[inline(always)]
    fn attempt<E: From<T::Error>>(
        &mut self,
        poll: &mut impl FnMut(&mut T) -> Result<Progress, E>,
    ) -> Result<Option<Step>, E> {
        if self.shutdown.is_requested() {
            return Ok(Some(Step::Shutdown));
        }
        let next = self.tape.next_sequence();
        if next >= self.until {
            return Ok(Some(Step::Complete));
        }
        if self.end.as_ref().is_some_and(|end| next >= end.sequence) {
            return self.conclude().map(Some).map_err(E::from);
        }
        // After an error the end is detected anew: the reading is not over as long as it fails.
        match poll(&mut self.tape).inspect_err(|_| self.end = None)? {
            Progress::Read => {
                self.has_read();
                Ok(Some(Step::Read))
            }
            Progress::Stopped => {
                self.has_read();
                Ok(Some(Step::Stopped))
            }
            Progress::Nothing if self.end.is_some() => self.conclude().map(Some).map_err(E::from),
            Progress::Nothing => Ok(None),
        }
    }

    #[inline]
    fn has_read(&mut self) {
        (self.has_read, self.is_idle) = (true, false);
        self.waiter.reset();
        self.reads = self.reads.wrapping_add(1);
        if self.reads.is_multiple_of(READS_PER_CHECK) && self.end.is_none() {
            self.check();
            if self.only.is_some() {
                self.check_writer();
            }
        }
    }

    /// Waits for a moment. Breaks if nothing was read for the time to report.
    fn wait(&mut self) -> ControlFlow<()> {
        if !self.waiter.is_check_due() {
            self.waiter.idle();
            return ControlFlow::Continue(());
        }
        self.check();
        self.check_writer();
        if self.quiet.as_ref().is_some_and(Deadline::is_over) {
            self.quiet = None;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    #[cold]
    fn check_writer(&mut self) {
        let writer = self.tape.writer();
        let is_to_start = !self.has_read && self.deadline.as_ref().is_some_and(|d| !d.is_over());
        let is_gone = writer.state != WriterState::Alive && self.reported != Some(writer.epoch);
        let is_replaced = self.only.is_some_and(|only| only != writer.epoch);
        if self.end.is_none() && (is_gone && !is_to_start || is_replaced) {
            self.end_with(Why::Gone(writer));
        }
    }

    #[cold]
    fn check(&mut self) {
        if let Err(error) = self.tape.check() {
            self.end_with(Why::Lost(error));
        }
    }

    #[cold]
    fn end_with(&mut self, why: Why<T::Error>) {
        #[cfg(test)]
        if self.skips_last_drain {
            return self.end = Some(End { why, sequence: 0 });
        }
        // Taken after the check of the writer. If it is unavailable, the drain ends at the first
        // idle poll.
        let sequence = self.tape.end().unwrap_or(u64::MAX);
        self.end = Some(End { why, sequence });
    }

    #[cold]
    fn conclude(&mut self) -> Result<Step, T::Error> {
        match self.end.take().map(|end| end.why) {
            Some(Why::Gone(writer)) => {
                self.only = None;
                self.reported = (writer.state != WriterState::Alive).then_some(writer.epoch);
                Ok(Step::Gone(writer.state))
            }
            Some(Why::Lost(error)) => Err(error),
            None => Ok(Step::Idle),
        }
    }
}

impl<S: Source> Follow<S> {
    /// One step: reads available items, or waits.
    #[inline]
    pub fn step(
        &mut self,
        mut visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Step, S::Error> {
        let until = self.until;
        let mut is_stopped = false;
        let step = self.step_by(|source| {
            source.poll(|item| {
                is_stopped = visit(item).is_break();
                let is_last = matches!(item, Item::Message(last) if last.sequence + 1 >= until);
                if is_stopped || is_last {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
        });
        step.map(|step| if step == Step::Stopped && !is_stopped { Step::Read } else { step })
    }

    /// Waits for the next item. `None` if the writer exited and all of its messages were read, or
    /// after a shutdown.
    #[expect(clippy::should_implement_trait, reason = "an item borrows the follower")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, S::Error> {
        let (mut kept, mut payload) = (None, std::mem::take(&mut self.payload));
        let outcome = loop {
            let step = self.step_by(|source| {
                source.poll_one(|item| {
                    kept = Some(match item {
                        Item::Message(message) => {
                            payload.clear();
                            payload.extend_from_slice(message.payload);
                            Item::Message(message.with_payload(&[]))
                        }
                        Item::Gap(gap) => Item::Gap(gap),
                        Item::Reused(reused) => Item::Reused(reused),
                    });
                })
            });
            if !matches!(step, Ok(Step::Idle | Step::Quiet)) {
                break step;
            }
        };
        self.payload = payload;
        outcome?;
        Ok(kept.map(|kept| match kept {
            Item::Message(message) => Item::Message(message.with_payload(&self.payload)),
            other => other,
        }))
    }
}
