//! Output of a schema. Each target is a pure function that returns text.

mod code;
mod document;
mod fuzz;
mod interface_code;
mod interface_document;
mod value_code;
mod value_document;

pub use code::code;
pub use document::document;
pub use fuzz::fuzz_target;
pub use interface_code::interface_code;
pub use interface_document::interface_document;
pub use value_code::value_code;
pub use value_document::value_document;

use std::collections::BTreeSet;

use crate::{Field, Protocol, text::filled};

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

/// The import of the types of fields.
fn imported<'f>(runtime: &str, fields: impl Iterator<Item = &'f Field>) -> String {
    let types: BTreeSet<&str> = fields.flat_map(|field| field.kind.imports()).collect();
    let types: Vec<String> = types.into_iter().map(str::to_owned).collect();
    let path = format!("{runtime}::types");
    match types.as_slice() {
        [] => String::new(),
        [only] => format!("\nuse {path}::{only};\n"),
        _ => format!("\n{}", filled(0, &format!("use {path}::{{"), &types, "};")),
    }
}
