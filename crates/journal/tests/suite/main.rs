//! The tests of the journal's public interface, one module a subject.
//!
//! One program, so that they are linked once. `no_allocation` is another: it has an allocator of
//! its own.

#![cfg(not(nanotape_loom))]

mod appender;
mod compress;
mod conformance;
mod damage;
mod format_document;
mod merge;
mod model;
mod named;
mod processes;
mod prune;
mod repair;
mod simulated;
mod upkeep_faults;
mod verify;
mod versions;
