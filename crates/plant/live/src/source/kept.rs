//! A session that was kept, run again: the same inputs at the same times give the same messages,
//! gaps and snapshots.
//!
//! Failure: a session without its end, because its plant was killed or its disk was full, ends as
//! the packets end. Missing excerpts are reported as a loss of packets and of whatever they had.

use std::path::Path;

use nanotape_board::{LineStat, LiveStat};
use nanotape_feed::{DayEnd, DaySummary, source::Progress};
use nanotape_market::{EventHandler, EventSource};
use nanotape_records::TradeDate;

use super::{
    LiveError,
    delivery::Delivery,
    replay::{Replay, Replayed},
    session::LiveSession,
};

/// Bytes between two reports of progress.
pub(super) const REPORT_BYTES: u64 = 1 << 20;

/// A kept session.
#[derive(Debug)]
pub struct KeptSource {
    name: String,
    replay: Replay,
    stat: LiveStat,
}

impl KeptSource {
    /// Opens the folder of a kept session.
    pub fn open(folder: &Path) -> Result<Self, LiveError> {
        let replay = Replay::open(folder)?;
        let lines = vec![LineStat::default(); replay.settings().session.lines];
        let stat = LiveStat { lines, ..LiveStat::default() };
        Ok(Self { name: folder.display().to_string(), replay, stat })
    }

    /// The folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The trade date.
    pub fn date(&self) -> TradeDate {
        self.replay.settings().date
    }

    /// How much has been read.
    pub fn progress(&self) -> Progress {
        let Replay { bytes, total_bytes, .. } = self.replay;
        Progress { done_bytes: bytes, total_bytes: Some(total_bytes) }
    }

    /// The statistics of the session.
    pub fn stat(&self) -> &LiveStat {
        &self.stat
    }
}

impl EventSource for KeptSource {
    type Summary = DaySummary;
    type Error = LiveError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        mut progress: impl FnMut(&Self),
    ) -> Result<DaySummary, LiveError> {
        let settings = self.replay.settings();
        let midnight_ns = settings.date.midnight_ns();
        let mut session = LiveSession::new(settings.session, Some(midnight_ns));
        let mut delivery = Delivery::new(handler);
        let (mut shown, mut is_closed) = (0, false);
        let end = loop {
            match self.replay.step(&mut session, &mut delivery)? {
                Replayed::Input => is_closed = false,
                Replayed::Close => is_closed = true,
                Replayed::Nothing if is_closed && delivery.has_ended => {
                    let offset = session.receiver.position().expected;
                    break DayEnd::EndOfSession { offset, bytes_follow: false };
                }
                // A session that was cut off has no end.
                Replayed::Nothing => break DayEnd::EndOfFile,
            }
            if delivery.flow.is_break() {
                break DayEnd::Stopped;
            }
            if self.replay.bytes - shown >= REPORT_BYTES {
                shown = self.replay.bytes;
                session.show(&delivery, &mut self.stat);
                progress(self);
                delivery.flow = delivery.handler.idle();
            }
        };
        session.close(self.replay.now_ns, &mut delivery);
        session.show(&delivery, &mut self.stat);
        progress(self);
        Ok(DaySummary {
            records: delivery.messages,
            bytes: self.replay.bytes,
            end,
            fault: None,
            session: Some(Box::new(session.summary(&delivery, &self.stat))),
        })
    }
}
