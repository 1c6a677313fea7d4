//! Decides where records begin when the bytes at hand contradict themselves.
//!
//! Every ITCH type has one length, so a record boundary is followed by a length and a type that fit
//! each other. By chance that happens at one of 700,000 byte positions. Three things make it
//! certain: two more such records in a row, the end of the day exactly after it, or a time near
//! that of the messages before it (by chance one in 470 of the values that the field can have).
//!
//! Bounds: one decision takes at most `2 * CHAIN_STEPS` steps of a few bytes each, so a search is
//! linear in the bytes that it passes, whatever they are. All functions here are pure, and cold:
//! they run on damage only.

use nanotape_wire::itch50;

/// Records in a row that make a boundary certain.
const CHAIN_RECORDS: usize = 3;

/// Records of unknown types that may stand between them, and that are certain themselves if there
/// are that many in a row: exchanges add types without notice.
const CHAIN_STEPS: usize = 16;

/// No published message of this protocol family is longer: a record that says more is damaged.
pub(crate) const LONGEST_MESSAGE_BYTES: usize = 512;

const LONGEST_RECORD_BYTES: usize = 2 + LONGEST_MESSAGE_BYTES;

/// Bytes from a place that are enough to decide whether a record begins there.
pub(crate) const CHAIN_BYTES: usize = (CHAIN_STEPS + 1) * LONGEST_RECORD_BYTES;

/// Bytes that are enough to decide what a record is, unless the day ends before: the longest one,
/// as many unknown ones after it as are looked at, and a chain.
pub(crate) const LOOKAHEAD_BYTES: usize = LONGEST_RECORD_BYTES + 2 * CHAIN_BYTES;

// A source lets that much go unused, with what a decoder keeps of what it delivered.
const _: () = assert!(LOOKAHEAD_BYTES + 1024 < crate::source::MAX_UNUSED_BYTES);

/// The longest record of a known type, and one byte: a shorter one cannot hide the next in itself.
pub(crate) const LONGEST_KNOWN_RECORD_BYTES: usize = 2 + 50;

/// How far from the message before it a message may be to be taken for its neighbour.
const EARLIER_NS: u64 = 1_000_000_000;
const LATER_NS: u64 = 600_000_000_000;

/// What a place is judged by, besides its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    /// Whether the day ends where the bytes do.
    pub(crate) is_last: bool,
    /// The time of the messages before the damage, ns since midnight.
    pub(crate) time_ns: Option<u64>,
}

/// Whether the day goes on at the start of `bytes`: with records, of unknown types too, or by
/// ending.
pub(crate) fn goes_on(mut bytes: &[u8], near: Surroundings) -> bool {
    for _ in 0..CHAIN_STEPS {
        if near.is_last && ends_here(bytes) {
            return true;
        }
        match fit(bytes) {
            Fit::Unknown(length) => match bytes.get(2 + length..) {
                Some(rest) => bytes = rest,
                // Cut off inside it.
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

/// Whether a record of a known type certainly begins at the start of `bytes`, whole.
pub(crate) fn is_boundary(bytes: &[u8], near: Surroundings) -> bool {
    // This alone rejects nearly all.
    let Fit::Known(length) = fit(bytes) else { return false };
    let Some(record) = bytes.get(..2 + length) else { return false };
    let is_neighbour = is_near(time_ns(record), near.time_ns) && !has_text_for_a_locate(record);
    is_neighbour || has_chain(bytes, near.is_last)
}

/// The first place among the first `places` of `bytes` at which records certainly begin.
pub(crate) fn find_boundary(bytes: &[u8], places: usize, near: Surroundings) -> Option<usize> {
    (0..places.min(bytes.len())).find(|&place| is_boundary(&bytes[place..], near))
}

/// Whether records of known types begin at the start of `bytes`, and one of them reaches over
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

/// The record of a known type that ends where `bytes` end.
pub(crate) fn record_before(bytes: &[u8]) -> Option<&[u8]> {
    let longest = LONGEST_KNOWN_RECORD_BYTES.min(bytes.len());
    (3..=longest).map(|length| &bytes[bytes.len() - length..]).find(|record| {
        let length = record.len() - 2;
        matches!(fit(record), Fit::Known(known) if known == length)
    })
}

/// The time of a record of a known type: they all have it in the same place.
pub(crate) fn time_ns(record: &[u8]) -> Option<u64> {
    let field = record.get(2 + 5..)?.first_chunk::<6>()?;
    let [a, b, c, d, e, f] = *field;
    Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
}

/// Whether the locate of a record is two letters or spaces. Shares and symbol of an order can look
/// like the length and type of a record, `12 shares of SDJ` like a system event. The rest of the
/// symbol is then its locate, and spaces its time: 09:48 in the morning.
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
            // Cut off inside a record that so far fits.
            None => return is_last,
        }
    }
    true
}

/// Whether the last bytes of a day can be the end of it: nothing, the record of length zero, or a
/// part of a length that a record could have.
fn ends_here(bytes: &[u8]) -> bool {
    match *bytes {
        [] | [0] | [0, 0] => true,
        [0, length] => usize::from(length) < LONGEST_KNOWN_RECORD_BYTES,
        _ => false,
    }
}

enum Fit {
    /// Length and type agree.
    Known(usize),
    /// A type that is not in the table, with a length that a message could have.
    Unknown(usize),
    /// Length and type contradict each other, or there are too few bytes to see them.
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

/// Whether a message of a type that is not in the table may be of this type and length: types are
/// letters or digits.
pub(crate) fn can_be_unknown(tag: u8, length: usize) -> bool {
    tag.is_ascii_alphanumeric() && (1..=LONGEST_MESSAGE_BYTES).contains(&length)
}
