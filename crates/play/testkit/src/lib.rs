//! Naive models, strategies and a protocol for tests.
//!
//! Where: beside the flow. Only tests depend on it.
#![forbid(unsafe_code)]

#[cfg(feature = "strategies")]
pub mod generated;
pub mod naive;
#[cfg(feature = "strategies")]
pub mod strategies;
pub mod structures;
