//! The options of a command that reads an INPUT, its errors with the options that help, and what an
//! input lacks as lines on standard error. The programs of this workspace share it.
#![forbid(unsafe_code)]

pub mod errors;
pub mod figures;
mod groups;
pub mod input;
pub mod records;
pub mod regions;
pub mod session;
mod span;
pub mod spans;
mod symbols;
pub mod text;
pub mod threads;
mod times;
mod unread;
pub mod verdict;

pub use groups::GroupArguments;
pub use input::{DayArguments, InputArguments};
pub use span::SpanArguments;
pub use symbols::SymbolArguments;
pub use times::TimeArguments;
pub use unread::{Lacking, report_unread};
