//! A session that was kept, run again: the same inputs at the same times give the same messages,
//! gaps and snapshots.
//!
//! Failure: a session without its end, because its plant was killed or its disk was full, ends as
//! the packets end. Missing excerpts are reported as a loss of packets and of whatever they had.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    path::{Path, PathBuf},
};

use nanotape_board::{LineStat, LiveStat};
use nanotape_feed::{
    DayEnd, DaySummary, glimpse::GlimpseReader, session::PacketOrigin, source::Progress,
};
use nanotape_journal::{Start, Tail, Tailer};
use nanotape_market::{Damage, EventHandler, EventSource, MarketSnapshot};
use nanotape_records::TradeDate;

use super::{
    LiveError,
    delivery::Delivery,
    keep::{Input, KeptSettings},
    session::LiveSession,
};

/// Bytes between two reports of progress.
const REPORT_BYTES: u64 = 1 << 20;

/// A kept session.
#[derive(Debug)]
pub struct KeptSource {
    folder: PathBuf,
    name: String,
    settings: KeptSettings,
    tailer: Tailer,
    bytes: u64,
    total_bytes: u64,
    stat: LiveStat,
}

impl KeptSource {
    /// Opens the folder of a kept session.
    pub fn open(folder: &Path) -> Result<Self, LiveError> {
        let mut tailer = Tailer::open(folder, Start::Oldest)?;
        tailer.set_stops_at_end(true);
        let refused = |sequence, found: &str| LiveError::Kept {
            folder: folder.to_owned(),
            sequence,
            found: found.to_owned(),
            expected: "the settings of a session",
        };
        let settings = match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                let decoded = KeptSettings::decode(excerpt.type_id(), &excerpt.to_vec());
                decoded.ok_or_else(|| refused(excerpt.sequence(), "something else"))?
            }
            Tail::Gap(gap) => return Err(refused(gap.from, "missing")),
            Tail::Reused(_) | Tail::Nothing => return Err(refused(1, "missing")),
        };
        let total_bytes =
            nanotape_journal::stat(folder)?.segments.iter().filter_map(|s| s.data_bytes).sum();
        let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        let lines = vec![LineStat::of(nowhere); settings.session.lines];
        Ok(Self {
            folder: folder.to_owned(),
            name: folder.display().to_string(),
            settings,
            tailer,
            bytes: 0,
            total_bytes,
            stat: LiveStat { lines, ..LiveStat::default() },
        })
    }

    /// The folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The trade date.
    pub fn date(&self) -> TradeDate {
        self.settings.date
    }

    /// How much has been read.
    pub fn progress(&self) -> Progress {
        Progress { done_bytes: self.bytes, total_bytes: Some(self.total_bytes) }
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
        let mut session = LiveSession::new(self.settings.session, None);
        let mut delivery = Delivery::new(handler);
        let mut snapshot = SnapshotMessages::default();
        let (mut buffer, mut now_ns, mut shown) = (Vec::new(), 0, 0);
        let end = loop {
            let (type_id, sequence) = match self.tailer.next()? {
                Tail::Excerpt(excerpt) => {
                    buffer.resize(excerpt.len(), 0);
                    excerpt.copy_to(&mut buffer);
                    now_ns = excerpt.ts_ns();
                    (excerpt.type_id(), excerpt.sequence())
                }
                Tail::Gap(gap) => {
                    let reason = "missing in the kept session";
                    delivery.handler.damage(Damage::Packet { offset: gap.from, reason });
                    continue;
                }
                Tail::Reused(_) => continue,
                // A session that was cut off has no end.
                Tail::Nothing => break DayEnd::EndOfFile,
            };
            self.bytes += buffer.len() as u64;
            let Some(input) = Input::decode(type_id, &buffer) else {
                return Err(LiveError::Kept {
                    folder: self.folder.clone(),
                    sequence,
                    found: format!("of type {type_id:#06x}, {} bytes", buffer.len()),
                    expected: "an input of a session",
                });
            };
            match input {
                Input::Packet { origin, ts_recv_ns, bytes } => {
                    if self.has(origin) {
                        session.packet(origin, (ts_recv_ns, now_ns), bytes, &mut delivery);
                    }
                }
                Input::Tick => session.receiver.tick(now_ns, &mut delivery),
                Input::Messages(messages) => snapshot.push(messages),
                Input::Snapshot => {
                    let fetched = snapshot.take().map_err(|found| LiveError::Kept {
                        folder: self.folder.clone(),
                        sequence,
                        found,
                        expected: "a whole snapshot before it",
                    })?;
                    session.snapshot(Some(Box::new(fetched)), now_ns, &mut delivery);
                }
                Input::SnapshotFailed => session.snapshot(None, now_ns, &mut delivery),
                Input::Close => {
                    let offset = session.receiver.position().expected;
                    break if delivery.has_ended {
                        DayEnd::EndOfSession { offset, bytes_follow: false }
                    } else {
                        DayEnd::EndOfFile
                    };
                }
            }
            // Their answers are in the journal.
            drop(delivery.take_requests());
            if delivery.flow.is_break() {
                break DayEnd::Stopped;
            }
            if self.bytes - shown >= REPORT_BYTES {
                shown = self.bytes;
                session.show(&delivery, &mut self.stat);
                progress(self);
                delivery.flow = delivery.handler.idle();
            }
        };
        session.close(now_ns, &mut delivery);
        session.show(&delivery, &mut self.stat);
        progress(self);
        Ok(DaySummary {
            records: delivery.messages,
            bytes: self.bytes,
            end,
            fault: None,
            session: Some(Box::new(session.summary(&delivery, &self.stat))),
        })
    }
}

impl KeptSource {
    /// Whether a packet is of a line of the settings.
    fn has(&self, origin: PacketOrigin) -> bool {
        match origin {
            PacketOrigin::Line(line) => line.index() < self.settings.session.lines.max(1),
            PacketOrigin::Retransmission => true,
        }
    }
}

/// The messages of a snapshot, from several excerpts.
#[derive(Debug, Default)]
struct SnapshotMessages(Vec<u8>);

impl SnapshotMessages {
    fn push(&mut self, messages: &[u8]) {
        self.0.extend_from_slice(messages);
    }

    /// The snapshot of the messages; they are forgotten.
    fn take(&mut self) -> Result<MarketSnapshot, String> {
        let bytes = core::mem::take(&mut self.0);
        let (mut rest, mut reader) = (bytes.as_slice(), GlimpseReader::default());
        while let Some((length, after)) = rest.split_first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*length));
            let Some((message, after)) = after.split_at_checked(length) else { break };
            match reader.message(message) {
                Ok(None) => rest = after,
                Ok(Some(snapshot)) => return Ok(snapshot),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("a snapshot without its end".to_owned())
    }
}
