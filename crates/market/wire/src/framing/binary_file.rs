//! BinaryFILE: consecutive messages, each after its length in two big-endian bytes.
//!
//! Where: FEED maps or decompresses a day file and walks it with [`Records`].
//! Layout:
//!
//! ```text
//! +--------+----------------+--------+----------------+---
//! | length | message        | length | message        | ...   no header, no numbers
//! +--------+----------------+--------+----------------+---
//!  2 bytes   length bytes
//! ```
//!
//! Failure: [`End`] has the three ways to end: after a record; at a record of length 0, which ends
//! the session; or inside a record that is cut.
//! Cost: no allocation; two bytes are read besides the message.
//!
//! ```
//! use nanotape_wire::framing::binary_file::{End, Records};
//! let mut records = Records::new(b"\x00\x02hi\x00\x05cut", 100);
//! let first = records.next().unwrap();
//! assert_eq!((first.offset, first.bytes), (100, b"hi".as_slice()));
//! assert_eq!(records.next(), None);
//! assert_eq!(records.end(), Some(End::Cut { offset: 104, needed: 7, present: 5 }));
//! ```

/// Bytes before each message.
pub const LENGTH_BYTES: usize = 2;

/// One record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Offset of its length field in the file.
    pub offset: u64,
    /// The message, without its length.
    pub bytes: &'a [u8],
}

/// Why there are no more records. All offsets are from the start of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The bytes end after the last record.
    Exact {
        /// The offset after the last record.
        offset: u64,
    },
    /// A record of length 0 ended the session.
    EndOfSession {
        /// Offset of that record.
        offset: u64,
        /// Number of bytes after it, which were not read.
        following: u64,
    },
    /// The bytes end inside a record.
    Cut {
        /// Offset of that record.
        offset: u64,
        /// Bytes that it needs, its length included; 2 if the length itself is cut.
        needed: u64,
        /// Bytes that are present, its length included.
        present: u64,
    },
}

/// The records in a slice.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
    offset: u64,
    end: Option<End>,
}

impl<'a> Records<'a> {
    /// Iterates over `bytes`, which begin with a record at `offset` of the file.
    #[inline]
    pub const fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, offset, end: None }
    }

    /// Why there are no more records; `None` before `next` has returned `None`.
    #[inline]
    pub const fn end(&self) -> Option<End> {
        self.end
    }

    /// Offset of the next record in the file.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes from the next record on. A reader of a stream in pieces moves them to the front of
    /// the next piece.
    #[inline]
    pub const fn remaining(&self) -> &'a [u8] {
        self.rest
    }

    #[cold]
    #[inline(never)]
    fn stop(&mut self) -> Option<Record<'a>> {
        let (offset, present) = (self.offset, self.rest.len() as u64);
        self.end.get_or_insert(match self.rest.split_first_chunk() {
            None if present == 0 => End::Exact { offset },
            None => End::Cut { offset, needed: LENGTH_BYTES as u64, present },
            Some((&[0, 0], after)) => End::EndOfSession { offset, following: after.len() as u64 },
            Some((&length, _)) => {
                let needed = LENGTH_BYTES as u64 + u64::from(u16::from_be_bytes(length));
                End::Cut { offset, needed, present }
            }
        });
        None
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    #[inline]
    fn next(&mut self) -> Option<Record<'a>> {
        let Some((&length, rest)) = self.rest.split_first_chunk::<LENGTH_BYTES>() else {
            return self.stop();
        };
        let length = usize::from(u16::from_be_bytes(length));
        if length == 0 || length > rest.len() {
            return self.stop();
        }
        let (bytes, rest) = rest.split_at(length);
        let offset = self.offset;
        self.rest = rest;
        self.offset = offset + (LENGTH_BYTES + length) as u64;
        Some(Record { offset, bytes })
    }
}

impl core::iter::FusedIterator for Records<'_> {}

/// The length field of a message. `None` if the message is empty, which would end the session, or
/// too long for the field.
#[inline]
pub fn length_prefix(message: &[u8]) -> Option<[u8; LENGTH_BYTES]> {
    let length = u16::try_from(message.len()).ok()?;
    if length == 0 { None } else { Some(length.to_be_bytes()) }
}

/// The record that ends a session.
pub const END_OF_SESSION: [u8; LENGTH_BYTES] = [0; LENGTH_BYTES];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], records: &[(u64, &[u8])], end: End) {
        let mut walk = Records::new(bytes, 1000);
        assert_eq!(walk.end(), None);
        let found: Vec<_> = walk.by_ref().map(|record| (record.offset, record.bytes)).collect();
        assert_eq!(found, records);
        assert_eq!(walk.end(), Some(end));
        assert_eq!((walk.next(), walk.end()), (None, Some(end)), "the end is final");
    }

    #[test]
    fn a_file_may_end_after_a_record() {
        check(b"", &[], End::Exact { offset: 1000 });
        check(b"\0\x01a\0\x02bc", &[(1000, b"a"), (1003, b"bc")], End::Exact { offset: 1007 });
    }

    #[test]
    fn an_empty_record_ends_the_session() {
        let end = End::EndOfSession { offset: 1003, following: 4 };
        check(b"\0\x01a\0\0\0\x02bc", &[(1000, b"a")], end);
        check(b"\0\0", &[], End::EndOfSession { offset: 1000, following: 0 });
    }

    #[test]
    fn a_cut_says_where_and_how_much_is_missing() {
        check(b"\0", &[], End::Cut { offset: 1000, needed: 2, present: 1 });
        check(b"\0\x01", &[], End::Cut { offset: 1000, needed: 3, present: 2 });
        let end = End::Cut { offset: 1003, needed: 65_537, present: 3 };
        check(b"\0\x01a\xff\xffb", &[(1000, b"a")], end);
    }

    #[test]
    fn every_cut_of_a_file_gives_everything_up_to_the_cut() {
        let whole = b"\0\x03abc\0\x01d\0\x02ef";
        for length in 0..=whole.len() {
            let mut walk = Records::new(&whole[..length], 0);
            let complete = walk.by_ref().count();
            assert_eq!(complete, [5, 8, 12].iter().filter(|&&end| end <= length).count());
            match walk.end() {
                Some(End::Exact { offset }) => assert_eq!(offset, length as u64),
                Some(End::Cut { offset, present, needed }) => {
                    assert_eq!(offset + present, length as u64);
                    assert!(needed > present);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_cannot_be_a_record_has_no_prefix() {
        assert_eq!(length_prefix(b"abc"), Some([0, 3]));
        assert_eq!(length_prefix(b""), None);
        assert_eq!(length_prefix(&[0; 65_536]), None);
    }
}
