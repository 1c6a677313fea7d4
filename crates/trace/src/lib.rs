//! Histograms of times and counts, and spans of a running program; later also the flight recorder.
//!
//! Where: layer 3. It is independent of the meaning of the numbers.
#![forbid(unsafe_code)]

mod buckets;
pub mod export;
mod histogram;
pub mod spans;

pub use buckets::Buckets;
pub use histogram::Histogram;
