//! Tests of the log, one module per subject.
//!
//! `no_allocation` is a separate program, because it replaces the allocator.

#![cfg(not(nanotape_loom))]

#[cfg(feature = "tracing")]
mod disk;
mod format_document;
#[cfg(feature = "tracing")]
mod full_disk;
mod hostile;
#[cfg(feature = "tracing")]
mod killed;
#[cfg(any(feature = "tracing", feature = "log"))]
mod lines;
#[cfg(feature = "log")]
mod log_back_end;
#[cfg(feature = "tracing")]
mod segments;
#[cfg(feature = "tracing")]
mod slow_disk;
#[cfg(feature = "tracing")]
mod span_layer;
#[cfg(feature = "tracing")]
mod threads;
#[cfg(feature = "tracing")]
mod tracing_layer;
