//! Output of a schema. Each target is a pure function that returns text.

mod code;
mod document;
mod fuzz;
mod interface_code;
mod interface_document;

pub use code::code;
pub use document::document;
pub use fuzz::fuzz_target;
pub use interface_code::interface_code;
pub use interface_document::interface_document;

use crate::Protocol;

/// The sentence that names the source of a generated file.
fn origin(protocol: &Protocol) -> String {
    written_from(&protocol.path)
}

fn written_from(path: &str) -> String {
    format!("Written by `cargo xtask gen` from `{path}`: edit that, not this.")
}

/// Text in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
