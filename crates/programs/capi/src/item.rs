//! What a reader gives: a record, a loss, an end.

use std::{ffi::c_char, ptr};

use nanotape_tape::WriterState;
use nanotape_types::Symbol;

/// Bytes of a symbol: at most eight letters, and at least one 0.
pub const NT_SYMBOL_BYTES: usize = 10;

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum ItemKind {
    /// Nothing came within the time.
    Nothing = 0,
    /// A record: the message with the number `sequence`.
    Record = 1,
    /// The records from `sequence` to `last` are lost: they were overwritten before they could be
    /// read, or the journal does not have them. Reading goes on after them. A tap that selects
    /// symbols also gives it for the first record of a run whose names are gone: no record of that
    /// run can be selected.
    Lost = 2,
    /// The records from `sequence` to `last` are other ones than the reader has had: the journal
    /// lost its end with the power of the machine. Reading goes on with the first of them.
    Reused = 3,
    /// The reading of `sequence` to `last` in the journal of a tap is over: they came, or were
    /// lost, before this item. The next ones come from the ring.
    Healed = 4,
    /// The writer has ended, and everything that it wrote was read: `end` says how. A reader that
    /// goes on gets the records of the next writer.
    End = 5,
}

/// How a writer has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum End {
    /// The item is no end.
    None = 0,
    /// It closed the ring or the journal, or no writer has it now.
    Closed = 1,
    /// It was killed, or crashed.
    Killed = 2,
}

impl End {
    pub(crate) fn of(state: WriterState) -> Self {
        match state {
            // The readers here follow any writer: one that is alive has not ended.
            WriterState::Closed | WriterState::Alive => Self::Closed,
            WriterState::Dead => Self::Killed,
        }
    }
}

/// An item of a reader.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReaderItem {
    /// What it is: one of `nt_kind`.
    pub kind: i32,
    /// Of a record, its type: one of `nt_record` in the records of a plant.
    pub record_type: u16,
    /// Of a record of a tap, the symbol of its stock; "" if it has none, or it is not known.
    pub symbol: [c_char; NT_SYMBOL_BYTES],
    /// The number of a record. Of other items, that of the first record that they are about.
    pub sequence: u64,
    /// The number of the last record that the item is about.
    pub last: u64,
    /// Of a record of `nt_journal_open`, its time: nanoseconds since 1970. Otherwise 0.
    pub time_ns: u64,
    /// The bytes of a record: a copy, at an address that is a multiple of 8. They stay as they are
    /// until the next call with the reader. NULL of other items, and of a record without bytes.
    pub bytes: *const u8,
    /// How many bytes.
    pub length: usize,
    /// How a writer has ended: one of `nt_end`.
    pub end: i32,
}

impl ReaderItem {
    pub(crate) const NOTHING: Self = Self {
        kind: ItemKind::Nothing as i32,
        record_type: 0,
        symbol: [0; NT_SYMBOL_BYTES],
        sequence: 0,
        last: 0,
        time_ns: 0,
        bytes: ptr::null(),
        length: 0,
        end: End::None as i32,
    };

    /// An item about a range of numbers.
    pub(crate) fn of_range(kind: ItemKind, sequence: u64, last: u64) -> Self {
        Self { kind: kind as i32, sequence, last, ..Self::NOTHING }
    }
}

/// A symbol as text of C, without its padding. Bytes that are not printable become `?`.
pub(crate) fn letters_of(symbol: Symbol) -> [c_char; NT_SYMBOL_BYTES] {
    let mut letters = [0; NT_SYMBOL_BYTES];
    let bytes = symbol.as_bytes();
    let length = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    for (letter, &byte) in letters.iter_mut().zip(&bytes[..length]) {
        *letter = if byte.is_ascii_graphic() { byte } else { b'?' } as c_char;
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_text_of_c() {
        for (bytes, expected) in [
            (*b"AAPL    ", &b"AAPL"[..]),
            (*b"ABCDEFGH", b"ABCDEFGH"),
            (*b"A\0B\xff    ", b"A?B?"),
            (*b"        ", b""),
        ] {
            let letters = letters_of(Symbol::new(bytes)).map(|letter| letter as u8);
            let (text, rest) = letters.split_at(expected.len());
            assert_eq!(text, expected);
            assert!(!rest.is_empty() && rest.iter().all(|&byte| byte == 0));
        }
    }
}
