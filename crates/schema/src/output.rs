//! What is written from a protocol. Each target is a pure function to text.

mod code;
mod document;
mod fuzz;

pub use code::code;
pub use document::document;
pub use fuzz::fuzz_target;

use crate::Protocol;

/// The words that say where a generated file comes from.
fn origin(protocol: &Protocol) -> String {
    format!("Written by `cargo xtask gen` from `{}`: edit that, not this.", protocol.path)
}
