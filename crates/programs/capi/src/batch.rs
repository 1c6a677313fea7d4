//! Items that were read and not yet given, with copies of their bytes.
//!
//! Bounds: what one poll of a source gives, which is 16 KiB or the longest message of a ring, or
//! 256 excerpts of a journal.

use std::{ffi::c_char, ptr};

use crate::item::{ItemKind, NT_SYMBOL_BYTES, ReaderItem};

const WORD_BYTES: usize = 8;

/// A batch. The memory stays for the next one.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Items, and where their bytes begin in the words.
    items: Vec<(ReaderItem, usize)>,
    /// The bytes of all records, each from the beginning of a word.
    words: Vec<u64>,
    /// How many were given.
    given: usize,
}

impl Batch {
    /// Adds an item without bytes.
    pub(crate) fn add(&mut self, item: ReaderItem) {
        self.items.push((item, 0));
    }

    /// Adds a record.
    pub(crate) fn add_record(
        &mut self,
        record: (u64, u16),
        time_ns: u64,
        symbol: [c_char; NT_SYMBOL_BYTES],
        bytes: &[u8],
    ) {
        let (sequence, record_type) = record;
        let at = self.words.len();
        let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
        self.words.extend(whole.iter().map(|bytes| u64::from_ne_bytes(*bytes)));
        if !rest.is_empty() {
            let mut last = [0; WORD_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            self.words.push(u64::from_ne_bytes(last));
        }
        let item = ReaderItem {
            record_type,
            symbol,
            time_ns,
            length: bytes.len(),
            ..ReaderItem::of_range(ItemKind::Record, sequence, sequence)
        };
        self.items.push((item, at));
    }

    /// The next item. Its bytes stay until the next call of `clear`.
    pub(crate) fn next(&mut self) -> Option<ReaderItem> {
        let (item, at) = self.items.get(self.given)?;
        self.given += 1;
        let words = self.words.get(*at..).filter(|_| item.length > 0);
        Some(ReaderItem {
            bytes: words.map_or(ptr::null(), |words| words.as_ptr().cast()),
            ..*item
        })
    }

    /// Whether all were given.
    pub(crate) fn is_empty(&self) -> bool {
        self.given == self.items.len()
    }

    /// The number of the first record that was not given; `None` if all were.
    pub(crate) fn next_sequence(&self) -> Option<u64> {
        self.items.get(self.given).map(|(item, _)| match item.kind {
            // What it is about came before.
            kind if kind == ItemKind::Healed as i32 => item.last + 1,
            _ => item.sequence,
        })
    }

    /// Forgets all items, and their bytes.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.words.clear();
        self.given = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_goes_on_behind_what_a_journal_has_given() {
        let mut batch = Batch::default();
        batch.add(ReaderItem::of_range(ItemKind::Healed, 5, 9));
        assert_eq!(batch.next_sequence(), Some(10));
    }

    #[test]
    fn bytes_of_every_length_begin_at_a_word() {
        let mut batch = Batch::default();
        for length in 0..=17_u8 {
            let bytes: Vec<u8> = (1..=length).collect();
            batch.add_record((length.into(), 7), 3, [0; NT_SYMBOL_BYTES], &bytes);
        }
        for length in 0..=17 {
            assert_eq!(batch.next_sequence(), Some(length));
            let item = batch.next().unwrap();
            assert_eq!((item.sequence, item.last, item.length), (length, length, length as usize));
            assert_eq!((item.record_type, item.time_ns), (7, 3));
            assert_eq!(item.bytes.is_null(), length == 0);
            assert_eq!(item.bytes.addr() % WORD_BYTES, 0);
        }
        assert!(batch.is_empty() && batch.next().is_none() && batch.next_sequence().is_none());
        batch.clear();
        assert!(batch.is_empty() && batch.next().is_none());
    }
}
