//! Reports: one self-contained HTML file each, which works without a network.
//!
//! Where: layer 3. The command line and benchmark programs call it with records, and write the page
//! to a file. It must not know how a record was measured, and it reads and writes no files.
//!
//! The records stand in the page as JSON, and scripts that are part of the page draw them. The
//! style sheet, the scripts and the plotting library are compiled in, so a page needs no other
//! file.
//!
//! Failure: a record that cannot be drawn is listed on the page with the reason, never dropped.
//! Why so: docs/decisions/0012-draw-with-an-embedded-uplot.md.
#![forbid(unsafe_code)]

mod measurements;
mod page;

pub use measurements::{results, trend};
