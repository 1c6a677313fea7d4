//! The rings between processes, beside the limits of the machine.
//!
//! Where: `nanotape lab bench ring`. The command line starts this program again for every end of
//! every ring, so that there is nothing but the ring between them; a process that was started is
//! played by [`role`].
//!
//! ```text
//! command line:  rounds: each row once, in an order drawn by lot, then the table
//!                    |
//!                    +-- writer, on one processor ==== ring in /dev/shm ====> reader, on another
//!                           |                                                   |
//!                           +------ a line of JSON each, about its own end -----+
//! ```
//!
//! To add a row, add a line to [`ROWS`].
//! Failure: [`RingBenchError`]; a message with a wrong payload, or one that is neither read nor
//! known to be lost, is a finding and ends the run.

mod designs;
mod error;
mod job;
mod limits;
mod message;
mod parts;
mod read;
mod rows;
mod session;
mod timed;
mod write;

use std::process::ExitCode;

pub use error::RingBenchError;
use job::Job;
pub use job::Settings;
pub use rows::{Design, LINE, ROWS, Row, Section, select};
pub use session::{Measured, Plan, measure};

use crate::sides::{self, Stage};
pub use crate::sides::{
    Amount, Cpus, PREEMPTED_NANOS, Ratio, Reading, SideError, Taken, Times, Written, offset_between,
};

/// The environment variable that makes a process a side of a ring.
const ROLE: &str = "NANOTAPE_RING_ROLE";

/// Plays the side that the environment gives to this process, if it gives one. A program that
/// measures rings calls this before it looks at its command line.
pub fn role() -> Option<ExitCode> {
    let play = |text: &str, folder| {
        let job = Job::parse(text, folder)?;
        let seat = job.seat();
        let mut stage = Stage::new(job, seat)?;
        let told = parts::play(&mut stage)?;
        Ok(stage.answer(&told))
    };
    sides::role(ROLE, play, RingBenchError::is_finding)
}
