//! Messages that several feeds of IEX have: the modules of the feeds have them too, as the same
//! types, so that one function can take the trading status of any of them.
//!
//! The offset tables are in `docs/protocols/iex-common.md`.

pub use crate::generated::iex_common::*;
