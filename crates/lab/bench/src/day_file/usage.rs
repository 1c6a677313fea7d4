//! Resources that a process has used so far: processor time and peak memory.

use nanotape_clock::{Clock, Stamp};
use nanotape_host::bytes;
use rustix::time::{ClockId, clock_gettime};

use super::reading::{Answer, DayReading};

/// Wall time and processor time since the start.
pub(super) struct Stopwatch {
    clock: Clock,
    wall: Stamp,
    processor_nanos: u64,
}

impl Stopwatch {
    pub(super) fn start(clock: Clock) -> Self {
        let processor_nanos = processor_nanos();
        Self { clock, wall: clock.stamp_start(), processor_nanos }
    }

    /// Elapsed wall time and processor time, in ns.
    pub(super) fn stop(&self) -> (u64, u64) {
        let wall = self.clock.nanos_between(self.wall, self.clock.stamp());
        (wall, processor_nanos().saturating_sub(self.processor_nanos))
    }

    /// The reading of `operations` operations, with the memory at their end.
    pub(super) fn reading(&self, startup_nanos: u64, operations: u64, peak: Peak) -> DayReading {
        let (wall_nanos, processor_nanos) = self.stop();
        let memory = Memory::now();
        DayReading {
            startup_nanos,
            wall_nanos,
            processor_nanos,
            operations,
            answer: Answer::default(),
            peak_memory_bytes: memory.peak,
            peak_anonymous_bytes: peak.anonymous.max(memory.anonymous),
        }
    }
}

/// Processor time of all threads of this process, in user mode and in the kernel.
pub(super) fn processor_nanos() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Memory of this process as reported by the kernel, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Memory {
    /// `VmHWM`: peak, including mapped files.
    peak: Option<u64>,
    /// `RssAnon`: current memory that belongs to no file, such as the heap.
    anonymous: Option<u64>,
}

/// Blocks of the file (a few megabytes each) per reading of the memory. A reading takes as long as
/// a few hundred messages.
const BLOCKS_PER_READING: u32 = 4;

/// Highest memory that belongs to no file, observed while a file is read.
#[derive(Clone, Copy, Default)]
pub(super) struct Peak {
    blocks: u32,
    anonymous: Option<u64>,
}

impl Peak {
    /// Counts a block that was read.
    pub(super) fn pass(&mut self) {
        self.blocks += 1;
        if self.blocks.is_multiple_of(BLOCKS_PER_READING) {
            self.anonymous = self.anonymous.max(Memory::now().anonymous);
        }
    }
}

impl Memory {
    fn now() -> Self {
        std::fs::read_to_string("/proc/self/status").map_or(Self::default(), |text| Self::of(&text))
    }

    fn of(status: &str) -> Self {
        Self { peak: bytes(status, "VmHWM"), anonymous: bytes(status, "RssAnon") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_read_in_its_own_units() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nRssAnon:\t     100 kB\n";
        let memory = Memory { peak: Some(2048 * 1024), anonymous: Some(100 * 1024) };
        assert_eq!(Memory::of(status), memory);
        assert_eq!(Memory::of("Name: x\nVmHWM: many kB\n"), Memory::default());
    }

    #[test]
    fn this_process_has_used_both() {
        let watch = Stopwatch::start(Clock::monotonic());
        let touched = vec![1u8; 32 << 20];
        let memory = Memory::now();
        if let (Some(peak), Some(anonymous)) = (memory.peak, memory.anonymous) {
            assert!(anonymous > 32 << 20 && peak >= anonymous, "{memory:?}");
        }
        assert!(core::hint::black_box(touched).len() > 1);
        let (wall, _) = watch.stop();
        assert!(wall > 0);
    }
}
