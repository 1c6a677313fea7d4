//! Reads files into market events: sources, decompression, framing, damage, and the conversion of a
//! protocol's messages to exchange-independent events.
//!
//! Where: market, between WIRE (views over bytes) and the consumers of events. It does not depend
//! on books or rings.
//!
//! ```text
//!  file, gz, zst, pipe -> DaySource -> blocks -> DayDecoder -> messages -> EventHandler::event
//!                                                   |     \--------------> EventHandler::damage
//!                                                   +-- resync where bytes are damaged
//! ```
//!
//! A [`DaySource`] is an [`EventSource`](nanotape_market::EventSource). [`read_day`] delivers the
//! exchange's own messages, for dissectors and validators.
//!
//! [`session`] puts the packets of a live session in order, from all of its lines: gaps, requests
//! and snapshots. [`soupbintcp`] has both ends of a SoupBinTCP session. Both are state machines
//! without a socket.
//!
//! The decoder is sans-I/O: it takes blocks and calls the handler, so that tests and fuzzers can
//! feed it any bytes. [`read_day`] connects it to a source.
#![deny(unsafe_code)]

mod any_message;
pub mod capture;
mod carried;
pub mod channels;
mod day;
mod events;
mod feed;
pub mod glimpse;
mod hidden;
mod irregular;
mod locates;
mod normalise;
pub mod pitch_tcp;
mod protocols;
mod resync;
pub mod session;
pub mod soupbintcp;
pub mod source;
pub mod udp;
pub mod venues;

pub use any_message::{AnyMessage, TEMPLATE_BYTES, TypeText};
pub use capture::{CaptureChoice, Group, SessionName, SessionSummary};
pub use day::{DayDecoder, DayEnd, DaySummary, MessageHandler, Step, read_day};
pub use events::{FeedDecoder, handle_message, handle_messages, handle_out_of_turn};
pub use feed::Feed;
pub use hidden::hidden_in;
pub use locates::{FoundLocate, SymbolLocates};
pub use nanotape_market::{Damage, Position};
pub use normalise::{book_event, market_event, time_of_packet};
pub use protocols::{SpinError, SpinImage, SpinOrder};
pub use source::{Block, Compression, DaySource, SourceError};
pub use venues::venue_of;
