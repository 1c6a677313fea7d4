//! The exchange side of a day: what a receiver of a feed needs at the other end of its sockets.
//!
//! Where: play, beside SYNTH and below CLI. It reads a day and sends it as the exchange would:
//! two lines of MoldUDP64 packets, a re-request server, SoupBinTCP with replay, and GLIMPSE. It
//! must not know records, rings or the plant.
//!
//! ```text
//!              +--> Packetiser A --> Line A (faults) --> transport: a socket, or a capture
//!  day --> messages
//!     |        +--> Packetiser B --> Line B (faults) --> transport
//!     v
//!  History --> Rerequests    a range of messages, in one packet
//!     |  \---> SoupBinTCP    all messages from a number on
//!     +------> Glimpse       books, followed message by message, and their snapshots
//! ```
//!
//! [`feeds`] has the same of other exchanges: Cboe PITCH with its servers, and IEX.
//!
//! Everything but [`server`], [`feeds`], [`replay`] and [`transport`] is a state machine: no
//! socket, no clock, and all faults from a seed.
#![forbid(unsafe_code)]

mod faithfulness;
pub mod faults;
pub mod feeds;
mod framing;
mod glimpse;
mod history;
mod line;
mod packetiser;
pub mod replay;
mod rerequests;
mod rng;
mod sender;
pub mod server;
mod tcp;
pub mod transport;

pub use faults::{Faults, FaultsProblem, ParseFaultsError, ParseServerFaultsError, ServerFaults};
pub use framing::LineFraming;
pub use glimpse::{Glimpse, GlimpseSession, Snapshot};
pub use history::{History, HistoryError, HistoryWriter};
pub use line::{Line, LineCounts, LostOnBoth};
pub use packetiser::{Cut, Outgoing, Packetiser};
pub use rerequests::{Answer, RerequestCounts, Rerequests};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
