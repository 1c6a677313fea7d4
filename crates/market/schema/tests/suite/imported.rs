//! Schemas from descriptions: they are read without mistakes, describe the same bytes, and state
//! what they lack.

use nanotape_schema::{
    Description, FieldType, Protocol, code, compare, describe, document, fuzz_target, import, read,
};

use crate::descriptions::{FUTURES, LETTERS, PARCELS};

#[track_caller]
fn imported(name: &str, text: &str) -> (String, Protocol, Description) {
    let description = describe(name, text).unwrap();
    let schema = import("imported.toml", &description).unwrap();
    let protocol = read("imported.toml", &schema).unwrap();
    for output in [code(&protocol, "crate"), document(&protocol), fuzz_target(&protocol)] {
        assert!(!output.is_empty());
    }
    (schema, protocol, description)
}

#[test]
fn an_imported_schema_differs_in_nothing() {
    for (name, text) in [("parcels.xml", PARCELS), ("letters.xml", LETTERS)] {
        let (_, protocol, description) = imported(name, text);
        assert_eq!(compare(&protocol, &description), [], "{name}");
    }
}

#[test]
fn an_imported_schema_has_types_of_ours() {
    let (schema, letters, _) = imported("letters.xml", LETTERS);
    let kinds: Vec<String> =
        letters.messages[0].fields.iter().map(|field| field.kind.schema_name()).collect();
    let expected =
        ["LetterFlags", "i64", "Alpha<8>", "Decimal<i64, 4>", "Size", "Zone", "Alpha<4>", "u32"];
    assert_eq!(kinds, expected);
    assert_eq!(letters.messages[0].fields[6].codes.as_deref(), Some("Reason"));
    let zone = letters.enumeration("Zone").unwrap();
    assert_eq!((zone.is_numeric, zone.codes[1].byte), (true, 0x1f));
    let note = "# 64:5: <Enum> 'Lonely' is not read: no field has this name\n";
    assert!(schema.contains(note), "{schema}");
}

#[test]
fn what_no_schema_expresses_is_a_comment_with_its_position() {
    let (schema, futures, description) = imported("futures.xml", FUTURES);
    for note in [
        "# 39:9: 'type' of 180 bytes is Alpha of at most 64 bytes\n",
        "# 40:9: 'UpdateAction' is the constant 0: no bytes\n",
        "# 43:9: the codes of 'Wide' are wider than one byte\n",
        "# 44:9: 'Eligible' has more bits than a set: a number without names\n",
        "# 45:9: 'Guid' of 16 bytes is Alpha of at most 64 bytes\n",
        "# 46:9: 'Ratio' of 8 bytes is Alpha of at most 64 bytes\n",
        "# 47:9: 'Later' is since version 10: a shorter block of an earlier one is refused\n",
        "# 48:9: data 'Text' has a length of its own: its bytes are kept and not read\n",
    ] {
        assert!(schema.contains(note), "{note}{schema}");
    }
    let message = &futures.messages[0];
    // `Symbol` is a type of ours, and `type` a word of Rust.
    assert_eq!(message.name, "SymbolValue");
    assert_eq!(message.fields[3].name, "the_type");
    let names = |from: usize| message.fields[from..].iter().map(|field| field.name.as_str());
    assert_eq!(
        names(4).take(4).collect::<Vec<_>>(),
        ["the_type_2", "the_type_3", "maturity_year", "maturity_month"]
    );
    let padding = message.fields.last().unwrap();
    assert_eq!((padding.name.as_str(), &padding.kind), ("padding", &FieldType::Alpha(12)));
    let status = futures.enumeration("Status").unwrap();
    let codes: Vec<(u8, &str)> =
        status.codes.iter().map(|code| (code.byte, code.name.as_str())).collect();
    assert_eq!(codes, [(0, "UnknownValue"), (101, "N830Am"), (255, "NullValue")]);
    assert_eq!(message.length, description.messages[0].length);
}

#[test]
fn a_composite_of_one_number_is_a_field_of_its_name() {
    let stamp = "<composite name=\"Stamp\"><type name=\"Unit\" presence=\"constant\" \
                 primitiveType=\"uint8\">9</type><type name=\"Time\" primitiveType=\"uint64\" \
                 minValue=\"1\"/></composite>";
    let text = PARCELS
        .replacen("</types>", &format!("{stamp}</types>"), 1)
        .replacen("id=\"1\" type=\"uint64\"", "id=\"1\" type=\"Stamp\"", 1)
        .replacen("\"exponent\"", "\"Exponent\"", 2)
        .replacen("name=\"Large\"", "name=\"None\"", 1);
    let (schema, protocol, description) = imported("parcels.xml", &text);
    assert_eq!(protocol.messages[0].fields[3].name, "posted_at");
    assert_eq!(protocol.enumeration("Size").unwrap().codes[0].name, "None");
    assert_eq!(compare(&protocol, &description), []);
    for note in ["'Unit' is the constant 9: no bytes", "the least and the most value are not kept"]
    {
        assert!(schema.contains(note), "{schema}");
    }
}

#[test]
fn names_that_meet_get_numbers() {
    let twice = PARCELS.replacen("name=\"Nothing\"", "name=\"posted\"", 1).replacen(
        "name=\"two\"",
        "name=\"One\"",
        1,
    );
    let (_, protocol, _) = imported("parcels.xml", &twice);
    let names: Vec<&str> = protocol.messages.iter().map(|message| message.name.as_str()).collect();
    assert_eq!(names, ["Posted", "Opened", "Posted2"]);
    assert!(protocol.messages[0].fields.iter().any(|field| field.name == "one_2"));
}

#[test]
fn each_family_has_its_byte_order_and_its_head() {
    for (root, code, word, head) in [
        ("OmiIexTpPdf", "A", "Long", (true, "char", 0, 1, true)),
        ("OmiCboeEquitiesPitchPdf", "0x2A", "Binary Long Price", (true, "u8", 1, 2, true)),
        ("OmiNasdaqEquitiesItchPdf", "A", "Price (8)", (false, "char", 0, 1, false)),
        ("OmiNysePillarPdf", "100", "Binary", (true, "u16", 2, 4, true)),
    ] {
        let text = format!(
            "<{root}><Messages><Message><Name>Add Order Message</Name><Code>{code}</Code><Fields>\
             <Field><Name>Price</Name><Size>8</Size><Type>{word}</Type></Field>\
             </Fields></Message></Messages></{root}>"
        );
        let (schema, protocol, description) = imported("x.xml", &text);
        let Protocol { is_little_endian, tag_kind, tag_offset, grows, .. } = protocol;
        let begin = description.begin;
        assert_eq!((is_little_endian, tag_kind.name(), tag_offset, begin, grows), head, "{root}");
        assert_eq!(compare(&protocol, &description), [], "{root}");
        let is_unsigned = schema.contains("the sign of 'Price' is not stated: unsigned here");
        assert_eq!(is_unsigned, root == "OmiNysePillarPdf");
    }
}
