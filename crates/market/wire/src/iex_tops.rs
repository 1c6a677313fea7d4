//! IEX TOPS 1.6: the best bid and offer. [`crate::framing::iextp`] reads the packets.
//!
//! The offset tables are in `docs/protocols/iex-tops.md` and `iex-common.md`.

pub use crate::generated::iex_tops::*;

/// The message protocol in the headers of segments.
pub const MESSAGE_PROTOCOL_ID: u16 = 0x8003;
