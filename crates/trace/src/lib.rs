//! Histograms of times and counts, and spans of a running program, and a flight recorder.
//!
//! Where: layer 3. It is independent of the meaning of the numbers.
#![forbid(unsafe_code)]

mod buckets;
pub mod export;
pub mod flight;
mod histogram;
pub mod spans;

pub use buckets::Buckets;
pub use histogram::Histogram;
