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

mod cpus;
mod designs;
mod error;
mod job;
mod limits;
mod message;
mod pace;
mod parts;
mod read;
mod reading;
mod rows;
mod session;
mod start;
mod timed;
mod worker;
mod write;

pub use cpus::{Cpus, offset_between};
pub use error::RingBenchError;
pub use job::{Amount, Settings};
pub use reading::{Reading, Taken, Times, Written};
pub use rows::{Design, LINE, ROWS, Row, Section, select};
pub use session::{Measured, Plan, Ratio, measure};
pub use worker::role;

/// A latency that is counted as one in which a processor was taken away.
pub const PREEMPTED_NANOS: u64 = 100_000;
