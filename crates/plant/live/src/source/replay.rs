//! The inputs of a kept session, one after the other, as they were given to its receiver.
//!
//! Where: a [kept session](super::KeptSource) that is run again, and a plant that was started again
//! and catches up with what an earlier one has kept.
//! Failure: missing excerpts are reported as a loss of packets and of whatever they had.

use std::path::{Path, PathBuf};

use nanotape_feed::{glimpse::GlimpseReader, session::PacketOrigin};
use nanotape_journal::{JournalError, Start, Tail, Tailer};
use nanotape_market::{Damage, EventHandler, MarketSnapshot};

use super::{
    LiveError,
    delivery::Delivery,
    keep::{Input, KeptSettings},
    session::LiveSession,
};

/// Reads the inputs in a journal.
#[derive(Debug)]
pub(super) struct InputReader {
    folder: PathBuf,
    tailer: Tailer,
    buffer: Vec<u8>,
    /// The excerpt in the buffer: its type, number and time.
    head: (u16, u64, u64),
}

/// The next excerpt of a journal of inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// An input, which the reader has.
    Input,
    /// Excerpts from this number on are missing.
    Missing(u64),
    /// Nothing more, for now.
    Nothing,
}

impl InputReader {
    /// Reads what is there now and what is added.
    pub(super) fn open(folder: &Path, start: Start) -> Result<Self, JournalError> {
        let tailer = Tailer::open(folder, start)?;
        let (buffer, head) = (Vec::new(), (0, 0, 0));
        Ok(Self { folder: folder.to_owned(), tailer, buffer, head })
    }

    /// Moves to the next excerpt.
    pub(super) fn advance(&mut self) -> Result<Found, JournalError> {
        loop {
            match self.tailer.next()? {
                Tail::Excerpt(excerpt) => {
                    self.buffer.resize(excerpt.len(), 0);
                    excerpt.copy_to(&mut self.buffer);
                    self.head = (excerpt.type_id(), excerpt.sequence(), excerpt.ts_ns());
                    return Ok(Found::Input);
                }
                Tail::Gap(gap) => return Ok(Found::Missing(gap.from)),
                Tail::Reused(_) => {}
                Tail::Nothing => return Ok(Found::Nothing),
            }
        }
    }

    /// The current excerpt: its time in ns, its bytes, and what it is.
    pub(super) fn input(&self) -> Result<(u64, usize, Input<'_>), LiveError> {
        let (type_id, _, now_ns) = self.head;
        let bytes = self.buffer.len();
        let other = || self.refused(format!("of type {type_id:#06x}, {bytes} bytes"), AN_INPUT);
        let input = Input::decode(type_id, &self.buffer).ok_or_else(other)?;
        Ok((now_ns, bytes, input))
    }

    /// The current excerpt is not what it must be.
    fn refused(&self, found: String, expected: &'static str) -> LiveError {
        LiveError::Kept { folder: self.folder.clone(), sequence: self.head.1, found, expected }
    }
}

const AN_INPUT: &str = "an input of a session";

/// Gives the inputs of a kept session to a receiver.
#[derive(Debug)]
pub(super) struct Replay {
    reader: InputReader,
    settings: KeptSettings,
    snapshot: SnapshotMessages,
    /// The last input, if not all are given.
    end: Option<u64>,
    /// Whether the packets that arrived while a plant caught up are still to be given.
    has_arriving: bool,
    /// Bytes of the inputs that were given.
    pub(super) bytes: u64,
    /// Bytes of the journals that are read, when they were opened.
    pub(super) total_bytes: u64,
    /// The time of the last input, in ns.
    pub(super) now_ns: u64,
}

/// What was given to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Replayed {
    /// An input.
    Input,
    /// The plant ended here, and its receiver was closed. Another one may have gone on.
    Close,
    /// The last input was given before.
    Nothing,
}

impl Replay {
    /// Opens the folder of a kept session.
    pub(super) fn open(folder: &Path) -> Result<Self, LiveError> {
        let mut reader = InputReader::open(folder, Start::Oldest)?;
        reader.tailer.set_stops_at_end(true);
        let settings = match reader.advance()? {
            Found::Input => {
                let decoded = KeptSettings::decode(reader.head.0, &reader.buffer);
                decoded.ok_or_else(|| reader.refused("something else".to_owned(), SETTINGS))?
            }
            Found::Missing(_) | Found::Nothing => {
                reader.head.1 = 1;
                return Err(reader.refused("missing".to_owned(), SETTINGS));
            }
        };
        let total_bytes = data_bytes(folder)?;
        Ok(Self {
            reader,
            settings,
            snapshot: SnapshotMessages::default(),
            end: None,
            has_arriving: true,
            bytes: 0,
            total_bytes,
            now_ns: 0,
        })
    }

    /// The settings of the session.
    pub(super) fn settings(&self) -> &KeptSettings {
        &self.settings
    }

    /// The input with this number is the last one.
    pub(super) fn end_at(&mut self, sequence: u64) {
        self.end = Some(sequence);
    }

    /// Another reader has the packets that arrived while a plant caught up.
    pub(super) fn leave_arriving(&mut self) {
        self.has_arriving = false;
    }

    /// Whether the session has ended, according to the last input.
    pub(super) fn is_over(&self) -> Result<bool, LiveError> {
        let mut tailer = Tailer::open(&self.reader.folder, Start::Newest)?;
        Ok(match tailer.previous()? {
            Tail::Excerpt(excerpt) => {
                let last = Input::decode(excerpt.type_id(), &[]);
                last == Some(Input::Close { is_over: true })
            }
            Tail::Gap(_) | Tail::Reused(_) | Tail::Nothing => false,
        })
    }

    /// Goes on with the packets that arrived while a plant caught up, if it ended before it had
    /// delivered all of them. `false` if there are none. After the end of the session they are of
    /// the next one.
    fn begin_arriving(&mut self) -> Result<bool, LiveError> {
        let folder = self.reader.folder.join(super::arriving::FOLDER);
        if !self.has_arriving || !folder.exists() || self.is_over()? {
            return Ok(false);
        }
        self.has_arriving = false;
        match InputReader::open(&folder, Start::Oldest).map_err(LiveError::from) {
            Ok(mut reader) => {
                reader.tailer.set_stops_at_end(true);
                self.total_bytes += data_bytes(&folder)?;
                self.reader = reader;
                Ok(true)
            }
            // It was made a moment before the plant was killed.
            Err(error) if error.is_other_folder() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives the next input to a session, which keeps nothing itself.
    pub(super) fn step<H: EventHandler>(
        &mut self,
        session: &mut LiveSession,
        delivery: &mut Delivery<'_, H>,
    ) -> Result<Replayed, LiveError> {
        if self.end == Some(self.reader.head.1) {
            if !self.begin_arriving()? {
                return Ok(Replayed::Nothing);
            }
            self.end = None;
        }
        match self.reader.advance()? {
            Found::Input => {}
            Found::Missing(offset) => {
                let reason = "missing in the kept session";
                delivery.handler.damage(Damage::Packet { offset, reason });
                return Ok(Replayed::Input);
            }
            Found::Nothing if self.begin_arriving()? => return Ok(Replayed::Input),
            Found::Nothing => return Ok(Replayed::Nothing),
        }
        let (now_ns, bytes, input) = self.reader.input()?;
        self.now_ns = now_ns;
        self.bytes += bytes as u64;
        let mut replayed = Replayed::Input;
        match input {
            Input::Packet { origin, ts_recv_ns, bytes } => {
                if has_line(&self.settings, origin) {
                    session.packet(origin, (ts_recv_ns, now_ns), bytes, delivery);
                }
            }
            Input::Tick => session.receiver.tick(now_ns, delivery),
            Input::Messages(messages) => self.snapshot.0.extend_from_slice(messages),
            Input::Snapshot => {
                let whole = "a whole snapshot before it";
                let snapshot = self.snapshot.take();
                let snapshot = snapshot.map_err(|found| self.reader.refused(found, whole))?;
                delivery.needs_snapshot = false;
                session.snapshot(Some(Box::new(snapshot)), now_ns, delivery);
            }
            Input::SnapshotFailed => {
                delivery.needs_snapshot = false;
                session.snapshot(None, now_ns, delivery);
            }
            Input::Close { .. } => replayed = Replayed::Close,
            Input::Restart => {
                // A plant that was killed may have left a part of a snapshot.
                self.snapshot.0.clear();
                session.receiver.restarted(now_ns, delivery);
            }
        }
        // Their answers are in the journal, or they are sent again.
        drop(delivery.take_requests());
        Ok(replayed)
    }
}

fn data_bytes(folder: &Path) -> Result<u64, JournalError> {
    let segments = nanotape_journal::stat(folder)?.segments;
    Ok(segments.iter().filter_map(|segment| segment.data_bytes).sum())
}

const SETTINGS: &str = "the settings of a session";

/// Whether a packet is of a line of the settings.
fn has_line(settings: &KeptSettings, origin: PacketOrigin) -> bool {
    match origin {
        PacketOrigin::Line(line) => line.index() < settings.session.lines.max(1),
        PacketOrigin::Retransmission => true,
    }
}

/// The messages of a snapshot, from several excerpts.
#[derive(Debug, Default)]
struct SnapshotMessages(Vec<u8>);

impl SnapshotMessages {
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
