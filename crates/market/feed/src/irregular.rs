//! The careful path of [`DayDecoder`](crate::DayDecoder): records that are not whole, of unknown
//! type, or not of their type's length.
//!
//! Protocol: the first case that applies decides. A position "continues" if records or the end of
//! the day follow it.
//!
//! 1. A record begins inside the one delivered last, and the day continues after it: the last
//!    record lacks bytes.
//! 2. The day continues after the type's own length: the length is damaged. If the stated length is
//!    shorter and the day continues after it as well, the type is damaged: a record does not
//!    contain others by chance.
//! 3. The type is not in the table: the record is delivered if its type and length are possible,
//!    the day continues after it, and no record begins inside it.
//! 4. The length is zero: the end of the session if no bytes follow. Otherwise the rest is searched
//!    first.
//! 5. Anything else: lost, up to the next certain record boundary.
//!
//! Bounds: see [`resync`](crate::resync). A position is checked once as a part of lost bytes, and
//! at most once more as a part of the record before it and of the record that contains it.

use nanotape_wire::itch50::{self, EventCode, Message, SystemEvent};

use crate::{
    Block, Damage, DayEnd, MessageHandler, Position,
    day::DayDecoder,
    resync::{
        CHAIN_BYTES, LONGEST_KNOWN_RECORD_BYTES, LONGEST_MESSAGE_BYTES, LOOKAHEAD_BYTES,
        Surroundings, can_be_unknown, find_boundary, goes_on, is_boundary, passes_over,
        record_before, time_ns,
    },
};

/// Delivered bytes that stay available: enough for the last records, and for one that begins inside
/// the last.
pub(crate) const KEPT_BYTES: usize = 256;

/// Records before a damaged position whose times are compared. The last may be damaged itself.
const TIMES: usize = 3;

// These records are within the kept bytes.
const _: () = assert!(TIMES * LONGEST_KNOWN_RECORD_BYTES <= KEPT_BYTES);

/// The decision about a position.
pub(crate) enum Irregular {
    /// Continue after this number of bytes.
    Used(usize),
    /// Continue this number of bytes earlier.
    Back(usize),
    /// The block has too few bytes to decide.
    NeedMore,
    /// The day ends after this number of bytes.
    End(DayEnd, usize),
}

/// A stretch of bytes in which no record has been found yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    /// Offset of its first byte.
    since: u64,
    /// Whether it begins with a length of zero.
    has_no_length: bool,
    /// Whether the message before it was the last message of a day.
    is_after_the_last: bool,
    /// Whether all its bytes so far are zero.
    is_zero: bool,
}

impl DayDecoder {
    /// Handles anything but a whole record of a known type and its length. `used_bytes` of the
    /// block are already decoded.
    #[cold]
    #[inline(never)]
    pub(crate) fn irregular(
        &mut self,
        block: Block<'_>,
        used_bytes: usize,
        handler: &mut dyn MessageHandler,
    ) -> Irregular {
        let (before, rest) = block.bytes.split_at(used_bytes);
        if rest.is_empty() && self.lost.is_none() {
            return if block.is_last {
                Irregular::End(DayEnd::EndOfFile, 0)
            } else {
                Irregular::NeedMore
            };
        }
        // Every decision needs enough of the bytes that follow.
        if !block.is_last && rest.len() < LOOKAHEAD_BYTES {
            return Irregular::NeedMore;
        }
        let offset = block.offset + used_bytes as u64;
        if let Some(lost) = self.lost {
            return self.search(rest, offset, lost, block.is_last, handler);
        }
        let run_bytes = (offset - self.run_since).min(KEPT_BYTES as u64) as usize;
        let run = &before[before.len() - run_bytes.min(before.len())..];
        self.time_ns = time_of_the_last(run).or(self.time_ns);
        let near = Surroundings { is_last: block.is_last, time_ns: self.time_ns };
        if let Some(bytes) = begins_inside_the_last(block.bytes, used_bytes, run.len(), near) {
            self.run_since = offset - bytes as u64;
            handler.damage(Damage::Short { offset: self.run_since, bytes: bytes as u64 });
            return Irregular::Back(bytes);
        }
        let outcome = self.judge(rest, offset, near, handler);
        match outcome {
            Irregular::Used(0) => {
                self.lost = Some(Lost {
                    since: offset,
                    has_no_length: rest.starts_with(&[0, 0]),
                    is_after_the_last: record_before(run).is_some_and(is_the_last_of_a_day),
                    is_zero: true,
                });
            }
            Irregular::Used(bytes) => self.run_since = offset + bytes as u64,
            _ => {}
        }
        outcome
    }

    /// Classifies the record at the start of `rest` by its own bytes and those that follow.
    /// `Used(0)` means lost.
    fn judge(
        &mut self,
        rest: &[u8],
        offset: u64,
        near: Surroundings,
        handler: &mut dyn MessageHandler,
    ) -> Irregular {
        const LOST: Irregular = Irregular::Used(0);
        let &[high, low, ref body @ ..] = rest else {
            // One byte is half a length.
            return cut(offset, 2, rest.len());
        };
        let length = u16::from_be_bytes([high, low]);
        let bytes = usize::from(length);
        let goes_on_after =
            |bytes: usize| body.get(bytes..).is_some_and(|rest| goes_on(rest, near));
        let has_records_inside =
            || find_boundary(&rest[1..], (1 + bytes).min(rest.len()), near).is_some();
        let leads_on = (1..=LONGEST_MESSAGE_BYTES).contains(&bytes) && goes_on_after(bytes);
        let needed_bytes = 2 + u64::from(length);

        let tag = body.first().copied();
        match (tag, tag.and_then(itch50::length_of)) {
            (Some(tag), Some(expected)) if expected != bytes => {
                let expected_bytes = expected as u16;
                if goes_on_after(expected) && !(leads_on && bytes < expected) {
                    handler.damage(Damage::Length {
                        offset,
                        tag,
                        expected_bytes,
                        actual_bytes: length,
                    });
                    return self.deliver(&body[..expected], offset, handler);
                }
                if !leads_on || has_records_inside() {
                    return LOST;
                }
                self.records += 1;
                handler.damage(Damage::Type { offset, tag, expected_bytes, actual_bytes: length });
                Irregular::Used(2 + bytes)
            }
            // The fast path delivers whole records, so this one is cut.
            (Some(_), Some(_)) if !has_records_inside() => cut(offset, needed_bytes, rest.len()),
            (Some(tag), None) if can_be_unknown(tag, bytes) => match body.get(..bytes) {
                Some(message) if leads_on && !has_records_inside() => {
                    self.deliver(message, offset, handler)
                }
                None if !has_records_inside() => cut(offset, needed_bytes, rest.len()),
                _ => LOST,
            },
            (None, _) if (1..=LONGEST_MESSAGE_BYTES).contains(&bytes) => {
                cut(offset, needed_bytes, rest.len())
            }
            _ => LOST,
        }
    }

    /// Delivers a message of an unknown type, or one whose length was damaged.
    fn deliver(
        &mut self,
        message: &[u8],
        offset: u64,
        handler: &mut dyn MessageHandler,
    ) -> Irregular {
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

    /// Searches lost bytes for the next record.
    fn search(
        &mut self,
        rest: &[u8],
        offset: u64,
        mut lost: Lost,
        is_last: bool,
        handler: &mut dyn MessageHandler,
    ) -> Irregular {
        // The position where bytes were lost is not a boundary.
        let from = usize::from(offset == lost.since && !rest.is_empty());
        // A position near the end of a block needs the bytes that follow.
        let judged = if is_last { rest.len() } else { rest.len() - CHAIN_BYTES };
        let near = Surroundings { is_last, time_ns: self.time_ns };
        let found = find_boundary(&rest[from..], judged - from, near).map(|place| from + place);
        let used = found.unwrap_or(judged);
        lost.is_zero &= rest[..used].iter().all(|&byte| byte == 0);
        let bytes = offset + used as u64 - lost.since;
        self.lost = (found.is_none() && !is_last).then_some(lost);
        if found.is_some() {
            self.run_since = offset + used as u64;
            handler.damage(Damage::Lost { offset: lost.since, bytes });
        } else if is_last {
            return Irregular::End(end_of_lost(lost, bytes, handler), used);
        }
        Irregular::Used(used)
    }
}

/// How a day ends whose last bytes are not readable as records.
fn end_of_lost(lost: Lost, bytes: u64, handler: &mut dyn MessageHandler) -> DayEnd {
    let follow = bytes - bytes.min(2);
    let is_end = lost.has_no_length && (follow == 0 || lost.is_after_the_last);
    if !is_end {
        handler.damage(Damage::Lost { offset: lost.since, bytes });
        return DayEnd::EndOfFile;
    }
    if !lost.is_zero {
        handler.damage(Damage::Lost { offset: lost.since + 2, bytes: follow });
    }
    DayEnd::EndOfSession { offset: lost.since, bytes_follow: follow > 0 }
}

/// How many bytes before `used_bytes` a record begins that extends over that position and
/// continues. It must lie inside the record that was delivered last, which is within `run_bytes`.
fn begins_inside_the_last(
    bytes: &[u8],
    used_bytes: usize,
    run_bytes: usize,
    near: Surroundings,
) -> Option<usize> {
    let last = record_before(&bytes[used_bytes - run_bytes..used_bytes])?;
    (1..last.len()).rev().find(|&inside| {
        let place = used_bytes - inside;
        passes_over(&bytes[place..], inside) && is_boundary(&bytes[place..], near)
    })
}

/// The time of the messages at the end of a run: the median of the last three, one of which may be
/// damaged.
fn time_of_the_last(mut run: &[u8]) -> Option<u64> {
    let mut times = [0; TIMES];
    let mut count = 0;
    while count < TIMES
        && let Some(record) = record_before(run)
    {
        times[count] = time_ns(record)?;
        count += 1;
        run = &run[..run.len() - record.len()];
    }
    let times = &mut times[..count];
    times.sort_unstable();
    times.get(count / 2).copied()
}

fn is_the_last_of_a_day(record: &[u8]) -> bool {
    SystemEvent::wrap(&record[2..])
        .is_ok_and(|event| event.event_code() == EventCode::EndOfMessages)
}

fn cut(offset: u64, needed_bytes: u64, present_bytes: usize) -> Irregular {
    let present_bytes = present_bytes as u64;
    Irregular::End(DayEnd::Cut { offset, needed_bytes, present_bytes }, 0)
}
