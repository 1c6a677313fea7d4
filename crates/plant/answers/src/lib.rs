//! Answers about any input: a day file, a capture, the folder of a journal, a DBN file, standard
//! input, or the ring of a plant.
//!
//! Where: above PLANT, TAP and HISTORY, below the programs. [`Input::open`] finds out what an input
//! is. [`Input::within`] reads it into books, with an [`Observer`](nanotape_engine::Observer);
//! [`Input::records`] subscribes to its records.
//! Failure: an [`InputError`] if there is nothing to read. What is missing or damaged in the middle
//! is in the [`InputReport`], and the answer is that of the rest.
#![forbid(unsafe_code)]

mod backtest_events;
mod bar_rows;
mod book_rows;
mod book_tables;
mod breaks;
mod consolidated;
mod days;
mod doubts;
mod error;
mod event_rows;
mod given;
mod input;
mod kind;
mod level_rows;
mod order_rows;
mod order_steps;
mod picture;
mod raw_records;
mod reading;
mod record_details;
mod record_rows;
mod records;
mod report;
mod run_choice;
mod span;
mod stats_rows;
mod symbols;
mod tables;
mod trade_rows;
mod watched;

pub use backtest_events::{BacktestEvent, BacktestEvents, BacktestTimes};
pub use bar_rows::{BarBy, Bars};
pub use book_rows::{BookRow, BookRows, BookVisitor};
pub use book_tables::{
    DepthTable, InsideTable, MoreColumns, message_column, message_columns, receipt_column,
    symbol_column, time_column,
};
pub use breaks::Breaks;
pub use consolidated::{
    ConsolidatedBooks, ConsolidatedInside, ConsolidatedQuote, ConsolidatedReading,
    ConsolidatedRings, ConsolidatedRow, ConsolidatedTable, MOST_VENUES, VenueChange, VenueInput,
    VenueSession, VenueSet, venue_labels,
};
pub use days::{days_of, is_folder_of_days, name_in_dataset, require_distinct_days};
pub use doubts::{Doubts, Reason};
pub use error::{Choice, InputError};
pub use event_rows::{EventRows, EventTable};
pub use given::Given;
pub use input::{Input, InputOptions, day_again, open_day, open_day_on_thread};
pub use kind::InputKind;
pub use level_rows::{BookState, Part, book_columns, book_rows, change_columns, change_rows};
pub use order_rows::OrderRows;
pub use order_steps::{OrderChanges, OrderStep, OrderSteps, StepAt, StepVisitor};
pub use picture::{
    Arrivals, DAY_SECONDS, DEEPEST, DayPicture, EventCounts, EventKind, GapBin, Gaps, Picture,
    PictureCounts, Scale, day_scale,
};
pub use raw_records::RawRecords;
pub use reading::{Opening, Reading, Session};
pub use record_details::members;
pub use record_rows::{RecordColumn, RecordRow};
pub use records::RecordSpan;
pub use report::{InputReport, Recorded, is_whole, is_without_session, unlisted_run};
pub use run_choice::RunChoice;
pub use span::{Span, day_ns, unix_ns};
pub use stats_rows::{stats_columns, stats_rows};
pub use symbols::{SymbolFilter, expanded, has_several, symbol_or_locate, with_suggestions};
pub use tables::{Table, TableOptions, Tables};
pub use trade_rows::TradeRows;
