//! The flight recorder: keeps the last spans of all threads of a program, and copies them when a
//! message was slow.
//!
//! Where: in a process outside the program. It reads the rings of the threads, which do nothing for
//! it. A command opens a [`Recorder`], polls it, and writes each [`Snapshot`] to a file with
//! [`export`](crate::export).
//! Protocol: [`Recorder::poll`] reads spans, joins those of a message, and checks the conditions. A
//! trigger takes a token and starts a copy, which ends a little later, so that it also shows what
//! followed. [`Options::after_ns`] and a quarter of the kept spans limit that.
//! Bounds: all memory is taken by [`Recorder::open`]: [`Recorder::bytes`]. A poll reads at most an
//! eighth of the kept spans of each thread, and allocates nothing.
//! Failure: spans that were overwritten before they were read are counted, and are a trigger. A
//! storm of triggers is counted too; tokens limit its copies. A recorder that takes more of a CPU
//! than its limit turns itself [off](Off).

mod bucket;
mod desk;
mod joined;
mod kept;
mod limit;
mod recorder;
mod snapshot;
mod thread;
mod trigger;

use std::path::PathBuf;

use nanotape_ring::Start;

pub use limit::Off;
pub use recorder::{Polled, Recorder, Summary};
pub use snapshot::Snapshot;
pub use thread::ThreadStat;
pub use trigger::{Cause, Condition, Count, MAX_CONDITIONS, Trigger};

use crate::spans::TraceError;

/// What a recorder keeps, and when it makes copies.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Conditions of a trigger, beside requests and lost spans, which always are triggers.
    pub conditions: Vec<Condition>,
    /// Spans that are kept of each thread: 64 to 2^24, rounded up to a power of two.
    pub spans: usize,
    /// Messages that are joined over threads: 64 to 2^24, rounded up to a power of two. An eighth
    /// of them can be on their way between threads; a poll reads thread after thread, so take at
    /// least as many as [`Options::spans`].
    pub in_flight: usize,
    /// How long a copy goes on after its trigger, in ns. It ends earlier if a thread has written a
    /// quarter of [`Options::spans`] meanwhile.
    pub after_ns: u64,
    /// Copies that exist at the same time, 1 to 64. Each takes the memory of all kept spans. While
    /// none is free, triggers are dropped.
    pub copies: usize,
    /// Copies at once that tokens allow. At least one for each condition, request and loss.
    pub at_once: u32,
    /// Copies in each minute that tokens allow in the long run.
    pub per_minute: u32,
    /// The largest share of a CPU, from 0 to 1. The recorder turns itself off above it.
    pub cpu_limit: f64,
    /// Which of the spans that are in the rings already are read.
    pub start: Start,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            conditions: Vec::new(),
            spans: 1 << 14,
            in_flight: 1 << 14,
            after_ns: 1_000_000,
            copies: 2,
            at_once: 8,
            per_minute: 60,
            cpu_limit: 0.5,
            start: Start::Oldest,
        }
    }
}

/// Why a program cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlightError {
    /// The spans of a thread cannot be opened.
    #[error(transparent)]
    Thread(#[from] TraceError),
    /// There is no thread.
    #[error("no traced thread: a recorder needs one to 65,535")]
    NoThreads,
    /// An option is out of its range.
    #[error("{option} is {value}, but must be {range}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Its value.
        value: f64,
        /// What it can be.
        range: &'static str,
    },
    /// A condition names a site that no thread has.
    #[error("no thread has a site {site}; the sites are {known}")]
    NoSite {
        /// The site.
        site: String,
        /// The sites of all threads.
        known: String,
    },
    /// The region of a thread has no rate of its clock.
    #[error("{}: the region of the thread is damaged: its clock has no rate", ring.display())]
    NoClock {
        /// The ring of the thread.
        ring: PathBuf,
    },
    /// The clocks of two threads differ, so the times of a message cannot be joined.
    #[error("{} and {} have different clocks: record them one by one", one.display(), other.display())]
    Clocks {
        /// The ring of a thread.
        one: PathBuf,
        /// The ring of the other.
        other: PathBuf,
    },
}

#[cfg(test)]
mod tests;
