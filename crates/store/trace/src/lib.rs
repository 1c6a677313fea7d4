//! Histograms of times and counts, spans of a running program, their recordings, a flight recorder,
//! and what the kernel counts of a thread.
//!
//! Where: store. It is independent of the meaning of the numbers.
#![forbid(unsafe_code)]

pub mod accounts;
mod buckets;
pub mod export;
pub mod flight;
mod histogram;
pub mod hlog;
pub mod recording;
pub mod spans;

pub use buckets::Buckets;
pub use histogram::Histogram;
