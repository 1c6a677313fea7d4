//! Decodes a BinaryFILE day into messages, block by block: a fast path for regular records, a
//! careful one for damage.
//!
//! Where: between a source of blocks and a [`MessageHandler`]. Sans-I/O: the caller passes bytes.
//! Protocol: records of `u16` big-endian length and one ITCH message; length 0 ends the session, if
//! no readable record follows it.
//! Bounds: a block that is not the last may leave less than `MAX_UNUSED_BYTES` unused. The last
//! `KEPT_BYTES` delivered are among them, since the next record may begin inside the last one.
//! Failure: [`Damage`] is reported to the handler and reading continues; [`DayEnd`] has the end of
//! the day. All good records are delivered, also those before a cut and on both sides of damage.
//! Cost: no allocation; per message only the length chain and the type switch.

use core::{fmt, ops::ControlFlow};

use nanotape_market::{Damage, Position};
use nanotape_shm::prefetch;
use nanotape_wire::{
    framing::binary_file::{LENGTH_BYTES, Records},
    itch50::{self, Message, ORDER_RECORD_BYTES, TakeMessage},
};

use crate::{
    Block, DaySource, SessionSummary, SourceError,
    capture::{AnyPacket, PacketMessages, PacketSink, messages_of, read_if_capture},
    events::undecodable,
    irregular::{Irregular, KEPT_BYTES, Lost},
};

/// Receives the messages of a day.
pub trait MessageHandler {
    /// One message, in file order; messages of unknown types included. `Break` ends the reading.
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()>;

    /// Bytes that do not follow the format.
    fn damage(&mut self, damage: Damage);

    /// The source delivered nothing for as long as its patience lasts. `Break` ends the reading.
    fn idle(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A handler that receives each message three times before delivery, to start loading what the
/// message will need. A message that was announced can turn out to be damaged and is then not
/// delivered.
pub(crate) trait LookAhead: MessageHandler {
    /// What the handler keeps about a coming message between the three calls.
    type Hint: Copy + Default;

    /// The message is three batches away: starts to load what locates its order.
    fn prefetch_index(&mut self, message: &[u8]) -> Self::Hint;

    /// The message is two batches away: starts to load its order.
    fn prefetch_order(&mut self, hint: &mut Self::Hint);

    /// The message is in the next batch: starts to load what its order refers to.
    fn prefetch_levels(&mut self, hint: &Self::Hint);
}

/// How far ahead of the current record the file is prefetched.
const FILE_AHEAD_BYTES: usize = 1024;

/// Messages in a batch. Large enough that loads complete before their batch is delivered; small
/// enough that loaded lines are still in the first-level cache when they are used.
const BATCH: usize = 8;

/// How a day ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DayEnd {
    /// The bytes ended between two records.
    EndOfFile,
    /// A record of length 0 ended the session, and no readable record follows it.
    EndOfSession {
        /// Offset of that record.
        offset: u64,
        /// Whether bytes follow it: zeros, or bytes that were reported as lost.
        bytes_follow: bool,
    },
    /// The bytes ended inside a record.
    Cut {
        /// Offset of that record.
        offset: u64,
        /// Bytes it needs, its length field included.
        needed_bytes: u64,
        /// Bytes of it that are present.
        present_bytes: u64,
    },
    /// The handler ended the reading.
    Stopped,
}

impl fmt::Display for DayEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EndOfFile => f.write_str("end of file"),
            Self::EndOfSession { offset, bytes_follow: false } => {
                write!(f, "end of session at offset {offset}")
            }
            Self::EndOfSession { offset, bytes_follow: true } => {
                write!(f, "end of session at offset {offset}: the bytes after it are not records")
            }
            Self::Cut { offset, needed_bytes, present_bytes } => write!(
                f,
                "cut off in the record at offset {offset}: {} of its {needed_bytes} bytes are \
                 missing",
                needed_bytes - present_bytes
            ),
            Self::Stopped => f.write_str("stopped before the end"),
        }
    }
}

/// The result of decoding one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Bytes of the block that were used; the next block must begin after them.
    pub used_bytes: usize,
    /// How the day ended, if it did.
    pub end: Option<DayEnd>,
}

/// The state that is carried from block to block.
#[derive(Clone, Copy, Debug, Default)]
pub struct DayDecoder {
    /// Records so far.
    pub(crate) records: u64,
    /// Bytes at the start of the next block that are already decoded and were kept.
    kept_bytes: usize,
    /// Offset of the first record of the current run of regular records.
    pub(crate) run_since: u64,
    /// Time of the messages before the last irregular position, ns since midnight.
    pub(crate) time_ns: Option<u64>,
    /// The stretch of bytes in which no record has been found yet.
    pub(crate) lost: Option<Lost>,
}

impl DayDecoder {
    /// A decoder at the start of a day.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records decoded so far, damaged ones included.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Decodes the complete records of `block`.
    #[inline]
    pub fn decode(&mut self, block: Block<'_>, handler: &mut impl MessageHandler) -> Step {
        self.decode_by(block, handler, deliver_each)
    }

    /// [`DayDecoder::decode`] for a handler that looks ahead.
    #[inline]
    pub(crate) fn decode_ahead(&mut self, block: Block<'_>, handler: &mut impl LookAhead) -> Step {
        self.decode_by(block, handler, deliver_ahead)
    }

    #[inline]
    fn decode_by<H: MessageHandler>(
        &mut self,
        block: Block<'_>,
        handler: &mut H,
        deliver_regular: impl Fn(&mut Rest<'_>, &mut H) -> ControlFlow<()>,
    ) -> Step {
        let mut used_bytes = self.kept_bytes.min(block.bytes.len());
        loop {
            if self.lost.is_none() {
                let mut rest = Rest {
                    bytes: &block.bytes[used_bytes..],
                    end_offset: block.offset + block.bytes.len() as u64,
                    records: self.records,
                };
                let flow = deliver_regular(&mut rest, handler);
                self.records = rest.records;
                used_bytes = block.bytes.len() - rest.bytes.len();
                if flow.is_break() {
                    return Step { used_bytes, end: Some(DayEnd::Stopped) };
                }
            }
            match self.irregular(block, used_bytes, handler) {
                Irregular::Used(bytes) => used_bytes += bytes,
                Irregular::Back(bytes) => used_bytes -= bytes,
                Irregular::NeedMore => {
                    self.kept_bytes = used_bytes.min(KEPT_BYTES);
                    return Step { used_bytes: used_bytes - self.kept_bytes, end: None };
                }
                Irregular::End(end, bytes) => {
                    return Step { used_bytes: used_bytes + bytes, end: Some(end) };
                }
            }
        }
    }
}

/// The bytes of a block that are not delivered yet. Everything before them was: whole records of a
/// known type and its length.
struct Rest<'a> {
    bytes: &'a [u8],
    /// Offset of their end.
    end_offset: u64,
    /// Records before them.
    records: u64,
}

impl Rest<'_> {
    /// Delivers the next record, unless it is irregular: then the careful path decides.
    #[inline(always)]
    fn deliver(&mut self, handler: &mut impl MessageHandler) -> Option<ControlFlow<()>> {
        let offset = self.end_offset - self.bytes.len() as u64;
        let at = Position { number: self.records + 1, offset };
        let taken = match self.bytes.first_chunk() {
            Some(records) => itch50::take_order_message(records, Deliver { at, handler }),
            None => None,
        };
        let delivered = match taken {
            Some(delivered) => delivered,
            None => deliver_other(at, self.bytes, handler),
        };
        if delivered.bytes == 0 {
            return None;
        }
        self.bytes = &self.bytes[delivered.bytes..];
        self.records += 1;
        Some(delivered.flow)
    }
}

/// Delivers a message at a position.
struct Deliver<'a, H> {
    at: Position,
    handler: &'a mut H,
}

/// How far a record was delivered. Two numbers, which a function returns in registers.
struct Delivered {
    /// Bytes of the record, its length included; 0 if it is irregular.
    bytes: usize,
    /// The handler's answer.
    flow: ControlFlow<()>,
}

impl Delivered {
    const IRREGULAR: Self = Self { bytes: 0, flow: ControlFlow::Continue(()) };
}

impl<H: MessageHandler> TakeMessage for Deliver<'_, H> {
    type Output = Delivered;

    #[inline(always)]
    fn take(self, message: Message<'_>) -> Delivered {
        let bytes = LENGTH_BYTES + message.as_bytes().len();
        Delivered { bytes, flow: self.handler.message(self.at, message) }
    }
}

/// Delivers a message that is not about a displayed order, or one of the last of a block.
#[inline(never)]
fn deliver_other<H: MessageHandler>(at: Position, rest: &[u8], handler: &mut H) -> Delivered {
    let Some(record) = Records::new(rest, at.offset).next() else { return Delivered::IRREGULAR };
    match Message::decode(record.bytes) {
        Ok(Message::Unknown(_)) | Err(_) => Delivered::IRREGULAR,
        Ok(message) => Deliver { at, handler }.take(message),
    }
}

/// Delivers records in order, up to the first irregular one.
#[inline(always)]
fn deliver_each<H: MessageHandler>(rest: &mut Rest<'_>, handler: &mut H) -> ControlFlow<()> {
    loop {
        prefetch(rest.bytes, FILE_AHEAD_BYTES);
        match rest.deliver(handler) {
            Some(flow) => flow?,
            None => return ControlFlow::Continue(()),
        }
    }
}

/// [`deliver_each`] in batches. Four batches are in progress: one is delivered, and the three after
/// it are loaded, each one step further than the next.
#[inline(always)]
fn deliver_ahead<H: LookAhead>(rest: &mut Rest<'_>, handler: &mut H) -> ControlFlow<()> {
    let mut batches = [Batch::<H::Hint>::default(); 4];
    let mut coming = rest.bytes;
    for turn in 0usize.. {
        // Following lengths would otherwise wait for every cache line of the file.
        for line in 0..BATCH / 2 + 2 {
            prefetch(coming, FILE_AHEAD_BYTES + line * 64);
        }
        let [far, middle, near, here] = [0, 3, 2, 1].map(|behind| (turn + behind) % 4);
        coming = batches[far].announce(coming, handler);
        batches[middle].hints().iter_mut().for_each(|hint| handler.prefetch_order(hint));
        batches[near].hints().iter_mut().for_each(|hint| handler.prefetch_levels(hint));
        for _ in batches[here].hints() {
            match rest.deliver(handler) {
                Some(flow) => flow?,
                None => return ControlFlow::Continue(()),
            }
        }
        if batches[far].length + batches[middle].length + batches[near].length == 0 {
            break;
        }
    }
    deliver_each(rest, handler)
}

/// What the handler keeps about some of the coming messages.
#[derive(Clone, Copy, Default)]
struct Batch<T> {
    hints: [T; BATCH],
    length: usize,
}

impl<T> Batch<T> {
    /// Announces the first messages of `coming`, and returns the bytes after them. Nothing is
    /// checked: a record is delivered only if it is regular. The last records of a block are not
    /// announced.
    #[inline(always)]
    fn announce<'a, H: LookAhead<Hint = T>>(
        &mut self,
        mut coming: &'a [u8],
        handler: &mut H,
    ) -> &'a [u8] {
        self.length = 0;
        for hint in &mut self.hints {
            let Some(record) = coming.first_chunk::<ORDER_RECORD_BYTES>() else { break };
            let [high, low, message @ ..] = record;
            let bytes = LENGTH_BYTES + usize::from(u16::from_be_bytes([*high, *low]));
            let Some(after) = coming.get(bytes..) else { break };
            *hint = handler.prefetch_index(message);
            self.length += 1;
            coming = after;
        }
        coming
    }

    #[inline(always)]
    fn hints(&mut self) -> &mut [T] {
        &mut self.hints[..self.length]
    }
}

/// How reading a day ended, and how much was read.
#[derive(Debug)]
pub struct DaySummary {
    /// Records read, damaged ones included.
    pub records: u64,
    /// Bytes used, decompressed.
    pub bytes: u64,
    /// How the day ended.
    pub end: DayEnd,
    /// Why the source ended early, if it did.
    pub fault: Option<SourceError>,
    /// What the lines brought, if the source is a capture or a live session.
    pub session: Option<Box<SessionSummary>>,
}

/// Reads a whole day from `source`, a day file or a capture, into `handler`. Calls `progress` once
/// per block.
pub fn read_day<H: MessageHandler>(
    source: &mut DaySource,
    handler: &mut H,
    mut progress: impl FnMut(&DaySource),
) -> Result<DaySummary, SourceError> {
    if let Some(summary) = read_if_capture(source, Captured(&mut *handler), &mut progress)? {
        return Ok(summary);
    }
    read_day_by(source, handler, progress, |decoder, block, handler| decoder.decode(block, handler))
}

/// Passes the messages of a capture to a handler of the exchange's messages.
struct Captured<'a, H>(&'a mut H);

impl<H: MessageHandler> PacketSink for Captured<'_, H> {
    fn messages(&mut self, _: u64, messages: &PacketMessages<'_, '_>) -> ControlFlow<()> {
        let AnyPacket::MoldUdp64(packet) = &messages.packet else {
            return ControlFlow::Continue(());
        };
        let these = messages_of(packet, messages.numbers.clone());
        for (number, bytes) in (messages.first..).zip(these) {
            match Message::decode(bytes) {
                Ok(message) => self.0.message(Position { number, offset: number }, message)?,
                Err(_) => self.0.damage(undecodable(number, bytes)),
            }
        }
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: Damage) {
        self.0.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.0.idle()
    }
}

/// [`read_day`] for a handler that looks ahead.
pub(crate) fn read_day_ahead<H: LookAhead>(
    source: &mut DaySource,
    handler: &mut H,
    progress: impl FnMut(&DaySource),
) -> Result<DaySummary, SourceError> {
    read_day_by(source, handler, progress, |decoder, block, handler| {
        decoder.decode_ahead(block, handler)
    })
}

fn read_day_by<H: MessageHandler>(
    source: &mut DaySource,
    handler: &mut H,
    mut progress: impl FnMut(&DaySource),
    mut decode: impl FnMut(&mut DayDecoder, Block<'_>, &mut H) -> Step,
) -> Result<DaySummary, SourceError> {
    let mut decoder = DayDecoder::new();
    let (mut used_bytes, mut left_bytes) = (0, 0);
    loop {
        let block = source.next_block(used_bytes)?;
        let Block { offset, bytes, is_last } = block;
        let step = if bytes.len() <= left_bytes && !is_last {
            let end = handler.idle().is_break().then_some(DayEnd::Stopped);
            Step { used_bytes: 0, end }
        } else {
            decode(&mut decoder, block, handler)
        };
        used_bytes = step.used_bytes;
        left_bytes = bytes.len() - used_bytes;
        progress(source);
        if let Some(end) = step.end {
            return Ok(DaySummary {
                records: decoder.records(),
                bytes: offset + used_bytes as u64,
                end,
                fault: source.fault(),
                session: None,
            });
        }
    }
}
