//! Reads protocol schemas and writes the code, documents and test material derived from them.
//!
//! Where: a tool, run by `cargo xtask gen`; nothing that runs in the plant depends on it.
//! A schema (`schema/*.toml`) is read into a [`Protocol`] or refused with every [`Problem`] in it,
//! each with its line. A protocol is then turned into text by pure functions, one a target:
//!
//! ```text
//! TOML --> read --> check --> Protocol --+--> code          tables for the macros of nanotape-wire
//!                     |                  +--> document      offset tables
//!                     v                  +--> fuzz_target
//!                  problems
//! ```
//!
//! ```
//! let schema = r#"
//! [protocol]
//! name = "tiny"
//! module = "tiny"
//! title = "Tiny"
//! version = "1"
//! specification = "none"
//! byte_order = "big"
//! [[structure]]
//! name = "Beat"
//! title = "Beat"
//! doc = "Alive."
//! length = 2
//! fields = [{ name = "count", offset = 0, type = "u8", doc = "How many." }]
//! "#;
//! let problems = nanotape_schema::read("tiny.toml", schema).unwrap_err();
//! assert_eq!(
//!     problems.to_string(),
//!     "tiny.toml:9: structure 'Beat': length is 2, but its last field ends at byte 1"
//! );
//! ```
#![forbid(unsafe_code)]

mod check;
mod field_type;
mod output;
mod problem;
mod protocol;
mod read;
mod reader;
mod text;

pub use field_type::FieldType;
pub use output::{code, document, fuzz_target};
pub use problem::{Problem, Problems};
pub use protocol::{Code, CodeList, Enumeration, Field, Layout, Protocol};
pub use read::read;
