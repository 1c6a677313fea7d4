//! The laboratory, one module a subject.
//!
//! Two are programs of their own: `perf_counts_a_window`, because page faults of other tests would
//! be counted too, and `processes`, which is its own worker.

mod callgrind_counts_instructions;
mod environment_of_this_machine;
mod hostile_input;
mod perf_events_of_this_thread;
mod placement_of_a_thread;
mod statistics_coverage;
mod statistics_scipy;
