//! Why an input cannot be opened or read.

use nanotape_clock::UtcNanos;
use nanotape_feed::SourceError;
use nanotape_history::{DbnError, JournalRunError, RecordedError, RunsError};
use nanotape_plant::{Moment, TradeDate};
use nanotape_tap::SubscribeError;

use crate::kind::InputKind;

/// Why an input cannot be opened or read. What was damaged and could be read is in the
/// [report](crate::InputReport) instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// A day file or a capture.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The list of runs of a journal.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// A run in a journal.
    #[error(transparent)]
    JournalRun(#[from] JournalRunError),
    /// A DBN file.
    #[error("{name}: {error}")]
    Dbn {
        /// The file.
        name: String,
        /// The cause.
        error: DbnError,
    },
    /// The run has no orders, so no books follow from it.
    #[error("{name}: {error}")]
    NoOrders {
        /// The input.
        name: String,
        /// What it has.
        error: RecordedError<std::convert::Infallible>,
    },
    /// A subscription to a ring, to a journal, or to the records of a file.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// The chosen run does not exist.
    #[error("{name}: has {runs} run{}, and run {number} is not one of them", if *.runs == 1 { "" } else { "s" })]
    NoSuchRun {
        /// The input.
        name: String,
        /// How many runs it has.
        runs: u64,
        /// The chosen one, from 1.
        number: u64,
    },
    /// The last run of an input that is read only once.
    #[error("{name}: is read only once, so its last run is unknown: choose a run by its number")]
    LastOfStream {
        /// The input.
        name: String,
    },
    /// A choice that this kind of input does not have.
    #[error("{name}: is {kind}, which has no {choice}")]
    NoChoice {
        /// The input.
        name: String,
        /// What it is.
        kind: InputKind,
        /// What was chosen.
        choice: Choice,
    },
    /// The input has records or is a folder, and the messages of the exchange are needed.
    #[error("{name}: is {is}; the messages of a day file or a capture are needed")]
    NoMessages {
        /// The input.
        name: String,
        /// What it is, with its article.
        is: &'static str,
    },
    /// The records of an input that has messages of an exchange, or of a ring.
    #[error(
        "{name}: has no stored records; a journal or a DBN file has, as nanotape convert writes one"
    )]
    NoRecords {
        /// The input.
        name: String,
    },
    /// A ring, whose records are read by a subscription.
    #[error("{name}: is a ring: its books follow from a subscription to its records")]
    IsARing {
        /// The ring.
        name: String,
    },
    /// Two inputs whose rows would be in the same files of a dataset.
    #[error(
        "{one} and {other}: both would be {name}.parquet of {} in the dataset: rename one, or export it to \
         another folder",
        date.map_or("the same or an unknown date".to_owned(), |date| date.to_string())
    )]
    SameDay {
        /// One of them.
        one: String,
        /// The other one.
        other: String,
        /// The name of the files.
        name: String,
        /// Their trade date, if the name has one.
        date: Option<TradeDate>,
    },
    /// The name of a ring is invalid.
    #[error(transparent)]
    Name(#[from] nanotape_shm::RegionError),
    /// The trade date is unknown, and the records need it.
    #[error("{name}: no trade date in the file name, and none was given")]
    NoDate {
        /// The input.
        name: String,
    },
    /// A span that ends before it begins.
    #[error("{name}: the span ends before it begins; give the earlier moment first")]
    SpanIsReversed {
        /// The input.
        name: String,
    },
    /// Times of the world that lie on another day than the input.
    #[error(
        "{name}: has nothing in this span; its day begins at {}",
        UtcNanos::of_unix_ns(*midnight_ns)
    )]
    SpanOfAnotherDay {
        /// The input.
        name: String,
        /// Midnight of its trade date, ns since the UNIX epoch.
        midnight_ns: u64,
    },
    /// A time of the world for an input without a date.
    #[error("{name}: has no date; give {moment} as a time of day (HH:MM:SS.nnnnnnnnn)")]
    NoDateForMoment {
        /// The input.
        name: String,
        /// The moment.
        moment: Moment,
    },
    /// A time of day for an input without a run that has a trade date.
    #[error("{name}: no run with a trade date; give {moment} as @ and nanoseconds since 1970")]
    NoMidnight {
        /// The input.
        name: String,
        /// The moment.
        moment: Moment,
    },
}

impl InputError {
    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Source(error) => error.is_bad_data(),
            Self::Runs(error) => error.is_bad_data(),
            Self::JournalRun(error) => error.is_bad_data(),
            Self::Dbn { error, .. } => error.is_bad_data(),
            Self::Subscribe(error) => error.is_bad_data(),
            Self::Name(error) => error.is_bad_data(),
            Self::NoOrders { .. } => true,
            _ => false,
        }
    }
}

/// A choice of [`InputOptions`](crate::InputOptions).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Of a run in a journal or in a DBN file.
    Run,
    /// Of the trade date of a day file or a capture.
    Date,
    /// Of the session of a capture, of its destinations or of further files.
    Capture,
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Run => "choice of a run",
            Self::Date => "choice of a trade date",
            Self::Capture => "choice of groups, a session or pieces",
        })
    }
}
