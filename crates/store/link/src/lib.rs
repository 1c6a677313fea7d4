//! A link between two machines: frames over a stream of bytes, hellos, heartbeats, and the distance
//! of the two clocks.
//!
//! Where: store, beside RING and JOURNAL. Replication sends its own frames over it; it does not
//! interpret them. It knows no journal and no ring. [`Connection`] is its socket, with TLS or
//! without.
//! Layout: `docs/formats/link.md`.
//! Protocol: [`Peer`] is a state machine without sockets, clocks or threads. The caller passes in
//! bytes and times (of [`LinkClocks`]), and sends what it returns. So a test runs both sides on a
//! simulated network.
//! Bounds: the memory of a peer is that of its two buffers, which are allocated once.
//! Failure: bytes that are not the next frame end the connection with a reason. A peer that says
//! nothing for a stated time ends it too.
//! Cost: a frame allocates nothing.
#![forbid(unsafe_code)]

mod buffer;
#[cfg(feature = "certificates")]
mod certificates;
mod clocks;
mod connection;
mod frame;
mod hello;
mod identity;
mod offset;
mod peer;

#[cfg(feature = "certificates")]
pub use certificates::{CertificateOptions, CertificatesError, make_certificates};
pub use clocks::{LinkClocks, random};
pub use connection::{Connection, Exchanged};
pub use frame::{FRAME_HEADER_BYTES, FrameError};
pub use hello::{HELLO_MAX_BYTES, Hello, HelloError, NAME_MAX_BYTES, PROTOCOL_VERSION};
pub use identity::{AUTHORITY_FILE, Identity, IdentityError};
pub use offset::ClockOffset;
pub use peer::{Arrival, FIRST_RESERVED_KIND, Full, LinkError, Now, Peer, PeerConfig, Role};
