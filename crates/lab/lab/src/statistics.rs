//! The statistics behind every number and verdict: plain functions on slices, checked against
//! scipy.
//!
//! Where: called by the harness and by comparisons. Nothing here reads a clock, a file or the
//! environment; random numbers come from a seed that the caller passes and records.
//! Failure: too few values give `None`, because an unsupported number must not be printed. A NaN in
//! the input is a programming error and panics; every finite input gives an answer.
//! Checks: `tests/suite/statistics_scipy.rs` compares with scipy,
//! `tests/suite/statistics_coverage.rs` with simulated experiments with a known true effect.

pub mod bootstrap;
mod estimate;
pub mod hodges_lehmann;
pub mod holm;
pub mod normal;
pub mod order;
pub mod power;
mod ranks;
pub mod sign;
pub mod signed_rank;

pub use estimate::{Estimate, Interval};
