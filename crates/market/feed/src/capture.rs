//! Captures of a live session as a source of events: pcap and pcapng files.
//!
//! Where: a [`DaySource`] whose bytes begin as a capture is read by this module instead of the day
//! reader, so that every command that takes a day also takes a capture.
//! Protocol: the messages of one session of a feed ([`Feed`]), of all destinations that carry it,
//! in the order of their numbers: a capture is a file, and no packet of it is late. The session is
//! that of the [`CaptureChoice`], or the first one in the file that has messages. The units of
//! PITCH are channels of one feed: all are read, each in its order. Capture times are the receive
//! times. A capture has no servers: what is in no packet is missing.
//! Bounds: 64 MiB of packets that wait for an earlier one, and a temporary file for more
//! (`sequence`); [`MOST_ROWS`] destinations with a session, and [`MOST_DESTINATIONS`] others that
//! are listed.
//! Failure: damage of the file, of packets and of messages is reported to the handler. Reading
//! goes on after it where the next record is certain.

mod choice;
mod counting;
mod coverage;
mod groups;
mod items;
mod kept;
mod messages;
mod packet;
mod reader;
mod scan;
mod sequence;
mod survey;

use std::{
    net::SocketAddr,
    ops::{ControlFlow, Range},
};

pub use crate::carried::Carried;
pub use choice::{CaptureChoice, SessionName};
pub use groups::{Destination, Destinations, Group, MOST_DESTINATIONS};
pub use items::{Item, read_items};
pub use messages::read_messages;
use nanotape_market::{Damage, SessionChange};
pub use nanotape_wire::capture::SkipReason;
use nanotape_wire::{
    capture::{CaptureDecoder, CaptureFormat, CaptureItem},
    framing::numbered::{NumberedPacket, PacketFraming},
};
pub(crate) use packet::AnyPacket;
use reader::Beginning;
pub use survey::{CaptureSurvey, MOST_ROWS, SurveyRow, SurveySession};

use crate::{
    Block, DayEnd, DaySource, DaySummary, SourceError,
    feed::Feed,
    session::{LineCounts, Messages},
};

/// What a capture or a live session contained.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionSummary {
    /// Packets in the file.
    pub packets: u64,
    /// The session, or the first channel of it; `None` if the capture has no packet of one.
    pub session: Option<Carried>,
    /// The channels that were read.
    pub channels: usize,
    /// The destination and the counts of each line, in the order of their first packets.
    pub lines: Vec<(SocketAddr, LineCounts)>,
    /// The chosen groups without a packet of the session.
    pub absent: Vec<Group>,
    /// The chosen session, if no packet has it.
    pub absent_session: Option<SessionName>,
    /// Other sessions with messages, if none was chosen.
    pub unread: Vec<UnreadSession>,
    /// Other datagrams that are not of the session, or not of the chosen groups.
    pub others: Destinations,
    /// Packets without a complete datagram, by [`SkipReason`].
    pub skipped: [u64; SkipReason::ALL.len()],
    /// The number of the first message that was delivered; 0 without one.
    pub first_message: u64,
    /// Messages delivered.
    pub messages: u64,
    /// Messages that no line has.
    pub missing: u64,
    /// Whether a live session was joined after its beginning, and no snapshot has what was before.
    pub is_late: bool,
}

/// A session of a capture that was not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadSession {
    /// Its name.
    pub session: Carried,
    /// The lowest number of its messages.
    pub first: u64,
    /// The highest one.
    pub last: u64,
}

/// Bytes that decide whether a source is a capture.
const MAGIC_BYTES: usize = 4;

impl DaySource {
    /// Whether the bytes are a capture. Call it before the first block is read.
    pub fn is_capture(&mut self) -> Result<bool, SourceError> {
        Ok(CaptureFormat::detect(self.beginning()?.bytes).is_some())
    }

    /// Fails if a part of a capture is chosen and the bytes are not a capture. Call it before the
    /// first block is read; the reading itself fails in the same way.
    pub fn check_choice(&mut self) -> Result<(), SourceError> {
        if self.choice().is_default() {
            return Ok(());
        }
        self.require_capture()?;
        // A piece that cannot be read is reported before the first message.
        self.choice().pieces.iter().try_for_each(|piece| DaySource::open_piece(piece).map(drop))
    }

    /// Fails if the bytes are not a capture.
    pub(crate) fn require_capture(&mut self) -> Result<(), SourceError> {
        if self.is_capture()? {
            return Ok(());
        }
        self.require_bytes()?;
        Err(SourceError::NotACapture { name: self.name().to_owned() })
    }

    /// When the messages of a capture that are read began, ns since the UNIX epoch: as the first
    /// packet with messages states it, or as it was captured. `None` for other bytes, and if no
    /// packet has a time. Call it before the first block is read.
    pub fn capture_began_ns(&mut self) -> Result<Option<u64>, SourceError> {
        let Some(beginning) = self.search_beginning()? else { return Ok(None) };
        let found = beginning.found();
        let stated = found.and_then(|found| found.stated_ns.or(found.ts_ns));
        Ok(stated.or(beginning.first_ns()))
    }

    /// Whose messages are read, from the first packet with messages of a capture; `None` for other
    /// bytes, and for a capture without such a packet. Call it before the first block is read.
    pub fn feed(&mut self) -> Result<Option<Feed>, SourceError> {
        let beginning = self.search_beginning()?;
        let found = beginning.and_then(|beginning| beginning.found());
        Ok(found.and_then(|found| Feed::of(&found.carried)))
    }

    /// The first packet with messages that is read; `None` if the bytes are no capture.
    fn search_beginning(&mut self) -> Result<Option<Beginning>, SourceError> {
        let mut beginning = Beginning::new(self.choice().clone());
        let block = self.beginning()?;
        if CaptureFormat::detect(block.bytes).is_none() {
            return Ok(None);
        }
        let (mut rest, mut decoder) = (block.bytes, CaptureDecoder::new());
        loop {
            match decoder.next(&mut rest, true) {
                CaptureItem::Packet(packet) if beginning.has(&packet) => break,
                CaptureItem::Packet(_) | CaptureItem::Damage(_) => {}
                CaptureItem::NeedMore | CaptureItem::End(_) => {
                    // It is not in the first block.
                    if let Some(mut source) = self.again().open() {
                        beginning.search(&mut source)?;
                    }
                    break;
                }
            }
        }
        Ok(Some(beginning))
    }

    /// The first block, with the bytes that decide whether it is a capture.
    fn beginning(&mut self) -> Result<Block<'_>, SourceError> {
        loop {
            let block = self.peek(MAGIC_BYTES)?;
            if block.bytes.len() >= MAGIC_BYTES || block.is_last {
                break;
            }
        }
        self.peek(MAGIC_BYTES)
    }
}

/// Reads a source that is a capture, to its end. `None` if it is a day: then nothing was read.
pub(crate) fn read_if_capture(
    source: &mut DaySource,
    mut handler: impl PacketSink,
    progress: impl FnMut(&DaySource),
) -> Result<Option<DaySummary>, SourceError> {
    loop {
        let block = source.peek(MAGIC_BYTES)?;
        if block.bytes.len() >= MAGIC_BYTES || block.is_last {
            let is_capture = CaptureFormat::detect(block.bytes).is_some();
            source.check_choice()?;
            let read = || reader::read_capture(source, &mut handler, &mut { progress });
            return is_capture.then(read).transpose();
        }
        if handler.idle().is_break() {
            let (fault, session) = (source.fault(), None);
            return Ok(Some(DaySummary {
                records: 0,
                bytes: 0,
                end: DayEnd::Stopped,
                fault,
                session,
            }));
        }
    }
}

/// Receives the packets of a capture in order. The reader calls it by a table, so that there is one
/// copy of it: order and counts are more code than a day file takes, and every consumer of a day
/// would have it again.
pub(crate) trait PacketSink {
    /// The messages from now on are of this feed; called once, before them.
    fn begins(&mut self, feed: Feed) {
        let _ = feed;
    }

    /// Messages of a packet, received at `ts_recv_ns`. `Break` ends reading.
    fn messages(&mut self, ts_recv_ns: u64, messages: &PacketMessages<'_, '_>) -> ControlFlow<()>;

    /// The numbers of a channel begin again.
    fn restarted(&mut self, channel: Carried) {
        let _ = channel;
    }

    /// Something is missing or was dropped.
    fn damage(&mut self, damage: Damage);

    /// The source was idle for its whole patience. `Break` ends the reading.
    fn idle(&mut self) -> ControlFlow<()>;

    /// Messages are missing.
    fn session(&mut self, change: &SessionChange) {
        let _ = change;
    }
}

/// Some messages of a packet.
#[derive(Clone, Debug)]
pub(crate) struct PacketMessages<'p, 'a> {
    /// The number of the first among the messages of all channels.
    pub(crate) first: u64,
    /// Their numbers in their channel.
    pub(crate) numbers: Range<u64>,
    /// The packet.
    pub(crate) packet: AnyPacket<'p, 'a>,
}

/// The messages of a packet that have these numbers.
pub(crate) fn messages_of<'a, F: PacketFraming>(
    packet: &NumberedPacket<'a, F>,
    Range { start, end }: Range<u64>,
) -> impl Messages<'a> {
    packet.messages_from(start).take((end - start) as usize).map(|(_, message)| message)
}
