//! What a program measured and found, as the line of JSON that the script reads.
//!
//! Time is taken from before the file is opened to after the last message, with whatever structures
//! are made in between: nothing that a user would wait for is left out, but the process start is.
//! Digests of the books are taken after the clock has stopped.

use std::{collections::BTreeMap, fs};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Why a program could not finish: printed as one line.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// Clocks at the start of the work.
pub(crate) struct Stopwatch {
    cpu: Timespec,
    wall: Timespec,
}

/// How long the work took.
pub(crate) struct Elapsed {
    cpu_seconds: f64,
    wall_seconds: f64,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        let wall = clock_gettime(ClockId::Monotonic);
        Self { cpu: clock_gettime(ClockId::ProcessCPUTime), wall }
    }

    pub(crate) fn stop(&self) -> Elapsed {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let wall = clock_gettime(ClockId::Monotonic);
        Elapsed {
            cpu_seconds: seconds(cpu) - seconds(self.cpu),
            wall_seconds: seconds(wall) - seconds(self.wall),
        }
    }
}

fn seconds(time: Timespec) -> f64 {
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The result of one run.
pub(crate) struct Outcome {
    pub(crate) kind: &'static str,
    pub(crate) messages: u64,
    pub(crate) elapsed: Elapsed,
    /// What others that give an answer of this name must give as well.
    pub(crate) answers: BTreeMap<&'static str, u64>,
    /// What is worth knowing but nobody else can be asked for.
    pub(crate) notes: BTreeMap<&'static str, u64>,
    pub(crate) memory: Memory,
}

impl Outcome {
    /// Everything in it is a number or a name of ours, so nothing needs escapes.
    pub(crate) fn json(&self, name: &str) -> String {
        format!(
            "{{\"name\":\"{name}\",\"kind\":\"{}\",\"messages\":{},\"cpu_seconds\":{:.9},\
             \"wall_seconds\":{:.9},\"peak_memory_bytes\":{},\"anonymous_bytes\":{},\
             \"answer\":{},\"notes\":{}}}",
            self.kind,
            self.messages,
            self.elapsed.cpu_seconds,
            self.elapsed.wall_seconds,
            self.memory.peak_bytes,
            self.memory.anonymous_bytes,
            object(&self.answers),
            object(&self.notes),
        )
    }
}

fn object(fields: &BTreeMap<&'static str, u64>) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

/// What the kernel says about this process; zeros where it says nothing.
///
/// To be asked while everything that the work needed is still held.
pub(crate) struct Memory {
    /// Most that was resident, mapped pages of the file included.
    peak_bytes: u64,
    /// The same without pages of files, as far as it can be told afterwards: the pages of files that
    /// are resident now are taken off, of which there were at most as many before.
    anonymous_bytes: u64,
    /// Resident now and backed by no file.
    remaining_bytes: u64,
}

impl Memory {
    pub(crate) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let bytes = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field));
            let number = line.and_then(|line| line.split_whitespace().next());
            number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
        };
        let peak_bytes = bytes("VmHWM:");
        let without_files = peak_bytes.saturating_sub(bytes("RssFile:"));
        let remaining_bytes = bytes("RssAnon:");
        let anonymous_bytes = without_files.max(remaining_bytes);
        Self { peak_bytes, anonymous_bytes, remaining_bytes }
    }

    /// Leaves out what was prepared before the clock started, whose making may have been the peak.
    #[cfg_attr(not(feature = "itchy"), expect(dead_code, reason = "for itchy only"))]
    pub(crate) fn without(self, prepared_bytes: u64) -> Self {
        let anonymous_bytes = self.remaining_bytes.saturating_sub(prepared_bytes);
        Self { anonymous_bytes, ..self }
    }
}
