//! Naive models, a synthetic market and generated strategies for tests.
//!
//! Where: beside the flow, never in it. The `synth` and `demo` commands use the market; everything
//! else here exists to be compared with.
#![forbid(unsafe_code)]

#[cfg(feature = "strategies")]
pub mod generated;
pub mod market;
pub mod naive;
pub mod structures;
