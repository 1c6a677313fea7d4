//! MoldUDP64: the generated structures.
//!
//! [`crate::framing::moldudp64`] reads and writes whole packets. The offset tables are in
//! `docs/protocols/moldudp64.md`.

pub use crate::generated::moldudp64::*;

/// The message count that ends a session.
pub const END_OF_SESSION: u16 = u16::MAX;
