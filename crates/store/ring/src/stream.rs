//! The stream ring: messages of any length, one after the other.

mod batch;
mod claim;
#[cfg(not(nanotape_loom))]
mod file;
mod frame;
mod index;
mod join;
mod layout;
mod reader;
mod recovery;
mod verify;
mod walk;
mod writer;

pub use batch::Batch;
pub use claim::Claim;
#[cfg(not(nanotape_loom))]
pub(crate) use file::sample;
pub use layout::{
    ENTRY_FIELDS, FIELDS, FRAME_FIELDS, KIND, LAYOUT, MAX_CAPACITY_BYTES, MIN_CAPACITY_BYTES,
};
pub use reader::Reader;
#[cfg(not(nanotape_loom))]
pub(crate) use verify::verify;
pub use writer::Writer;

/// Checks a ring: for models, which have no files.
#[cfg(nanotape_loom)]
pub fn verify(region: &nanotape_shm::SharedRegion) -> Result<crate::Verified, crate::RingError> {
    verify::verify(region)
}
