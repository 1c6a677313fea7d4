//! The critical path: events in, books and their changes to an [`Observer`].
//!
//! Where: after FEED and BOOK. All of it runs on the calling thread, with static dispatch.
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use nanotape_book::{DefaultBooks, Outcome};
//! use nanotape_engine::{BookEngine, Observer};
//! use nanotape_feed::DaySource;
//! use nanotape_market::{MarketEvent, Position};
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

mod engine;
mod report;
mod statistics;

pub use engine::{BookEngine, EngineHandler, Observer, RestoredStock};
pub use nanotape_trace::Histogram;
pub use report::{DamageLog, DayReport, RunReport};
pub use statistics::{Activity, DayFigures, DayStatistics, LevelCounts, StockStatistics, place_of};
