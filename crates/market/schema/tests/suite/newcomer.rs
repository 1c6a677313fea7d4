//! Adding a message takes only an edit of the schema: everything derived from it follows.

use nanotape_schema::{Protocol, code, document, fuzz_target, read};

const TOY: &str = include_str!("../../../../../schema/testing/toy.toml");

/// The edit: text at the end of the file.
const EDIT: &str = r#"
[[message]]
tag = "G"
name = "Greeting"
title = "Greeting"
doc = "A participant says hello."
length = 14
fields = [
    { name = "loudness", offset = 9, type = "u32", doc = "How loud, in decibels." },
    { name = "colour", offset = 13, type = "Colour", doc = "Colour of the voice." },
]
"#;

fn edited() -> Protocol {
    read("toy.toml", &format!("{TOY}{EDIT}")).expect("the edit is right")
}

#[track_caller]
fn check(before: &str, after: &str, expected: &[&str]) {
    for text in expected {
        assert!(!before.contains(text), "already there: {text}");
        assert!(after.contains(text), "missing: {text}");
    }
}

#[test]
fn code_has_a_table_of_the_message() {
    let before = read("toy.toml", TOY).expect("the schema is right");
    let expected = [
        "        Greeting, \"`G` Greeting.\";\n    }\n    shared {",
        "\nwith_head! { message:\n    /// `G` Greeting. A participant says hello.\n    \
         Greeting / GreetingFields: 14 bytes, type b'G' at 0, \"Greeting\";\n    \
         [9..13] loudness: u32, \"How loud, in decibels.\";\n    \
         [13] colour: Colour, \"Colour of the voice.\";\n}\n",
    ];
    check(&code(&before, "crate"), &code(&edited(), "crate"), &expected);
}

#[test]
fn every_kind_of_row_is_written() {
    let text = code(&edited(), "crate");
    for row in [
        "    [34..42] maybe_order: Maybe<OrderReferenceNumber>, \"An order or none.\";\n",
        "    [115..117] mood: Alpha<2>, \"A code of two characters. Codes: Mood in the document.\";\n",
        "    [17..19] text_length: LengthAfter, \"Bytes of the text.\";\n",
        "    [19.. max 12] text: Text, \"The text.\";\n",
        "    Envelope / EnvelopeFields: 3 bytes, \"Envelope\";\n",
        "        stock: Symbol { EveryWidth, Note }\n",
        "        ' ' => Off, \"No light.\";\n",
        "                [1..3] stock_locate: StockLocate, \"The stock.\";\n",
    ] {
        assert_eq!(text.matches(row).count(), 1, "{row}");
    }
}

#[test]
fn document_and_fuzz_target_follow() {
    let before = read("toy.toml", TOY).expect("the schema is right");
    check(
        &document(&before),
        &document(&edited()),
        &[
            "| `G` | Greeting | 14 | A participant says hello. |",
            "## `G` Greeting",
            "| 9 | 4 | `u32` | loudness | How loud, in decibels. |",
            "Greeting colour",
        ],
    );
    check(
        &fuzz_target(&before),
        &fuzz_target(&edited()),
        &["toy::Message::Greeting(view) => assert_eq!(view.fields().encode(), bytes),"],
    );
}

#[test]
fn code_for_another_crate_names_the_wire_crate() {
    let text = code(&edited(), "nanotape_wire");
    assert!(text.contains("nanotape_wire::$table!") && !text.contains("crate::"));
}
