//! The slot ring: messages of bounded length, each in a slot with its own version.

#[cfg(not(nanotape_loom))]
mod file;
mod layout;
mod reader;
mod verify;
mod writer;

#[cfg(not(nanotape_loom))]
pub(crate) use file::sample;
pub use layout::{
    FIELDS, KIND, LAYOUT, MAX_SLOT_BYTES, MAX_SLOTS, MIN_SLOTS, SLOT_FIELDS, slot_bytes,
};
pub use reader::Reader;
#[cfg(not(nanotape_loom))]
pub(crate) use verify::verify;
pub use writer::{Batch, Claim, Writer};

/// Checks a ring: for models, which have no files.
#[cfg(nanotape_loom)]
pub fn verify(region: &nanotape_shm::SharedRegion) -> Result<crate::Verified, crate::RingError> {
    verify::verify(region)
}
