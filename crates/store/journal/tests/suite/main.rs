//! The tests of the journal's public interface, one module for each subject.
//!
//! One program, so that it is linked once. `no_allocation` is separate because it has its own
//! allocator, and `reused` because it starts no processes.

#![cfg(not(nanotape_loom))]

mod appender;
mod compress;
mod conformance;
mod copied;
mod damage;
mod damaged_positions;
mod format_document;
mod keeper;
mod merge;
mod model;
mod named;
mod processes;
mod prune;
mod repair;
mod restored;
mod simulated;
mod to_the_end;
mod upkeep_faults;
mod verify;
mod versions;
