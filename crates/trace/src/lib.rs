//! Histograms of times and counts; later also spans and the flight recorder.
//!
//! Where: layer 3. Numbers in, quantiles out; what the numbers mean is the caller's business.
#![forbid(unsafe_code)]

mod buckets;
mod histogram;

pub use buckets::Buckets;
pub use histogram::Histogram;
