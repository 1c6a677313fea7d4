//! What a decoder does where a record is not whole, of a known type and of its type's length: the
//! cold half of [`DayDecoder`](crate::DayDecoder).
//!
//! Protocol: what is at a place is decided in this order.
//!
//! 1. A record begins inside the one that was delivered last, and leads on: that one lacks bytes.
//! 2. The type's own length leads on: the length is damaged. If the stated length is shorter and
//!    leads on as well, the type is damaged: a record does not have others in itself by chance.
//! 3. A type that is not in the table: carried if it can be one, if the day goes on after it, and
//!    if no record begins inside it.
//! 4. A length of zero: the end of the session if it is the end of the bytes. If it is not, the
//!    rest is searched first.
//! 5. Anything else: lost up to the next place at which a record certainly begins.
//!
//! Bounds: see [`resync`](crate::resync). A place is looked at once as a part of lost bytes, and at
//! most once more as a part of the record before it and of the one that it is in.

use nanotape_wire::itch50::{self, EventCode, Message, SystemEvent};

use crate::{
    Block, Damage, DayEnd, DayHandler, Position,
    day::DayDecoder,
    resync::{
        CHAIN_BYTES, LONGEST_KNOWN_RECORD_BYTES, LONGEST_MESSAGE_BYTES, LOOKAHEAD_BYTES,
        Surroundings, can_be_unknown, find_boundary, goes_on, is_boundary, passes_over,
        record_before, time_ns,
    },
};

/// Bytes of what was delivered that stay at hand: enough for the last records, and for one that
/// begins inside the last.
pub(crate) const KEPT_BYTES: usize = 256;

/// Records before a damaged place whose times are looked at. The last one may be damaged itself.
const TIMES: usize = 3;

// They are at hand.
const _: () = assert!(TIMES * LONGEST_KNOWN_RECORD_BYTES <= KEPT_BYTES);

/// What came of a place.
pub(crate) enum Irregular {
    /// So many bytes were dealt with; go on.
    Used(usize),
    /// Go on so many bytes before.
    Back(usize),
    /// The block does not hold enough to decide.
    NeedMore,
    /// The day is over, after so many bytes more.
    End(DayEnd, usize),
}

/// A stretch in which no record has been found yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    /// Offset of its first byte.
    since: u64,
    /// Whether it begins with a length of zero.
    has_no_length: bool,
    /// Whether the message before it was the last of a day.
    is_after_the_last: bool,
    /// Whether all of it so far is zero.
    is_zero: bool,
}

impl DayDecoder {
    /// Everything but a whole record of a known type and its length. `used_bytes` of the block are
    /// dealt with.
    #[cold]
    #[inline(never)]
    pub(crate) fn irregular(
        &mut self,
        block: Block<'_>,
        used_bytes: usize,
        handler: &mut impl DayHandler,
    ) -> Irregular {
        let (before, rest) = block.bytes.split_at(used_bytes);
        if rest.is_empty() && self.lost.is_none() {
            return if block.is_last {
                Irregular::End(DayEnd::EndOfFile, 0)
            } else {
                Irregular::NeedMore
            };
        }
        // Whatever it is, look at enough of what follows before deciding.
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

    /// What the record at the start of `rest` is, by itself and by what follows it. Nothing used:
    /// lost.
    fn judge(
        &mut self,
        rest: &[u8],
        offset: u64,
        near: Surroundings,
        handler: &mut impl DayHandler,
    ) -> Irregular {
        const LOST: Irregular = Irregular::Used(0);
        let &[high, low, ref body @ ..] = rest else {
            // One byte: half a length.
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
            // A whole one would have been delivered.
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

    /// A message that took a second look: of an unknown type, or after a damaged length.
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

    /// Searches lost bytes for the next record.
    fn search(
        &mut self,
        rest: &[u8],
        offset: u64,
        mut lost: Lost,
        is_last: bool,
        handler: &mut impl DayHandler,
    ) -> Irregular {
        // The place where sense was lost is known to be none.
        let from = usize::from(offset == lost.since && !rest.is_empty());
        // A place near the end of a block needs what follows to be judged.
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

/// How a day ends of whose last bytes none read as records.
fn end_of_lost(lost: Lost, bytes: u64, handler: &mut impl DayHandler) -> DayEnd {
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

/// How many bytes before `used_bytes` a record begins that leads on over that place: inside the
/// record that was delivered last, of the `run_bytes` before.
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

/// The time of the messages at the end of a run: the middle one of the last three, of which one may
/// be damaged.
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
