//! A session that was kept, run again: the same inputs at the same times give the same messages,
//! gaps and snapshots.
//!
//! Failure: a session without its end, because its plant was killed or its disk was full, ends as
//! the packets end. Missing excerpts are reported as a loss of packets and of whatever they had.

use std::path::Path;

use nanotape_board::{LineStat, LiveStat};
use nanotape_feed::{DayEnd, DaySummary, source::Progress, venues::NASDAQ_ITCH};
use nanotape_market::{EventHandler, EventSource, Venue};
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

    /// Whose messages it has.
    pub fn venue(&self) -> &'static Venue {
        NASDAQ_ITCH
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
        let mut delivery = Delivery::new(handler, midnight_ns);
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

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use nanotape_feed::session::{Line, PacketOrigin, SessionSettings};
    use nanotape_harness::Scratch;
    use nanotape_market::{Damage, MarketEvent, Origin, Position};

    use super::{
        super::{
            arriving,
            keep::{Input, Keeper, KeptSettings},
        },
        *,
    };

    struct Ignored;

    impl EventHandler for Ignored {
        type Hint = ();

        fn event(&mut self, _: Position, _: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn damage(&mut self, damage: Damage) {
            panic!("{damage}");
        }
    }

    /// Keeps packets with one message each, from `first` on, a microsecond apart.
    fn keep(keeper: &mut Keeper, first: u64, next: u64) {
        for number in first..next {
            let message = [b"S".as_slice(), &[0; 4], &[0; 6], b"O"].concat();
            let head = [b"TODAY     ".as_slice(), &number.to_be_bytes(), &[0, 1, 0, 12]].concat();
            let (origin, ts_recv_ns) = (PacketOrigin::Line(Line::A), number * 1_000);
            let bytes = &[head, message].concat();
            keeper.keep(ts_recv_ns, Input::Packet { origin, ts_recv_ns, bytes });
        }
    }

    /// The messages of the session in the folder.
    fn messages(folder: &Path) -> u64 {
        let mut source = KeptSource::open(folder).unwrap();
        source.read(&mut Ignored, |_| ()).unwrap().records
    }

    #[test]
    fn packets_that_a_killed_plant_had_not_yet_delivered_are_of_its_session() {
        let folder = Scratch::folder("kept-arriving");
        let date = TradeDate::of_number(20_191_230).unwrap();
        let session = SessionSettings { lines: 1, ..SessionSettings::default() };
        let (mut keeper, _) =
            Keeper::begin(folder.path(), &KeptSettings { date, session }, 0).unwrap();
        keep(&mut keeper, 1, 11);
        assert!(keeper.finish());
        let left = folder.path().join(arriving::FOLDER);
        std::fs::create_dir(&left).unwrap();
        assert_eq!(messages(folder.path()), 10);

        // Three of these were delivered, and so they are in both.
        let mut keeper = Keeper::open(&left, 1 << 20).unwrap();
        keep(&mut keeper, 8, 21);
        assert!(keeper.finish());
        assert_eq!(messages(folder.path()), 20);

        // What arrived after the end of the session is of the next one.
        let mut keeper = Keeper::open(folder.path(), 64 << 20).unwrap();
        keeper.keep(30_000, Input::Close { is_over: true });
        assert!(keeper.finish());
        assert_eq!(messages(folder.path()), 10);
    }
}
