//! What the commands share: where results go, how they look, what a typed value means, how a
//! command ends.
//!
//! Where: layer 5, below `bench` and `cli`. It knows no command.
//!
//! - [`output`]: `--format`, `-o FILE` and `--force`; a file has its name only when it is complete.
//! - [`rows`]: tables of named cells in text, CSV and JSON, fast enough for a row a message.
//! - [`record`]: one object with named values, in the same formats.
//! - [`records`]: results of measurements, each as text and as a JSON record; CSV and pages from
//!   those.
//! - [`progress`], [`interrupt`], [`status`]: the bar, Ctrl-C and the exit status.
//! - [`values`], [`hexdump`]: sizes, times and bytes, as they are typed and printed.
#![forbid(unsafe_code)]

pub mod hexdump;
pub mod interrupt;
pub mod output;
pub mod progress;
pub mod record;
pub mod records;
pub mod rows;
pub mod status;
pub mod values;
