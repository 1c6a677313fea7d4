//! Telling where records begin when the bytes at hand contradict themselves.
//!
//! Every ITCH type has one length, so a true record boundary is followed by a length and a type
//! that fit each other, again and again; by chance that happens once in 700,000 byte positions, and
//! three times in a row never. All functions here are pure, and cold: they run on damage only.

use nanotape_wire::itch50;

/// Records in a row that must fit before a place counts as a boundary.
const CHAIN_RECORDS: usize = 3;

/// Unknown types that may stand between them: exchanges add types without notice.
const CHAIN_STEPS: usize = 64;

/// No published message of this protocol family is longer; nothing longer is taken for a new type.
const LONGEST_UNKNOWN_BYTES: usize = 512;

/// Bytes that are enough to decide, unless the day ends before: one record of any length and a
/// chain behind it.
pub(crate) const LOOKAHEAD_BYTES: usize =
    2 + u16::MAX as usize + CHAIN_STEPS * (2 + LONGEST_UNKNOWN_BYTES);

// A source lets that much go unused.
const _: () = assert!(LOOKAHEAD_BYTES < crate::source::MAX_UNUSED_BYTES);

/// Whether records go on at the start of `bytes`. The end of the day counts as going on.
pub(crate) fn continues(bytes: &[u8], is_last: bool) -> bool {
    chain(bytes, is_last).is_some_and(|records| records > 0 || bytes.len() < 3)
}

/// The first place in `bytes` at which records certainly begin.
pub(crate) fn find_boundary(bytes: &[u8], is_last: bool) -> Option<usize> {
    (0..bytes.len()).find(|&place| {
        // Both the first record's length and its type must fit; this alone rejects nearly all.
        let rest = &bytes[place..];
        matches!(fit(rest), Fit::Known(_)) && chain(rest, is_last).is_some_and(|n| n > 0)
    })
}

/// How many known records follow one another, `None` if that breaks before there are enough.
fn chain(mut bytes: &[u8], is_last: bool) -> Option<usize> {
    let mut records = 0;
    for _ in 0..CHAIN_STEPS {
        let length = match fit(bytes) {
            Fit::Known(length) => {
                records += 1;
                length
            }
            Fit::Unknown(length) => length,
            // An end-of-session record, with nothing behind it.
            Fit::End if bytes.len() == 2 => return Some(records),
            Fit::TooShort => return is_last.then_some(records),
            Fit::End | Fit::Contradiction => return None,
        };
        if records == CHAIN_RECORDS {
            return Some(records);
        }
        match bytes.get(2 + length..) {
            Some(rest) => bytes = rest,
            // Cut off inside a record that so far fits.
            None => return is_last.then_some(records),
        }
    }
    Some(records).filter(|&records| records > 0)
}

enum Fit {
    /// Length and type agree.
    Known(usize),
    /// A type that is not in the table, with a length that a message could have.
    Unknown(usize),
    /// Length 0.
    End,
    /// Not enough bytes to see a type.
    TooShort,
    /// Length and type contradict each other.
    Contradiction,
}

fn fit(bytes: &[u8]) -> Fit {
    let &[high, low, ref rest @ ..] = bytes else { return Fit::TooShort };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length == 0 {
        return Fit::End;
    }
    let Some(&tag) = rest.first() else { return Fit::TooShort };
    match itch50::length_of(tag) {
        Some(expected) if expected == length => Fit::Known(length),
        Some(_) => Fit::Contradiction,
        None if tag.is_ascii_alphanumeric() && length <= LONGEST_UNKNOWN_BYTES => {
            Fit::Unknown(length)
        }
        None => Fit::Contradiction,
    }
}
