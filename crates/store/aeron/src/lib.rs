//! A numbered stream on an Aeron stream: the messages of a ring in batches, for many hosts.
//!
//! Where: store, beside RING and JOURNAL. It knows streams and no record.
//! Layout: `docs/formats/aeron.md`.
//! Protocol: a [`FanOut`] reads a source and sends its messages, with their numbers, to an
//! [`Outlet`]. An [`AeronSource`] is the source that comes out of an [`Inlet`] elsewhere. Both are
//! state machines over these two traits, so that tests run them without Aeron. The feature
//! `aeron` has the traits' implementations: `Publication` and `Subscription`, with a media driver
//! in this process or in another one.
//! Bounds: one batch each side. A sender that Aeron holds back reads on later, and what its source
//! has overwritten meanwhile is a gap.
//! Failure: a batch that is not valid is refused as a whole and counted; numbers that are missing
//! are a [`Gap`](nanotape_tape::Gap).
//! Cost: two copies of a message each side, and no allocation.
#![forbid(unsafe_code)]

mod address;
mod batch;
mod fan_out;
#[cfg(feature = "aeron")]
mod media;
mod packer;
mod reception;
mod sink;
mod source;
mod unpacker;

pub use address::{AddressError, AeronAddress};
pub use batch::{
    AeronBatch, BATCH_HEADER_BYTES, BATCH_MAX_BYTES, BATCH_VERSION, BatchError, BatchHeader,
    RECORD_HEADER_BYTES,
};
pub use fan_out::{FanOut, FanOutError, FanOutEvent, FanOutOptions, FanOutSummary};
#[cfg(feature = "aeron")]
pub use media::{
    AeronError, DriverChoice, DriverPace, MediaClient, MediaDriver, Publication, Subscription,
};
pub use packer::{BatchPacker, Packed};
pub use reception::{Reception, ReceptionError, ReceptionEvent};
pub use sink::{AeronSink, AeronSinkError, Offered, Outlet};
pub use source::{AeronSource, AeronSourceError, Inlet};
pub use unpacker::{BatchOutcome, BatchUnpacker, UnpackerCounts};
