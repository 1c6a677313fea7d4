//! The kernel's own events on the processors of a measurement, with the time stamp counter as their
//! clock.
//!
//! Where: beside the measuring threads. An instance of tracefs is this process's alone, so other
//! traces on the machine are not touched. A tracefs that is mounted nowhere is opened by
//! `fsmount`, and vanishes with its descriptor.
//! Failure: a kernel without tracing, a process without permission, a clock that is not the
//! counter: an error with the reason. If this process is killed, the instance stays until the next
//! one starts, which removes every instance of this program that no process has open.
//! Bounds: the kernel keeps some megabytes for each processor, and counts the events that it drops.

mod event;
mod join;
mod line;

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use nanotape_clock::{Clock, Source};
use rustix::{
    io::Errno,
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
};

pub use self::event::{Event, KernelEvents, What};

/// Where a tracefs is usually mounted.
const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The beginning of the name of every instance of this program.
const NAME: &str = "nanotape-";

/// The events that interrupt a thread, as folders below `events`. A kernel lacks some of them.
const EVENTS: [&str; 17] = [
    "sched/sched_switch",
    "signal/signal_deliver",
    "exceptions/page_fault_user",
    "irq/irq_handler_entry",
    "irq/softirq_entry",
    "nmi/nmi_handler",
    "workqueue/workqueue_execute_start",
    "power/cpu_frequency",
    "irq_vectors/local_timer_entry",
    "irq_vectors/reschedule_entry",
    "irq_vectors/call_function_entry",
    "irq_vectors/call_function_single_entry",
    "irq_vectors/irq_work_entry",
    "irq_vectors/x86_platform_ipi_entry",
    "irq_vectors/thermal_apic_entry",
    "irq_vectors/error_apic_entry",
    "irq_vectors/spurious_apic_entry",
];

/// Memory of the kernel for events, for each processor.
const BUFFER_KIB: u32 = 8 << 10;

/// A running trace of some processors. Dropping it stops it and removes its instance.
#[derive(Debug)]
pub struct KernelTrace {
    instance: PathBuf,
    cpus: Vec<u32>,
    /// Keeps other processes of this program from removing the instance.
    _held: File,
    /// The tracefs, if it is not mounted.
    _root: Option<OwnedFd>,
}

/// Why the kernel's events cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TraceUnavailable {
    /// Stamps of this program and of the kernel could not be compared.
    #[error("the clock of this program is not the time stamp counter")]
    OtherClock,
    /// No tracefs.
    #[error("cannot open tracefs: {0} (it needs root)")]
    NoTracefs(Errno),
    /// This kernel cannot stamp its events with the counter.
    #[error("this kernel has no trace clock x86-tsc")]
    NoCounterClock,
    /// Another obstacle.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// The operation.
        what: &'static str,
        /// The file of tracefs.
        path: String,
        /// The error of the kernel.
        source: io::Error,
    },
}

impl KernelTrace {
    /// Begins to record the events of these processors.
    pub fn start(clock: &Clock, cpus: &[u32]) -> Result<Self, TraceUnavailable> {
        if clock.source() != Source::TimeStampCounter {
            return Err(TraceUnavailable::OtherClock);
        }
        let (folder, root) = tracefs()?;
        remove_left_over(&folder.join("instances"));
        let instance = folder.join("instances").join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&instance).map_err(file_error("make", &instance))?;
        let held = match File::open(instance.join("trace_options")) {
            Ok(held) => held,
            Err(source) => {
                let _ = fs::remove_dir(&instance);
                return Err(file_error("open", &instance)(source));
            }
        };
        let trace = Self { instance, cpus: cpus.to_vec(), _held: held, _root: root };
        trace.configure()?;
        Ok(trace)
    }

    fn configure(&self) -> Result<(), TraceUnavailable> {
        self.write("tracing_on", "0")?;
        self.write("trace_clock", "x86-tsc").map_err(|_| TraceUnavailable::NoCounterClock)?;
        self.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        let mask =
            self.cpus.iter().fold(0_u128, |mask, cpu| mask | 1_u128.checked_shl(*cpu).unwrap_or(0));
        // Processors beyond 127 cannot be told apart here: all are traced.
        if self.cpus.iter().all(|&cpu| cpu < 128) {
            self.write("tracing_cpumask", &in_groups_of_32(mask))?;
        }
        for event in EVENTS {
            // What a kernel does not have cannot be a cause on it.
            let _ = self.write(&format!("events/{event}/enable"), "1");
        }
        self.write("tracing_on", "1")
    }

    /// The events since the start, or since the last call; recording pauses while they are read.
    pub fn take(&mut self) -> Result<KernelEvents, TraceUnavailable> {
        self.write("tracing_on", "0")?;
        let mut events = KernelEvents::default();
        for &cpu in &self.cpus {
            let folder = self.instance.join(format!("per_cpu/cpu{cpu}"));
            let path = folder.join("trace");
            let text = fs::read(&path).map_err(file_error("read", &path))?;
            let lost =
                fs::read_to_string(folder.join("stats")).ok().map_or(0, |text| lost_in(&text));
            events.add(cpu, line::events_in(&text), lost);
        }
        self.write("trace", "")?;
        self.write("tracing_on", "1")?;
        Ok(events)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), TraceUnavailable> {
        let path = self.instance.join(name);
        let written = File::options()
            .write(true)
            .truncate(name == "trace")
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(file_error("write", &path))
    }
}

impl Drop for KernelTrace {
    fn drop(&mut self) {
        let _ = self.write("tracing_on", "0");
        // The descriptor that holds the instance is closed after this, so the folder cannot go yet.
        if let Ok(other) = File::open("/dev/null") {
            self._held = other;
        }
        let _ = fs::remove_dir(&self.instance);
    }
}

/// A tracefs: a mounted one, or one that only this process has.
fn tracefs() -> Result<(PathBuf, Option<OwnedFd>), TraceUnavailable> {
    if let Some(mounted) =
        MOUNTED.iter().map(Path::new).find(|path| path.join("instances").is_dir())
    {
        return Ok((mounted.to_owned(), None));
    }
    let open = || {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    };
    let root = open().map_err(TraceUnavailable::NoTracefs)?;
    Ok((PathBuf::from(format!("/proc/self/fd/{}", root.as_raw_fd())), Some(root)))
}

/// Removes the instances of this program that processes have left. The kernel refuses to remove one
/// that a process has open.
fn remove_left_over(instances: &Path) {
    let Ok(entries) = fs::read_dir(instances) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(NAME.as_bytes()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn file_error<'a>(
    what: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> TraceUnavailable + 'a {
    move |source| TraceUnavailable::File { what, path: path.display().to_string(), source }
}

/// `00000003`, `00000001,00000000`: the form in which the kernel reads masks.
fn in_groups_of_32(mask: u128) -> String {
    let groups = (0..4).rev().map(|group| (mask >> (32 * group)) as u32);
    let mut text: Vec<String> = groups.map(|group| format!("{group:08x}")).collect();
    while text.len() > 1 && text[0] == "00000000" {
        text.remove(0);
    }
    text.join(",")
}

/// Events that the kernel overwrote or dropped, from the file `stats` of a processor.
fn lost_in(stats: &str) -> u64 {
    let counts = stats.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_loss = ["overrun", "commit overrun", "dropped events"].contains(&name.trim());
        is_loss.then(|| value.trim().parse::<u64>().ok()).flatten()
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_groups_of_32() {
        assert_eq!(in_groups_of_32(0b11), "00000003");
        assert_eq!(in_groups_of_32(1 << 33 | 1), "00000002,00000001");
        assert_eq!(in_groups_of_32(0), "00000000");
    }

    #[test]
    fn losses_are_of_three_kinds() {
        let stats = "entries: 12\noverrun: 3\ncommit overrun: 1\nbytes: 99\ndropped events: 2\n";
        assert_eq!(lost_in(stats), 6);
        assert_eq!(lost_in("overrun: x\n:::"), 0);
    }

    #[test]
    fn events_of_the_kernel_have_the_counter_as_their_clock() {
        let clock = Clock::calibrate();
        let mut trace = match KernelTrace::start(&clock, &[0]) {
            Ok(trace) => trace,
            Err(reason) => return nanotape_harness::skipped(reason.to_string()),
        };
        let instance = trace.instance.clone();
        let before = clock.stamp();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let after = clock.stamp();
        let events = trace.take().unwrap();
        let within = events.between(0, before, after);
        assert!(!within.is_empty(), "no event in 50 ms, {} lost", events.lost());
        // Recording goes on after it was read.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let end = clock.stamp();
        assert!(!trace.take().unwrap().between(0, after, end).is_empty());
        drop(trace);
        assert!(!instance.exists());
    }
}
