//! A BinaryFILE day, block by block, into messages: fast where the bytes are good, careful where
//! they are not.
//!
//! Where: between a source of blocks and a [`DayHandler`]. Sans-I/O: [`DayDecoder`] is given bytes.
//! Protocol: records of `u16` big-endian length and one ITCH message; length 0 ends the session.
//! Bounds: a block that is not the last may leave less than `MAX_UNUSED_BYTES` unused.
//! Failure: [`Damage`] is reported through the handler and reading goes on; [`DayEnd`] says how the
//! day ended. Nothing good is dropped: the bytes before a cut and on both sides of damage are
//! delivered.
//! Cost: no allocation a message; the length chain and the type switch are all there is.

use core::{fmt, ops::ControlFlow};

use nanotape_wire::{
    framing::binary_file::{LENGTH_BYTES, Records},
    itch50::{self, Message},
};

use crate::{
    Block, Damage, DaySource, SourceError,
    resync::{LOOKAHEAD_BYTES, continues, find_boundary},
};

/// Where a message stands in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Number of the message, from 1, counting every record.
    pub number: u64,
    /// Offset of its record (of the length in front of it) in the decompressed stream.
    pub offset: u64,
}

/// What is done with the messages of a day.
pub trait DayHandler {
    /// One message, in file order. Unknown types come too. `Break` ends the reading.
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()>;

    /// The bytes of a message that will be delivered soon, unless the handler stops or they turn out
    /// to be damaged: a chance to begin loading what it will need.
    #[inline]
    fn announce(&mut self, message: &[u8]) {
        let _ = message;
    }

    /// Something that did not read as the format says.
    fn damage(&mut self, damage: Damage);
}

/// Messages that are announced together: enough that their loads overlap, few enough that what was
/// loaded first is still in the nearest cache when it is needed.
const BATCH: usize = 16;

/// How a day ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DayEnd {
    /// The bytes ended between two records.
    EndOfFile,
    /// A record of length 0 ended the session.
    EndOfSession {
        /// Offset of that record.
        offset: u64,
        /// Whether bytes follow it. They are not read.
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
                write!(f, "end of session at offset {offset}, and more bytes behind it, not read")
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
    records: u64,
    /// Where the bytes stopped making sense, while a place to go on is being looked for.
    lost_since: Option<u64>,
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
        let mut used_bytes = 0;
        loop {
            if self.lost_since.is_none() {
                let rest =
                    Records::new(&block.bytes[used_bytes..], block.offset + used_bytes as u64);
                let (regular_bytes, flow) = self.regular(rest, handler);
                used_bytes += regular_bytes;
                if flow.is_break() {
                    return Step { used_bytes, end: Some(DayEnd::Stopped) };
                }
            }
            let rest = &block.bytes[used_bytes..];
            let offset = block.offset + used_bytes as u64;
            match self.irregular(rest, offset, block.is_last, handler) {
                Irregular::Used(bytes) => used_bytes += bytes,
                Irregular::NeedMore => return Step { used_bytes, end: None },
                Irregular::End(end, bytes) => {
                    return Step { used_bytes: used_bytes + bytes, end: Some(end) };
                }
            }
        }
    }

    /// Whole records of known types and their lengths: all of a good day. Gives how many bytes
    /// they take.
    #[inline]
    fn regular(
        &mut self,
        mut records: Records<'_>,
        handler: &mut impl DayHandler,
    ) -> (usize, ControlFlow<()>) {
        let (mut used_bytes, mut announced) = (0, 0);
        loop {
            if announced == 0 {
                records.clone().take(BATCH).for_each(|record| handler.announce(record.bytes));
                announced = BATCH;
            }
            announced -= 1;
            let Some(record) = records.next() else { break };
            let Ok(message) = Message::decode(record.bytes) else { break };
            if matches!(message, Message::Unknown(_)) {
                break;
            }
            self.records += 1;
            used_bytes += LENGTH_BYTES + record.bytes.len();
            let position = Position { number: self.records, offset: record.offset };
            if handler.message(position, message).is_break() {
                return (used_bytes, ControlFlow::Break(()));
            }
        }
        (used_bytes, ControlFlow::Continue(()))
    }

    /// Everything but a whole record of a known type and its length.
    #[cold]
    #[inline(never)]
    fn irregular(
        &mut self,
        rest: &[u8],
        offset: u64,
        is_last: bool,
        handler: &mut impl DayHandler,
    ) -> Irregular {
        if rest.is_empty() && self.lost_since.is_none() {
            return if is_last {
                Irregular::End(DayEnd::EndOfFile, 0)
            } else {
                Irregular::NeedMore
            };
        }
        // Whatever it is, look at enough of what follows before deciding.
        if !is_last && rest.len() < LOOKAHEAD_BYTES {
            return Irregular::NeedMore;
        }
        if let Some(since) = self.lost_since {
            return self.look_for_boundary(rest, offset, since, is_last, handler);
        }
        let &[high, low, ref body @ ..] = rest else {
            // One byte: half a length.
            return cut(offset, 2, rest.len());
        };
        let length = u16::from_be_bytes([high, low]);
        let tag = body.first().copied();
        let expected = tag.and_then(itch50::length_of).map(|bytes| bytes as u16);
        let behind = |bytes: u16| body.get(usize::from(bytes)..);
        let goes_on_at = |bytes: u16| behind(bytes).is_some_and(|rest| continues(rest, is_last));

        // The type's own length leads to the next record: the length field is damaged.
        if let (Some(tag), Some(expected)) = (tag, expected)
            && expected != length
            && !goes_on_at(length)
            && goes_on_at(expected)
        {
            let message = &body[..usize::from(expected)];
            handler.damage(Damage::Length {
                offset,
                tag,
                expected_bytes: expected,
                actual_bytes: length,
            });
            return self.deliver(message, offset, handler);
        }
        if length == 0 {
            let end = DayEnd::EndOfSession { offset, bytes_follow: !body.is_empty() };
            return Irregular::End(end, 2);
        }
        let fits = expected.is_none_or(|expected| expected == length);
        let Some(record) = body.get(..usize::from(length)) else {
            // The day ends inside this record, unless its length is what is wrong.
            if fits && (tag.is_none() || expected.is_some()) {
                return cut(offset, 2 + u64::from(length), rest.len());
            }
            if find_boundary(&rest[1..], is_last).is_none() {
                return cut(offset, 2 + u64::from(length), rest.len());
            }
            return self.lose(offset);
        };
        if !goes_on_at(length) {
            return self.lose(offset);
        }
        match (tag, expected) {
            (Some(tag), Some(expected)) if expected != length => {
                self.records += 1;
                handler.damage(Damage::Type {
                    offset,
                    tag,
                    expected_bytes: expected,
                    actual_bytes: length,
                });
                Irregular::Used(2 + record.len())
            }
            _ => self.deliver(record, offset, handler),
        }
    }

    /// A message that took a second look: of an unknown type, or behind a damaged length.
    fn deliver(&mut self, message: &[u8], offset: u64, handler: &mut impl DayHandler) -> Irregular {
        self.records += 1;
        let position = Position { number: self.records, offset };
        let used = 2 + message.len();
        match Message::decode(message) {
            Ok(message) if handler.message(position, message).is_break() => {
                Irregular::End(DayEnd::Stopped, used)
            }
            // A message of its type's length, or of an unknown type, always decodes.
            _ => Irregular::Used(used),
        }
    }

    fn lose(&mut self, offset: u64) -> Irregular {
        self.lost_since = Some(offset);
        Irregular::Used(0)
    }

    fn look_for_boundary(
        &mut self,
        rest: &[u8],
        offset: u64,
        since: u64,
        is_last: bool,
        handler: &mut impl DayHandler,
    ) -> Irregular {
        // The place where sense was lost is known to be none.
        let from = usize::from(offset == since && !rest.is_empty());
        let searched = &rest[from..];
        // A place near the end of a block needs what follows to be judged.
        let judged = if is_last { searched.len() } else { searched.len() - LOOKAHEAD_BYTES / 2 };
        let found = find_boundary(searched, is_last).filter(|&place| place < judged || is_last);
        let used = from + found.unwrap_or(judged);
        if found.is_some() || is_last {
            self.lost_since = None;
            let bytes = offset + used as u64 - since;
            handler.damage(Damage::Lost { offset: since, bytes });
        }
        match found {
            None if is_last => Irregular::End(DayEnd::EndOfFile, used),
            _ => Irregular::Used(used),
        }
    }
}

enum Irregular {
    /// So many bytes were dealt with; go on.
    Used(usize),
    /// The block does not hold enough to decide.
    NeedMore,
    /// The day is over, after so many bytes more.
    End(DayEnd, usize),
}

fn cut(offset: u64, needed_bytes: u64, present_bytes: usize) -> Irregular {
    let present_bytes = present_bytes as u64;
    Irregular::End(DayEnd::Cut { offset, needed_bytes, present_bytes }, 0)
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
pub fn read_day(
    source: &mut DaySource,
    handler: &mut impl DayHandler,
    mut progress: impl FnMut(&DaySource),
) -> Result<DaySummary, SourceError> {
    let mut decoder = DayDecoder::new();
    let mut used_bytes = 0;
    loop {
        let block = source.next_block(used_bytes)?;
        let offset = block.offset;
        let step = decoder.decode(block, handler);
        used_bytes = step.used_bytes;
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
