//! An XML description of a protocol, of any text: one error on one line, or a description. A schema
//! that is imported from it has the same messages, lengths and groups.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_schema::{Aspect, Explanations, compare, describe, import, read};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Err(problems) = Explanations::read("explained.toml", text) {
        assert!(!problems.0.is_empty());
    }
    let description = match describe("x.xml", text) {
        Ok(description) => description,
        Err(error) => return assert!(!error.to_string().contains('\n')),
    };
    let schema = match import("x.toml", &description) {
        Ok(schema) => schema,
        Err(problems) => return assert!(!problems.0.is_empty()),
    };
    let protocol = read("x.toml", &schema).expect("it was read");
    for difference in compare(&protocol, &description) {
        // Types can be those of bytes that no schema expresses.
        let is_whole = [Aspect::ByteOrder, Aspect::Head, Aspect::Message, Aspect::Length];
        assert!(!is_whole.contains(&difference.aspect), "{difference}");
    }
});
