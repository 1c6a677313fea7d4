//! Histograms of times and counts; later also spans and the flight recorder.
//!
//! Where: layer 3. It is independent of the meaning of the numbers.
#![forbid(unsafe_code)]

mod buckets;
mod histogram;

pub use buckets::Buckets;
pub use histogram::Histogram;
