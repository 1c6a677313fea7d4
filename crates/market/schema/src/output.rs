//! Output of a protocol. Each target is a pure function that returns text.

mod code;
mod document;
mod fuzz;

pub use code::code;
pub use document::document;
pub use fuzz::fuzz_target;

use crate::Protocol;

/// The sentence that names the source of a generated file.
fn origin(protocol: &Protocol) -> String {
    format!("Written by `cargo xtask gen` from `{}`: edit that, not this.", protocol.path)
}
