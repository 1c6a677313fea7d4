//! From files to messages: sources, decompression, framing, damage, and the step from a protocol's
//! messages to book events.
//!
//! Where: layer 2, between WIRE (views over bytes) and BOOK. It knows no book and no ring.
//!
//! ```text
//!  file, gz, zst, pipe --> DaySource --> blocks --> DayDecoder --> DayHandler::message
//!                                                      |     \---> DayHandler::damage
//!                                                      +-- resync where bytes are damaged
//! ```
//!
//! The decoder is sans-I/O: it sees blocks and calls the handler, so that tests and fuzzers can
//! feed it anything. [`read_day`] joins it to a source.
#![forbid(unsafe_code)]

mod damage;
mod day;
mod directory;
mod irregular;
mod normalise;
mod resync;
pub mod source;

pub use damage::Damage;
pub use day::{
    DayDecoder, DayEnd, DayHandler, DaySummary, LookAhead, Position, Step, read_day, read_day_ahead,
};
pub use directory::StockDirectory;
pub use nanotape_shm::MapError;
pub use normalise::{UnknownSide, book_event};
pub use source::{Block, Compression, DaySource, SourceError};
