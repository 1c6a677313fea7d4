//! Finds record boundaries in damaged bytes.
//!
//! Every ITCH type has one length, so a record boundary has a length and a type that match. By
//! chance that happens at one of 700,000 byte positions. One of three things makes a boundary
//! certain: two more such records in a row, the end of the day exactly after it, or a time near
//! that of the messages before it (one in 470 of the values that the field can have).
//!
//! Bounds: one decision takes at most `2 * CHAIN_STEPS` steps of a few bytes each, so a search is
//! linear in the bytes that it passes. All functions here are pure, and cold: they run on damage
//! only.

use nanotape_wire::itch50;

/// Records in a row that make a boundary certain.
const CHAIN_RECORDS: usize = 3;

/// Records of unknown types that may stand between them. As many in a row are a certain boundary
/// too: exchanges add types without notice.
const CHAIN_STEPS: usize = 16;

/// No published message of this protocol family is longer: a greater length is damage.
pub(crate) const LONGEST_MESSAGE_BYTES: usize = 512;

const LONGEST_RECORD_BYTES: usize = 2 + LONGEST_MESSAGE_BYTES;

/// Bytes that are enough to decide whether a record begins at a position.
pub(crate) const CHAIN_BYTES: usize = (CHAIN_STEPS + 1) * LONGEST_RECORD_BYTES;

/// Bytes that are enough to classify a record, unless the day ends before: the longest record, the
/// unknown ones that are checked after it, and a chain.
pub(crate) const LOOKAHEAD_BYTES: usize = LONGEST_RECORD_BYTES + 2 * CHAIN_BYTES;

// A source accepts this many unused bytes, together with those that a decoder keeps.
const _: () = assert!(LOOKAHEAD_BYTES + 1024 < crate::source::MAX_UNUSED_BYTES);

/// The longest record of a known type and one byte. A shorter one cannot contain the next record.
pub(crate) const LONGEST_KNOWN_RECORD_BYTES: usize = 2 + 50;

/// Range of times in which a message can be a neighbour of the message before it.
const EARLIER_NS: u64 = 1_000_000_000;
const LATER_NS: u64 = 600_000_000_000;

/// What decides about a position, besides its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    /// Whether the day ends where the bytes end.
    pub(crate) is_last: bool,
    /// The time of the messages before the damage, ns since midnight.
    pub(crate) time_ns: Option<u64>,
}

/// Whether the day continues at the start of `bytes`: with records, unknown types included, or with
/// its end.
pub(crate) fn goes_on(mut bytes: &[u8], near: Surroundings) -> bool {
    for _ in 0..CHAIN_STEPS {
        if near.is_last && ends_here(bytes) {
            return true;
        }
        match fit(bytes) {
            Fit::Unknown(length) => match bytes.get(2 + length..) {
                Some(rest) => bytes = rest,
                // The record is cut off.
                None => return near.is_last,
            },
            Fit::Known(length) => {
                let is_cut = near.is_last && bytes.len() < 2 + length;
                return is_cut || is_boundary(bytes, near);
            }
            _ => return false,
        }
    }
    true
}

/// Whether a whole record of a known type certainly begins at the start of `bytes`.
pub(crate) fn is_boundary(bytes: &[u8], near: Surroundings) -> bool {
    // This check alone rejects nearly all positions.
    let Fit::Known(length) = fit(bytes) else { return false };
    let Some(record) = bytes.get(..2 + length) else { return false };
    let is_neighbour = is_near(time_ns(record), near.time_ns) && !has_text_for_a_locate(record);
    is_neighbour || has_chain(bytes, near.is_last)
}

/// The first of the first `places` positions of `bytes` that is a certain boundary.
pub(crate) fn find_boundary(bytes: &[u8], places: usize, near: Surroundings) -> Option<usize> {
    (0..places.min(bytes.len())).find(|&place| is_boundary(&bytes[place..], near))
}

/// Whether records of known types begin at the start of `bytes`, and one of them extends over
/// `place`.
pub(crate) fn passes_over(bytes: &[u8], place: usize) -> bool {
    let mut at = 0;
    while at < place {
        let Fit::Known(length) = bytes.get(at..).map_or(Fit::Contradiction, fit) else {
            return false;
        };
        at += 2 + length;
    }
    at > place
}

/// The record of a known type that ends at the end of `bytes`.
pub(crate) fn record_before(bytes: &[u8]) -> Option<&[u8]> {
    let longest = LONGEST_KNOWN_RECORD_BYTES.min(bytes.len());
    (3..=longest).map(|length| &bytes[bytes.len() - length..]).find(|record| {
        let length = record.len() - 2;
        matches!(fit(record), Fit::Known(known) if known == length)
    })
}

/// The time of a record of a known type: all types have it at the same offset.
pub(crate) fn time_ns(record: &[u8]) -> Option<u64> {
    let field = record.get(2 + 5..)?.first_chunk::<6>()?;
    let [a, b, c, d, e, f] = *field;
    Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
}

/// Whether the locate of a record is two letters or spaces. Shares and symbol of an order can look
/// like the length and type of a record: `12 shares of SDJ` looks like a system event. Its locate
/// is then the rest of the symbol, and its time is spaces, which is 09:48.
pub(crate) fn has_text_for_a_locate(record: &[u8]) -> bool {
    record.get(3..5).is_some_and(|locate| locate.iter().all(|byte| (b' '..=b'Z').contains(byte)))
}

fn is_near(time_ns: Option<u64>, before_ns: Option<u64>) -> bool {
    let (Some(time), Some(before)) = (time_ns, before_ns) else { return false };
    time + EARLIER_NS >= before && time <= before + LATER_NS
}

/// Whether enough known records follow one another, or at least one up to the end of the day.
fn has_chain(mut bytes: &[u8], is_last: bool) -> bool {
    let mut records = 0;
    for _ in 0..CHAIN_STEPS {
        if is_last && ends_here(bytes) {
            return true;
        }
        let length = match fit(bytes) {
            Fit::Known(length) => {
                records += 1;
                length
            }
            Fit::Unknown(length) => length,
            Fit::Contradiction => return false,
        };
        if records == CHAIN_RECORDS {
            return true;
        }
        match bytes.get(2 + length..) {
            Some(rest) => bytes = rest,
            // Cut off inside a record that matches so far.
            None => return is_last,
        }
    }
    true
}

/// Whether these can be the last bytes of a day: none, the record of length zero, or a part of a
/// possible length.
fn ends_here(bytes: &[u8]) -> bool {
    match *bytes {
        [] | [0] | [0, 0] => true,
        [0, length] => usize::from(length) < LONGEST_KNOWN_RECORD_BYTES,
        _ => false,
    }
}

enum Fit {
    /// Length and type match.
    Known(usize),
    /// A type that is not in the table, with a length that a message could have.
    Unknown(usize),
    /// Length and type do not match, or there are too few bytes.
    Contradiction,
}

fn fit(bytes: &[u8]) -> Fit {
    let &[high, low, tag, ..] = bytes else { return Fit::Contradiction };
    let length = usize::from(u16::from_be_bytes([high, low]));
    match itch50::length_of(tag) {
        Some(expected) if expected == length => Fit::Known(length),
        None if can_be_unknown(tag, length) => Fit::Unknown(length),
        _ => Fit::Contradiction,
    }
}

/// Whether a message of an unknown type can have this type and length. Types are letters or digits.
pub(crate) fn can_be_unknown(tag: u8, length: usize) -> bool {
    tag.is_ascii_alphanumeric() && (1..=LONGEST_MESSAGE_BYTES).contains(&length)
}
