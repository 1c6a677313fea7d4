//! IEX-TP 1: decode any bytes, render and encode again.
//!
//! Written by `cargo xtask gen` from `schema/iex-tp.toml`: edit that, not this.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::{iextp, render::Describe};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(view) = iextp::SegmentHeader::wrap(bytes) {
        renders(view);
        assert_eq!(view.fields().encode(), bytes);
    }
    if let Ok(view) = iextp::MessageBlockHeader::wrap(bytes) {
        renders(view);
        assert_eq!(view.fields().encode(), bytes);
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
