//! Values: every mistake with its line, what a published one may change, layouts, words, and the
//! outputs.

use nanotape_schema::{
    FieldType, Literal, Schema, ValueSchema, read_any, read_value, value_code, value_document,
};

/// Seven lines, so that the first field begins on line 8.
const HEAD: &str = r#"[value]
name = "Quote"
title = "Quote"
doc = "The best prices of a stock."
version = 2
output = "src/generated/quote.rs"
document = "quote.md"
"#;

/// Fields on lines 8, 15, 21, 27 and 33.
const FIELDS: &str = r#"[[field]]
name = "bid"
offset = 0
type = "i64"
form = "price"
absent = -1
doc = "Best bid."
[[field]]
name = "orders"
offset = 8
type = "u32"
unit = "orders"
doc = "Orders of it."
[[field]]
name = "sizes"
offset = 16
type = "u16"
count = 3
doc = "Sizes."
[[field]]
name = "mood"
offset = 22
type = "Alpha<2>"
since = 2
doc = "A mood."
[[field]]
name = "updated"
offset = 24
type = "u64"
form = "time"
since = 2
default = 5
doc = "A time."
"#;

/// The list of what an earlier version has published.
const LIST: &str = "schema/published/quote.txt";

fn read(text: &str) -> Result<ValueSchema, String> {
    match read_any("schema/quote.toml", text) {
        Ok(Schema::Value(value)) => Ok(value),
        Ok(_) => panic!("it is a value"),
        Err(problems) => Err(problems.to_string()),
    }
}

fn good() -> ValueSchema {
    read(&format!("{HEAD}{FIELDS}")).unwrap()
}

/// The problems of the schema with `from` replaced by `to`.
#[track_caller]
fn check(from: &str, to: &str, expected: &[&str]) {
    let whole = format!("{HEAD}{FIELDS}");
    assert!(whole.contains(from), "the test must change something");
    let found = read(&whole.replacen(from, to, 1)).expect_err("there is a mistake");
    let expected: Vec<String> =
        expected.iter().map(|problem| format!("schema/quote.toml:{problem}")).collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn fields_are_aligned_and_do_not_overlap() {
    check(
        "offset = 8",
        "offset = 10",
        &["15: value field 'orders': begins at byte 10, expected a multiple of its 4 bytes"],
    );
    check("offset = 8", "offset = 4", &["15: value field 'orders': overlaps 'bid' (bytes 0..8)"]);
    check("count = 3", "count = 4", &["27: value field 'mood': overlaps 'sizes' (bytes 16..24)"]);
    check("count = 3", "count = 0", &["21: value field 'sizes': 'count' is 0, expected 1 or more"]);
    check(
        "offset = 24",
        "offset = 32768",
        &["1: value: it has 4097 words of 8 bytes, expected at most 4096"],
    );
    let types = FieldType::names_in_values().join(", ");
    for name in ["Text", "TailOffset", "Alpha<3>", "Alpha<16>", "NanosSinceMidnight", "f64"] {
        let problem =
            format!("30: value field 'mood': unknown type '{name}', expected one of {types}");
        check("Alpha<2>", name, &[&problem]);
    }
    assert!(types.contains("i64, ") && !types.contains("Nanos"), "{types}");
}

#[test]
fn names_are_used_once_also_by_elements_and_functions() {
    check("\"orders\"\noff", "\"bid\"\noff", &["15: value field 'bid': the name is on line 8 too"]);
    let also = "is also used for";
    for (name, problem) in [
        ("set_bid", format!("the name 'set_bid' {also} 'bid' on line 8")),
        ("sizes_at", format!("the name 'sizes_at' {also} 'sizes_at' on line 15")),
        ("sizes_2", format!("the name 'sizes_2' {also} 'sizes_2' on line 15")),
    ] {
        let (line, field) = if name == "set_bid" { (15, name) } else { (21, "sizes") };
        let problem = format!("{line}: value field '{field}': {problem}, expected another name");
        check("\"orders\"\noff", &format!("\"{name}\"\noff"), &[&problem]);
    }
    for name in ["of", "words", "key", "version", "key_0"] {
        let problem = format!(
            "15: value field '{name}': generated code has a function, or the command line a column, \
             of this name, expected another name"
        );
        check("\"orders\"\noff", &format!("\"{name}\"\noff"), &[&problem]);
    }
    for name in ["Price4", "W"] {
        let problem =
            format!("1: value: generated code has a type '{name}', expected another name");
        check("name = \"Quote\"", &format!("name = \"{name}\""), &[&problem]);
    }
    check("name = \"Quote\"", "name = \"quote\"", &["2: value: name 'quote' must be CamelCase"]);
}

#[test]
fn versions_extend_each_other() {
    check(
        "unit = \"orders\"",
        "since = 2",
        &[
            "21: value field 'sizes': since 1, but is after 'orders', since 2: new fields are at the \
           end",
        ],
    );
    check("version = 2", "version = 3", &["1: value: version 3 adds nothing"]);
    check("version = 2", "version = 0", &["1: value: the first version is 1, not 0"]);
    check(
        "since = 2\ndoc",
        "since = 4\ndoc",
        &[
            "27: value field 'mood': since 4, but versions are 1 to 2",
            "33: value field 'updated': since 2, but is after 'mood', since 4: new fields are at \
             the end",
        ],
    );
    check(
        "unit = \"orders\"",
        "default = 1",
        &["15: value field 'orders': 'default' is for fields of a later version: add 'since'"],
    );
}

#[test]
fn what_is_stated_of_a_field_fits_its_type() {
    check(
        "default = 5",
        "default = -5",
        &["33: value field 'updated': 'default' must be a whole number from 0 to \
           18446744073709551615"],
    );
    check(
        "unit = \"orders\"",
        "absent = 0x1_0000_0000",
        &["15: value field 'orders': 'absent' must be a whole number from 0 to 4294967295"],
    );
    check(
        "type = \"Alpha<2>\"",
        "type = \"Alpha<2>\"\nabsent = 0",
        &["27: value field 'mood': 'absent' is for numbers only"],
    );
    check(
        "type = \"u32\"",
        "type = \"Maybe<Price4>\"\nabsent = 7",
        &["15: value field 'orders': 'absent' is not for Maybe<Price4>, whose absent value is 0"],
    );
    check(
        "form = \"price\"",
        "form = \"money\"",
        &["12: value field 'bid': unknown form 'money', expected one of number, price, time"],
    );
    check(
        "form = \"price\"",
        "form = \"time\"",
        &["8: value field 'bid': form 'time' needs the type u64"],
    );
    check(
        "form = \"time\"",
        "form = \"price\"",
        &["33: value field 'updated': form 'price' needs a type such as i64 or u32"],
    );
}

#[test]
fn flags_are_names_of_bits() {
    let with = |line: &str| format!("type = \"u32\"\n{line}");
    let flags = with("flags = [\"late\", \"lost\"]");
    let value = read(&format!("{HEAD}{FIELDS}").replace("type = \"u32\"", &flags)).unwrap();
    let field = &value.fields[1];
    assert_eq!(
        [0, 1, 3, 6].map(|bits| field.flags_text(bits)),
        ["", "late", "late+lost", "lost+2"]
    );
    assert_eq!((field.flags_of("lost+late"), field.flags_of("")), (Ok(3), Ok(0)));
    assert_eq!(field.flags_of("late+lots"), Err("lots"));
    let meaning = "\"Orders of it. Unit: orders. Flags: 1 late, 2 lost.\"";
    assert!(value_code(&value).contains(meaning), "{}", value_code(&value));
    for (line, problem) in [
        ("flags = [\"late\", \"Lost\"]", "flag 'Lost' is not in snake_case"),
        ("flags = [\"late\", \"late\"]", "flag 'late' is there twice"),
    ] {
        let problem = format!("15: value field 'orders': {problem}");
        check("type = \"u32\"", &with(line), &[&problem]);
    }
    let names: Vec<String> = (0..33).map(|bit| format!("\"f{bit}\"")).collect();
    check(
        "type = \"u32\"",
        &with(&format!("flags = [{}]", names.join(", "))),
        &["15: value field 'orders': flag 'f32' is one of more than 32 bits"],
    );
    check(
        "type = \"Alpha<2>\"",
        "type = \"Alpha<2>\"\nflags = [\"a\"]",
        &["27: value field 'mood': 'flags' needs a type such as u16, and no 'form'"],
    );
}

#[test]
fn keys_are_those_of_a_value() {
    assert_eq!(read(HEAD).unwrap_err(), "schema/quote.toml:1: value: it has no [[field]]");
    check("title", "titel", &["1: value: 'title' is missing", "3: value: unknown key 'titel'"]);
    check(
        "unit = \"orders\"",
        "constant = 1",
        &["19: value field 'orders': unknown key 'constant'"],
    );
    check(
        "src/generated/quote.rs",
        "/quote.rs",
        &[
            "6: value: output '/quote.rs' must be the path of a file *.rs below the current folder, \
           without '.' and '..'",
        ],
    );
    assert_eq!(
        read_value("a.toml", "[interface]\n").unwrap_err().to_string(),
        "a.toml:1: table [value] is missing"
    );
    assert_eq!(
        read("[other]\n").unwrap_err(),
        "schema/quote.toml:1: table [interface], [value] or [protocol] is missing"
    );
}

/// The problems of a later schema that was changed in this way.
#[track_caller]
fn compare(from: &str, to: &str, expected: &str) {
    let whole = format!("{HEAD}{FIELDS}");
    assert!(whole.contains(from), "the test must change something");
    let later = read(&whole.replacen(from, to, 1)).expect("the schema alone has no mistake");
    let found = later.check_published(LIST, &good().published()).err();
    assert_eq!(found.map(|problems| problems.to_string()).unwrap_or_default(), expected);
}

#[test]
fn what_is_published_stays() {
    for (from, to, line, old, now) in [
        (
            "type = \"u32\"",
            "type = \"i32\"",
            15,
            "6 has published: byte 8, orders, u32, since 1",
            "is now: byte 8, orders, i32, since 1",
        ),
        (
            "absent = -1\n",
            "",
            8,
            "5 has published: byte 0, bid, i64, since 1, absent -1, form price",
            "is now: byte 0, bid, i64, since 1, form price",
        ),
        (
            "count = 3",
            "count = 2",
            21,
            "7 has published: byte 16, sizes, u16, since 1, count 3",
            "is now: byte 16, sizes, u16, since 1, count 2",
        ),
        ("\"Quote\"", "\"Other\"", 1, "4 has published: value, Quote", "is now: value, Other"),
        (
            "offset = 24",
            "offset = 32",
            1,
            "9 has published: byte 24, updated, u64, since 2, default 5, form time",
            "is missing",
        ),
    ] {
        let expected = format!("schema/quote.toml:{line}: {LIST}:{old}; {now}; expected no change");
        if line == 1 && now == "is missing" {
            let also = "schema/quote.toml:33: value field 'updated': is new, so it needs 'since = 3' \
                        or later";
            compare(from, to, &format!("{expected}\n{also}"));
        } else {
            compare(from, to, &expected);
        }
    }
    compare("A time.", "Another text.", "");
    let damaged = good().published() + "=======\n";
    assert_eq!(
        good().check_published(LIST, &damaged).unwrap_err().to_string(),
        format!(
            "{LIST}:10: '=======' is no line of `cargo xtask gen`, expected one such as 'byte 0, \
             bid, i64, since 1': restore this file"
        )
    );
}

#[test]
fn a_field_may_be_added_in_a_later_version_only() {
    let more = |version: &str| {
        let head = HEAD.replace("version = 2", &format!("version = {version}"));
        let field = format!(
            "[[field]]\nname = \"more\"\noffset = 32\ntype = \"u8\"\nsince = {version}\ndoc = \
             \"More.\"\n"
        );
        let later = read(&format!("{head}{FIELDS}{field}")).unwrap();
        later.check_published(LIST, &good().published()).map_err(|problems| problems.to_string())
    };
    assert_eq!(
        more("2"),
        Err("schema/quote.toml:41: value field 'more': is new, so it needs 'since = 3' or later"
            .into())
    );
    assert_eq!(more("3"), Ok(()));
}

#[test]
fn a_layout_depends_on_all_that_moves_bytes_and_on_nothing_else() {
    let layouts = |from: &str, to: &str| {
        read(&format!("{HEAD}{FIELDS}").replacen(from, to, 1)).unwrap().layouts()
    };
    let good = good().layouts();
    assert_eq!(good.iter().map(|layout| layout >> 48).collect::<Vec<_>>(), [1, 2]);
    for (from, to) in [
        ("\"Quote\"", "\"Other\""),
        ("\"bid\"", "\"offer\""),
        ("\"u32\"", "\"i32\""),
        ("offset = 8", "offset = 12"),
        ("count = 3", "count = 2"),
    ] {
        let other = layouts(from, to);
        assert!(other[0] != good[0] && other[1] != good[1], "{from}");
    }
    for (from, to) in
        [("A mood.", "x"), ("default = 5", "default = 6"), ("\"price\"", "\"number\"")]
    {
        assert_eq!(layouts(from, to), good, "{from}");
    }
    let other = layouts("\"updated\"", "\"changed\"");
    assert!(other[0] == good[0] && other[1] != good[1]);
}

#[test]
fn words_of_an_earlier_version_get_the_later_fields() {
    let value = good();
    assert_eq!((value.words_of(1), value.words()), (3, 4));
    assert_eq!(value.version_of(value.layout()), Some(2));
    assert_eq!(value.version_of(7), None);
    // Bytes of no field may be anything in a map that was written without the schema.
    let old = [3, u64::MAX, u64::MAX];
    let mut new = [9; 4];
    value.upgrade(1, &old, &mut new);
    let mood = u64::from_le_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);
    assert_eq!(new, [3, u64::MAX, mood, 5]);
    let initial = value.initial();
    assert_eq!(initial, [u64::MAX, 0, 0, 5]);
    let [bid, .., mood, _] = value.fields.as_slice() else { panic!("five fields") };
    assert_eq!((bid.number(bid.bits(&initial, 0)), bid.is_absent(u64::MAX)), (-1, true));
    let mut words = initial.clone();
    mood.set_bits(&mut words, 0, mood.bits_of(&Literal::Text("a".into())));
    assert_eq!(words[2].to_le_bytes(), *b"\0\0\0\0\0\0a ");
}

#[test]
fn the_table_has_every_kind_of_row() {
    let value = good();
    let code = value_code(&value);
    for row in [
        "use nanotape_latest::types::Alpha;",
        "        [0..8] bid, set_bid: i64, \"Best bid. In units of 1e-9. Absent: -1.\";",
        "        [8..12] orders, set_orders: u32, \"Orders of it. Unit: orders.\";",
        "        [16..22] sizes_at, set_sizes_at, SIZES_COUNT: [u16; 3], \"Sizes.\";",
        "        [22..24] mood, set_mood: Alpha<2>, \"A mood. Since version 2; 0 in values of \
         before.\";",
    ] {
        assert!(code.lines().any(|line| line == row), "{row}\n{code}");
    }
    let page = value_document(&value);
    for row in [
        "| 1 | 3 | `0x0001_",
        "| 2 | 4 | `0x0002_",
        "| 16 | 3 times 2 | `u16` | sizes | Sizes. |",
        "| 24 | 8 | `u64` | updated | A time. In nanoseconds since the UNIX epoch. Since version \
         2; 5 in values of before. |",
    ] {
        assert!(page.lines().any(|line| line.starts_with(row)), "{row}\n{page}");
    }
}

/// The schema of the guide.
#[test]
fn the_schema_of_the_document_has_no_mistake() {
    let document = include_str!("../../../../../docs/interfaces.md");
    let (_, values) = document.split_once("\n## Values\n").unwrap();
    let (_, rest) = values.split_once("```toml\n").unwrap();
    let (schema, _) = rest.split_once("```").unwrap();
    let value = read_value("schema/stock-state.toml", schema).unwrap();
    assert_eq!((value.words_of(1), value.words()), (2, 3));
}
