//! The library for C and C++: the rings, the journals and the latest-value maps of a plant.
//!
//! Where: a skin on TAP, RING, JOURNAL and LATEST. `include/nanotape.h` is written from this
//! source.
//! Protocol: every function of [`functions`] is thin. It takes arguments whose types C can express,
//! calls safe code, and turns the result into a status and a line of text.
//! Failure: a NULL, a wrong argument and damaged memory are errors with a line. A panic is one
//! too: it does not cross into C. A handle in use by another thread is refused.

#![deny(unsafe_code)]

mod batch;
mod error;
#[expect(unsafe_code, reason = "they are exported by their names")]
pub mod functions;
mod item;
#[cfg(test)]
mod layout;
mod map;
#[expect(unsafe_code, reason = "C passes addresses")]
mod memory;
mod reader;
mod records;
mod stock;

pub use error::Status;
pub use item::{End, ItemKind, NT_SYMBOL_BYTES, ReaderItem};
pub use map::{Map, MapEntry, MapShape};
pub use memory::{Room, Text, Words};
pub use reader::{Reader, Start, TapOptions};
pub use records::{
    Bbo, Mbo, NT_F_KEEPS_PLACE, NT_F_LAST, NT_F_MAYBE_BAD_BOOK, NT_F_MBP, NT_F_SNAPSHOT, NT_F_TOB,
    NT_NO_PRICE, NT_NO_SIZE, NT_NO_TIME, RecordHeader, RecordType, Trade,
};
pub use stock::Stock;

/// The version of the functions and structures of this header. It changes with each change that a
/// compiled program would notice.
pub const NT_ABI: u32 = 1;
