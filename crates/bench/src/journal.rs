//! The journal, from one process to another, beside the limits of the machine and of the disk.
//!
//! Where: `nanotape lab bench journal`. The command line starts this program again for every side; a
//! process that was started is played by [`role`].
//!
//! ```text
//! command line:  rounds: each row once, in an order drawn by lot, then the table
//!                    |
//!                    +-- appender, on one processor == journal in a folder ==> tailer, on another
//!                    |      '-- its helper thread, anywhere but there
//!                    +-- or a writer of plain words, or of synced bytes: the limits
//! ```
//!
//! To add a row, add a line to [`ROWS`]; to add a goal, a line to `goals.rs`.
//! Failure: [`JournalBenchError`]; an excerpt with a wrong payload, or one that is missing, is a finding
//! and ends the run.

mod append;
mod error;
mod goals;
mod job;
mod limits;
mod parts;
mod rows;
mod session;
mod tail;

use std::{path::PathBuf, process::ExitCode};

pub use error::JournalBenchError;
pub use goals::{Bound, Goal, Of, goals};
use job::Job;
pub use job::Settings;
pub use rows::{LINE, ROWS, Row, Section, select};
pub use session::{Measured, Plan, measure};

use crate::sides::{self, Stage};
pub use crate::sides::{Cpus, PREEMPTED_NANOS, Ratio, Reading, Times, offset_between};

/// The environment variable that makes a process a side of a journal.
const ROLE: &str = "NANOTAPE_JOURNAL_ROLE";

/// Plays the side that the environment gives to this process, if it gives one. A program that measures
/// journals calls this before it looks at its command line.
pub fn role() -> Option<ExitCode> {
    let play = |text: &str, folder| {
        let data = std::env::args_os().nth(2).map(PathBuf::from).unwrap_or_default();
        let job = Job::parse(text, folder, data)?;
        let seat = job.seat();
        let mut stage = Stage::new(job, seat)?;
        let told = parts::play(&mut stage)?;
        Ok(stage.answer(&told))
    };
    sides::role(ROLE, play, JournalBenchError::is_finding)
}
