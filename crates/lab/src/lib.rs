//! Benchmarks one can believe: a harness, real statistics, and comparisons that know their power.
//!
//! Where: layer 3. It works on numbers and closures and knows nothing of what is measured.
#![forbid(unsafe_code)]

pub mod callgrind;
pub mod counters;
pub mod environment;
pub mod pages;
pub mod perf_program;
pub mod placement;
pub mod statistics;
