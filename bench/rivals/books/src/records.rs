//! Copies of a day file: its first half, and one without some message types.

use std::{fs, path::Path};

use nanotape_wire::framing::binary_file::{LENGTH_BYTES, Record, Records};
use rivals_measure::Failure;

/// Copies whole records up to the middle of the file. At the end of a day all books are empty; in
/// the middle they hold orders and levels to compare.
pub(crate) fn first_half(file: &Path, copy: &Path) -> Result<(), Failure> {
    let bytes = whole(file)?;
    let ends = Records::new(&bytes, 0).map(|record| end(&record));
    let end = ends.take_while(|&end| end <= bytes.len() / 2).last().unwrap_or(0);
    fs::write(copy, &bytes[..end])
        .map_err(|error| format!("cannot write {}: {error}", copy.display()).into())
}

/// The bytes of a file.
pub(crate) fn whole(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()).into())
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

/// The offset after a record.
fn end(record: &Record<'_>) -> usize {
    record.offset as usize + LENGTH_BYTES + record.bytes.len()
}
