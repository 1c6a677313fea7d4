//! What the kernel has counted of a thread, from the values of its spans, and the cause in it.

use nanotape_trace::accounts::ThreadUse;

use crate::{attribution::cause_in, cause::Cause};

/// A year in nanoseconds, and more than any count.
const MOST: u64 = 1 << 55;

/// The counts since the last question.
#[derive(Clone, Default, Debug)]
pub(super) struct Counts {
    used: ThreadUse,
    place: Option<(u32, u32)>,
}

impl Counts {
    /// Takes the value of a site, by its place in [`COUNTS`](nanotape_trace::accounts::COUNTS).
    pub(super) fn set(&mut self, site: usize, value: u64) {
        // A larger one is damage, unless it says that there is none. Sums with it then fit.
        self.used.set_count(site, if value == u64::MAX { value } else { value.min(MOST) });
    }

    /// Takes the value of the question: the thread in the upper half, the processor in the lower.
    pub(super) fn set_place(&mut self, value: u64) {
        let (thread, cpu) = ((value >> 32) as u32, value as u32);
        self.place = (cpu != u32::MAX).then_some((thread, cpu));
    }

    /// The thread and the processor after the message.
    pub(super) fn place(&self) -> Option<(u32, u32)> {
        self.place
    }

    /// Time off the processor that was not planned, in nanoseconds.
    pub(super) fn off_ns(&self) -> u64 {
        self.used.elapsed_ns.saturating_sub(self.used.run_ns)
    }

    /// The cause of a stage of `length_ns` that was `excess_ns` too long, and the time that it
    /// explains. The interruption of a wait may have begun before the message was due: then only
    /// its end is in the stage.
    pub(super) fn cause(&self, length_ns: u64, excess_ns: u64, is_wait: bool) -> (Cause, u64) {
        let off_ns = self.off_ns();
        let slow_ns = if is_wait { length_ns.max(off_ns) } else { length_ns };
        let cause = cause_in(slow_ns, &self.used);
        let lost_ns = match cause {
            Cause::Unexplained => 0,
            // The kernel works in the thread: no account has the time.
            Cause::PageFault | Cause::MajorFault => excess_ns,
            _ => off_ns.min(excess_ns),
        };
        (cause, lost_ns)
    }
}
