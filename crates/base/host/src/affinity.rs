//! The processors on which a thread may run.

use rustix::{
    io::{Errno, Result},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// The processors on which the calling thread may run, in order; empty if the kernel does not say.
pub fn allowed_cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU as u32).filter(|&cpu| set.is_set(cpu as usize)).collect()
}

/// The processors on which a thread of this process may run if it requests them, in order: those of
/// the control group. Isolated processors are among them, and those that `taskset` took away.
pub fn usable_cpus() -> Vec<u32> {
    let cpus = || {
        allow_every_cpu();
        allowed_cpus()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, cpus);
        thread.ok()?.join().ok()
    })
    .unwrap_or_default()
}

/// Keeps the calling thread, and threads that it starts, on these processors.
pub fn run_on(cpus: &[u32]) -> Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(Errno::INVAL);
        }
        set.set(cpu as usize);
    }
    sched_setaffinity(None, &set)
}

/// Keeps the calling thread on one processor. The kernel decides, also about isolated processors; a
/// refusal is a sentence.
pub fn pin_to(cpu: u32) -> std::result::Result<(), String> {
    run_on(&[cpu]).map_err(|error| match error {
        Errno::INVAL => {
            let usable: Vec<String> = usable_cpus().iter().map(u32::to_string).collect();
            let usable = usable.join(", ");
            format!("pinning was refused: processor {cpu} is not among those allowed ({usable})")
        }
        error => format!("pinning was refused: processor {cpu}: {error}"),
    })
}

/// Lets the calling thread run on every processor that this process may use. If the kernel refuses,
/// it stays on the processors of its caller, which is slower, but correct.
pub fn allow_every_cpu() {
    let mut set = CpuSet::new();
    // The kernel limits a request for every processor to those of the control group.
    (0..CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
    let _ = sched_setaffinity(None, &set);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_put_and_no_other_one_does() {
        let before = allowed_cpus();
        assert_eq!(run_on(&[before[0], CpuSet::MAX_CPU as u32]), Err(Errno::INVAL));
        let inside = std::thread::spawn(|| {
            let last = *allowed_cpus().last().unwrap();
            run_on(&[last]).unwrap();
            (allowed_cpus() == [last], usable_cpus())
        });
        let (is_there, usable) = inside.join().unwrap();
        assert!(is_there && before.iter().all(|cpu| usable.contains(cpu)));
        assert_eq!(allowed_cpus(), before);
    }
}
