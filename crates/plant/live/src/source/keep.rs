//! Keeps the inputs of a session in a journal: packets as they came, with line and times, and what
//! else the receiver was given. `docs/formats/kept-session.md` describes the excerpts.
//!
//! Failure: an input that cannot be kept ends the keeping, and the session goes on. The folder is
//! then incomplete: it has no end.
//! Cost: one append per packet, without a system call.

use std::path::{Path, PathBuf};

use nanotape_feed::session::{
    GapPolicy, Join, Line, PacketOrigin, RequestSettings, SessionSettings, SnapshotSettings,
};
use nanotape_journal::{Appender, AppenderOptions, JournalError, RollCycle};
use nanotape_records::TradeDate;

use super::{LiveError, replay::Replay};

/// The format of the excerpts.
const VERSION: u64 = 3;

/// The first word of the settings.
const MAGIC: u64 = u64::from_be_bytes(*b"NTKEPT\0\0");

const SETTINGS: u8 = 1;
const PACKET: u8 = 2;
const TICK: u8 = 3;
const MESSAGES: u8 = 4;
const SNAPSHOT: u8 = 5;
const SNAPSHOT_FAILED: u8 = 6;
const CLOSE: u8 = 7;
const RESTART: u8 = 8;

/// The code of a close after the end of the session.
const OVER: u8 = 1;

/// The origin of packets from the re-request server.
const SERVER: u8 = 0xFF;

/// Bytes of messages of a snapshot in one excerpt, at most.
const MESSAGES_BYTES: usize = 128 << 10;

/// Bytes before a packet in its excerpt: its receive time.
const HEAD_BYTES: usize = 8;

/// An input of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Input<'a> {
    /// A packet.
    Packet { origin: PacketOrigin, ts_recv_ns: u64, bytes: &'a [u8] },
    /// Time passed.
    Tick,
    /// Messages of the snapshot that follows, each with its length before it.
    Messages(&'a [u8]),
    /// The snapshot of the messages before.
    Snapshot,
    /// No snapshot could be had.
    SnapshotFailed,
    /// The plant ended. Another one may go on with the session, unless it `is_over`.
    Close {
        /// Whether the session has ended.
        is_over: bool,
    },
    /// Another plant goes on, the session was waited for, or the plant did not run for a while: the
    /// time until now counts neither as a silence of a line nor as a missing answer.
    Restart,
}

/// What a kept session begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KeptSettings {
    pub(super) date: TradeDate,
    pub(super) session: SessionSettings,
}

/// Writes the inputs of a session.
#[derive(Debug)]
pub(super) struct Keeper {
    /// `None` after an error.
    appender: Option<Appender>,
    folder: PathBuf,
    buffer: Vec<u8>,
    error: Option<JournalError>,
}

impl Keeper {
    /// Whether a plant before has kept packets of the session in a folder. Nothing is written to
    /// that of a session that has ended, or of another one.
    pub(super) fn has_session(folder: &Path, settings: &KeptSettings) -> Result<bool, LiveError> {
        let Ok(replay) = Replay::open(folder) else { return Ok(false) };
        if replay.is_over().unwrap_or(false) {
            return Err(LiveError::Over { folder: folder.to_owned() });
        }
        replay.settings().require(settings, folder)?;
        Ok(true)
    }

    /// Begins a journal in a folder, which is empty or does not exist. If a plant before has kept
    /// packets of the same session there, the journal goes on, and the inputs up to now are
    /// returned too.
    pub(super) fn begin(
        folder: &Path,
        settings: &KeptSettings,
        now_ns: u64,
    ) -> Result<(Self, Option<Replay>), LiveError> {
        let mut keeper = Self::open(folder, AppenderOptions::default().segment_bytes)?;
        let Some(appender) = &mut keeper.appender else { return Ok((keeper, None)) };
        if appender.next_sequence() <= 1 {
            appender.append(type_of(SETTINGS, 0), 0, settings.encode().as_flattened())?;
            return Ok((keeper, None));
        }
        let mut replay = Replay::open(folder)?;
        // That of a plant that began after the folder was read.
        replay.settings().require(settings, folder)?;
        replay.end_at(appender.append(type_of(RESTART, 0), now_ns, &[])?);
        Ok((keeper, Some(replay)))
    }

    /// A journal of inputs alone, which may have some, in segments of this size.
    pub(super) fn open(folder: &Path, segment_bytes: u64) -> Result<Self, LiveError> {
        let roll_cycle = RollCycle::Size;
        let options = AppenderOptions { roll_cycle, segment_bytes, ..AppenderOptions::default() };
        let appender = Some(Appender::open(folder, &options)?);
        let buffer = Vec::with_capacity(64 << 10);
        Ok(Self { appender, folder: folder.to_owned(), buffer, error: None })
    }

    /// Keeps an input that the receiver gets at `now_ns`.
    #[inline]
    pub(super) fn keep(&mut self, now_ns: u64, input: Input<'_>) {
        let Some(appender) = &mut self.appender else { return };
        let kept = match input {
            Input::Packet { origin, ts_recv_ns, bytes } => {
                self.buffer.clear();
                self.buffer.extend_from_slice(&ts_recv_ns.to_le_bytes());
                self.buffer.extend_from_slice(bytes);
                appender.append(type_of(PACKET, code_of(origin)), now_ns, &self.buffer)
            }
            Input::Tick => appender.append(type_of(TICK, 0), now_ns, &[]),
            Input::Messages(messages) => appender.append(type_of(MESSAGES, 0), now_ns, messages),
            Input::Snapshot => appender.append(type_of(SNAPSHOT, 0), now_ns, &[]),
            Input::SnapshotFailed => appender.append(type_of(SNAPSHOT_FAILED, 0), now_ns, &[]),
            Input::Close { is_over } => {
                appender.append(type_of(CLOSE, is_over.into()), now_ns, &[])
            }
            Input::Restart => appender.append(type_of(RESTART, 0), now_ns, &[]),
        };
        if let Err(error) = kept {
            self.fail(error);
        }
    }

    /// Keeps the messages of a snapshot.
    pub(super) fn keep_messages(&mut self, now_ns: u64, mut messages: &[u8]) {
        while !messages.is_empty() {
            let mut end = 0;
            while let Some(&[high, low]) = messages.get(end..end + 2) {
                let next = end + 2 + usize::from(u16::from_be_bytes([high, low]));
                if next > MESSAGES_BYTES && end > 0 {
                    break;
                }
                end = next;
            }
            let (now, later) = messages.split_at(end.min(messages.len()));
            self.keep(now_ns, Input::Messages(now));
            messages = if end == 0 { &[] } else { later };
        }
    }

    /// The error that ended the keeping, once, with the folder.
    pub(super) fn take_error(&mut self) -> Option<String> {
        let cause = cause_of(&self.error.take()?);
        Some(format!("{cause}; packets are no longer kept in {}", self.folder.display()))
    }

    /// Ends the journal; whether all inputs are in it.
    pub(super) fn finish(&mut self) -> bool {
        match self.appender.take().map(Appender::close) {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                self.error = Some(error);
                false
            }
            None => false,
        }
    }

    #[cold]
    fn fail(&mut self, error: JournalError) {
        (self.error, self.appender) = (Some(error), None);
    }
}

/// What is wrong, without what the journal advises: here it does not go on.
pub(super) fn cause_of(error: &JournalError) -> String {
    let text = error.to_string();
    text.split("; ").next().unwrap_or_default().to_owned()
}

impl<'a> Input<'a> {
    /// The input of an excerpt; `None` if it is not one of this version.
    pub(super) fn decode(type_id: u16, payload: &'a [u8]) -> Option<Self> {
        let [kind, code] = type_id.to_be_bytes();
        Some(match kind {
            PACKET => {
                let (time, bytes) = payload.split_first_chunk::<HEAD_BYTES>()?;
                let ts_recv_ns = u64::from_le_bytes(*time);
                Self::Packet { origin: origin_of(code)?, ts_recv_ns, bytes }
            }
            TICK => Self::Tick,
            MESSAGES => Self::Messages(payload),
            SNAPSHOT => Self::Snapshot,
            SNAPSHOT_FAILED => Self::SnapshotFailed,
            CLOSE => Self::Close { is_over: code == OVER },
            RESTART => Self::Restart,
            _ => return None,
        })
    }
}

/// The words of the settings after the version, as an operator knows them.
const WORDS: [&str; 20] = [
    "trade date",
    "lines",
    "join",
    "hold",
    "messages by which lines overtake a gap",
    "rerequest",
    "rerequest_timeout",
    "rerequest_retries",
    "requests at a time",
    "glimpse",
    "glimpse_timeout",
    "glimpse_attempts",
    "glimpse_retry_after",
    "time of silence",
    "messages kept after a gap",
    "bytes kept after a gap",
    "time before a session is joined",
    "pause of requests",
    "time of requests without an answer",
    "gap_policy",
];

impl KeptSettings {
    /// Refuses to go on with other settings than those of the folder.
    fn require(&self, now: &Self, folder: &Path) -> Result<(), LiveError> {
        let folder = || folder.to_owned();
        if self.date != now.date {
            return Err(LiveError::OtherDate { folder: folder(), kept: self.date, now: now.date });
        }
        let (kept, now) = (self.encode(), now.encode());
        let mut others = WORDS.iter().zip(kept.iter().zip(&now).skip(2));
        match others.find(|(_, (kept, now))| kept != now) {
            Some((&what, _)) => Err(LiveError::OtherSettings { folder: folder(), what }),
            None => Ok(()),
        }
    }

    fn encode(&self) -> [[u8; 8]; 22] {
        let SessionSettings {
            lines,
            join,
            join_ns,
            hold_ns,
            reorder_messages,
            gap_policy,
            requests,
            snapshots,
            silence_ns,
            ahead_messages,
            ahead_bytes,
        } = self.session;
        let join = match join {
            Join::Here => 0,
            Join::Start => 1,
            Join::Snapshot => 2,
        };
        let (has_requests, has_snapshots) = (requests.is_some(), snapshots.is_some());
        let requests = requests.unwrap_or_default();
        let snapshots = snapshots.unwrap_or_default();
        let words = [
            MAGIC,
            VERSION,
            self.date.number().into(),
            lines as u64,
            join,
            hold_ns,
            reorder_messages,
            has_requests.into(),
            requests.timeout_ns,
            requests.retries.into(),
            u64::from(requests.messages) | (requests.in_flight as u64) << 32,
            has_snapshots.into(),
            snapshots.timeout_ns,
            snapshots.attempts.into(),
            snapshots.retry_after_ns,
            silence_ns,
            ahead_messages as u64,
            ahead_bytes as u64,
            join_ns,
            requests.pause_ns,
            requests.budget_ns,
            u64::from(gap_policy == GapPolicy::Flag),
        ];
        words.map(u64::to_le_bytes)
    }

    /// The settings in the first excerpt of a kept session; `None` if it is not one of this
    /// version.
    pub(super) fn decode(type_id: u16, payload: &[u8]) -> Option<Self> {
        let (words, rest) = payload.as_chunks::<8>();
        let words: [u64; 22] = words
            .iter()
            .map(|&word| u64::from_le_bytes(word))
            .collect::<Vec<_>>()
            .try_into()
            .ok()?;
        let is_known = type_id == type_of(SETTINGS, 0) && words[..2] == [MAGIC, VERSION];
        if !is_known || !rest.is_empty() {
            return None;
        }
        let number = |word: u64| u32::try_from(word).ok();
        let size = |word: u64| usize::try_from(word).ok();
        let requests = RequestSettings {
            timeout_ns: words[8],
            retries: number(words[9])?,
            pause_ns: words[19],
            budget_ns: words[20],
            messages: words[10] as u16,
            in_flight: size(words[10] >> 32)?,
        };
        let snapshots = SnapshotSettings {
            timeout_ns: words[12],
            attempts: number(words[13])?,
            retry_after_ns: words[14],
        };
        let session = SessionSettings {
            lines: size(words[3])?,
            join: match words[4] {
                0 => Join::Here,
                1 => Join::Start,
                2 => Join::Snapshot,
                _ => return None,
            },
            join_ns: words[18],
            hold_ns: words[5],
            reorder_messages: words[6],
            gap_policy: match words[21] {
                0 => GapPolicy::Wait,
                1 => GapPolicy::Flag,
                _ => return None,
            },
            requests: (words[7] != 0).then_some(requests),
            snapshots: (words[11] != 0).then_some(snapshots),
            silence_ns: words[15],
            ahead_messages: size(words[16])?,
            ahead_bytes: size(words[17])?,
        };
        // A hostile file must not reserve memory without bound.
        let is_sane = session.lines <= nanotape_feed::session::MAX_LINES
            && session.ahead_messages <= MOST_AHEAD
            && session.ahead_bytes <= MOST_AHEAD * 64
            && requests.in_flight <= 1_024;
        let date = TradeDate::of_number(number(words[2])?)?;
        is_sane.then_some(Self { date, session })
    }
}

/// Messages that a kept session may keep ahead: 16 times the default.
const MOST_AHEAD: usize = 16 << 20;

fn type_of(kind: u8, code: u8) -> u16 {
    u16::from_be_bytes([kind, code])
}

fn code_of(origin: PacketOrigin) -> u8 {
    match origin {
        PacketOrigin::Line(line) => line.index() as u8,
        PacketOrigin::Retransmission => SERVER,
    }
}

fn origin_of(code: u8) -> Option<PacketOrigin> {
    match code {
        SERVER => Some(PacketOrigin::Retransmission),
        line => Line::new(line.into()).map(PacketOrigin::Line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_inputs_are_the_same_after_they_were_kept() {
        let date = TradeDate::of_number(20_191_230).unwrap();
        let session = SessionSettings {
            join: Join::Snapshot,
            gap_policy: GapPolicy::Flag,
            requests: Some(RequestSettings { timeout_ns: 9, ..RequestSettings::default() }),
            ..SessionSettings::default()
        };
        let settings = KeptSettings { date, session };
        let bytes = settings.encode();
        let type_id = type_of(SETTINGS, 0);
        assert_eq!(KeptSettings::decode(type_id, bytes.as_flattened()), Some(settings));
        for length in 0..bytes.len() * 8 {
            assert_eq!(KeptSettings::decode(type_id, &bytes.as_flattened()[..length]), None);
        }
        for origin in [PacketOrigin::Line(Line::B), PacketOrigin::Retransmission] {
            assert_eq!(origin_of(code_of(origin)), Some(origin));
        }
        assert_eq!(Input::decode(type_of(PACKET, 0), &[1; 7]), None);
        assert_eq!(Input::decode(type_of(PACKET, 9), &[1; 9]), None);
        assert_eq!(Input::decode(type_of(77, 0), &[]), None);
    }

    #[test]
    fn another_setting_is_refused_by_its_name() {
        let date = |number| TradeDate::of_number(number).unwrap();
        let session = SessionSettings::default();
        let settings = KeptSettings { date: date(20_191_230), session };
        let refused = |now| settings.require(&now, Path::new("kept")).unwrap_err().to_string();
        assert!(settings.require(&settings, Path::new("kept")).is_ok());
        let other = refused(KeptSettings { date: date(20_191_231), ..settings });
        assert!(other.contains("2019-12-30") && other.contains("2019-12-31"), "{other}");
        let requests = Some(RequestSettings::default());
        for (session, what) in [
            (SessionSettings { hold_ns: 3, ..session }, "hold"),
            (SessionSettings { lines: 1, ..session }, "lines"),
            (SessionSettings { requests, ..session }, "rerequest"),
            (SessionSettings { ahead_bytes: 1, ..session }, "bytes kept after a gap"),
        ] {
            let other = refused(KeptSettings { session, ..settings });
            assert!(other.contains(&format!("kept with another setting ({what})")), "{other}");
        }
    }
}
