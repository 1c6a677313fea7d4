//! Receives a stream into a sink: the loop of a subscriber.
//!
//! Protocol: it only receives, so that a slow reader of the sink does not hold the publisher back.
//! A publisher that is gone is waited for: the next one of the same ring continues the numbers. The
//! end of the ring's writer is the end of the stream.

use std::{fmt, ops::ControlFlow};

use nanotape_tape::{Follow, Gap, Item, ShutdownFlag, Sink, Source as _, Step, WriterState};

use crate::{
    batch::BatchError,
    source::{AeronSource, AeronSourceError, Inlet},
};

/// Events that a receiver reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReceptionEvent {
    /// These messages did not arrive.
    Lost(Gap),
    /// Batches were refused; the reason is that of the last one.
    Refused {
        /// Number of refused batches so far.
        batches: u64,
        /// Why the last one was refused.
        error: BatchError,
    },
    /// Batches of other rings were skipped.
    OtherRing {
        /// Number of skipped batches so far.
        batches: u64,
    },
    /// No publisher is connected.
    NoPublisher,
    /// A publisher is connected again.
    Publisher,
    /// The writer of the ring has ended, and the next one is waited for.
    WriterGone(WriterState),
}

/// Why a receiver ended.
#[derive(Debug, thiserror::Error)]
pub enum ReceptionError<I, S> {
    /// The stream cannot be read on.
    #[error(transparent)]
    Source(AeronSourceError<I>),
    /// The sink does not take a message.
    #[error("message {sequence} cannot be stored: {error}")]
    Sink {
        /// Its number.
        sequence: u64,
        /// The cause.
        error: S,
    },
}

/// A receiver of a stream that has begun.
pub struct Reception<I: Inlet> {
    follow: Follow<AeronSource<I>>,
    through_restarts: bool,
    reported: Reported,
}

/// What was reported so far.
struct Reported {
    refused: u64,
    other_rings: u64,
    is_connected: bool,
}

impl<I: Inlet> Reception<I> {
    /// Receives from the position of the source on.
    pub fn new(source: AeronSource<I>, through_restarts: bool, shutdown: &ShutdownFlag) -> Self {
        let follow = Follow::new(source).shutdown(shutdown);
        let reported = Reported { refused: 0, other_rings: 0, is_connected: true };
        Self { follow, through_restarts, reported }
    }

    /// Receives until the writer of the ring ends; `None` after a shutdown.
    pub fn run<S: Sink>(
        &mut self,
        sink: &mut S,
        mut report: impl FnMut(ReceptionEvent),
    ) -> Result<Option<WriterState>, ReceptionError<I::Error, S::Error>> {
        let Self { follow, reported, .. } = self;
        loop {
            let mut outcome = Ok(());
            let step = follow.step_by(|source| {
                let sent = source.sent();
                let polled = source.poll(|item| {
                    outcome = match item {
                        Item::Message(message) => {
                            let ts = message.ts.unwrap_or(sent);
                            let (sequence, type_id) = (message.sequence, message.type_id);
                            sink.append_at(sequence, type_id, ts, message.payload)
                                .map_err(|error| ReceptionError::Sink { sequence, error })
                        }
                        Item::Gap(gap) => {
                            report(ReceptionEvent::Lost(gap));
                            let sequence = gap.to + 1;
                            sink.skip_to(sequence)
                                .map_err(|error| ReceptionError::Sink { sequence, error })
                        }
                        // A ring gives no number twice.
                        Item::Reused(_) => Ok(()),
                    };
                    match outcome {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    }
                });
                // Also while no message arrives: that a publisher is gone is such a time.
                reported.add(source, &mut report);
                polled
            });
            outcome?;
            match step.map_err(ReceptionError::Source)? {
                Step::Gone(state) if self.through_restarts => {
                    report(ReceptionEvent::WriterGone(state));
                }
                Step::Gone(state) => return Ok(Some(state)),
                Step::Shutdown => return Ok(None),
                _ => {}
            }
        }
    }
}

impl Reported {
    /// Reports what was refused since the last call, and whether a publisher is connected.
    fn add<I: Inlet>(&mut self, source: &AeronSource<I>, report: &mut impl FnMut(ReceptionEvent)) {
        let counts = source.counts();
        if let Some(error) = source.refusal().filter(|_| counts.refused != self.refused) {
            self.refused = counts.refused;
            report(ReceptionEvent::Refused { batches: counts.refused, error });
        }
        if counts.other_rings != self.other_rings {
            self.other_rings = counts.other_rings;
            report(ReceptionEvent::OtherRing { batches: counts.other_rings });
        }
        let is_connected = source.is_connected();
        if is_connected != self.is_connected {
            self.is_connected = is_connected;
            let event =
                if is_connected { ReceptionEvent::Publisher } else { ReceptionEvent::NoPublisher };
            report(event);
        }
    }
}

impl<I: Inlet> fmt::Debug for Reception<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.follow.tape().counts();
        f.debug_struct("Reception").field("counts", &counts).finish_non_exhaustive()
    }
}
