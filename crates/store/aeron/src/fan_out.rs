//! Sends a source to an outlet: the loop of a publisher.
//!
//! Protocol: it reads the source as any reader does, so that the writer of the source never waits.
//! While a batch is held back, by flow control or because no subscriber is connected, it offers the
//! batch again and reads no further than one more batch. The source overwrites old messages
//! meanwhile: their numbers are then a gap, for all subscribers.
//! A source without messages has a batch without messages ten times a second. From it a subscriber
//! learns the ring, the next number, and whether the last messages were lost.
//! When the writer of the source ends, the rest is sent, and then the end, until the time to linger
//! is over: what the network lost is still sent again meanwhile.
//! Cost: two copies of a message, and a reading of the clock a batch.

use std::{fmt, ops::ControlFlow, time::Duration};

use nanotape_clock::UtcNanos;
use nanotape_tape::{
    Deadline, Follow, Gap, Item, Message, Progress, ShutdownFlag, Sink as _, Source, Step,
    WaitStrategy, Waiter, WriterState,
};

use crate::sink::{AeronSink, AeronSinkError, Offered, Outlet};

/// Time between two batches without messages.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// Idle polls between two readings of the clock.
const IDLE_POLLS: u32 = 16;

/// Options of a publisher.
#[derive(Clone, Debug)]
pub struct FanOutOptions {
    /// The creation time of the ring, which identifies it to subscribers.
    pub created_ns: u64,
    /// Whether to continue with the next writer of the source.
    pub through_restarts: bool,
    /// How long to send the rest and the end after the writer of the source has ended.
    pub linger: Duration,
    /// How to wait for messages. `None`: spins first, then sleeps.
    pub strategy: Option<WaitStrategy>,
    /// Ends the publisher.
    pub shutdown: ShutdownFlag,
}

/// Events that a publisher reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FanOutEvent {
    /// The source has overwritten these messages, which were not sent.
    Lost(Gap),
    /// A message is too long for the channel, and was left out.
    TooLong {
        /// Its number.
        sequence: u64,
        /// Bytes of its payload.
        length: usize,
        /// The longest payload.
        most: usize,
    },
    /// No subscriber is connected.
    NoSubscriber,
    /// A subscriber is connected.
    Subscribed,
    /// The writer of the source has ended.
    WriterGone(WriterState),
}

/// The result of a publisher.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct FanOutSummary {
    /// The number of the first message to send.
    pub first_sequence: u64,
    /// The number of the next message of the source.
    pub next_sequence: u64,
    /// Number of messages that were sent.
    pub published: u64,
    /// Number of messages that subscribers cannot get: overwritten, or too long.
    pub lost: u64,
    /// Number of messages of a writer that has ended that were not sent.
    pub unsent: u64,
    /// Number of batches that were sent, also those without messages.
    pub batches: u64,
    /// How many times flow control held a batch back.
    pub held_back: u64,
}

/// Why a publisher ended.
#[derive(Debug, thiserror::Error)]
pub enum FanOutError<S, O> {
    /// The source cannot be read.
    #[error(transparent)]
    Source(S),
    /// The outlet takes no more batches.
    #[error(transparent)]
    Outlet(O),
}

/// The publisher of a source.
pub struct FanOut<S: Source, O> {
    follow: Follow<S>,
    sending: Sending<O>,
    options: FanOutOptions,
}

/// The side of the outlet.
#[derive(Debug)]
struct Sending<O> {
    sink: AeronSink<O>,
    /// A message that waits for the batch before it.
    held: Option<(u64, u16, UtcNanos)>,
    payload: Vec<u8>,
    first_sequence: u64,
    appended: u64,
    lost: u64,
    /// Messages that the writer of the source left, and that were not read.
    unread: u64,
    idle_polls: u32,
    is_subscribed: Option<bool>,
}

type Failed<S, O> = FanOutError<<S as nanotape_tape::Tape>::Error, <O as Outlet>::Error>;

impl<S: Source, O: Outlet> FanOut<S, O> {
    /// Sends messages from the position of the source on.
    pub fn new(source: S, outlet: O, options: FanOutOptions) -> Self {
        let first_sequence = source.next_sequence();
        let sending = Sending {
            sink: AeronSink::new(outlet, options.created_ns, first_sequence),
            held: None,
            payload: Vec::new(),
            first_sequence,
            appended: 0,
            lost: 0,
            unread: 0,
            idle_polls: 0,
            is_subscribed: None,
        };
        let mut follow = Follow::new(source).shutdown(&options.shutdown);
        if let Some(strategy) = options.strategy {
            follow = follow.strategy(strategy);
        }
        Self { follow, sending, options }
    }

    /// Sends until the writer of the source ends, or a shutdown is requested.
    pub fn run(&mut self, mut report: impl FnMut(FanOutEvent)) -> Result<(), Failed<S, O>> {
        loop {
            let Self { follow, sending, .. } = self;
            let is_first = sending.appended == 0;
            let mut outcome = Ok(());
            let step = follow.step_by(|source| match sending.poll(source, &mut report) {
                Ok(progress) => Ok(progress),
                Err(FanOutError::Source(error)) => Err(error),
                Err(error) => {
                    outcome = Err(error);
                    Ok(Progress::Stopped)
                }
            });
            let step = step.map_err(FanOutError::Source);
            outcome?;
            if is_first && sending.appended > 0 && !self.options.through_restarts {
                // The publisher ends with this writer, also if the next one comes at once.
                let epoch = follow.tape().writer().epoch;
                follow.set_only_writer(epoch);
            }
            match step? {
                Step::Gone(state) => {
                    report(FanOutEvent::WriterGone(state));
                    if !self.options.through_restarts {
                        return self.finish(state, &mut report);
                    }
                }
                Step::Shutdown => {
                    self.sending.sink.flush().map_err(FanOutError::Outlet)?;
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    /// Sends the rest, and the end of the stream, until the time to linger is over.
    fn finish(
        &mut self,
        state: WriterState,
        report: &mut impl FnMut(FanOutEvent),
    ) -> Result<(), Failed<S, O>> {
        let Self { follow, sending, options } = self;
        let source = follow.tape_mut();
        let end = source.end().map_err(FanOutError::Source)?;
        let over = Deadline::after(options.linger);
        let mut waiter = Waiter::new(WaitStrategy::Backoff { polls: 200, sleep: HEARTBEAT / 100 });
        let is_over = || over.is_over() || options.shutdown.is_requested();
        while sending.sink.unsent_from() < end && !is_over() {
            match sending.poll(source, report)? {
                Progress::Nothing => waiter.idle(),
                _ => waiter.reset(),
            }
        }
        sending.unread = end.saturating_sub(source.next_sequence());
        // A writer that is alive has taken the source over: the stream of the first one has ended.
        let state = if state == WriterState::Alive { WriterState::Closed } else { state };
        loop {
            sending.sink.announce(end, state).map_err(FanOutError::Outlet)?;
            if is_over() {
                return Ok(());
            }
            options.shutdown.sleep(HEARTBEAT.min(options.linger));
        }
    }

    /// The result so far.
    pub fn summary(&self) -> FanOutSummary {
        let Sending { sink, held, first_sequence, appended, lost, unread, .. } = &self.sending;
        let next_sequence = self.follow.tape().next_sequence();
        FanOutSummary {
            first_sequence: *first_sequence,
            next_sequence,
            published: appended - sink.unsent(),
            lost: *lost,
            unsent: sink.unsent() + u64::from(held.is_some()) + unread,
            batches: sink.batches(),
            held_back: sink.held_back(),
        }
    }

    /// Ends, and returns the outlet.
    pub fn into_outlet(self) -> O {
        self.sending.sink.into_outlet()
    }
}

impl<S: Source, O: Outlet> fmt::Debug for FanOut<S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = self.summary();
        f.debug_struct("FanOut").field("summary", &summary).finish_non_exhaustive()
    }
}

impl<O: Outlet> Sending<O> {
    /// Reads what is there, and sends it.
    fn poll<S: Source>(
        &mut self,
        source: &mut S,
        report: &mut impl FnMut(FanOutEvent),
    ) -> Result<Progress, Failed<S, O>> {
        if !self.append_held(report).map_err(FanOutError::Outlet)? {
            self.report_subscribers(report);
            return Ok(Progress::Nothing);
        }
        let mut outcome = Ok(());
        let polled = source.poll(|item| match item {
            Item::Message(message) => match self.append(&message, report) {
                Ok(true) => ControlFlow::Continue(()),
                Ok(false) => {
                    self.hold(&message);
                    ControlFlow::Break(())
                }
                Err(error) => {
                    outcome = Err(error);
                    ControlFlow::Break(())
                }
            },
            Item::Gap(gap) => {
                self.lost += gap.count();
                report(FanOutEvent::Lost(gap));
                ControlFlow::Continue(())
            }
            // Only a journal gives numbers again.
            Item::Reused(_) => ControlFlow::Continue(()),
        });
        let polled = polled.map_err(FanOutError::Source)?;
        outcome.map_err(FanOutError::Outlet)?;
        let is_sent = self.sink.flush().map_err(FanOutError::Outlet)?;
        if polled == Progress::Nothing && is_sent {
            self.beat(source.next_sequence()).map_err(FanOutError::Outlet)?;
        }
        self.report_subscribers(report);
        Ok(polled)
    }

    /// Appends a message; `false` if the batch before it is held back.
    #[inline]
    fn append(
        &mut self,
        message: &Message<'_>,
        report: &mut impl FnMut(FanOutEvent),
    ) -> Result<bool, O::Error> {
        let Message { sequence, type_id, ts, payload } = *message;
        let ts = ts.unwrap_or(UtcNanos::of_unix_ns(0));
        match self.sink.append_at(sequence, type_id, ts, payload) {
            Ok(()) => self.appended += 1,
            Err(AeronSinkError::HeldBack { .. }) => return Ok(false),
            Err(AeronSinkError::Outlet(error)) => return Err(error),
            Err(AeronSinkError::TooLong { sequence, length, most }) => {
                self.lost += 1;
                report(FanOutEvent::TooLong { sequence, length, most });
            }
            // A source does not give a number twice.
            Err(AeronSinkError::Number { .. } | AeronSinkError::Sent) => {}
        }
        Ok(true)
    }

    /// Keeps a message that was read and not appended.
    #[cold]
    fn hold(&mut self, message: &Message<'_>) {
        let ts = message.ts.unwrap_or(UtcNanos::of_unix_ns(0));
        self.held = Some((message.sequence, message.type_id, ts));
        self.payload.clear();
        self.payload.extend_from_slice(message.payload);
    }

    /// Appends what was kept; `false` if it must still wait.
    #[inline]
    fn append_held(&mut self, report: &mut impl FnMut(FanOutEvent)) -> Result<bool, O::Error> {
        let Some((sequence, type_id, ts)) = self.held else { return Ok(true) };
        let payload = std::mem::take(&mut self.payload);
        let message = Message { sequence, type_id, ts: Some(ts), payload: &payload };
        let appended = self.append(&message, report);
        self.payload = payload;
        if matches!(appended, Ok(true)) {
            self.held = None;
        }
        appended
    }

    /// Shows subscribers now and then that the publisher is alive, and where it is.
    fn beat(&mut self, next: u64) -> Result<(), O::Error> {
        self.idle_polls = self.idle_polls.wrapping_add(1);
        let is_due = self.idle_polls.is_multiple_of(IDLE_POLLS);
        if is_due && u128::from(self.sink.silent_ns()) >= HEARTBEAT.as_nanos() {
            self.sink.announce(next, WriterState::Alive)?;
        }
        Ok(())
    }

    fn report_subscribers(&mut self, report: &mut impl FnMut(FanOutEvent)) {
        let is_subscribed = match self.sink.offered() {
            Offered::Sent if self.sink.batches() == 0 => return,
            Offered::Sent | Offered::HeldBack => true,
            Offered::NoSubscriber => false,
        };
        if self.is_subscribed != Some(is_subscribed) {
            self.is_subscribed = Some(is_subscribed);
            report(if is_subscribed { FanOutEvent::Subscribed } else { FanOutEvent::NoSubscriber });
        }
    }
}
