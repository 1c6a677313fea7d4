//! Generated views and encoders of exchange messages, and the framings that carry them.
//!
//! Where: between bytes and FEED. Messages are views into slices that the caller owns: decoding
//! copies nothing and allocates nothing.
//!
//! ```text
//! &[u8] --> framing --> &[u8] of one message --> itch50::Message::decode --> views, getters
//! ```
//!
//! - [`itch50`], [`iex_deep`], [`iex_deep_plus`], [`iex_tops`], [`pitch`]: messages of exchanges,
//!   generated from `schema/`, with a few hand-written additions. [`moldudp64`], [`iextp`],
//!   [`pitch_tcp`], [`soupbintcp`]: what carries them. Unknown message types and codes are kept,
//!   not rejected.
//! - [`framing`]: framing of messages in files, packets and streams.
//! - [`capture`]: packets of pcap and pcapng files, and the UDP datagrams in them.
//! - [`render`]: one line of text or one JSON object for anything that decodes.
//!
//! ```
//! use nanotape_wire::itch50::Message;
//! let bytes = b"D\x00\x0d\x00\x0b\x1f\x1a\xce\xda\x0b\x58\x00\x00\x00\x00\x00\x00\x03\xe9";
//! let Message::OrderDelete(delete) = Message::decode(bytes)? else { panic!("not a delete") };
//! assert_eq!(delete.order_reference_number().get(), 1001);
//! assert_eq!(delete.fields().encode(), *bytes);
//! # Ok::<(), nanotape_wire::DecodeError>(())
//! ```
#![forbid(unsafe_code)]

pub mod capture;
pub mod codec;
mod error;
pub mod framing;
#[rustfmt::skip]
mod generated;
pub mod iex_common;
pub mod iex_deep;
pub mod iex_deep_plus;
pub mod iex_tops;
pub mod iextp;
pub mod itch50;
pub mod moldudp64;
pub mod pitch;
pub mod pitch_tcp;
pub mod render;
pub mod soupbintcp;

pub use error::{DecodeError, EncodeError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
