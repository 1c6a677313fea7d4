//! Histograms of times and counts, spans of a running program, their recordings, and a flight
//! recorder.
//!
//! Where: layer 3. It is independent of the meaning of the numbers.
#![forbid(unsafe_code)]

mod buckets;
pub mod export;
pub mod flight;
mod histogram;
pub mod hlog;
pub mod recording;
pub mod spans;

pub use buckets::Buckets;
pub use histogram::Histogram;
