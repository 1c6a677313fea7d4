//! One run of a DBN file as the messages of a subscriber.
//!
//! Protocol: notices that a tap wrote as text become notices again. The run ends with its stop,
//! before the next start, or with the file.

use std::ops::ControlFlow;

use nanotape_history::{DbnStream, Entry, RecordStream as _};
use nanotape_records::{Notice, UNSTATED_PUBLISHER_ID};
use nanotape_tape::{Progress, Writer, WriterState};

use super::{
    Failed,
    feed::{Amount, limited},
};

/// A run of a DBN file.
#[derive(Debug)]
pub(super) struct DbnFeed {
    stream: DbnStream,
    /// DBN's number of the feed and the venue of the run.
    publisher_id: u16,
    has_begun: bool,
    /// Whether the run, or the trade date of another writer, was read to its end.
    is_whole: bool,
    is_over: bool,
}

impl DbnFeed {
    /// Reads the run at which the stream is.
    pub(super) fn new(stream: DbnStream) -> Self {
        let publisher_id = UNSTATED_PUBLISHER_ID;
        Self { stream, publisher_id, has_begun: false, is_whole: false, is_over: false }
    }

    pub(super) fn next_sequence(&self) -> u64 {
        self.stream.next_sequence()
    }

    /// The state of its writer: dead if the run has no end.
    pub(super) fn writer(&self) -> Writer {
        let state = match (self.is_over, self.is_whole) {
            (false, _) => WriterState::Alive,
            (true, true) => WriterState::Closed,
            (true, false) => WriterState::Dead,
        };
        Writer { epoch: 1, state }
    }

    pub(super) fn poll(
        &mut self,
        amount: Amount,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        if self.is_over {
            return Ok(Progress::Nothing);
        }
        let Self { stream, publisher_id, has_begun, is_whole, is_over } = self;
        let mut buffer = Notice::buffer();
        let polled = stream.poll(|entry| {
            let (sequence, notice) = match entry {
                Entry::Notice { sequence, notice } => (sequence, notice),
                name @ Entry::Name(..) => return visit(name),
                other => return limited(visit(other), amount),
            };
            match notice {
                Notice::Start(_) if *has_begun => *is_over = true,
                Notice::Start(start) => (*publisher_id, *has_begun) = (start.publisher_id, true),
                Notice::Stop(stop) => {
                    *is_whole = true;
                    // The file has no stop: only its trade date ends.
                    *is_over = stop.stopped_ns == 0;
                }
                _ => {}
            }
            if *is_over {
                return ControlFlow::Break(());
            }
            let payload = notice.encode(*publisher_id, &mut buffer);
            limited(visit(Entry::record(sequence, notice.type_id(), payload)), amount)
        });
        let progress = polled.map_err(Failed::Dbn)?;
        if *is_over {
            return Ok(Progress::Read);
        }
        *is_over = progress == Progress::Nothing;
        Ok(progress)
    }
}
