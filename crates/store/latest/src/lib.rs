//! The latest value of each key: a hash map in shared memory, which many processes read and update
//! in place.
//!
//! Where: store, beside RING and JOURNAL. A journal answers what happened; this answers what is so
//! now.
//! Layout: `docs/formats/latest.md`.
//! Protocol: a lock for each group of entries, which is a cache line where two entries fit into
//! one. The kernel knows which writers are alive (`nanotape_shm::JoinedRegion`), and a writer that
//! died within an entry is finished, or undone, by the next one that needs it (`hand.rs`).
//! Bounds: any keys fit, as many as the map was made for. The memory follows from the
//! specification alone ([`LatestSpec::bytes`]).
//! Failure: a reader does not wait. A writer waits for another one that changes the same entry,
//! for a bounded time. A removed or truncated file is found by [`LatestReader::region`] and its
//! `check`, of a writer too ([`LatestWriter::reader`]), not by each operation: call it in the loop
//! of a long-running process.
//! Cost: an update makes no system call and allocates nothing.
#![forbid(unsafe_code)]

mod account;
mod byte_strings;
mod edges;
mod error;
mod get_with;
mod group;
mod hand;
mod hash;
mod insert;
mod layout;
#[cfg(all(test, nanotape_loom))]
mod models;
mod patience;
mod reader;
mod recover;
#[cfg(not(nanotape_loom))]
mod repair;
#[cfg(not(nanotape_loom))]
mod replacement;
mod rooms;
#[cfg(not(nanotape_loom))]
mod salvage;
mod scan;
mod spec;
#[cfg(all(test, not(nanotape_loom)))]
mod tests;
mod value;
mod verify;
mod writer;

pub use byte_strings::{pack_bytes, pack_text, unpack_bytes, words_for_bytes};
pub use error::LatestError;
pub use nanotape_types as types;
pub use reader::LatestReader;
#[cfg(not(nanotape_loom))]
pub use repair::{DropReason, Dropped, LatestRepair, Repaired};
#[cfg(not(nanotape_loom))]
pub use replacement::Replacement;
#[cfg(not(nanotape_loom))]
pub use salvage::Salvaged;
pub use scan::{GroupEntries, is_before, is_one_change};
pub use spec::{KIND, LAYOUT, LatestSpec, MOST_WORDS, MOST_WRITERS, ValueLayout};
pub use value::MapValue;
#[doc(hidden)]
pub use value::{load, store};
pub use verify::Integrity;
pub use writer::{Insertion, LatestWriter};
