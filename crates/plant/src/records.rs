//! Normalised records: what the plant publishes, and what subscribers get.
//!
//! Where: [`Publisher`](crate::Publisher) writes them into a ring, [`Subscriber`](crate::Subscriber)
//! reads them. `docs/formats/records.md` has the table of how each ITCH message is written.
//! Layout: DBN version 3, which tools for Databento's data read: little-endian, a header of 16 bytes,
//! times in ns since the UNIX epoch, prices in units of 1e-9. A ring's type id is the record type of
//! the header; what DBN has no record for is a [`Notice`] of ours, with type ids from
//! [`FIRST_TYPE_ID`] on.

mod decode;
mod definition;
pub(crate) mod encode;
mod imbalance;
mod kinds;
mod notice;
mod status;

pub(crate) use decode::Room;
pub use decode::{BadRecord, Header, Record};
pub(crate) use definition::{definition, symbol_text};
pub use encode::{Common, PUBLISHER_ID, price_of};
pub(crate) use imbalance::imbalance;
pub use kinds::{ParseKindsError, RecordKind, RecordKinds};
pub use notice::{
    FIRST_TYPE_ID, Gap, GapKind, LAST_TYPE_ID, Notice, PlantStart, PlantStop, Predecessor,
    StopReason, Taint,
};
pub(crate) use status::status;
