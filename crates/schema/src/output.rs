//! What is written from a protocol. Each target is a pure function to text.

mod code;
mod document;
mod enumeration;
mod fuzz;
mod layout;
mod message;
mod strategies;

pub use code::code;
pub use document::document;
pub use fuzz::fuzz_target;
pub use strategies::strategies;

use crate::Protocol;

/// The words that say where a generated file comes from.
fn origin(protocol: &Protocol) -> String {
    format!("Written by `cargo xtask gen` from `{}`: edit that, not this.", protocol.path)
}
