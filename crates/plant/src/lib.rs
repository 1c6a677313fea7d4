//! The stages wired together: a day in, books and what changed in them out.
//!
//! Where: layer 4. FEED decodes, BOOK applies, an [`Observer`] is told after each message; all on
//! the calling thread, with static dispatch.
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use nanotape_book::DefaultBooks;
//! use nanotape_feed::{DaySource, Position};
//! use nanotape_plant::{Applied, Observer, Plant};
//! use nanotape_wire::itch50::Message;
//!
//! struct CountInsides(u64);
//!
//! impl Observer<DefaultBooks> for CountInsides {
//!     fn after(
//!         &mut self,
//!         _plant: &Plant<DefaultBooks>,
//!         _position: Position,
//!         _message: &Message<'_>,
//!         applied: Applied,
//!     ) -> ControlFlow<()> {
//!         self.0 += u64::from(applied.inside_changed());
//!         ControlFlow::Continue(())
//!     }
//! }
//!
//! let mut source = DaySource::open("12302019.NASDAQ_ITCH50.gz".as_ref())?;
//! let mut plant = Plant::new(DefaultBooks::with_capacity(1 << 21));
//! let mut insides = CountInsides(0);
//! let report = plant.run(&mut source, &mut insides, |_| ())?;
//! println!("{} inside changes in {} messages", insides.0, report.summary.records);
//! # Ok::<(), nanotape_feed::SourceError>(())
//! ```
#![forbid(unsafe_code)]

mod plant;
mod report;
mod statistics;
mod validate;

pub use plant::{Applied, BookKeeper, Observer, Plant};
pub use report::{DamageLog, DayReport};
pub use statistics::{DayStatistics, Rate, StockStatistics};
pub use validate::{Finding, Rule, Strength, Validator};
