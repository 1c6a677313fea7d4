//! The format document matches the code.

use nanotape_harness::{Scratch, skipped};
use nanotape_ring::{Publish, slots, stream};
use nanotape_shm::{HEADER_BYTES, RegionOptions};

const DOCUMENT: &str = include_str!("../../../../../docs/formats/ring.md");

/// The part of the document from this heading to the next of its kind.
fn part(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(heading).unwrap_or_else(|| panic!("{heading}?"));
    rest.split("\n## ").next().unwrap_or(rest)
}

/// Rows of tables that begin with an offset and a size; `mark` is before the offset.
fn rows(text: &str, mark: &str) -> Vec<(usize, usize, String)> {
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let offset = cells.next()?.strip_prefix(mark)?;
        // A number may begin with a plus sign; rows with the other mark are skipped.
        let offset: usize = offset.strip_prefix('+').map_or(offset, |_| "").parse().ok()?;
        let size: usize = cells.next()?.parse().ok()?;
        Some((offset, size, cells.next()?.trim_matches('`').to_owned()))
    });
    rows.collect()
}

fn named(fields: &[(usize, usize, &str)]) -> Vec<(usize, usize, String)> {
    fields.iter().map(|&(offset, size, name)| (offset, size, name.to_owned())).collect()
}

#[test]
fn the_tables_of_the_document_are_the_constants_of_the_code() {
    let (stream_part, slots_part) = (part("## Stream ring: layout"), part("## Slot ring: layout"));
    assert_eq!(rows(stream_part, ""), named(&stream::FIELDS));
    assert_eq!(rows(slots_part, ""), named(&slots::FIELDS));
    let inner: Vec<_> =
        named(&stream::ENTRY_FIELDS).into_iter().chain(named(&stream::FRAME_FIELDS)).collect();
    assert_eq!(rows(stream_part, "+"), inner);
    assert_eq!(rows(slots_part, "+"), named(&slots::SLOT_FIELDS));
    for layout in [stream::LAYOUT, slots::LAYOUT] {
        let letters = String::from_utf8(layout.to_be_bytes().to_vec()).unwrap();
        assert!(DOCUMENT.contains(&format!("| `{letters}` |")), "{letters}");
    }
    assert_eq!(slots::slot_bytes(48), 64);
    assert_eq!(slots::slot_bytes(49), 128);
}

fn publish(mut writer: impl Publish) {
    writer.heartbeat(1);
    writer.publish(7, b"bid 100.25").unwrap();
    writer.publish(7, b"ask").unwrap();
}

/// Generates the dumps of the document again: equal except for times, and without any other word.
#[test]
fn the_dumps_of_the_document_are_those_of_real_rings() {
    if cfg!(target_endian = "big") {
        skipped("the dumps in the document are of a little-endian machine");
        return;
    }
    let options = RegionOptions::default();
    let (stream_ring, slot_ring) = (Scratch::new("stream"), Scratch::new("slots"));
    publish(stream::Writer::create(stream_ring.path(), 4096, &options).unwrap().0);
    publish(slots::Writer::create(slot_ring.path(), 8, 48, &options).unwrap().0);
    let (_, real) = DOCUMENT.split_once("## A real ring").unwrap();
    let (stream_dump, slots_dump) = real.split_once("The same messages in a slot ring").unwrap();
    for (place, dump) in [(stream_ring, stream_dump), (slot_ring, slots_dump)] {
        let bytes = std::fs::read(place.path()).unwrap();
        let mut lines = 0;
        for at in (HEADER_BYTES..bytes.len()).step_by(8) {
            let word = &bytes[at..at + 8];
            let listed = dump.lines().find(|line| line.starts_with(&format!("{at:04x}  ")));
            let Some(line) = listed else {
                // Zeros are left out, and so are empty entries of the index.
                assert!(word == [0; 8] || word == [0xff; 8], "{at:04x} is not in the document");
                continue;
            };
            lines += 1;
            let hex: Vec<String> = word.iter().map(|byte| format!("{byte:02x}")).collect();
            let line_is = line.contains("_ns") || line[6..].starts_with(&hex.join(" "));
            assert!(line_is, "{line}: {}", hex.join(" "));
        }
        assert!(lines > 10, "{lines}");
    }
}
