//! Every mistake that a schema can contain, with its reported line and text.

/// The ten lines at the start of every schema below, so that the tested part begins on line 11.
const HEAD: &str = r#"[protocol]
name = "x"
module = "x"
title = "X"
version = "1"
specification = "None"
byte_order = "big"
head = [
    { name = "number", offset = 1, type = "u16", doc = "A number." },
]
"#;

/// Ten lines; a message without mistakes.
const MESSAGE: &str = r#"[[message]]
tag = "A"
name = "Add"
title = "Add"
doc = "Something is added."
length = 15
fields = [
    { name = "stock", offset = 3, type = "Symbol", doc = "A symbol." },
    { name = "price", offset = 11, type = "Price4", doc = "A price." },
]
"#;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let problems = nanotape_schema::read("schema/x.toml", text).expect_err("there is a mistake");
    let found = problems.to_string();
    let found: Vec<&str> = found.lines().collect();
    let expected: Vec<String> =
        expected.iter().map(|problem| format!("schema/x.toml:{problem}")).collect();
    assert_eq!(found, expected);
}

/// Checks [`MESSAGE`] with `from` replaced by `to`.
#[track_caller]
fn check_message(from: &str, to: &str, expected: &[&str]) {
    assert!(MESSAGE.contains(from), "the test must change something");
    check(&format!("{HEAD}{}", MESSAGE.replace(from, to)), expected);
}

#[test]
fn the_message_has_no_mistake() {
    let read = nanotape_schema::read("schema/x.toml", &format!("{HEAD}{MESSAGE}"));
    assert_eq!(read.map(|protocol| protocol.messages.len()), Ok(1));
}

#[test]
fn overlapping_fields() {
    check_message(
        "offset = 11",
        "offset = 9",
        &["19: message 'A' field 'price': overlaps 'stock' (bytes 3..11)"],
    );
}

#[test]
fn a_field_over_the_tag() {
    check(
        &format!("{HEAD}{MESSAGE}").replace("offset = 1,", "offset = 0,"),
        &[
            "9: message 'A' field 'number': overlaps 'tag' (bytes 0..1)",
            "18: message 'A' field 'stock': leaves a hole at bytes 2..3",
        ],
    );
}

#[test]
fn a_field_before_the_head() {
    let text = format!("{HEAD}{MESSAGE}")
        .replace("offset = 1,", "offset = 13,")
        .replace("offset = 3,", "offset = 1,")
        .replace("offset = 11,", "offset = 9,");
    check(&text, &["18: message 'A' field 'stock': is before a field of the head"]);
}

#[test]
fn a_hole_between_fields() {
    check_message(
        "offset = 11",
        "offset = 13",
        &["19: message 'A' field 'price': leaves a hole at bytes 11..13"],
    );
}

#[test]
fn a_length_that_is_not_the_end_of_the_last_field() {
    check_message(
        "length = 15",
        "length = 16",
        &["11: message 'A': length is 16, but its last field ends at byte 15"],
    );
}

#[test]
fn an_offset_that_is_no_place() {
    check_message(
        "offset = 11",
        "offset = -1",
        &["19: message 'A' field 'price': 'offset' must be from 0 to 65535, not -1"],
    );
    check_message(
        "offset = 11",
        "offset = \"11\"",
        &["19: message 'A' field 'price': 'offset' must be a whole number, not string"],
    );
}

#[test]
fn a_type_that_does_not_exist() {
    check_message(
        "Price4",
        "Prise4",
        &["19: message 'A' field 'price': unknown type 'Prise4', and no enumeration has that name"],
    );
    check_message(
        "Price4",
        "Maybe<Shares>",
        &["19: message 'A' field 'price': unknown type 'Maybe<Shares>', and no enumeration has \
           that name"],
    );
}

#[test]
fn a_code_list_that_does_not_exist() {
    check_message(
        "type = \"Symbol\",",
        "type = \"Symbol\", codes = \"Moods\",",
        &["18: message 'A' field 'stock': unknown code list 'Moods'"],
    );
}

#[test]
fn a_tag_used_twice() {
    let second = MESSAGE.replace("\"Add\"", "\"AddAgain\"");
    check(
        &format!("{HEAD}{MESSAGE}{second}"),
        &["21: message 'A' (AddAgain): the tag is taken by Add on line 11"],
    );
}

#[test]
fn a_name_used_twice() {
    let second = MESSAGE.replace("\"A\"", "\"B\"");
    check(&format!("{HEAD}{MESSAGE}{second}"), &["21: name 'Add' is taken by line 11"]);
    check_message(
        "\"price\"",
        "\"stock\"",
        &["19: message 'A' field 'stock': the name is on line 18 too"],
    );
}

#[test]
fn a_name_that_generated_code_needs() {
    check(
        &format!("{HEAD}{MESSAGE}").replace("name = \"x\"", "name = \"a/x\""),
        &["2: protocol: name 'a/x' must have no '/'"],
    );
    check_message("\"Add\"", "\"Message\"", &["11: name 'Message' is reserved in generated code"]);
    check_message(
        "\"price\"",
        "\"encode\"",
        &["19: message 'A' field 'encode': generated code has a function of this name"],
    );
}

#[test]
fn a_name_that_is_no_name() {
    check_message(
        "\"Add\"",
        "\"add order\"",
        &["13: message 'A': name 'add order' must be CamelCase"],
    );
    check_message(
        "\"price\"",
        "\"Price\"",
        &["19: message 'A' field 'Price': name 'Price' must be snake_case"],
    );
    check_message(
        "\"price\"",
        "\"yield\"",
        &["19: message 'A' field 'yield': name 'yield' is a keyword of Rust, expected another \
           snake_case name"],
    );
}

#[test]
fn a_tag_that_is_not_one_byte() {
    check_message("\"A\"", "\"AB\"", &["11: message 'AB': the tag must be one byte"]);
}

const COLOURS: &str = r#"[[enumeration]]
name = "Colour"
doc = "A colour."
codes = [
    { code = "R", name = "Red", doc = "Red." },
    { code = "G", name = "Green", doc = "Green." },
]
[[structure]]
name = "Light"
title = "Light"
doc = "A light."
length = 1
fields = [{ name = "colour", offset = 0, type = "Colour", doc = "Its colour." }]
"#;

#[track_caller]
fn check_colours(from: &str, to: &str, expected: &[&str]) {
    assert!(COLOURS.contains(from), "the test must change something");
    check(&format!("{HEAD}{}", COLOURS.replace(from, to)), expected);
}

#[test]
fn an_enumeration_that_does_not_exist() {
    check_colours(
        "type = \"Colour\"",
        "type = \"Color\"",
        &["23: structure 'Light' field 'colour': unknown type 'Color', and no enumeration has \
             that name"],
    );
}

#[test]
fn an_enumeration_with_a_code_or_name_twice() {
    check_colours("\"G\"", "\"R\"", &["16: enumeration 'Colour': code 'R' is on line 15 too"]);
    check_colours(
        "\"Green\"",
        "\"Red\"",
        &["16: enumeration 'Colour': name 'Red' is on line 15 too"],
    );
}

#[test]
fn an_enumeration_wider_than_a_byte() {
    check_colours(
        "\"G\"",
        "\"GR\"",
        &["16: enumeration 'Colour': code 'GR' is 2 bytes wide; a code is one byte"],
    );
}

#[test]
fn an_enumeration_that_lists_the_unlisted() {
    check_colours(
        "\"Green\"",
        "\"Unknown\"",
        &["16: enumeration 'Colour': name 'Unknown' is for codes not listed"],
    );
}

#[test]
fn an_enumeration_that_nothing_uses() {
    check_colours(
        "type = \"Colour\"",
        "type = \"u8\"",
        &["11: enumeration 'Colour': no field uses it"],
    );
}

#[test]
fn a_tail_that_is_not_last_or_not_in_a_message() {
    check_message(
        "\"Symbol\"",
        "\"Text\"",
        &[
            "18: message 'A' field 'stock': only the last field may be Text",
            "19: message 'A' field 'price': leaves a hole at bytes 3..11",
        ],
    );
    check_colours(
        "\"Colour\", doc = \"Its",
        "\"Bytes\", doc = \"Its",
        &[
            "18: structure 'Light': length is 1, but its last field ends at byte 0",
            "23: structure 'Light' field 'colour': a structure has a fixed length",
        ],
    );
}

#[test]
fn keys_that_do_not_exist() {
    check_message(
        "type = \"Price4\"",
        "typ = \"Price4\"",
        &[
            "19: message 'A' field 'price': 'type' is missing",
            "19: message 'A' field 'price': unknown key 'typ'",
        ],
    );
    check_message("title =", "heading = 1\ntitle =", &["14: message 'A': unknown key 'heading'"]);
    check(&format!("{HEAD}{MESSAGE}[extra]\n"), &["21: unknown key 'extra'"]);
}

#[test]
fn keys_that_are_missing_or_of_another_kind() {
    check_message("doc = \"Something is added.\"\n", "", &["11: message 'A': 'doc' is missing"]);
    check_message(
        "length = 15",
        "length = 1.5",
        &["16: message 'A': 'length' must be a whole number, not float"],
    );
    check("", &["1: table [protocol] is missing"]);
    check_message(
        "\"Something is added.\"",
        "\"Something\\nis added.\"",
        &["15: message 'A': 'doc' must be one line without control characters"],
    );
    check_message(
        "title = \"Add\"",
        "title = \"\"",
        &["14: message 'A': 'title' must not be empty"],
    );
}

#[test]
fn a_byte_order_that_is_not_supported() {
    check(
        &format!("{HEAD}{MESSAGE}").replace("\"big\"", "\"middle\""),
        &["1: protocol: byte order 'middle' must be 'big' or 'little'"],
    );
}

#[test]
fn a_count_of_bytes_that_is_little_endian() {
    let text = format!("{HEAD}{MESSAGE}")
        .replace("\"big\"", "\"little\"")
        .replace("length = 15", "length = 17")
        .replace("Price4\", doc = \"A price.\" },", "Price4\", doc = \"A price.\" },\n{REST}")
        .replace("{REST}", r#"{ name = "rest", offset = 15, type = "LengthAfter", doc = "C." },"#);
    check(&text, &["20: message 'A' field 'rest': LengthAfter is for byte order 'big' only"]);
}

#[test]
fn a_shared_field_with_two_types() {
    let second = MESSAGE
        .replace("\"A\"", "\"B\"")
        .replace("\"Add\"", "\"Badd\"")
        .replace("\"Symbol\"", "\"Alpha<8>\"");
    let text = format!("{HEAD}{MESSAGE}{second}")
        .replace("byte_order = \"big\"", "byte_order = \"big\"; shared = [\"stock\"]")
        .replace("; shared", "\nshared");
    check(&text, &["29: message 'B' field 'stock': is shared, so it must be Symbol as on line 19"]);
}

#[test]
fn text_that_is_not_toml() {
    let text = format!("{HEAD}{MESSAGE}[[message]\n");
    check(&text, &["21: not TOML: unclosed array table, expected `]`"]);
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = format!("{HEAD}{MESSAGE}")
        .replace("length = 15", "length = 14")
        .replace("title = \"Add\"", "titel = \"Add\"");
    check(
        &text,
        &[
            "11: message 'A': 'title' is missing",
            "11: message 'A': length is 14, but its last field ends at byte 15",
            "14: message 'A': unknown key 'titel'",
        ],
    );
}
