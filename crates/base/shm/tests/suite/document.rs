//! The format document matches the code.

use nanotape_harness::{Scratch, skipped};
use nanotape_shm::{FIELDS, FORMAT_VERSION, HEADER_BYTES, SharedRegion};

use crate::{KIND, create};

const DOCUMENT: &str = include_str!("../../../../../docs/formats/region.md");

#[test]
fn the_table_of_the_document_is_the_table_of_the_code() {
    let rows = DOCUMENT.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let offset: usize = cells.next()?.parse().ok()?;
        let size: usize = cells.next()?.parse().ok()?;
        Some((offset, size, cells.next()?.trim_matches('`').to_owned()))
    });
    let rows: Vec<(usize, usize, String)> = rows.collect();
    let end = FIELDS[FIELDS.len() - 1].0 + 8;
    let mut expected: Vec<_> = FIELDS.map(|(o, s, name)| (o, s, name.to_owned())).into();
    expected.push((end, HEADER_BYTES - end, "reserved".to_owned()));
    assert_eq!(rows, expected);
    assert!(DOCUMENT.contains(&format!("Format version {FORMAT_VERSION}")));
}

/// Generates the dump of the document again: equal except for lines that differ from run to run.
#[test]
fn the_dump_of_the_document_is_that_of_a_real_region() {
    let place = Scratch::new("dump");
    create(place.path()).unwrap().0.close();
    SharedRegion::open(place.path(), KIND).unwrap();
    if cfg!(target_endian = "big") {
        skipped("the dump in the document is of a little-endian machine");
        return;
    }
    let bytes = std::fs::read(place.path()).unwrap();
    for (offset, size, name) in FIELDS {
        for at in (offset..offset + size).step_by(8) {
            let hex: Vec<String> = bytes[at..at + 8].iter().map(|b| format!("{b:02x}")).collect();
            let line = format!("{at:04x}  {}  {name}", hex.join(" "));
            let differs = matches!(name, "owner_pid" | "owner_started_s" | "created_ns");
            assert!(differs || DOCUMENT.contains(&line), "not in the document:\n{line}");
        }
    }
}
