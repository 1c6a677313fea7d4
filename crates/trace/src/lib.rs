//! Histograms of times and counts; later also spans and the flight recorder.
//!
//! Where: layer 3. Numbers in, quantiles out; what the numbers mean is the caller's business.
#![forbid(unsafe_code)]

mod histogram;

pub use histogram::Histogram;
