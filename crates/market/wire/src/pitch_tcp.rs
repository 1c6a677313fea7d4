//! Cboe US Equities Multicast PITCH 2.x on TCP: requests for missed messages, and images of all
//! open orders. [`crate::framing::pitch::split`] splits the stream into blocks.
//!
//! The offset tables are in `docs/protocols/cboe-pitch-tcp.md`.

pub use crate::generated::pitch_tcp::*;
