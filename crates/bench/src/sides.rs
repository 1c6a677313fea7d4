//! Processes that are the sides of what is measured: this program, started again for each.
//!
//! Where: [`ring`](crate::ring) and [`journal`](crate::journal) say what their sides do; this is what
//! they have in common: how processes start together and tell what they found, where they run, when
//! they write, what a message looks like, and what becomes of times and rates over rounds.
//! Failure: [`SideError`].

pub(crate) mod cpus;
mod error;
pub(crate) mod line;
mod measured;
pub(crate) mod message;
pub(crate) mod pace;
pub(crate) mod progress;
mod reading;
pub(crate) mod sample;
mod stage;
mod start;

pub use self::{
    cpus::{Cpus, offset_between},
    error::SideError,
    measured::{Measured, Named, Ratio},
    pace::Amount,
    reading::{Reading, Taken, Times, Written},
};
pub(crate) use self::{
    measured::{rounds, select},
    reading::Told,
    stage::{Seat, Stage, role},
    start::{Cast, run},
};

/// A latency that is counted as one in which a processor was taken away.
pub const PREEMPTED_NANOS: u64 = 100_000;
