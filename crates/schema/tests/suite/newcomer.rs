//! A newcomer adds a message by editing the schema only: everything derived from it follows.

use nanotape_schema::{Protocol, code, document, fuzz_target, read, strategies};

const TOY: &str = include_str!("../../../../schema/testing/toy.toml");

/// What the newcomer types at the end of the file.
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
fn code_has_view_encoder_variant_and_rendering() {
    let before = read("toy.toml", TOY).expect("the schema is right");
    let expected = [
        "pub struct Greeting<'a>(&'a [u8; 14]);",
        "pub const TAG: u8 = b'G';",
        "pub const NAME: &'static str = \"Greeting\";",
        "/// Bytes 9..13. How loud, in decibels.\n    #[inline]\n    pub fn loudness(self) -> u32 {\n        \
         WireValue::from_be_bytes(*codec::field::<9, 4, _>(self.0))",
        "V::field(visitor, \"loudness\", Value::Integer(self.loudness().into()))?;",
        "pub struct GreetingFields {",
        "pub loudness: u32,",
        "pub fn encode(&self) -> [u8; 14] {",
        "codec::put::<9, _, _>(&mut bytes, WireValue::to_be_bytes(self.loudness));",
        "    Greeting(Greeting<'a>),",
        "Greeting::TAG => Greeting::wrap(bytes).map(Self::Greeting),",
        "Self::Greeting(message) => Some(message.timestamp()),",
        "lengths[Greeting::TAG as usize] = Greeting::LEN as u16;",
    ];
    check(&code(&before, "crate"), &code(&edited(), "crate"), &expected);
}

#[test]
fn document_strategy_and_fuzz_target_follow() {
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
        &strategies(&before, "crate::generated::toy"),
        &strategies(&edited(), "crate::generated::toy"),
        &[
            "pub fn greeting() -> GreetingFields {",
            "        loudness: value(),",
            "greeting().prop_map(|fields| fields.encode().to_vec()).boxed(),",
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
    assert!(text.contains("use nanotape_wire::{") && !text.contains("crate::"));
}
