//! IEX-TP: the generated header of a segment.
//!
//! [`crate::framing::iextp`] reads and writes whole segments. The offset table is in
//! `docs/protocols/iex-tp.md`.

pub use crate::generated::iextp::*;

/// The version of the header.
pub const VERSION: u8 = 1;
