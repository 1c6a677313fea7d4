//! The slot ring: messages of bounded length, each in a slot with a version of its own.

#[cfg(not(nanotape_loom))]
mod file;
mod layout;
mod reader;
#[cfg(not(nanotape_loom))]
mod verify;
mod writer;

#[cfg(not(nanotape_loom))]
pub(crate) use file::look;
pub use layout::{
    FIELDS, KIND, LAYOUT, MAX_SLOT_BYTES, MAX_SLOTS, MIN_SLOTS, SLOT_FIELDS, slot_bytes,
};
pub use reader::Reader;
#[cfg(not(nanotape_loom))]
pub(crate) use verify::verify;
pub use writer::{Batch, Claim, Writer};
