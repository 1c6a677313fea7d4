//! The ring, one module a subject.
//!
//! `loom` is a program of its own, for the models, and so is `no_allocation`, which has an
//! allocator.

#![cfg(not(nanotape_loom))]

mod conformance;
mod format_document;
mod index;
mod model;
mod processes;
mod scribbled;
mod threads;
