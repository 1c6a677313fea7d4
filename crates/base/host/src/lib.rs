//! What the kernel shows of the machine and of this process: one reader for each file of `/proc`
//! and `/sys` that more than one crate needs.
//!
//! Where: base. Crates that read a clock, map memory, measure, or judge a machine use it. It parses
//! and does not judge.
//! Failure: none. What cannot be read is `None`.
#![forbid(unsafe_code)]

mod affinity;
mod counters;
mod cpu_list;
mod nodes;
mod processor;
mod settings;
mod system;
mod text;

pub use affinity::{allow_every_cpu, allowed_cpus, pin_to, run_on, usable_cpus};
pub use counters::{
    ProcessStat, Ticks, available_memory_bytes, pressure, process_start_unix_s, processor_groups,
    status_mask,
};
pub use cpu_list::CpuList;
pub use nodes::{bytes_on_nodes, usable_cpus_of_node};
pub use processor::hypervisor;
pub use settings::Turbo;
pub use system::{CLOCK_SOURCES, System};
pub use text::{bytes, chosen, value};
