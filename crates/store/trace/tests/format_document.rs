//! The format documents of spans agree with the code.

use nanotape_trace::recording::{
    FIRST_TYPE_ID, LAST_TYPE_ID, LOST, LOST_FIELDS, MAX_NAME_BYTES, MAX_SPANS, MAX_THREADS,
    SPAN_FIELDS, SPANS, SPANS_FIELDS, START, START_FIELDS, THREAD, THREAD_FIELDS,
};
use nanotape_trace::spans::{
    FIELDS, KIND, LAYOUT, REQUEST_FIELDS, REQUEST_KIND, REQUEST_LAYOUT, SPAN_BYTES,
};

const DOCUMENT: &str = include_str!("../../../../docs/formats/spans.md");
const JOURNAL: &str = include_str!("../../../../docs/formats/spans-journal.md");

/// The rows of the tables below a heading that begin with two numbers: offset, size and name.
fn fields(heading: &str) -> Vec<(usize, usize, &'static str)> {
    let (_, rest) = DOCUMENT.split_once(heading).unwrap_or_else(|| panic!("{heading}?"));
    rows(rest.split("\n## ").next().unwrap())
}

fn rows(text: &'static str) -> Vec<(usize, usize, &'static str)> {
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let (offset, size) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
        Some((offset, size, cells.next()?.trim_matches('`')))
    });
    rows.collect()
}

#[test]
fn the_tables_are_the_constants_of_the_code() {
    assert_eq!(fields("## The region"), FIELDS);
    assert_eq!(fields("## A request"), REQUEST_FIELDS);
    let letters = |number: [u8; 8]| String::from_utf8(number.to_vec()).unwrap();
    for (kind, layout) in [(KIND, LAYOUT), (REQUEST_KIND, REQUEST_LAYOUT)] {
        assert!(DOCUMENT.contains(&format!("layout `{}`", letters(layout.to_be_bytes()))));
        assert!(DOCUMENT.contains(&format!("Region kind `{}`", letters(kind).trim_end())));
    }
    let span = fields("## A span");
    let names: Vec<_> = span.iter().map(|&(_, _, name)| name).collect();
    assert_eq!(names, ["from_ticks", "to_ticks", "number", "value"]);
    assert!(span.iter().zip(0..).all(|(&(offset, size, _), at)| (offset, size) == (at * 8, 8)));
    assert_eq!(span.len() * 8, SPAN_BYTES);
}

#[test]
fn the_entries_of_a_journal_are_the_constants_of_the_code() {
    let (_, start) = JOURNAL.split_once("### START").unwrap();
    let fields: Vec<_> =
        [&START_FIELDS[..], &THREAD_FIELDS, &SPANS_FIELDS, &SPAN_FIELDS, &LOST_FIELDS].concat();
    assert_eq!(rows(start), fields);
    for (type_id, name) in [(START, "START"), (THREAD, "THREAD"), (SPANS, "SPANS"), (LOST, "LOST")]
    {
        assert!(JOURNAL.contains(&format!("| 0x{type_id:04X} | `{name}` |")), "{name}");
    }
    for text in [
        format!("type ids 0x{FIRST_TYPE_ID:04X} to 0x{LAST_TYPE_ID:04X} of a journal are reserved"),
        format!("0x{:04X} to 0x{LAST_TYPE_ID:04X} are reserved for later", LOST + 1),
        format!("at most {MAX_NAME_BYTES} bytes"),
        format!("the number of spans, at most {MAX_SPANS} "),
        format!("At most {MAX_THREADS} threads"),
    ] {
        assert!(JOURNAL.contains(&text), "{text}");
    }
}
