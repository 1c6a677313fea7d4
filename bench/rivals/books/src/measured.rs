//! The measurements and answers of a program, as the line of JSON that the harness reads.
//!
//! Times run from before the file is opened to after the last message, so they include making the
//! structures. They do not include the start of the process and the digests of the books.

use std::{collections::BTreeMap, fs};

use rivals_measure::Failure;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Numbers by name.
pub(crate) type Numbers = BTreeMap<&'static str, u64>;

/// The result of one run.
#[derive(Serialize)]
pub(crate) struct Outcome {
    pub(crate) kind: &'static str,
    pub(crate) messages: u64,
    #[serde(flatten)]
    pub(crate) measured: Measured,
    /// Every program with an answer of this name must give the same number.
    pub(crate) answer: Numbers,
    /// Numbers that only this program has.
    pub(crate) notes: Numbers,
}

/// Times and memory of a run.
#[derive(Serialize)]
pub(crate) struct Measured {
    cpu_seconds: f64,
    wall_seconds: f64,
    /// The most memory that was resident, including mapped pages of the file.
    peak_memory_bytes: u64,
    /// An estimate of the same without pages of files, of which the kernel keeps no peak. It is the
    /// peak less the currently resident pages of files, or the currently resident memory, whichever
    /// is more.
    anonymous_bytes: u64,
    /// Currently resident memory that is not part of a file.
    #[serde(skip)]
    remaining_bytes: u64,
}

impl Measured {
    /// Subtracts bytes that were prepared before `work`, because the preparation may have been the
    /// peak.
    #[cfg_attr(not(feature = "itchy"), expect(dead_code, reason = "for itchy only"))]
    pub(crate) fn without(self, prepared_bytes: u64) -> Self {
        let anonymous_bytes = self.remaining_bytes.saturating_sub(prepared_bytes);
        Self { anonymous_bytes, ..self }
    }
}

/// Times `work`, and reads the memory of this process while the result of `work` still exists.
pub(crate) fn measured<T>(
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<(T, Measured), Failure> {
    let seconds = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    };
    let wall = seconds(ClockId::Monotonic);
    let cpu = seconds(ClockId::ProcessCPUTime);
    let done = work()?;
    let cpu_seconds = seconds(ClockId::ProcessCPUTime) - cpu;
    let wall_seconds = seconds(ClockId::Monotonic) - wall;

    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    let peak_memory_bytes = bytes("VmHWM:");
    let remaining_bytes = bytes("RssAnon:");
    let anonymous_bytes = peak_memory_bytes.saturating_sub(bytes("RssFile:")).max(remaining_bytes);
    let measured =
        Measured { cpu_seconds, wall_seconds, peak_memory_bytes, anonymous_bytes, remaining_bytes };
    Ok((done, measured))
}
