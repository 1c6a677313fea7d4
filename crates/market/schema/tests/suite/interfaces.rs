//! Interfaces: every mistake with its line, what a published one may change, and the outputs.

use nanotape_schema::{FieldType, Interface, Schema, interface_code, interface_document, read_any};

/// Six lines, so that the first method begins on line 7.
const HEAD: &str = r#"[interface]
name = "Orders"
title = "Orders"
doc = "What happens to orders."
version = 2
output = "src/generated/orders.rs"
"#;

/// The list of what an earlier version has published.
const LIST: &str = "schema/published/orders.txt";

/// Two methods: `accepted` on line 7, its fields on lines 13 to 16, and `noted` on line 18, its
/// fields on lines 24 to 27.
const METHODS: &str = r#"[[method]]
number = 1
name = "accepted"
length = 24
doc = "An order was accepted."
fields = [
    { name = "order", offset = 0, type = "OrderReferenceNumber", doc = "The order." },
    { name = "price", offset = 8, type = "Price4", doc = "Its price." },
    { name = "zero", offset = 12, type = "u32", constant = 0, doc = "Reserved." },
    { name = "owner", offset = 16, type = "Alpha<8>", since = 2, default = "", doc = "Its owner." },
]
[[method]]
number = 0x10
name = "noted"
length = 8
doc = "A note."
fields = [
    { name = "change", offset = 0, type = "i32", unit = "shares", doc = "A change." },
    { name = "text_at", offset = 4, type = "TailOffset", doc = "Where the text begins." },
    { name = "zero", offset = 6, type = "u16", constant = 0, doc = "Reserved." },
    { name = "text", offset = 8, type = "Text", most = 80, doc = "The text." },
]
"#;

fn read(text: &str) -> Result<Interface, String> {
    match read_any("schema/orders.toml", text) {
        Ok(Schema::Interface(interface)) => Ok(interface),
        Ok(_) => panic!("it is an interface"),
        Err(problems) => Err(problems.to_string()),
    }
}

fn good() -> Interface {
    read(&format!("{HEAD}{METHODS}")).unwrap()
}

/// The problems of the schema with `from` replaced by `to`.
#[track_caller]
fn check(from: &str, to: &str, expected: &[&str]) {
    let whole = format!("{HEAD}{METHODS}");
    assert!(whole.contains(from), "the test must change something");
    let found = read(&whole.replacen(from, to, 1)).expect_err("there is a mistake");
    let expected: Vec<String> =
        expected.iter().map(|problem| format!("schema/orders.toml:{problem}")).collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn numbers_and_names_are_used_once() {
    check(
        "number = 0x10",
        "number = 1",
        &["18: method 'noted': number 1 is taken by 'accepted' on line 7"],
    );
    check(r#""noted""#, r#""accepted""#, &["18: method 'accepted': the name is on line 7 too"]);
    check(
        r#""price""#,
        r#""order""#,
        &["14: method 'accepted' field 'order': the name is on line 13 too"],
    );
}

#[test]
fn names_are_those_that_rust_can_have() {
    check(
        r#""noted""#,
        r#""move""#,
        &["20: method 'move': name 'move' is a keyword of Rust, expected another \
           snake_case name"],
    );
    check(
        r#""noted""#,
        r#""unknown""#,
        &["18: method 'unknown': generated code has a function of this name, expected another \
             name"],
    );
    check(
        r#""price""#,
        r#""type""#,
        &[
            "14: method 'accepted' field 'type': name 'type' is a keyword of Rust, expected another \
           snake_case name",
        ],
    );
    check(
        r#""price""#,
        r#""Price""#,
        &["14: method 'accepted' field 'Price': name 'Price' must be snake_case"],
    );
    check(
        r#"name = "Orders""#,
        r#"name = "orders""#,
        &["2: interface: name 'orders' must be CamelCase"],
    );
}

#[test]
fn fields_have_no_hole_and_no_overlap() {
    check(
        "offset = 8, type = \"Price4\"",
        "offset = 10, type = \"Price4\"",
        &[
            "14: method 'accepted' field 'price': leaves a hole at bytes 8..10",
            "15: method 'accepted' field 'zero': overlaps 'price' (bytes 10..14)",
        ],
    );
    check(
        "length = 24",
        "length = 26",
        &["7: method 'accepted': length is 26, but its last field ends at byte 24"],
    );
    let types = FieldType::names_in_interfaces().join(", ");
    for name in ["Prise4", "LengthAfter"] {
        let problem = format!(
            "14: method 'accepted' field 'price': unknown type '{name}', expected one of {types}"
        );
        check("Price4", name, &[&problem]);
    }
}

#[test]
fn new_fields_are_at_the_end_with_a_default() {
    check(
        ", default = \"\"",
        "",
        &["16: method 'accepted' field 'owner': since 2, so it needs a 'default' for messages of \
           earlier versions"],
    );
    check(
        "since = 2, default = \"\"",
        "default = \"\"",
        &[
            "1: interface: version 2 adds nothing",
            "16: method 'accepted' field 'owner': 'default' is for fields of a later version: add \
             'since'",
        ],
    );
    check(
        "type = \"Price4\"",
        "type = \"Price4\", since = 2, default = 0",
        &["15: method 'accepted' field 'zero': since 1, but is after 'price', since 2: new \
           fields are at the end"],
    );
    check(
        "since = 2",
        "since = 3",
        &["16: method 'accepted' field 'owner': since 3, but versions are 1 to 2"],
    );
    check("version = 2", "version = 3", &["1: interface: version 3 adds nothing"]);
    check(
        "default = \"\"",
        "default = \"\", constant = \"\"",
        &["16: method 'accepted' field 'owner': has both 'default' and 'constant'"],
    );
}

#[test]
fn values_fit_their_fields() {
    check(
        "default = \"\"",
        "default = \"nine char\"",
        &["16: method 'accepted' field 'owner': 'default' must be text of at most 8 ASCII \
           characters"],
    );
    check(
        "type = \"u32\", constant = 0",
        "type = \"u32\", constant = 0x1_0000_0000",
        &["15: method 'accepted' field 'zero': 'constant' must be a whole number from 0 to \
           4294967295"],
    );
    check(
        "type = \"u32\", constant = 0",
        "type = \"u32\", constant = -1",
        &["15: method 'accepted' field 'zero': 'constant' must be a whole number from 0 to \
           4294967295"],
    );
    check(
        "type = \"u32\", constant = 0",
        "type = \"i32\", constant = -2147483649",
        &["15: method 'accepted' field 'zero': 'constant' must be a whole number from \
           -2147483648 to 2147483647"],
    );
    check(
        "type = \"u32\", constant = 0",
        "type = \"u32\", constant = 0.5",
        &["15: method 'accepted' field 'zero': 'constant' must be a whole number or text, not \
           float"],
    );
}

#[test]
fn a_tail_has_an_offset_and_begins_at_a_word() {
    check(
        "\"TailOffset\"",
        "\"u16\"",
        &["27: method 'noted' field 'text': needs a field of type TailOffset"],
    );
    check(
        "type = \"u16\", constant = 0",
        "type = \"TailOffset\"",
        &["26: method 'noted' field 'zero': a second TailOffset"],
    );
    check(
        "    { name = \"text\", offset = 8, type = \"Text\", most = 80, doc = \"The text.\" },\n",
        "",
        &["25: method 'noted' field 'text_at': there is no tail"],
    );
    check(
        "type = \"Text\", most = 80",
        "type = \"Text\", most = 80, since = 2",
        &["27: method 'noted' field 'text': a tail begins with its method"],
    );
    let short = METHODS
        .replace("length = 8", "length = 6")
        .replace(
            "    { name = \"zero\", offset = 6, type = \"u16\", constant = 0, doc = \
             \"Reserved.\" },\n",
            "",
        )
        .replace("offset = 8, type = \"Text\"", "offset = 6, type = \"Text\"");
    assert_eq!(
        read(&format!("{HEAD}{short}")).unwrap_err(),
        "schema/orders.toml:26: method 'noted' field 'text': begins at byte 6, which is no \
         multiple of 8: add 2 bytes before it, such as a field with 'constant = 0'"
    );
    check(
        "type = \"Price4\"",
        "type = \"Price4\", most = 3",
        &["14: method 'accepted' field 'price': 'most' is for Text and Bytes only"],
    );
}

#[test]
fn an_interface_has_methods_and_an_output_below_the_folder() {
    assert_eq!(read(HEAD).unwrap_err(), "schema/orders.toml:1: interface: it has no [[method]]");
    check(
        "src/generated/orders.rs",
        "../orders.rs",
        &["6: interface: output '../orders.rs' must be the path of a file *.rs below the current \
           folder, without '.' and '..'"],
    );
    check(
        "title = \"Orders\"",
        "titel = \"Orders\"",
        &["1: interface: 'title' is missing", "3: interface: unknown key 'titel'"],
    );
    check(
        "number = 1\n",
        "number = 70000\n",
        &["8: method 'accepted': 'number' must be from 0 to 65535, not 70000"],
    );
}

/// The problems of a later schema that was changed in this way.
#[track_caller]
fn compare(from: &str, to: &str, expected: &[&str]) {
    let published = good().published();
    let whole = format!("{HEAD}{METHODS}");
    assert!(whole.contains(from), "the test must change something");
    let later = read(&whole.replacen(from, to, 1)).expect("the schema alone has no mistake");
    let found = later.check_published(LIST, &published).err().map(|problems| problems.to_string());
    let expected = expected.iter().map(|problem| problem.replace("LIST", LIST));
    let expected: Vec<String> =
        expected.map(|problem| format!("schema/orders.toml:{problem}")).collect();
    assert_eq!(found.unwrap_or_default(), expected.join("\n"));
}

#[test]
fn what_is_published_stays() {
    compare(
        "type = \"Price4\"",
        "type = \"Shares\"",
        &["14: LIST:6 has published: 0x0001 byte 8, price, Price4, since 1; is now: 0x0001 byte \
             8, \
           price, Shares, since 1; expected no change"],
    );
    compare(
        "number = 0x10",
        "number = 0x11",
        &[
            "1: LIST:9 has published: 0x0010 method, noted, since 1; is missing; expected no \
             change",
            "1: LIST:10 has published: 0x0010 byte 0, change, i32, since 1; is missing; expected \
             no change",
            "1: LIST:11 has published: 0x0010 byte 4, text_at, TailOffset, since 1; is missing; \
             expected no change",
            "1: LIST:12 has published: 0x0010 byte 6, zero, u16, since 1, constant 0; is missing; \
             expected no change",
            "1: LIST:13 has published: 0x0010 tail, most 80, text, Text, since 1; is missing; \
             expected no change",
        ],
    );
    compare(
        "type = \"Alpha<8>\", since = 2, default = \"\"",
        "type = \"u64\", since = 2, default = 0",
        &["16: LIST:8 has published: 0x0001 byte 16, owner, Alpha<8>, since 2, default \"\"; is \
           now: 0x0001 byte 16, owner, u64, since 2, default 0; expected no change"],
    );
    compare(
        "most = 80",
        "most = 90",
        &["27: LIST:13 has published: 0x0010 tail, most 80, text, Text, since 1; is now: 0x0010 \
           tail, most 90, text, Text, since 1; expected no change"],
    );
}

#[test]
fn a_list_that_was_damaged_is_an_error_at_its_line() {
    let published = good().published();
    for (list, expected) in [
        (String::new(), ":1: has no methods, expected those of an earlier `cargo xtask gen`"),
        (published.clone() + "=======\n", ":14: '=======' is no line of `cargo xtask gen`"),
        (published.replace("0x0001 method", "1 method"), ":4: '1 method, accepted, since 1' is no"),
    ] {
        let found = good().check_published(LIST, &list).unwrap_err().to_string();
        assert!(found.starts_with(&format!("{LIST}{expected}")), "{found}");
        assert_eq!(found.lines().count(), 1);
    }
}

#[test]
fn a_method_may_be_added() {
    compare(
        "[[method]]\nnumber = 0x10",
        "[[method]]\nnumber = 2\nname = \"left\"\nlength = 0\ndoc = \"It left.\"\nsince = 2\n\
         [[method]]\nnumber = 0x10",
        &[],
    );
}

/// A new field is of a later version than all fields that are published.
#[test]
fn a_new_field_of_a_published_version_is_refused() {
    let later = METHODS.replace("length = 24", "length = 25").replace(
        "doc = \"Its owner.\" },\n",
        "doc = \"Its owner.\" },\n    { name = \"desk\", offset = 24, type = \"u8\", \
         since = SINCE, default = 0, doc = \"A desk.\" },\n",
    );
    let of = |version: &str| {
        let head = HEAD.replace("version = 2", &format!("version = {version}"));
        let later = read(&format!("{head}{}", later.replace("SINCE", version))).unwrap();
        later.check_published(LIST, &good().published()).map_err(|problems| problems.to_string())
    };
    assert_eq!(
        of("2"),
        Err("schema/orders.toml:17: method 'accepted' field 'desk': is new, so it needs \
             'since = 3' or later"
            .into())
    );
    assert_eq!(of("3"), Ok(()));
}

/// A field before the tail moves it, which readers of both versions expect.
#[test]
fn a_tail_may_move() {
    let later = METHODS.replace("length = 8\n", "length = 16\n").replace(
        "    { name = \"text\", offset = 8,",
        "    { name = \"time\", offset = 8, type = \"u64\", since = 2, default = 0, doc = \"A \
             time.\" },\n    { name = \"text\", offset = 16,",
    );
    let later = read(&format!("{HEAD}{later}")).unwrap();
    assert_eq!(later.check_published(LIST, &good().published()), Ok(()));
    assert_eq!(later.methods[1].earlier(), [8]);
}

#[test]
fn the_table_has_every_kind_of_row() {
    let code = interface_code(&good());
    for row in [
        "use nanotape_interface::types::{Alpha, OrderReferenceNumber, Price4};",
        "    Orders / OrdersWriter;",
        "    0x0001 accepted: 24 bytes, earlier [16] {",
        "            [12..16] zero: u32 = number(0), \"Reserved.\";",
        "            [0..8] order: OrderReferenceNumber, \"The order.\";",
        "            [16..24] owner: Alpha<8>, since 2 else text(\"\"), \"Its owner.\";",
        "    0x0010 noted: 8 bytes {",
        "            [0..4] change: i32, \"A change. Unit: shares.\";",
        "            [8..] text max 80, offset at 4, \"The text.\";",
    ] {
        assert!(code.lines().any(|line| line == row), "{row}\n{code}");
    }
    assert!(!code.contains("[4..6]"), "the writer writes the offset of a tail\n{code}");
}

#[test]
fn the_page_has_every_byte() {
    let page = interface_document(&good());
    for row in [
        "| 0x0001 | accepted | 24 | An order was accepted. |",
        "| 0x0010 | noted | 8 to 88 | A note. |",
        "| 12 | 4 | `u32` | zero | Reserved. Always 0. |",
        "| 16 | 8 | `Alpha<8>` | owner | Its owner. Since version 2; \"\" in a message of an \
         earlier version. |",
        "| 4 | 2 | `TailOffset` | text_at | Where the text begins. The offset of the tail. |",
        "| 8 | 0 to 80 | `Text` | text | The text. |",
    ] {
        assert!(page.lines().any(|line| line == row), "{row}\n{page}");
    }
}
