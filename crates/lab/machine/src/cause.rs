//! The causes of interruptions, in the words of tables and records.

use core::fmt;

/// Why a thread did not run for a moment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// Another thread had the processor; its name, if a trace shows it.
    Preempted {
        /// The name of the thread, or of the kernel's work in it.
        by: Option<String>,
    },
    /// A normal thread had the processor although this one is of the real-time class: the fair
    /// server of Linux 6.12 and later, or the throttling of real-time threads.
    FairServer,
    /// The thread's control group had used up its share of the processors.
    Throttled,
    /// The kernel moved the thread to another processor.
    Moved,
    /// A signal stopped the thread, or a debugger.
    Stopped,
    /// The thread slept, waited in a system call, or was stopped.
    Blocked,
    /// A page was read from a disk.
    MajorFault,
    /// The kernel provided a page.
    PageFault,
    /// The hypervisor gave the processor to another machine.
    Stolen,
    /// A signal was delivered to the thread.
    Signal {
        /// Its number.
        number: u32,
    },
    /// An interrupt that cannot be masked.
    NonMaskable,
    /// The interrupt of a device.
    Device {
        /// The name in `/proc/interrupts`.
        name: String,
    },
    /// An interrupt from another processor.
    Remote {
        /// The kernel's name of it.
        name: String,
    },
    /// Deferred work of an interrupt.
    Softirq {
        /// The kernel's name of it.
        name: String,
    },
    /// The timer of this processor.
    Timer,
    /// The processor changed its frequency.
    Frequency,
    /// The firmware had the processor.
    SystemManagement,
    /// Shorter than the time that an attribution is worth.
    NotAttributed,
    /// Events of the kernel were lost at that time, and those that remain explain nothing.
    EventsLost {
        /// The kind of the cause that the accounts of the thread show, if they show one.
        accounts: Option<&'static str>,
    },
    /// No account and no event of this kernel explains it.
    Unexplained,
}

impl Cause {
    /// The cause without names and numbers, for counts by kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Preempted { .. } => "preempted",
            Self::FairServer => "fair server",
            Self::Throttled => "throttled by a control group",
            Self::Moved => "moved to another processor",
            Self::Stopped => "stopped",
            Self::Blocked => "blocked or stopped",
            Self::MajorFault => "page read from disk",
            Self::PageFault => "page fault",
            Self::Stolen => "stolen by the hypervisor",
            Self::Signal { .. } => "signal",
            Self::NonMaskable => "non-maskable interrupt",
            Self::Device { .. } => "device interrupt",
            Self::Remote { .. } => "interrupt from another processor",
            Self::Softirq { .. } => "softirq",
            Self::Timer => "timer interrupt",
            Self::Frequency => "frequency change",
            Self::SystemManagement => "system management interrupt",
            Self::NotAttributed => "too short to attribute",
            Self::EventsLost { .. } => "events lost",
            Self::Unexplained => "unexplained",
        }
    }
}

/// `preempted by kworker vmstat_update`, `device interrupt virtio0-input.0`
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Self::Preempted { by: Some(name) } => write!(f, " by {name}"),
            Self::Device { name } | Self::Remote { name } | Self::Softirq { name } => {
                write!(f, " {name}")
            }
            Self::Signal { number } => write!(f, " {number}"),
            Self::EventsLost { accounts: Some(kind) } => write!(f, " (accounts: {kind})"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_begin_with_their_kind() {
        let name = || "eth0-rx-1".to_owned();
        let all = [
            (Cause::Preempted { by: None }, "preempted"),
            (Cause::Preempted { by: Some(name()) }, "preempted by eth0-rx-1"),
            (Cause::Device { name: name() }, "device interrupt eth0-rx-1"),
            (Cause::Signal { number: 14 }, "signal 14"),
            (Cause::Unexplained, "unexplained"),
        ];
        for (cause, text) in all {
            assert_eq!(cause.to_string(), text);
            assert!(text.starts_with(cause.kind()));
        }
    }
}
