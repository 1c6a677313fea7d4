//! The past of a plant, from the records in a journal or a DBN file: market events again, and books
//! at any moment.
//!
//! Where: plant, between JOURNAL with RECORDS, and PLANT. A [`RecordedRun`] is an
//! [`EventSource`](nanotape_market::EventSource), so the commands read it as they read a day file.
#![forbid(unsafe_code)]

mod bisect;
mod dbn_stream;
mod journal_run;
mod local_books;
mod rebuild;
mod recorded;
mod repair;
mod run_state;
mod runs;
pub mod snapshot;
mod snapshotter;
mod stream;
mod verify;

pub use bisect::{Compared, Comparison, ComparisonEnd, MissingRecords, RunIn, bisect};
pub use dbn_stream::{DBN_MAGIC, DbnError, DbnStream};
pub use journal_run::{JournalRun, JournalRunError, RunSpan};
pub use local_books::LocalBooks;
pub use recorded::{Loss, RecordedEnd, RecordedError, RecordedRun, RecordedSummary};
pub use repair::{HistoryAction, repair};
pub use run_state::{Moment, RunState};
pub use runs::{Run, RunLog, Runs, RunsError};
pub use snapshot::{SnapshotError, SnapshotFile, Snapshots};
pub use snapshotter::{Snapshotter, SnapshotterError, SnapshotterOptions};
pub use stream::{Entry, Handover, RecordStream};
pub use verify::{HistoryFinding, verify};
