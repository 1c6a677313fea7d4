//! A whole plant: a day or a live session in; records to other processes out.
//!
//! Where: FEED decodes, BOOK applies, and the [`Publisher`] is the observer of the engine. All run
//! on the calling thread, with static dispatch:
//!
//! ```text
//!  PlantRun   DaySource --> BookEngine --> Publisher       one thread, one process
//!                                        |     |
//!  --------------------------------   RING  +  BOARD   --------- shared memory
//!                                     records  counters, symbols
//!                                        |     |
//!  Subscriber, BoardReader               v     v         any number, in any process
//! ```
//!
//! [`PlantRun`] is a whole plant from its [`PlantConfig`] to its last record; the crate
//! `nanotape_tap` reads one from another process. `docs/formats/records.md` and
//! `docs/formats/board.md` describe the formats byte by byte.
//!
//! A plant, with its ring in `/dev/shm`:
//!
//! ```no_run
//! use nanotape_plant::{PlantConfig, PlantRun, ShutdownFlag};
//!
//! let mut config = PlantConfig::default();
//! config.input.file = "12302019.NASDAQ_ITCH50.gz".into();
//! config.ring.name = "equities".into();
//! let ended = PlantRun::open(&config, ShutdownFlag::new())?.run(|_| ())?;
//! println!("{} records", ended.stop.records);
//! # Ok::<(), nanotape_plant::RunError>(())
//! ```
#![forbid(unsafe_code)]

pub mod config;
mod followers;
mod gate;
mod moment;
mod publisher;
mod recording;
mod run;
mod traces;

pub use config::{ConfigError, PlantConfig};
pub use followers::{
    FollowerState, FollowerSummary, FollowersSummary, MOST_FOLLOWERS, Report, Reported,
    WaitForError,
};
pub use gate::ReaderPosition;
pub use moment::Moment;
pub use nanotape_history::LocalBooks;
/// The crate that defines the records, so that callers get its names in the same version.
pub use nanotape_records::dbn;
pub use nanotape_records::{self as records, Pace, ParseDateError, ParsePaceError, TradeDate};
pub use nanotape_tape::{ShutdownFlag, Step};
pub use publisher::{CHECK_EVERY, Publisher};
pub use recording::{
    Companion, CompanionProcess, RecorderProcess, RecordingError, RecordingSummary,
};
pub use run::{
    Ended, Finished, PlantRun, PlantSource, ReadySession, RunError, Sessions, orders_of,
    trade_date_of,
};
