//! Protocols that grow, have numbers as types, or contain groups: their tables, and every mistake
//! with its line.

use nanotape_schema::{Protocol, Schema, code, fuzz_target, read, read_any_with};

const PARCELS: &str = include_str!("../../../../../schema/testing/parcels.toml");

fn parcels() -> Protocol {
    read("parcels.toml", PARCELS).expect("the schema is right")
}

/// Checks the schema with `from` replaced by `to`. A problem is the text on its line, and what is
/// reported there.
#[track_caller]
fn check(from: &str, to: &str, expected: &[(&str, &str)]) {
    assert_eq!(PARCELS.matches(from).count(), 1, "the test must change one place: {from}");
    let text = PARCELS.replace(from, to);
    check_text(&text, expected);
}

#[track_caller]
fn check_text(text: &str, expected: &[(&str, &str)]) {
    let problems = read("parcels.toml", text).expect_err("there is a mistake").to_string();
    let line = |part: &str| {
        assert_eq!(text.matches(part).count(), 1, "one line must have {part}");
        1 + text[..text.find(part).unwrap_or_default()].lines().count()
            - usize::from(!text[..text.find(part).unwrap_or_default()].ends_with('\n'))
    };
    let expected: Vec<String> = expected
        .iter()
        .map(|(part, problem)| format!("parcels.toml:{}: {problem}", line(part)))
        .collect();
    assert_eq!(problems.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn every_new_kind_of_row_is_written() {
    let text = code(&parcels(), "crate");
    for row in [
        "                [0..2] message_length: MessageLength, ",
        "                [2..4] block_length: BlockLength<8>, ",
        "    type as u16 little-endian at 4;\n",
        "    Posted / PostedFields: 55 bytes little-endian, growing, type 7 as u16 at 4, \
         \"Posted\";\n",
        "    [46] zone: Nullable<u8, 0xff>, ",
        "    [49] shift: Nullable<i8, 0x80>, ",
        "    [55..59] insurance: Option<u32>, ",
        "    groups {\n        items: ShortGroup of Item, \"What was in it.\";\n",
        "crate::group_header! { LongGroup }\n",
        "        7 => LAST_OF_EVENT, is_last_of_event, \"last_of_event\",\n",
        "        \"300\" Opened.",
    ] {
        let count = text.matches(row).count();
        assert_eq!(count, usize::from(!row.starts_with("        \"300")), "{row}");
    }
    let fuzz = fuzz_target(&parcels());
    assert!(fuzz.contains("assert_eq!(again.encode(&mut second), Ok(encoded));"), "{fuzz}");
    assert!(!fuzz.contains("Message::Posted(view)"), "{fuzz}");
}

#[test]
fn a_type_that_is_no_number_of_its_width() {
    check(
        "tag = 300",
        "tag = 65536",
        &[("[[message]]\ntag = 65536", "message '65536': the tag must be from 0 to 65535")],
    );
    check(
        "tag = 300",
        "tag = \"O\"",
        &[(
            "[[message]]\ntag = \"O\"",
            "message 'O': the tag must be a number, as 'tag_type' states",
        )],
    );
    check(
        "tag = 300",
        "tag = 7",
        &[(
            "[[message]]\ntag = 7\nname = \"Opened\"",
            "message '7' (Opened): the tag is taken by Posted on line 99",
        )],
    );
    check(
        "tag_type = \"u16\"",
        "tag_type = \"u32\"",
        &[
            ("tag_type = \"u32\"", "protocol: tag type 'u32' must be one of char, u8, u16"),
            (
                "[[message]]\ntag = 7",
                "message '7': the tag must be a character, as 'tag_type' is not u8 or u16",
            ),
            (
                "[[message]]\ntag = 300",
                "message '300': the tag must be a character, as 'tag_type' is not u8 or u16",
            ),
            (
                "[[message]]\ntag = 12",
                "message '12': the tag must be a character, as 'tag_type' is not u8 or u16",
            ),
        ],
    );
}

#[test]
fn a_growth_that_is_not_known() {
    check(
        "growth = \"at_end\"",
        "growth = \"anywhere\"",
        &[("growth = \"anywhere\"", "protocol: growth 'anywhere' must be 'at_end', or missing")],
    );
}

#[test]
fn a_length_that_cannot_count_the_message() {
    check(
        "\"MessageLength<u16>\"",
        "\"MessageLength<u32>\"",
        &[
            (
                "name = \"message_length\"",
                "head field 'message_length': unknown type 'MessageLength<u32>', and no \
                 enumeration has that name",
            ),
            (
                "name = \"block_length\", offset = 2",
                "message '7' field 'block_length': leaves a hole at bytes 0..2",
            ),
            (
                "name = \"block_length\", offset = 2",
                "message '300' field 'block_length': leaves a hole at bytes 0..2",
            ),
            (
                "name = \"block_length\", offset = 2",
                "message '12' field 'block_length': leaves a hole at bytes 0..2",
            ),
        ],
    );
    check(
        "offset = 31, type = \"i8\"",
        "offset = 31, type = \"MessageLength<u8>\"",
        &[(
            "name = \"one\"",
            "message '7' field 'one': a second MessageLength<u8>; the first is on line 17",
        )],
    );
    check(
        "offset = 32, type = \"i16\"",
        "offset = 32, type = \"BlockLength\"",
        &[
            (
                "name = \"two\"",
                "message '7' field 'two': a second BlockLength; the first is on line 18",
            ),
            ("name = \"two\"", "message '7' field 'two': BlockLength is for the head only"),
        ],
    );
    check(
        "\"arrival\", offset = 0, type = \"SecondsSinceEpoch\", doc = \"When it arrived.\" },",
        "\"arrival\", offset = 0, type = \"u16\", doc = \"When.\" },\n    \
         { name = \"own\", offset = 2, type = \"MessageLength<u16>\", doc = \"Its length.\" },",
        &[("\"own\"", "entry 'Stop' field 'own': MessageLength<u16> is for messages only")],
    );
}

#[test]
fn a_null_that_does_not_fit() {
    check(
        "null = 255",
        "null = 256",
        &[("null = 256", "message '7' field 'zone': 'null' must be a whole number of 8 bits")],
    );
    check(
        "null = -128",
        "null = -129",
        &[("null = -129", "message '7' field 'shift': 'null' must be a whole number of 8 bits")],
    );
    check(
        "type = \"Alpha<4>\", doc = \"Where",
        "type = \"Alpha<4>\", null = 0, doc = \"Where",
        &[(
            "type = \"Alpha<4>\", null = 0",
            "message '7' field 'address': 'null' is not for Alpha<4>",
        )],
    );
}

#[test]
fn a_decimal_that_does_not_exist() {
    for kind in ["Decimal<i64, 19>", "Decimal<i128, 4>", "Decimal<i64>", "Decimal<i64, x>"] {
        check(
            "\"Decimal<i64, 4>\"",
            &format!("{kind:?}"),
            &[(
                "name = \"postage\"",
                &format!(
                    "message '7' field 'postage': unknown type '{kind}', and no enumeration has \
                     that name"
                ),
            )],
        );
    }
}

#[test]
fn a_code_that_is_no_number_of_one_byte() {
    check(
        "code = 200",
        "code = 256",
        &[("code = 256", "enumeration 'Zone': code 256 is not from 0 to 255; a code is one byte")],
    );
    check(
        "code = 200",
        "code = \"F\"",
        &[("code = \"F\"", "enumeration 'Zone': codes must be all characters, or all numbers")],
    );
    check(
        "code = 200",
        "code = 0",
        &[("name = \"Far\"", "enumeration 'Zone': code '0' is on line 34 too")],
    );
}

#[test]
fn a_set_of_bits_with_a_mistake() {
    check("bit = 7", "bit = 8", &[("bit = 8", "bits 'Handling': bit 8 must be from 0 to 7")]);
    check(
        "bit = 7",
        "bit = 0",
        &[("bit = 0, name = \"last_of_event\"", "bits 'Handling': bit 0 is on line 43 too")],
    );
    check(
        "\"last_of_event\"",
        "\"fragile\"",
        &[("bit = 7", "bits 'Handling': name 'fragile' is on line 43 too")],
    );
    check(
        "\"last_of_event\"",
        "\"names\"",
        &[("bit = 7", "bits 'Handling': generated code has a constant of the name 'names'")],
    );
    check(
        "type = \"u16\"\nbits",
        "type = \"u32\"\nbits",
        &[
            ("type = \"u32\"\nbits", "bits 'Stamps': type 'u32' must be u8 or u16"),
            (
                "name = \"stamps\"",
                "message '7' field 'stamps': unknown type 'Stamps', and no enumeration has that \
                 name",
            ),
        ],
    );
    check(
        "offset = 47, type = \"Stamps\"",
        "offset = 47, type = \"u16\"",
        &[("[[bits]]\nname = \"Stamps\"", "bits 'Stamps': no field uses it")],
    );
    check(
        "name = \"Stamps\"",
        "name = \"Size\"",
        &[
            ("[[bits]]\nname = \"Size\"", "name 'Size' is taken by line 22"),
            (
                "name = \"stamps\"",
                "message '7' field 'stamps': unknown type 'Stamps', and no enumeration has that \
                 name",
            ),
        ],
    );
}

#[test]
fn an_optional_field_that_is_not_the_end() {
    check(
        "offset = 54, type = \"Zone\"",
        "offset = 54, type = \"Zone\", optional = true",
        &[
            (
                "[[message]]\ntag = 7",
                "message '7': length is 55, but its last field ends at byte 54",
            ),
            (
                "name = \"country\"",
                "message '7' field 'country': is optional, so it must begin at byte 55, where \
                 the other fields end, not at 54",
            ),
            (
                "name = \"country\"",
                "message '7' field 'country': only the last field may be optional",
            ),
        ],
    );
    check(
        "name = \"insurance\", offset = 55",
        "name = \"insurance\", offset = 56",
        &[(
            "name = \"insurance\"",
            "message '7' field 'insurance': is optional, so it must begin at byte 55, where the \
             other fields end, not at 56",
        )],
    );
    check(
        "type = \"u8\", doc = \"Entries.\" },\n]\n\n[[group_header]]\nname = \"Long",
        "type = \"u8\", optional = true, doc = \"Entries.\" },\n]\n\n[[group_header]]\nname = \
         \"Long",
        &[
            (
                "[[group_header]]\nname = \"ShortGroup\"",
                "group header 'ShortGroup': length is 3, but its last field ends at byte 2",
            ),
            (
                "optional = true, doc = \"Entries",
                "group header 'ShortGroup' field 'count': is optional, so it must begin at byte \
                 3, where the other fields end, not at 2",
            ),
            (
                "optional = true, doc = \"Entries",
                "group header 'ShortGroup' field 'count': 'optional' is for messages and \
                 entries only",
            ),
        ],
    );
}

#[test]
fn a_tail_in_a_message_that_grows() {
    check(
        "offset = 55, type = \"u32\", optional = true,",
        "offset = 55, type = \"Text\",",
        &[(
            "name = \"insurance\"",
            "message '7' field 'insurance': Text is not for messages that grow or have a length",
        )],
    );
}

#[test]
fn a_group_of_what_does_not_exist() {
    check(
        "header = \"LongGroup\"",
        "header = \"Long\"",
        &[(
            "header = \"Long\"",
            "message '300' group 'stops': no [[group_header]] has the name 'Long'",
        )],
    );
    check(
        "header = \"LongGroup\"",
        "header = \"ShortGroup\"",
        &[("[[group_header]]\nname = \"LongGroup\"", "group header 'LongGroup': no group uses it")],
    );
    check(
        "name = \"unloaded\", header = \"ShortGroup\", entry = \"Item\"",
        "name = \"unloaded\", header = \"ShortGroup\", entry = \"Stop\"",
        &[(
            "name = \"unloaded\"",
            "entry 'Stop' group 'unloaded': no [[entry]] before has the name 'Stop'",
        )],
    );
    check(
        "name = \"items\"",
        "name = \"weight\"",
        &[(
            "name = \"weight\", header",
            "message '300' group 'weight': the name is on line 130 too",
        )],
    );
    check(
        "name = \"items\"",
        "name = \"after_block\"",
        &[(
            "name = \"after_block\"",
            "message '300' group 'after_block': generated code has a function of this name",
        )],
    );
}

#[test]
fn a_group_header_without_its_fields() {
    check(
        "\"block_length\", offset = 0, type = \"u16\", doc = \"Bytes of the fields of an \
         entry.\" },\n    { name = \"padding\"",
        "\"length_of_block\", offset = 0, type = \"u16\", doc = \"Bytes of the fields of an \
         entry.\" },\n    { name = \"padding\"",
        &[(
            "[[group_header]]\nname = \"LongGroup\"",
            "group header 'LongGroup': it must have a field 'block_length' of type u16",
        )],
    );
    check(
        "{ name = \"count\", offset = 6, type = \"u16\"",
        "{ name = \"count\", offset = 6, type = \"i16\"",
        &[(
            "type = \"i16\", doc = \"Entries",
            "group header 'LongGroup': it must have a field 'count' of type u8 or u16",
        )],
    );
}

const INCLUDING: &str = r#"[protocol]
name = "more"
module = "more"
title = "More"
version = "1"
specification = "None"
byte_order = "little"
tag_type = "u16"
tag_offset = 4
growth = "at_end"
head = [
    { name = "message_length", offset = 0, type = "MessageLength<u16>", doc = "Bytes of the message, these two included." },
    { name = "block_length", offset = 2, type = "BlockLength", doc = "Bytes of the fields after the head." },
    { name = "schema_version", offset = 6, type = "u16", doc = "Version of the sender." },
]
[[include]]
schema = "parcels.toml"
messages = ["Posted", "Nothing"]
[[message]]
tag = 1
name = "Handled"
title = "Handled"
doc = "A parcel was handled."
length = 9
fields = [{ name = "handling", offset = 8, type = "Handling", doc = "How." }]
"#;

fn read_including(text: &str) -> Result<Protocol, String> {
    let mut load = |path: &str| match path {
        "schema/parcels.toml" => Ok(PARCELS.to_owned()),
        "schema/including.toml" => Ok(INCLUDING.to_owned()),
        "schema/empty.toml" => Ok(String::new()),
        _ => Err("no such file".to_owned()),
    };
    match read_any_with("schema/more.toml", text, &mut load) {
        Ok(Schema::Protocol(protocol)) => Ok(protocol),
        Ok(_) => panic!("a protocol"),
        Err(problems) => Err(problems.to_string()),
    }
}

#[test]
fn messages_of_another_schema_are_those_of_its_module() {
    let more = read_including(INCLUDING).expect("the schema is right");
    assert_eq!(more.messages.len(), 3);
    let text = code(&more, "crate");
    let types = "pub use super::parcels::{Handling, Nothing, NothingFields, Posted, PostedFields, \
                 Stamps, Zone};\n";
    assert!(text.contains(types), "{text}");
    for row in ["        Posted, \"`7` Posted.\";\n", "    Handled / HandledFields: 9 bytes"] {
        assert_eq!(text.matches(row).count(), 1, "{row}\n{text}");
    }
    assert!(!text.contains("bits!") && !text.contains("Posted / PostedFields"), "{text}");
    let page = nanotape_schema::document(&more);
    assert!(page.contains("| `7` | [Posted](parcels.md) | 55 or 59 | A parcel was posted. |"));
    assert!(!page.contains("### Handling"), "{page}");
}

#[test]
fn an_include_with_a_mistake() {
    for (from, to, expected) in [
        ("parcels.toml", "none.toml", "17: include: schema/none.toml cannot be read: no such file"),
        (
            "parcels.toml",
            "a/b.toml",
            "17: include: schema 'a/b.toml' must be the name of a file *.toml in the same folder",
        ),
        (
            "parcels.toml",
            "empty.toml",
            "17: include: has mistakes: schema/empty.toml:1: table [protocol] is missing",
        ),
        (
            "parcels.toml",
            "including.toml",
            "17: include: has mistakes: schema/including.toml:17: include: schema/parcels.toml \
             cannot be read: an included schema includes no other",
        ),
        ("\"Nothing\"", "\"Something\"", "18: include: parcels.toml has no message 'Something'"),
        (
            "[\"Posted\", \"Nothing\"]",
            "[]",
            "16: include: 'messages' must name at least one message",
        ),
        (
            "tag = 1",
            "tag = 12",
            "19: message '12' (Handled): the tag is taken by Nothing on line 16",
        ),
        ("\"Handled\"\ntitle", "\"Posted\"\ntitle", "19: name 'Posted' is taken by line 16"),
    ] {
        let error = read_including(&INCLUDING.replacen(from, to, 1)).unwrap_err();
        let first = error.lines().next().unwrap_or_default();
        assert_eq!(first, format!("schema/more.toml:{expected}"));
    }
    let error = read_including(&INCLUDING.replace("growth = \"at_end\"\n", "")).unwrap_err();
    let expected = "schema/more.toml:15: include: parcels differs in byte order, type, growth or \
                    head, expected the same";
    assert_eq!(error, expected);
    let alone = read("schema/more.toml", INCLUDING).unwrap_err().to_string();
    assert!(alone.contains("cannot be read: no other file is read here"), "{alone}");
}
