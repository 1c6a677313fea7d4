//! Copies of a day file: its first half, and one without some message types.

use std::{fs, path::Path};

use nanotape_shm::MappableFile;

use crate::outcome::Failure;

/// Copies whole records up to the middle of the file. At the end of a day no orders are left, so
/// that books could only agree on being empty; in the middle there is something to compare.
pub(crate) fn first_half(file: &Path, copy: &Path) -> Result<(), Failure> {
    let day = MappableFile::open(file)?;
    let window = day.map(0, usize::try_from(day.len())?)?;
    let bytes = window.bytes();
    let ends = Records(bytes).scan(0, |end, record| {
        *end += record.len();
        Some(*end)
    });
    let end = ends.take_while(|&end| end <= bytes.len() / 2).last().unwrap_or(0);
    fs::write(copy, &bytes[..end])
        .map_err(|error| format!("cannot write {}: {error}", copy.display()).into())
}

/// The records of these types, and how many others there were.
#[cfg_attr(not(feature = "itchy"), expect(dead_code, reason = "for itchy only"))]
pub(crate) fn only(types: &[u8], bytes: &[u8]) -> (Vec<u8>, u64) {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut others = 0;
    for record in Records(bytes) {
        match record.get(2) {
            Some(message_type) if types.contains(message_type) => kept.extend_from_slice(record),
            _ => others += 1,
        }
    }
    (kept, others)
}

/// Whether nothing follows the last record but an empty one, which ends a session.
#[cfg_attr(not(feature = "itch5"), expect(dead_code, reason = "for itch5 only"))]
pub(crate) fn end_with_an_empty_one(bytes: &[u8]) -> bool {
    let mut records = Records(bytes);
    records.by_ref().for_each(drop);
    records.0 == [0, 0]
}

/// The records of a file, each with its length in front, up to the first that is empty or cut.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(u16::from_be_bytes(*self.0.first_chunk()?));
        if length == 0 {
            return None;
        }
        let (record, rest) = self.0.split_at_checked(2 + length)?;
        self.0 = rest;
        Some(record)
    }
}
