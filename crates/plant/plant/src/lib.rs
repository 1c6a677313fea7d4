//! The stages connected: a day in; books and their changes out, to an observer and to other
//! processes.
//!
//! Where: layer 4. FEED decodes, BOOK applies, and an [`Observer`] is called after each message.
//! All run on the calling thread, with static dispatch. The [`Publisher`] is the observer that
//! other processes read:
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
//! [`PlantRun`] is a whole plant from its [`PlantConfig`] to its last record; [`Subscription`]
//! reads one from another process. `docs/formats/records.md` and `docs/formats/board.md` describe
//! the formats byte by byte.
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
//!
//! A custom observer, in the same process:
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use nanotape_book::DefaultBooks;
//! use nanotape_book::Outcome;
//! use nanotape_feed::DaySource;
//! use nanotape_market::{MarketEvent, Position};
//! use nanotape_plant::{BookEngine, Observer};
//!
//! struct CountInsides(u64);
//!
//! impl<B> Observer<B> for CountInsides {
//!     fn after(
//!         &mut self,
//!         _engine: &BookEngine<B>,
//!         _at: Position,
//!         _event: &MarketEvent,
//!         outcome: Option<Outcome>,
//!     ) -> ControlFlow<()> {
//!         self.0 += u64::from(outcome.is_some_and(|outcome| outcome.inside_changed));
//!         ControlFlow::Continue(())
//!     }
//! }
//!
//! let mut source = DaySource::open("12302019.NASDAQ_ITCH50.gz".as_ref())?;
//! let mut engine = BookEngine::new(DefaultBooks::with_capacity(1 << 21));
//! let mut insides = CountInsides(0);
//! let report = engine.run(&mut source, &mut insides, |_| ())?;
//! println!("{} inside changes in {} messages", insides.0, report.summary.records);
//! # Ok::<(), nanotape_feed::SourceError>(())
//! ```
#![forbid(unsafe_code)]

mod audit;
mod beside;
pub mod board;
pub mod config;
mod dbn_file;
mod engine;
mod followers;
mod gate;
pub mod health;
mod live;
mod moment;
mod publisher;
mod recorder;
mod recording;
mod report;
mod run;
mod statistics;
mod subscribe;
mod traces;
mod watch;

pub use audit::{Audit, AuditDifference, AuditReport};
pub use board::{BoardReader, PlantStat, PlantState};
pub use config::{ConfigError, PlantConfig};
pub use dbn_file::{DbnFile, NextFile};
pub use engine::{BookEngine, Live, Observer, RestoredStock};
#[doc(hidden)]
pub use followers::{FOLLOWER_FIELDS, FOLLOWER_KIND, FOLLOWER_LAYOUT};
pub use followers::{
    FollowerError, FollowerReader, FollowerStat, FollowerState, FollowerSummary, FollowersSummary,
    MOST_FOLLOWERS, Report, Reported, WaitForError, follower_names, follower_path,
};
pub use live::{KeptSource, LineStat, LiveError, LiveSource, LiveStat};
pub use moment::Moment;
pub use nanotape_history::LocalBooks;
/// The crate that defines the records, so that callers get its names in the same version.
pub use nanotape_records::dbn;
pub use nanotape_records::{self as records, Pace, ParseDateError, ParsePaceError, TradeDate};
pub use nanotape_tape::{ShutdownFlag, Step};
pub use publisher::{LOOK_EVERY, Publisher};
pub use recorder::open_when_free;
pub use recorder::{
    NotShown, OriginMismatch, Recorder, RecorderError, RecorderEvent, RecorderOptions,
    RecorderReader, RecorderStat, RecorderState, RecorderSummary, recorder_path,
};
#[doc(hidden)]
pub use recorder::{RECORDER_FIELDS, RECORDER_KIND, RECORDER_LAYOUT};
pub use recording::{Companion, RecorderProcess, RecordingError, RecordingSummary};
pub use report::{DamageLog, DayReport, RunReport};
pub use run::{Ended, Finished, PlantRun, PlantSource, RunError, orders_of, trade_date_of};
pub use statistics::{Activity, DayFigures, DayStatistics, LevelCounts, StockStatistics};
pub use subscribe::{Delivery, Event, Handover, Opening, SubscribeError, Subscriber, Subscription};
pub use traces::{PLANT_THREAD, trace_names, trace_path};
