//! The parts that commands share: outputs, formats, typed values, and exit statuses.
//!
//! Where: base, below `bench` and `cli`. It must not know any command.
//!
//! - [`output`]: `--format`, `-o FILE` and `--force`; a file gets its name when it is complete.
//! - [`rows`]: tables of named cells in text, CSV and JSON, fast enough for a row per message.
//! - [`record`]: one object with named values, in the same formats.
//! - [`records`]: results of measurements, each as text and as a JSON record; CSV and pages from
//!   the records.
//! - [`progress`], [`interrupt`], [`status`]: the bar, signals and the exit status.
//! - [`log`]: lines on standard error with time and level.
//! - [`printing`]: these lines from a thread of their own.
//! - [`screen`]: a report that is refreshed in place on a terminal.
//! - [`taken`]: whether the reader of a pipe keeps up.
//! - [`verbosity`]: `--quiet` and `--no-progress`.
//! - [`printable`](mod@printable): text from outside, without control of the terminal.
//! - [`help`], [`described`]: help that wraps once; the commands of one program for another one.
//! - [`companion`]: how a program beside `nanotape` was started.
//! - [`values`], [`hexdump`]: sizes, times and bytes, as typed and printed.
#![forbid(unsafe_code)]

mod behind;
pub mod companion;
pub mod described;
mod destination;
pub mod help;
pub mod hexdump;
pub mod interrupt;
mod leftover;
mod line;
pub mod log;
pub mod output;
pub mod printable;
pub mod printing;
pub mod progress;
pub mod record;
pub mod records;
pub mod rows;
pub mod screen;
pub mod status;
pub mod taken;
pub mod values;
pub mod verbosity;
