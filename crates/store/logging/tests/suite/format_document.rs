//! The format document matches the code.

use nanotape_logging::layout::{self, FIELDS, Level, TAGS, TYPES};

const DOCUMENT: &str = include_str!("../../../../../docs/formats/log.md");

/// The part of the document that begins with this heading, up to the next one.
fn part(heading: &str) -> &'static str {
    let heading = format!("\n{heading}\n");
    let (_, rest) = DOCUMENT.split_once(&heading).unwrap_or_else(|| panic!("{heading}?"));
    rest.split("\n##").next().unwrap_or(rest)
}

/// Rows of tables, as trimmed cells.
fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter_map(|line| {
        let cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|');
        Some(cells.map(|cell| cell.trim().trim_matches('`')).collect())
    })
}

#[test]
fn type_ids_and_levels_are_those_of_the_code() {
    let listed: Vec<_> = rows(part("## Excerpts"))
        .filter_map(|cells| {
            let number = u16::from_str_radix(cells[0].strip_prefix("0x")?, 16).ok()?;
            Some((number, cells[1]))
        })
        .collect();
    assert_eq!(listed, TYPES);
    assert!(TYPES.iter().zip(layout::START..=layout::LAST_TYPE_ID).all(|(row, id)| row.0 == id));
    for level in Level::ALL {
        let row = rows(part("## Excerpts")).find(|cells| cells[0] == level.name()).unwrap();
        assert_eq!(row[1].parse(), Ok(level as u8));
        assert_eq!(Level::from_number(level as u8), Some(level));
    }
    assert_eq!((Level::from_number(0), Level::from_number(6)), (None, None));
}

#[test]
fn the_tables_of_the_document_are_the_constants_of_the_code() {
    for (heading, fields) in FIELDS {
        let listed: Vec<(usize, usize, &str)> = rows(part(&format!("### {heading}")))
            .filter_map(|cells| Some((cells[0].parse().ok()?, cells[1].parse().ok()?, cells[2])))
            .collect();
        assert_eq!(listed, fields, "{heading}");
        let mut end = 0;
        for (offset, size, name) in fields {
            assert_eq!(*offset, end, "{heading}: {name}");
            end += size;
        }
    }
    let tags: Vec<(u8, &str)> = rows(part("## Values"))
        .filter_map(|cells| Some((cells[0].parse().ok()?, cells[1])))
        .collect();
    assert_eq!(tags, TAGS);
}

#[test]
fn the_bounds_of_the_document_are_those_of_the_code() {
    let listed: Vec<usize> = rows(part("## Bounds"))
        .filter_map(|cells| cells[1].split(' ').next()?.parse().ok())
        .collect();
    let bounds = [
        layout::MAX_NAME_BYTES,
        layout::MAX_VALUE_BYTES,
        layout::MAX_ERRORS,
        layout::MAX_PAYLOAD_BYTES,
        layout::MAX_SPAN_VALUE_BYTES,
        layout::MAX_SPANS_BYTES,
        layout::MAX_SPAN_DEPTH,
    ];
    assert_eq!(listed, bounds);
}
