//! The format document of spans agrees with the code.

use nanotape_trace::spans::{
    FIELDS, KIND, LAYOUT, REQUEST_FIELDS, REQUEST_KIND, REQUEST_LAYOUT, SPAN_BYTES,
};

const SPANS: &str = include_str!("../../../docs/formats/spans.md");

/// The rows of the tables below a heading that begin with two numbers: offset, size and name.
fn fields(heading: &str) -> Vec<(usize, usize, &'static str)> {
    let (_, rest) = SPANS.split_once(heading).unwrap_or_else(|| panic!("{heading}?"));
    let text = rest.split("\n## ").next().unwrap();
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
        assert!(SPANS.contains(&format!("layout `{}`", letters(layout.to_be_bytes()))));
        assert!(SPANS.contains(&format!("Region kind `{}`", letters(kind).trim_end())));
    }
    let span = fields("## A span");
    let names: Vec<_> = span.iter().map(|&(_, _, name)| name).collect();
    assert_eq!(names, ["from_ticks", "to_ticks", "number", "value"]);
    assert!(span.iter().zip(0..).all(|(&(offset, size, _), at)| (offset, size) == (at * 8, 8)));
    assert_eq!(span.len() * 8, SPAN_BYTES);
}
