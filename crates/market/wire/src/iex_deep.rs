//! IEX DEEP 1.0: price levels. [`crate::framing::iextp`] reads the packets.
//!
//! The offset tables are in `docs/protocols/iex-deep.md` and `iex-common.md`.

pub use crate::generated::iex_deep::*;

/// The message protocol in the headers of segments.
pub const MESSAGE_PROTOCOL_ID: u16 = 0x8004;
