//! Which processors there are for this run, and pinning to them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Failure;

/// Processors that this process may use, lowest first.
pub(crate) fn allowed() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
        Err(_) => vec![0],
    }
}

/// Keeps the calling thread on one processor.
pub(crate) fn pin(cpu: usize) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|error| format!("pinning to CPU {cpu}: {error}").into())
}
