//! Answers about any input: a day file, a capture, the folder of a journal, a DBN file, standard
//! input, or the ring of a plant.
//!
//! Where: above PLANT, TAP and HISTORY, below the programs. [`Input::open`] finds out what an input
//! is. [`Input::within`] reads it into books, with an [`Observer`](nanotape_engine::Observer);
//! [`Input::records`] subscribes to its records.
//! Failure: an [`InputError`] if there is nothing to read. What is missing or damaged in the middle
//! is in the [`Report`], and the answer is that of the rest.
#![forbid(unsafe_code)]

mod breaks;
mod error;
mod given;
mod input;
mod kind;
mod reading;
mod records;
mod report;
mod run_choice;
mod span;
mod symbols;

pub use breaks::Breaks;
pub use error::{Choice, InputError};
pub use given::Given;
pub use input::{Input, Options, day_again, open_day, open_day_on_thread};
pub use kind::InputKind;
pub use reading::{Opening, Reading, Session};
pub use records::RecordSpan;
pub use report::{Recorded, Report, is_whole, unlisted_run};
pub use run_choice::RunChoice;
pub use span::{Span, day_ns, unix_ns};
pub use symbols::{
    StockName, SymbolFilter, expanded, has_several, symbol_or_locate, with_suggestions,
};
