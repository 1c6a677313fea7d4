//! The tests of the laboratory, one module for each subject.
//!
//! Two tests are separate programs: `perf_counts_a_window`, because page faults of other tests
//! would count too, and `processes`, which is its own worker.

mod callgrind_counts_instructions;
mod environment_of_this_machine;
mod hostile_input;
mod perf_events_of_this_thread;
mod placement_of_a_thread;
mod statistics_coverage;
mod statistics_scipy;
