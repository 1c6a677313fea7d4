//! Days in the protocols of other exchanges: IEX DEEP, DEEP+ and TOPS, and Cboe PITCH with its
//! servers.
//!
//! Where: beside the exchange of ITCH, with its sender, lines and faults.
//!
//! ```text
//! day --> ProtocolDay --> messages of each stream --> Packetiser A, B --> Line A, B --> sockets
//!                                  |
//!                                  v
//!                         History of each unit --> gap server (TCP) --> answers (UDP, faults)
//!                                             \--> spin server of each unit (TCP)
//! ```
//!
//! A stream is a matching unit of PITCH, or the only one of a feed of IEX. Stream n has the ports
//! n above those of the first one.
//! Bounds: see each module. The messages of PITCH are in temporary files, one for each unit.

mod dialogue;
mod exchange;
mod gap;
mod login;
mod spin;
mod translation;

pub use exchange::{
    FeedAddresses, FeedExchangeOptions, FeedSummary, GapServerOptions, SimulatedFeed,
    SpinServerOptions, UnitSummary,
};
pub use gap::{
    GapCounts, GapFaults, GapLimits, GapServerSummary, ParseGapFaultsError, RequestLimits,
};
pub use login::{ParsePitchLoginError, PitchLogin};
pub use spin::{SpinCounts, SpinServerSummary};
