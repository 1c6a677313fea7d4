//! The machine under a plant: its interruptions, their causes, and the settings that matter.
//!
//! Where: lab, beside LAB, whose placements, statistics and records it uses. It runs threads of
//! its own and reads accounts of the kernel; it does not depend on what a plant does.
//!
//! Flow: a [`GapMeter`] in a thread's loop finds the moments in which the thread did not run;
//! [`spin`] runs nothing else on some processors. An [`Attributor`] reads the kernel's accounts of
//! the thread for the cause of each, a [`KernelTrace`] the events of the kernel. A [`Watch`] keeps
//! the moments with their causes.
#![forbid(unsafe_code)]

mod attribution;
mod cause;
pub mod changes;
pub mod doctor;
pub mod explain;
mod gaps;
mod interrupts;
pub mod jitter;
pub mod kernel_trace;
pub mod periods;
pub mod record;
pub mod rungs;
pub mod smi;
mod speed;
mod spin;
mod tally;
mod watch;

pub use attribution::{Attribution, Attributor, Rung};
pub use cause::Cause;
pub use gaps::{Gap, GapMeter};
pub use interrupts::InterruptCounts;
pub use kernel_trace::KernelTrace;
pub use speed::{Speed, Step, Window};
pub use spin::{ProcessorGaps, SpinError, SpinOptions, spin};
pub use tally::{Tally, Total};
pub use watch::{Interruption, Watch, WatchOptions, Watched};
