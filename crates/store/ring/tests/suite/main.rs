//! Tests of the ring, one module a subject.
//!
//! `loom` is a separate program, for the models, and so is `no_allocation`, which has its own
//! allocator.

#![cfg(not(nanotape_loom))]

mod conformance;
mod format_document;
mod index;
mod model;
mod processes;
mod scribbled;
mod threads;
