//! Messages of several IEX feeds: decode any bytes, render and encode again.
//!
//! Written by `cargo xtask gen` from `schema/iex-common.toml`: edit that, not this.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::{iex_common, render::Describe};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = iex_common::Message::decode(bytes) {
        renders(message);
        let mut buffer = vec![0; bytes.len()];
        let encoded = message.encode(&mut buffer).expect("it is no longer");
        let again = iex_common::Message::decode(encoded).expect("it was encoded");
        renders(again);
        let mut second = vec![0; encoded.len()];
        assert_eq!(again.encode(&mut second), Ok(encoded));
        if encoded.len() == bytes.len() {
            assert_eq!(encoded, bytes);
        }
    }
});

/// A message or structure that decoded must print, and its JSON must be JSON.
fn renders<'a>(described: impl Describe<'a>) {
    let mut text = String::new();
    described.write_text(&mut text).expect("a String takes any text");
    assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text:?}");
    let mut json = String::new();
    described.write_json(&mut json).expect("a String takes any text");
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(value.is_object(), "{json}");
}
