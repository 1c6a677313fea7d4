//! Copies of a day file: its first half, and one without some message types.

use std::{fs, path::Path};

use nanotape_shm::MappableFile;
use nanotape_wire::framing::binary_file::{End, LENGTH_BYTES, Record, Records};
use rivals_measure::Failure;

/// Copies whole records up to the middle of the file. At the end of a day all books are empty; in
/// the middle they hold orders and levels to compare.
pub(crate) fn first_half(file: &Path, copy: &Path) -> Result<(), Failure> {
    let day = MappableFile::open(file)?;
    let window = day.map(0, usize::try_from(day.len())?)?;
    let bytes = window.bytes();
    let ends = Records::new(bytes, 0).map(|record| end(&record));
    let end = ends.take_while(|&end| end <= bytes.len() / 2).last().unwrap_or(0);
    fs::write(copy, &bytes[..end])
        .map_err(|error| format!("cannot write {}: {error}", copy.display()).into())
}

/// The records of these types, and the number of other records.
#[cfg_attr(not(feature = "itchy"), expect(dead_code, reason = "for itchy only"))]
pub(crate) fn only(types: &[u8], bytes: &[u8]) -> (Vec<u8>, u64) {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut others = 0;
    for record in Records::new(bytes, 0) {
        match types.contains(&record.bytes[0]) {
            true => kept.extend_from_slice(&bytes[record.offset as usize..end(&record)]),
            false => others += 1,
        }
    }
    (kept, others)
}

/// Whether the last record is an empty one, which ends a session.
#[cfg_attr(not(feature = "itch5"), expect(dead_code, reason = "for itch5 only"))]
pub(crate) fn end_with_an_empty_one(bytes: &[u8]) -> bool {
    let mut records = Records::new(bytes, 0);
    records.by_ref().for_each(drop);
    matches!(records.end(), Some(End::EndOfSession { following: 0, .. }))
}

/// The offset after a record.
fn end(record: &Record<'_>) -> usize {
    record.offset as usize + LENGTH_BYTES + record.bytes.len()
}
