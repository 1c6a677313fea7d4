//! Sessions of numbered packets as state machines without I/O: bytes and a time go in, messages in
//! order and what is to be done come out.
//!
//! ```text
//! line A --\
//! line B ---+--> Receiver --> messages, each once and in order --> SessionHandler
//! answers -/        |  \----> skipped, snapshot, events
//!                   \-------> requests, fetch_snapshot --> servers
//! ```

mod ahead;
mod candidates;
mod doubts;
mod event;
mod gaps;
mod line;
mod race;
mod ranges;
mod receiver;
mod requests;
mod settings;

pub use ahead::Messages;
pub use event::{
    Fills, Gap, GapCounts, GapReport, Line, PacketOrigin, SessionEvent, SessionHandler,
};
pub use line::LineCounts;
pub use nanotape_wire::framing::numbered::MalformedKind;
pub use ranges::Numbers;
pub use receiver::{NextSession, Receiver, SessionPosition};
pub use settings::{
    GapPolicy, Join, MAX_LINES, RequestSettings, SessionSettings, SnapshotSettings,
};

/// The receiver of a Nasdaq feed.
pub type NasdaqReceiver = Receiver<nanotape_wire::framing::moldudp64::MoldUdp64>;
