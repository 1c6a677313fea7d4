//! Reads protocol schemas and writes the code, documents and test material derived from them.
//!
//! Where: a tool, run by `cargo xtask gen`; of the products only the command line links it, for
//! the values of maps. Reading a schema (`schema/*.toml`) returns a [`Protocol`], an [`Interface`]
//! or a [`ValueSchema`], or every [`Problem`] in it with its line. Pure functions, one per target,
//! then turn it into text:
//!
//! XML descriptions of protocols are [described](describe), [imported](import()) as a schema, and
//! [compared](compare()) with one.
//!
//! ```text
//! TOML --> read --> check --+--> Protocol --+--> code           tables for nanotape-wire
//!                     |     |               +--> document       offset tables
//!                     v     |               +--> fuzz_target
//!                  problems |
//!                           +--> Interface -+--> interface_code      a table for
//!                           |               |                        nanotape-interface
//!                           |               +--> interface_document  offset tables
//!                           |               +--> published           what must stay
//!                           +--> ValueSchema -> value_code           a table for
//!                                           |                        nanotape-latest
//!                                           +--> value_document      offset tables
//!                                           +--> published           what must stay
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
mod compare;
mod described;
mod evolution;
mod explained;
mod field_type;
mod head;
mod import;
mod interface;
mod kind;
mod literal;
mod names;
mod output;
mod problem;
mod protocol;
mod published;
mod read;
mod reader;
mod text;
mod value;

pub use compare::{Aspect, Difference, compare};
pub use described::{
    DescribedBits, DescribedCode, DescribedCodes, DescribedField, DescribedGroup, DescribedHead,
    DescribedLayout, Description, DescriptionError, MOST_BYTES, Meaning, Spot, describe,
};
pub use explained::Explanations;
pub use field_type::FieldType;
pub use head::{MethodField, Target};
pub use import::import;
pub use interface::{FIRST_RESERVED_NUMBER, Interface, Method};
pub use kind::{Schema, read_any, read_any_with, read_interface, read_ours, read_value};
pub use literal::Literal;
pub use output::{
    code, document, fuzz_target, interface_code, interface_document, value_code, value_document,
};
pub use problem::{Problem, Problems};
pub use protocol::{
    Bit, BitSet, Code, CodeList, Enumeration, Field, Group, Include, Layout, Protocol, Role, Tag,
    TagKind,
};
pub use read::{Load, read};
pub use value::{Form, ValueField, ValueSchema};
