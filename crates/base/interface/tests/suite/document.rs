//! The guide matches the code: its schema, its table of types, its bytes and its numbers.

use nanotape_interface::{
    UtcNanos,
    types::{Alpha, Price4, StockLocate},
};
use nanotape_schema::{FIRST_RESERVED_NUMBER, FieldType, interface_code, read_interface};

use crate::{
    calls::{encoded, message},
    generated::fills::{self, Fills, FillsWriter},
};

const DOCUMENT: &str = include_str!("../../../../../docs/interfaces.md");
const SCHEMA: &str = include_str!("../../../../../schema/testing/fills.toml");

/// The text after a heading, up to the next one.
fn section(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(&format!("\n{heading}\n")).expect(heading);
    rest.split("\n#").next().unwrap_or(rest)
}

/// The first block of code of a kind.
fn block(text: &'static str, kind: &str) -> &'static str {
    let (_, rest) = text.split_once(&format!("```{kind}\n")).expect(kind);
    rest.split_once("```").expect("a block ends").0
}

/// The schema of the guide differs from the one that is compiled in paths only.
#[test]
fn the_schema_of_the_document_is_the_compiled_one() {
    let is_path = |line: &&str| line.starts_with("output = ") || line.starts_with("runtime = ");
    let lines = |text: &'static str| text.lines().filter(move |line| !is_path(line));
    let block = block(section("## The schema"), "toml");
    assert!(block.lines().filter(is_path).count() == 2);
    assert!(lines(block).eq(lines(SCHEMA).skip_while(|line| !line.starts_with('['))));

    let guide = read_interface("schema/fills.toml", block).unwrap();
    let code = interface_code(&guide).replace(&guide.runtime, "nanotape_interface");
    let compiled = include_str!("generated/fills.rs");
    let table = |code: &str| code.split_once("interface! {").expect("a macro").1.to_owned();
    assert_eq!(table(&code), table(compiled));

    let broken = block.replacen("offset = 6,", "offset = 8,", 1);
    let problem = &read_interface("schema/fills.toml", &broken).unwrap_err().0[0];
    assert!(DOCUMENT.contains(&format!("`{problem}`")), "{problem}");
}

#[test]
fn the_table_of_types_is_that_of_the_generator() {
    let mut names = Vec::new();
    for row in section("### Types").lines().filter_map(|line| line.strip_prefix("| `")) {
        let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
        let &[name, bytes, argument, values] = cells.as_slice() else { panic!("{row}") };
        let (name, argument) = (name.trim_end_matches('`'), argument.trim_matches('`'));
        names.push(name.to_owned());
        let kind = FieldType::named_in_interface(&name.replace("<N>", "<9>")).expect(name);
        let width = kind.width().map_or("the rest".into(), |width| width.to_string());
        assert_eq!(bytes.replace('N', "9"), width, "{name}");
        match kind {
            FieldType::TailOffset => assert_eq!(argument, "none"),
            FieldType::Text | FieldType::Bytes => assert_eq!(argument, "&[u8]"),
            _ => assert_eq!(argument.replace("<N>", "<9>"), kind.rust()),
        }
        if values.as_bytes()[0].is_ascii_digit() || values.starts_with('-') {
            check_range(name, bytes, values);
        }
    }
    names.sort();
    let mut expected = FieldType::names_in_interfaces();
    expected.sort();
    assert_eq!(names, expected);
}

/// Constants are accepted from the first to the last value of the range.
fn check_range(name: &str, bytes: &str, values: &str) {
    let range = values.split([',', ';']).next().and_then(|range| range.split_once(" to "));
    let (first, last) = range.expect(values);
    let (first, last): (i128, i128) = (first.parse().unwrap(), last.parse().unwrap());
    for (value, is_inside) in [(first, true), (last, true), (first - 1, false), (last + 1, false)] {
        let schema = format!(
            "[interface]\nname = \"A\"\ntitle = \"A\"\ndoc = \"A\"\noutput = \"a.rs\"\n[[method]]\n\
             number = 1\nname = \"a\"\nlength = {bytes}\ndoc = \"A\"\nfields = [{{ name = \"a\", \
             offset = 0, type = \"{name}\", doc = \"A\", constant = {value} }}]\n"
        );
        // TOML has integers of 64 bits; the generator reads its digits.
        let read = read_interface("a.toml", &schema);
        assert_eq!(read.is_ok(), is_inside, "{name} {value}: {read:?}");
    }
}

#[test]
fn the_names_of_the_document_are_refused() {
    let (_, list) = DOCUMENT.split_once("\nOther keys are errors. So are these names:\n").unwrap();
    let words = |start: &str| {
        let line = list.lines().find_map(|line| line.strip_prefix(start)).expect(start);
        line.split('`').skip(1).step_by(2)
    };
    for name in words("- methods ") {
        let renamed = SCHEMA.replacen("name = \"noted\"", &format!("name = \"{name}\""), 1);
        let problems = read_interface("a.toml", &renamed).unwrap_err().to_string();
        assert!(problems.contains("generated code has a function of this name"), "{problems}");
    }
    for name in words("- interfaces ").map(|name| name.replace("Writer", "FillsWriter")) {
        let renamed = SCHEMA.replacen("name = \"Fills\"", &format!("name = \"{name}\""), 1);
        assert!(read_interface("a.toml", &renamed).is_err(), "{name}");
    }
}

/// Handler of the example: returns what it gets.
#[derive(Debug)]
struct Echo;

impl Fills for Echo {
    type Output = String;

    fn filled(&mut self, locate: StockLocate, shares: i32, price: Price4, fee: u32) -> String {
        format!("filled({locate}, {shares}, {price}, {fee})")
    }

    fn noted(&mut self, locate: StockLocate, change: i32, desk: Alpha<8>, text: &[u8]) -> String {
        format!("noted({locate}, {change}, \"{desk}\", \"{}\")", String::from_utf8_lossy(text))
    }

    fn unknown(&mut self, message: &nanotape_interface::Message<'_>) -> String {
        format!("unknown({})", message.type_id)
    }
}

#[test]
fn the_bytes_of_the_document_are_those_of_the_writer() {
    let text = section("### A tail");
    let mut bytes = Vec::new();
    for line in block(text, "text").lines() {
        let (offset, rest) = line.split_once("  ").expect("an offset");
        assert_eq!(usize::from_str_radix(offset, 16), Ok(bytes.len()), "{line}");
        let (hex, _) = rest.split_once("  ").expect("bytes and a meaning");
        bytes.extend(hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("a byte")));
    }
    let desk = Alpha::new(*b"AB      ");
    let written = encoded(|sink| {
        let mut writer = FillsWriter::new(sink, UtcNanos::new(0));
        assert_eq!(writer.noted(StockLocate::new(7), -2, desk, b"sold"), Ok(0));
    });
    assert_eq!(written, (2, bytes.clone()));
    let call = fills::dispatch(&message(2, &bytes), &mut Echo).unwrap();
    let length = bytes.len();
    assert!(text.contains(&format!("call `{call}` of the schema above")), "{call}");
    assert!(text.contains(&format!("message of type 2 and of {length} bytes")), "{length}");
}

#[test]
fn the_lengths_of_the_document_are_those_of_the_dispatcher() {
    let accepted: Vec<usize> = (0..20)
        .filter(|&length| fills::dispatch(&message(1, &[0; 20][..length]), &mut Echo).is_ok())
        .collect();
    let expected: Vec<usize> = [10].into_iter().chain(14..20).collect();
    assert_eq!(accepted, expected);
    assert!(section("### A reader").contains("`filled` has 10 bytes, or 14 or more"));
    let first = fills::dispatch(&message(1, &[0; 10]), &mut Echo).unwrap();
    assert_eq!(first, "filled(0, 0, 0.0000, 100)", "the default of the schema");
}

#[test]
fn the_numbers_of_the_document_are_those_that_are_free() {
    let last = FIRST_RESERVED_NUMBER - 1;
    let row = format!("| `number` | required | type of the message, 0 to {last:#x}, used once |");
    assert!(DOCUMENT.contains(&row), "{row}");
    let row =
        format!("true for formats of nanotape itself: numbers from {FIRST_RESERVED_NUMBER:#x} |");
    assert!(DOCUMENT.contains(&row), "{row}");
}
