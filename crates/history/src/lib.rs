//! The past of a plant, from the records in a journal: market events again, and books at any
//! moment.
//!
//! Where: layer 3, between JOURNAL with RECORDS, and PLANT. A [`RecordedRun`] is an
//! [`EventSource`](nanotape_market::EventSource), so the commands read it as they read a day file.
#![forbid(unsafe_code)]

mod local_books;
mod recorded;
mod runs;

pub use local_books::LocalBooks;
pub use recorded::{Loss, RecordedEnd, RecordedError, RecordedRun, RecordedSummary};
pub use runs::{Run, RunLog, Runs, RunsError};
