//! SoupBinTCP 3.00 to 4.10, with GLIMPSE 5.0: decode any bytes, render and encode again.
//!
//! Written by `cargo xtask gen` from `schema/soupbintcp.toml`: edit that, not this.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::{render::Describe, soupbintcp};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = soupbintcp::Message::decode(bytes) {
        renders(message);
        let mut buffer = vec![0; bytes.len()];
        assert_eq!(message.encode(&mut buffer), Ok(bytes));
        match message {
            soupbintcp::Message::DebugText(view) => {
                assert_eq!(view.fields().encode(&mut buffer), Ok(bytes))
            }
            soupbintcp::Message::LoginAccepted(view) => assert_eq!(view.fields().encode(), bytes),
            soupbintcp::Message::LoginRejected(view) => assert_eq!(view.fields().encode(), bytes),
            soupbintcp::Message::SequencedData(view) => {
                assert_eq!(view.fields().encode(&mut buffer), Ok(bytes))
            }
            soupbintcp::Message::UnsequencedData(view) => {
                assert_eq!(view.fields().encode(&mut buffer), Ok(bytes))
            }
            soupbintcp::Message::ServerHeartbeat(view) => assert_eq!(view.fields().encode(), bytes),
            soupbintcp::Message::EndOfSession(view) => assert_eq!(view.fields().encode(), bytes),
            soupbintcp::Message::LoginRequest(view) => {
                assert_eq!(view.fields().encode(&mut buffer), Ok(bytes))
            }
            soupbintcp::Message::ClientHeartbeat(view) => assert_eq!(view.fields().encode(), bytes),
            soupbintcp::Message::LogoutRequest(view) => assert_eq!(view.fields().encode(), bytes),
            soupbintcp::Message::Unknown(other) => assert_eq!(other.as_bytes(), bytes),
        }
    }
    if let Ok(view) = soupbintcp::GlimpseEndOfSnapshot::wrap(bytes) {
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
