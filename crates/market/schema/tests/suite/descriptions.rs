//! XML descriptions: what is read, and the one line with line and column of every damaged one.

use nanotape_schema::{MOST_BYTES, Meaning, Tag, TagKind, describe};

pub(crate) const PARCELS: &str = include_str!("descriptions/parcels.xml");
pub(crate) const FUTURES: &str = include_str!("descriptions/futures.xml");
pub(crate) const LETTERS: &str = include_str!("descriptions/letters.xml");

#[track_caller]
fn check(text: &str, expected: &str) {
    let error = describe("x.xml", text).expect_err("there is a mistake").to_string();
    assert_eq!(error, format!("x.xml:{expected}"));
}

/// Checks a description with `from` replaced by `to`: its error is at the text `at`.
#[track_caller]
fn check_changed(description: &str, (from, to): (&str, &str), at: &str, expected: &str) {
    assert!(description.contains(from), "the test must change something");
    let text = description.replacen(from, to, 1);
    let error = describe("x.xml", &text).expect_err("there is a mistake");
    assert_eq!(error.text, expected);
    let line = text.lines().nth(error.spot.line - 1).unwrap();
    let found = &line[error.spot.column - 1..];
    assert!(found.starts_with(at), "{}: {found}", error.spot);
    assert!(!error.to_string().contains('\n'));
}

#[test]
fn omi_fields_follow_each_other() {
    let letters = describe("letters.xml", LETTERS).unwrap();
    assert!(letters.is_little_endian);
    assert_eq!((letters.tag_kind, letters.tag_offset, letters.begin), (TagKind::Char, 0, 1));
    let [letter, reply] = &letters.messages[..] else { panic!("two messages") };
    assert_eq!((letter.tag, letter.name.as_str()), (Some(Tag::Char(b'L')), "Letter"));
    assert_eq!((letter.length, letter.spot.line), (36, 5));
    assert_eq!(letter.doc, "A letter & its stamps.");
    assert_eq!((reply.length, reply.fields.len()), (1, 0));
    let offsets: Vec<(usize, usize)> =
        letter.fields.iter().map(|field| (field.offset, field.width)).collect();
    let expected = [(1, 1), (2, 8), (10, 8), (18, 8), (26, 1), (27, 1), (28, 4), (32, 4)];
    assert_eq!(offsets, expected);
    let price = Meaning::Number { is_signed: Some(true), places: Some(4) };
    assert_eq!(letter.fields[3].meaning, price);
    let bits = &letters.bits[0];
    let named: Vec<usize> = bits.bits.iter().map(|(number, _)| *number).collect();
    assert_eq!(named, [5, 6]);
    let values: Vec<&str> = letters.codes[0].codes.iter().map(|code| code.value.as_str()).collect();
    assert_eq!(values, [" ", "S", "L"]);
    let notes: Vec<String> =
        letters.notes.iter().map(|(spot, note)| format!("{spot}: {note}")).collect();
    assert_eq!(notes, ["64:5: <Enum> 'Lonely' is not read: no field has this name"]);
}

#[test]
fn sbe_types_become_fields() {
    let parcels = describe("parcels.xml", PARCELS).unwrap();
    assert_eq!((parcels.tag_kind, parcels.tag_offset, parcels.begin), (TagKind::U16, 4, 8));
    let posted = &parcels.messages[0];
    assert_eq!((posted.tag, posted.length), (Some(Tag::U16(7)), 59));
    let field = |name: &str| posted.fields.iter().find(|field| field.name == name).unwrap();
    let weight = Meaning::Number { is_signed: Some(false), places: Some(2) };
    assert_eq!((field("weight").offset, field("weight").meaning), (20, weight));
    assert_eq!(field("zone").null, Some(0xff));
    assert_eq!(field("shift").null, Some(0x80));
    assert_eq!(field("insurance").offset, 55);
    let opened = &parcels.messages[1];
    let [items, stops] = &opened.groups[..] else { panic!("two groups") };
    assert_eq!((items.entry.length, items.entry.fields[0].null), (13, Some(i64::MAX as u64)));
    assert_eq!(parcels.group_headers[stops.header].length, 8);
    assert_eq!(stops.entry.groups[0].entry.length, 13);
}

#[test]
fn a_constant_has_no_bytes_and_a_composite_several_fields() {
    let futures = describe("futures.xml", FUTURES).unwrap();
    let message = &futures.messages[0];
    let fields: Vec<(&str, usize, usize)> = message
        .fields
        .iter()
        .map(|field| (field.name.as_str(), field.offset, field.width))
        .collect();
    let expected = [
        ("type", 8, 180),
        ("Maturity_year", 188, 2),
        ("Maturity_month", 190, 1),
        ("Status", 191, 1),
        ("Wide", 192, 2),
        ("Eligible", 194, 4),
        ("Guid", 198, 16),
        ("Ratio", 214, 8),
        ("Later", 222, 4),
    ];
    assert_eq!(fields, expected);
    assert_eq!(message.length, 238);
}

#[test]
fn what_is_no_xml_or_another_one() {
    check("", "1:1: not XML: the document does not have a root node");
    check("<a>\n  <b></c></a>", "2:6: not XML: expected 'b' tag, not 'c'");
    check(
        "<html/>",
        "1:1: root element <html> must be <messageSchema> of SBE, or of OMI begin \
                      with OmiIexTp, OmiCboeEquitiesPitch, OmiNasdaqEquitiesItch, OmiNysePillar",
    );
    check("<OmiIexTpPdf/>", "1:1: no <Message>");
    let long = format!("<a>{}</a>", " ".repeat(MOST_BYTES));
    check(&long, &format!("1:1: {} bytes are more than {MOST_BYTES}", long.len()));
}

#[test]
fn entities_and_dtds_are_refused() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;\">]>\n<a>&c;</a>";
    check(bomb, "1:1: not XML: a DTD is not read: remove it");
    let stamps = "not XML: unknown entity reference 'stamps'";
    check_changed(LETTERS, ("&amp;", "&stamps;"), "&stamps;", stamps);
}

#[test]
fn deep_nesting_is_no_stack() {
    let depth = 200_000;
    let nested = format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    assert!(describe("x.xml", &nested).is_err());
    let (open, close) = ("<group name=\"g\" id=\"1\">".repeat(9), "</group>".repeat(9));
    let text = FUTURES.replacen("<data", &format!("{open}{close}<data"), 1);
    assert_eq!(describe("x.xml", &text).unwrap_err().text, "<group> cannot be read here");
}

#[test]
fn omi_mistakes() {
    let many = "9".repeat(100);
    let many_size = format!("<Size>{many}</Size>");
    let not_many = format!("Size '{}...' must be a whole number from 0 to 65535", "9".repeat(60));
    for (from, to, at, expected) in [
        (
            "<Type>Price</Type>",
            "<Type>Cost</Type>",
            "<Type>Cost",
            "unknown type 'Cost'; OmiIexTp has Byte, String, Byte (int), Integer, Long, Price, \
             Timestamp, Event Time, bitfield",
        ),
        (
            "<Size>4</Size>",
            "<Size>-4</Size>",
            "<Size>-4",
            "Size '-4' must be a whole number from 0 to 65535",
        ),
        ("<Size>4</Size>", &many_size, "<Size>9", &not_many),
        (
            "<Size>4</Size>",
            "<Size>65535</Size>",
            "<Field><Name>Reason",
            "the message has more than 65535 bytes",
        ),
        ("<Size>4</Size>", "<Size>0</Size>", "<Field><Name>Reason", "field 'Reason' has no bytes"),
        (
            "<Size>0</Size>",
            "<Size>2</Size>",
            "<Field><Name>Letter Flags",
            "bitfield 'Letter Flags' has 1 bytes, its field 2",
        ),
        ("<Code>r<", "<Code>L<", "<Code>L", "Code 'L' is that of line 5 too"),
        ("<Code>r<", "<Code>rr<", "<Code>rr", "Code 'rr' must be one character"),
        ("<Code>r</Code>", "", "<Message>", "<Message> has no <Code>"),
        (
            "<Code>r</Code>",
            "<Code>r</Code><Code>s</Code>",
            "<Code>s",
            "a second <Code> in <Message>",
        ),
        (
            "<Bits>5</Bits>",
            "<Bits>4</Bits>",
            "<Bitfield>",
            "bitfield 'Letter Flags' has 7 bits, not whole bytes",
        ),
        ("<Bits>5</Bits>", "<Bits>64</Bits>", "<Field><Name>Express", "more than 64 bits"),
        ("<Data>S</Data>", "<Data></Data>", "<Data></Data>", "<Data> is empty"),
        ("<Data>S</Data>", "", "<Value><Name>Small", "a value has no <Data>"),
        ("<Name>Lonely<", "<Name>Size<", "<Enum>", "a second <Enum> 'Size'"),
    ] {
        check_changed(LETTERS, (from, to), at, expected);
    }
}

#[test]
fn sbe_mistakes() {
    for (from, to, at, expected) in [
        ("type=\"Guid\"", "type=\"Uuid\"", "type=\"Uuid\"", "unknown type 'Uuid'"),
        (
            "primitiveType=\"uint8\" length=\"16\"",
            "primitiveType=\"byte\"",
            "primitiveType=\"byte\"",
            "unknown primitive type 'byte'",
        ),
        (
            "name=\"Wide\" id",
            "name=\"Wide\" offset=\"-2\" id",
            "offset=\"-2\"",
            "offset '-2' must be a whole number from 0 to 65535",
        ),
        (
            "name=\"Wide\" id",
            "name=\"Wide\" offset=\"9\" id",
            "offset=\"9\"",
            "offset 9 is before byte 184, where the last field ends",
        ),
        (
            "blockLength=\"230\"",
            "blockLength=\"1\"",
            "blockLength=\"1\"",
            "blockLength is 1, but its fields end at byte 218",
        ),
        (
            "nullValue=\"255\"",
            "nullValue=\"256\"",
            "nullValue=\"256\"",
            "nullValue 256 does not fit in uint8",
        ),
        (
            "nullValue=\"255\"",
            "nullValue=\"none\"",
            "nullValue=\"none\"",
            "nullValue 'none' is no whole number",
        ),
        (
            "length=\"180\"",
            "length=\"99999\"",
            "length=\"99999\"",
            "length '99999' must be a whole number from 0 to 65535",
        ),
        ("length=\"180\"", "length=\"0\"", "length=\"0\"", "length 0 must be 1 to 65535"),
        (
            "presence=\"constant\"",
            "presence=\"never\"",
            "presence=\"never\"",
            "presence 'never' must be required, optional or constant",
        ),
        (
            "id=\"4\" blockLength",
            "id=\"70000\" blockLength",
            "id=\"70000\"",
            "id '70000' does not fit in templateId",
        ),
        ("Cross\">1<", "Cross\">32<", "<choice", "bit 32 must be from 0 to 31"),
        (
            "version=\"11\"",
            "byteOrder=\"middle\"",
            "byteOrder=\"middle\"",
            "byteOrder 'middle' must be littleEndian or bigEndian",
        ),
        (
            "version=\"11\"",
            "headerType=\"head\"",
            "headerType=\"head\"",
            "no type 'head', the header of messages",
        ),
        (
            "\"templateId\"",
            "\"template\"",
            "<composite name=\"messageHeader\"",
            "the header of messages has no templateId",
        ),
        ("name=\"Note\"", "name=\"Guid\"", "<type name=\"Guid\"", "a second type 'Guid'"),
        (
            "<types>",
            "<types><xi:include xmlns:xi=\"x\" href=\"/etc/passwd\"/>",
            "<xi:include",
            "<include> in <types> cannot be read",
        ),
    ] {
        check_changed(FUTURES, (from, to), at, expected);
    }
}

#[test]
fn a_type_that_refers_to_itself_is_refused() {
    let cycle = "<composite name=\"A\"><ref name=\"b\" type=\"B\"/></composite>\
                 <composite name=\"B\"><ref name=\"a\" type=\"A\"/></composite>";
    let text = FUTURES.replacen("</types>", &format!("{cycle}</types>"), 1);
    let text = text.replacen("type=\"Guid\"", "type=\"A\"", 1);
    let error = describe("x.xml", &text).unwrap_err();
    let expected = "a type refers to itself, or types are nested too deep: A -> B -> A";
    assert_eq!(error.text, expected);
}

#[test]
fn the_number_of_fields_has_a_limit() {
    let field = "<field name=\"f\" id=\"1\" type=\"uint8\"/>";
    let message =
        |id: usize| format!("<message name=\"m\" id=\"{id}\">{}</message>", field.repeat(400));
    let messages: String = (100..200).map(message).collect();
    let text = FUTURES.replacen("</types>", &format!("</types>{messages}"), 1);
    assert_eq!(describe("x.xml", &text).unwrap_err().text, "more than 32768 fields");
    let field = "<Field><Name>f</Name><Size>1</Size><Type>Byte</Type></Field>".repeat(32_769);
    let text = LETTERS.replacen("<Fields/>", &format!("<Fields>{field}</Fields>"), 1);
    assert_eq!(describe("x.xml", &text).unwrap_err().text, "more than 32768 fields");
}

#[test]
fn types_of_types_do_not_multiply() {
    let mut types = String::from("<composite name=\"T0\"/>");
    for level in 1..7 {
        let member = format!("<ref name=\"m\" type=\"T{}\"/>", level - 1);
        types += &format!("<composite name=\"T{level}\">{}</composite>", member.repeat(1000));
    }
    let text = FUTURES.replacen("</types>", &format!("{types}</types>"), 1);
    let text = text.replacen("type=\"Guid\"", "type=\"T6\"", 1);
    assert!(describe("x.xml", &text).is_ok());
}
