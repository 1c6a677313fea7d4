//! The machine under a plant: its interruptions, their causes, and the settings that matter.
//!
//! Where: layer 3, beside LAB, whose placements, statistics and records it uses. It runs threads of
//! its own and reads accounts of the kernel; it does not depend on what a plant does.
//!
//! Flow: a [`GapMeter`] in a thread's loop finds the moments in which the thread did not run;
//! [`spin`] runs nothing else on some processors.
#![forbid(unsafe_code)]

mod gaps;
mod spin;

pub use gaps::{Gap, GapMeter};
pub use spin::{ProcessorGaps, SpinError, SpinOptions, spin};
