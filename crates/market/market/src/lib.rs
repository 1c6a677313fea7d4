//! Market events independent of any exchange, the directory of instruments, and the two traits
//! between a source of events and its consumer.
//!
//! Where: market. FEED makes events from an exchange's messages, RECORDS makes them from stored
//! records, the plant and the commands consume them.
//!
//! ```text
//!  messages of an exchange --> FEED ----+
//!                                       +--> EventSource --> EventHandler --> books, records, rows
//!  records in a journal -----> RECORDS -+
//! ```
#![forbid(unsafe_code)]

mod damage;
mod directory;
mod doubt;
mod event;
mod handler;
mod recovery;
mod status;
mod venue;

pub use damage::Damage;
pub use directory::StockDirectory;
pub use doubt::Doubt;
pub use event::{
    AuctionImbalance, Definition, EventTime, Execution, LevelChange, MarketEvent, Trade, TradeKind,
    What,
};
pub use handler::{ChannelMessages, EventHandler, EventSource, NoOrigin, Origin, Position};
pub use nanotape_types::{Modified, Priority};
pub use recovery::{
    MAX_LINES, MarketSnapshot, MessageNumbers, RestingOrder, SessionChange, SessionGap, Suspect,
    Turn,
};
pub use status::{StatusChange, StatusReason, TradingAction};
pub use venue::{BookDetail, Venue};

/// The types that [`forward_events`] names.
#[doc(hidden)]
pub mod forward {
    pub use nanotape_types::{Coming, OrderReferenceNumber, StockLocate, Symbol};
}
