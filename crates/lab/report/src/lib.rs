//! Reports: one self-contained HTML file each, which works without a network. Measurements, and a
//! day of a market.
//!
//! Where: lab. The command lines and benchmark programs call it with records, and write the page
//! to a file. It does not depend on how a record was measured, and reads and writes no files.
//!
//! The page contains the records as JSON, and its scripts draw them. The style sheet, the scripts
//! and the plotting library are compiled in, so a page needs no other file.
//!
//! Failure: a record that cannot be drawn is listed on the page with the reason. Reasons for this
//! design: docs/decisions/0012-draw-with-an-embedded-uplot.md.
#![forbid(unsafe_code)]

mod day;
mod measurements;
mod page;

pub use day::day;
pub use measurements::{delay, explain, jitter, queue, results, study, trend};
