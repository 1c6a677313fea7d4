//! Normalised records, which the plant publishes and subscribers read.
//!
//! Where: market. The plant's publisher writes them into a ring; subscribers, journals and DBN
//! files carry them. `docs/formats/records.md` lists the records of each event.
//! Layout: DBN version 3, which tools for Databento's data read: little-endian, a header of 16
//! bytes, times in ns since the UNIX epoch, prices in units of 1e-9. A ring's type id is the record
//! type of the header. A [`Notice`] is a record type of nanotape for facts that DBN cannot express,
//! with type ids from [`FIRST_TYPE_ID`] on.
#![forbid(unsafe_code)]

mod decode;
mod definition;
mod digest;
pub mod encode;
mod events;
mod generated;
mod imbalance;
mod kinds;
mod notice;
mod pace;
mod schedule;
mod status;
mod trade_date;

pub use dbn;
pub use decode::{BadRecord, Header, Record, RecordBuffer};
pub use definition::{definition, symbol_text};
pub use digest::{Digests, is_covered, is_same_record};
pub use encode::{Common, PublisherInstrument, UNDEF_COUNT, UNSTATED_PUBLISHER_ID};
pub use events::{BadOrder, EventReader, is_level, priority_of};
pub use imbalance::imbalance;
pub use kinds::{ParseKindsError, RecordKind, RecordKinds};
pub use notice::{
    FIRST_TYPE_ID, Gap, GapKind, GapNotice, LAST_TYPE_ID, Notice, PlantStart, PlantStop,
    Predecessor, RestoredCause, RestoredNotice, StopReason, SuspectNotice, SuspectReason, Taint,
};
pub use pace::{Pace, ParsePaceError};
pub use schedule::{Days, ParseDaysError, ParseZoneError, Schedule, ScheduleWindow, Zone};
pub use status::status;
pub use trade_date::{ParseDateError, TradeDate, midnights};
