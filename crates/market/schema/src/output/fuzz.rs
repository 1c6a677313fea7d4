//! The fuzz target of a protocol: any bytes are either rejected or can be rendered and encoded
//! again.

use super::origin;
use crate::{
    Layout, Protocol,
    text::{self, comment, fill},
};

const TEMPLATE: &str = "#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_wire::{@imports@};

fuzz_target!(|bytes: &[u8]| {
@message@@structures@});

/// A message or structure that decoded must print, and its JSON must be JSON.
fn renders<'a>(described: impl Describe<'a>) {
    let mut text = String::new();
    described.write_text(&mut text).expect(\"a String takes any text\");
    assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), \"{text:?}\");
    let mut json = String::new();
    described.write_json(&mut json).expect(\"a String takes any text\");
    let value: serde_json::Value = serde_json::from_str(&json).expect(\"JSON\");
    assert!(value.is_object(), \"{json}\");
}
";

const MESSAGE: &str = "    if let Ok(message) = @module@::Message::decode(bytes) {
        renders(message);
        let mut buffer = vec![0; bytes.len()];
        assert_eq!(message.encode(&mut buffer), Ok(bytes));
        match message {
@arms@            @module@::Message::Unknown(other) => assert_eq!(other.as_bytes(), bytes),
        }
    }
";

/// Messages that grow lose the bytes after the known ones; groups lose more. So what was encoded
/// once must be encoded to the same bytes again.
const EXTENDED: &str = "    if let Ok(message) = @module@::Message::decode(bytes) {
        renders(message);
        let mut buffer = vec![0; bytes.len()];
        let encoded = message.encode(&mut buffer).expect(\"it is no longer\");
        let again = @module@::Message::decode(encoded).expect(\"it was encoded\");
        renders(again);
        let mut second = vec![0; encoded.len()];
        assert_eq!(again.encode(&mut second), Ok(encoded));
@same@    }
";

const SAME: &str = "        if encoded.len() == bytes.len() {
            assert_eq!(encoded, bytes);
        }
";

const STRUCTURE: &str = "    if let Ok(view) = @module@::@Name@::wrap(bytes) {
        renders(view);
        assert_eq!(view.fields().encode(), bytes);
    }
";

/// The source of the target.
pub fn fuzz_target(protocol: &Protocol) -> String {
    let title = format!("{}: decode any bytes, render and encode again.", protocol.title);
    let mut out = comment("//!", &title);
    out.push_str("//!\n");
    out.push_str(&comment("//!", &origin(protocol)));
    let module = &protocol.module;
    let arms: String = protocol.messages.iter().map(|message| arm(module, message)).collect();
    let has_groups = protocol.messages.iter().any(|message| !message.groups.is_empty());
    let message = match protocol.messages.is_empty() {
        true => String::new(),
        false if protocol.is_extended() => {
            let same = if has_groups { "" } else { SAME };
            fill(EXTENDED, &[("same", same), ("module", module)])
        }
        false => fill(MESSAGE, &[("arms", &arms), ("module", module)]),
    };
    let structures: String = protocol
        .structures
        .iter()
        .map(|s| fill(STRUCTURE, &[("Name", &s.name), ("module", module)]))
        .collect();
    let mut imports = [module.as_str(), "render::Describe"];
    imports.sort_unstable();
    let imports = imports.join(", ");
    out + &fill(
        TEMPLATE,
        &[
            ("imports", &imports),
            ("message", &message),
            ("structures", &structures),
            ("module", module),
        ],
    )
}

fn arm(module: &str, message: &Layout) -> String {
    let body = match message.tail() {
        Some(_) => "assert_eq!(view.fields().encode(&mut buffer), Ok(bytes))",
        None => "assert_eq!(view.fields().encode(), bytes)",
    };
    text::arm(&format!("{module}::Message::{}(view)", message.name), body)
}
