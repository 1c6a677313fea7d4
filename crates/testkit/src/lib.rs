//! Naive models and generated strategies for tests.
//!
//! Where: beside the flow. Only tests depend on it.
#![forbid(unsafe_code)]

#[cfg(feature = "strategies")]
pub mod generated;
pub mod naive;
pub mod structures;
