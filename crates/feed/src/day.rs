//! A BinaryFILE day, block by block, into messages: fast where the bytes are good, careful where
//! they are not.
//!
//! Where: between a source of blocks and a [`DayHandler`]. Sans-I/O: [`DayDecoder`] is given bytes.
//! Protocol: records of `u16` big-endian length and one ITCH message; length 0 ends the session, if
//! nothing that reads as records follows it.
//! Bounds: a block that is not the last may leave less than `MAX_UNUSED_BYTES` unused. The last
//! `KEPT_BYTES` that were delivered are among them: the next record may begin inside the last.
//! Failure: [`Damage`] is reported through the handler and reading goes on; [`DayEnd`] says how the
//! day ended. Nothing good is dropped: the bytes before a cut and on both sides of damage are
//! delivered.
//! Cost: no allocation a message; the length chain and the type switch are all there is.

use core::{fmt, ops::ControlFlow};

use nanotape_market::{Damage, Position};
use nanotape_shm::prefetch;
use nanotape_wire::{
    framing::binary_file::{LENGTH_BYTES, Records},
    itch50::Message,
};

use crate::{
    Block, DaySource, SourceError,
    irregular::{Irregular, KEPT_BYTES, Lost},
};

/// What is done with the messages of a day.
pub trait DayHandler {
    /// One message, in file order. Unknown types come too. `Break` ends the reading.
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()>;

    /// Something that did not read as the format says.
    fn damage(&mut self, damage: Damage);

    /// The source has had nothing for as long as its patience lasts. `Break` ends the reading.
    fn idle(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A handler that wants to be told of messages before they are delivered, three times of each, to
/// begin loading what they will need. What it is told may turn out to be damaged, or never come.
pub(crate) trait LookAhead: DayHandler {
    /// What it found out about a coming message, from one time to the next.
    type Trail: Copy + Default;

    /// The bytes of a message that is three batches away: time to load what says where its order
    /// is.
    fn foresee(&mut self, message: &[u8]) -> Self::Trail;

    /// The message is two batches away: time to load its order.
    fn approach(&mut self, trail: &mut Self::Trail);

    /// The message is in the next batch: time to load what its order leads to.
    fn arrive(&mut self, trail: &Self::Trail);
}

/// How far ahead of the walk the file is loaded.
const FILE_AHEAD_BYTES: usize = 1024;

/// Messages that are brought nearer together: enough that a load is done when its batch is the
/// next, few enough that what was loaded first is still in the nearest cache when it is needed.
const BATCH: usize = 8;

/// How a day ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DayEnd {
    /// The bytes ended between two records.
    EndOfFile,
    /// A record of length 0 ended the session, and nothing that reads as records follows it.
    EndOfSession {
        /// Offset of that record.
        offset: u64,
        /// Whether bytes follow it: zeros, or what was reported as lost.
        bytes_follow: bool,
    },
    /// The bytes ended inside a record.
    Cut {
        /// Offset of that record.
        offset: u64,
        /// Bytes it needs, its length field included.
        needed_bytes: u64,
        /// Bytes of it that are there.
        present_bytes: u64,
    },
    /// The handler wanted no more.
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

/// What came of one block.
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
    /// Bytes at the start of the next block that are dealt with, and kept at hand.
    kept_bytes: usize,
    /// Offset from which on all records were whole and of their type's length.
    pub(crate) run_since: u64,
    /// The time of messages before the last irregular place, ns since midnight.
    pub(crate) time_ns: Option<u64>,
    /// The stretch in which no record has been found yet.
    pub(crate) lost: Option<Lost>,
}

impl DayDecoder {
    /// At the start of a day.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records seen so far, damaged ones included.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Decodes what is complete in `block`.
    #[inline]
    pub fn decode(&mut self, block: Block<'_>, handler: &mut impl DayHandler) -> Step {
        self.decode_by(block, handler, deliver_each)
    }

    /// The same, for a handler that looks ahead.
    #[inline]
    pub(crate) fn decode_ahead(&mut self, block: Block<'_>, handler: &mut impl LookAhead) -> Step {
        self.decode_by(block, handler, deliver_ahead)
    }

    #[inline]
    fn decode_by<H: DayHandler>(
        &mut self,
        block: Block<'_>,
        handler: &mut H,
        deliver_regular: impl Fn(Records<'_>, &mut H, &mut Delivery<'_>) -> ControlFlow<()>,
    ) -> Step {
        let mut used_bytes = self.kept_bytes.min(block.bytes.len());
        loop {
            if self.lost.is_none() {
                let offset = block.offset + used_bytes as u64;
                let rest = Records::new(&block.bytes[used_bytes..], offset);
                let mut delivery = Delivery { records: &mut self.records, offset };
                let flow = deliver_regular(rest, handler, &mut delivery);
                used_bytes = (delivery.offset - block.offset) as usize;
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

/// How far whole records of known types and their lengths, all of a good day, were delivered.
struct Delivery<'a> {
    records: &'a mut u64,
    /// Of the next record.
    offset: u64,
}

/// What became of a record.
enum Delivered {
    Yes,
    /// It was the last that the handler wanted.
    AndStop,
    /// Not delivered: it takes a second look.
    Irregular,
}

impl Delivery<'_> {
    #[inline(always)]
    fn deliver(&mut self, bytes: &[u8], handler: &mut impl DayHandler) -> Delivered {
        let Ok(message) = Message::decode(bytes) else { return Delivered::Irregular };
        if matches!(message, Message::Unknown(_)) {
            return Delivered::Irregular;
        }
        *self.records += 1;
        let position = Position { number: *self.records, offset: self.offset };
        self.offset += (LENGTH_BYTES + bytes.len()) as u64;
        match handler.message(position, message) {
            ControlFlow::Continue(()) => Delivered::Yes,
            ControlFlow::Break(()) => Delivered::AndStop,
        }
    }
}

/// Delivers records one after the other, up to the first that is not regular.
#[inline(always)]
fn deliver_each<H: DayHandler>(
    records: Records<'_>,
    handler: &mut H,
    delivery: &mut Delivery<'_>,
) -> ControlFlow<()> {
    for record in records {
        prefetch(record.bytes, FILE_AHEAD_BYTES);
        match delivery.deliver(record.bytes, handler) {
            Delivered::Yes => {}
            Delivered::AndStop => return ControlFlow::Break(()),
            Delivered::Irregular => break,
        }
    }
    ControlFlow::Continue(())
}

/// The same in batches, of which four are under way at a time: while one is delivered, loads have
/// begun for the three behind it, each of what the one before has found.
#[inline(always)]
fn deliver_ahead<H: LookAhead>(
    mut records: Records<'_>,
    handler: &mut H,
    delivery: &mut Delivery<'_>,
) -> ControlFlow<()> {
    let mut batches = [Batch::<H::Trail>::default(); 4];
    for turn in 0usize.. {
        // The walk from length to length would wait for every line of the file.
        for line in 0..BATCH / 2 + 2 {
            prefetch(records.remaining(), FILE_AHEAD_BYTES + line * 64);
        }
        let [far, middle, near, here] = [0, 3, 2, 1].map(|behind| (turn + behind) % 4);
        let batch = &mut batches[far];
        batch.length = 0;
        for (place, record) in batch.places.iter_mut().zip(&mut records) {
            *place = (record.bytes, handler.foresee(record.bytes));
            batch.length += 1;
        }
        batches[middle].places().iter_mut().for_each(|(_, trail)| handler.approach(trail));
        batches[near].places().iter_mut().for_each(|(_, trail)| handler.arrive(trail));
        for (message, _) in batches[here].places() {
            match delivery.deliver(message, handler) {
                Delivered::Yes => {}
                Delivered::AndStop => return ControlFlow::Break(()),
                Delivered::Irregular => return ControlFlow::Continue(()),
            }
        }
        if batches[far].length + batches[middle].length + batches[near].length == 0 {
            break;
        }
    }
    ControlFlow::Continue(())
}

#[derive(Clone, Copy, Default)]
struct Batch<'a, T> {
    places: [(&'a [u8], T); BATCH],
    length: usize,
}

impl<'a, T> Batch<'a, T> {
    #[inline(always)]
    fn places(&mut self) -> &mut [(&'a [u8], T)] {
        &mut self.places[..self.length]
    }
}

/// How reading a day went.
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
}

/// Reads a whole day from `source` into `handler`. `progress` is called once a block.
pub fn read_day<H: DayHandler>(
    source: &mut DaySource,
    handler: &mut H,
    progress: impl FnMut(&DaySource),
) -> Result<DaySummary, SourceError> {
    read_day_by(source, handler, progress, |decoder, block, handler| decoder.decode(block, handler))
}

/// The same, for a handler that looks ahead.
pub(crate) fn read_day_ahead<H: LookAhead>(
    source: &mut DaySource,
    handler: &mut H,
    progress: impl FnMut(&DaySource),
) -> Result<DaySummary, SourceError> {
    read_day_by(source, handler, progress, |decoder, block, handler| {
        decoder.decode_ahead(block, handler)
    })
}

fn read_day_by<H: DayHandler>(
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
            });
        }
    }
}
