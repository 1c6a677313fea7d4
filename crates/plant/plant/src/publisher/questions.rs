//! Queries the kernel after a slow message for its counts of the thread.
//!
//! Where: the [`Seams`](super::seams::Seams) of a message that is traced, if its site `kernel.ask`
//! is on. The answers are spans without a length, whose values are the counts; `nanotape explain`
//! finds the cause in them.
//! The counts cover the time since the last mark. A plant marks after a query, and before it waits
//! for a message; a plant that reads a file as fast as it can, once in 255 messages.
//! Cost: a question and a mark take two or three system calls, about a microsecond.

use std::time::Duration;

use nanotape_clock::{Clock, Stamp};
use nanotape_trace::{
    accounts::{self, Accounts, Counts},
    spans::{Site, Tracer},
};

use super::seams::SITES;

/// The time of the question itself (the thread in the upper half, the processor in the lower one).
const QUERY: Site = SITES.site(accounts::QUERY);

/// The sites of the answers.
const COUNTS: [Site; accounts::COUNTS.len()] = {
    let mut sites = [QUERY; accounts::COUNTS.len()];
    let mut at = 0;
    while at < sites.len() {
        sites[at] = SITES.site(accounts::COUNTS[at]);
        at += 1;
    }
    sites
};

/// What the kernel counts of the thread of a plant.
#[derive(Debug)]
pub(super) struct Questions {
    /// The kernel is queried about messages that take longer.
    above_ticks: u64,
    /// Opened by the thread when its site is on.
    accounts: Option<(Accounts, Counts)>,
    /// Sleep that was planned since the mark, which is no interruption.
    planned: Duration,
    /// The kernel's number of the thread.
    thread: u32,
}

impl Questions {
    pub(super) fn new(above: Duration, clock: &Clock) -> Self {
        Self {
            above_ticks: ticks(u64::try_from(above.as_nanos()).unwrap_or(u64::MAX), clock),
            accounts: None,
            planned: Duration::ZERO,
            thread: 0,
        }
    }

    /// Opens the accounts of the calling thread when they can be read, and closes them when not.
    pub(super) fn load_switches(&mut self, tracer: &Tracer, clock: &Clock) {
        match (tracer.is_on(QUERY), &self.accounts) {
            (true, None) => {
                let accounts = Accounts::open();
                let marked = accounts.read(clock, None);
                self.accounts = Some((accounts, marked));
                self.thread = accounts::thread_id();
            }
            (false, Some(_)) => self.accounts = None,
            _ => {}
        }
    }

    /// Leaves out what happened so far.
    pub(super) fn mark(&mut self, clock: &Clock) {
        if let Some((accounts, marked)) = &mut self.accounts {
            *marked = accounts.read(clock, Some(marked));
            self.planned = Duration::ZERO;
        }
    }

    /// The thread has slept since the mark because it had nothing to do. What it overslept counts.
    pub(super) fn slept(&mut self, planned: Duration) {
        self.planned += planned;
    }

    /// Whether the kernel is queried about a message that took so long.
    pub(super) fn are_worth(&self, took_ticks: u64) -> bool {
        self.accounts.is_some() && took_ticks > self.above_ticks
    }

    /// Queries the kernel about the message that ended at `from`, and gives the answers to the
    /// tracer. Returns when the query ended.
    pub(super) fn query(
        &mut self,
        tracer: &mut Tracer,
        clock: &Clock,
        number: u64,
        from: Stamp,
    ) -> Stamp {
        let Some((accounts, marked)) = &mut self.accounts else { return from };
        let now = accounts.read(clock, Some(marked));
        let mut used = now.since(marked, clock);
        if !self.planned.is_zero() {
            let planned_ns = u64::try_from(self.planned.as_nanos()).unwrap_or(u64::MAX);
            used.elapsed_ns = used.elapsed_ns.saturating_sub(planned_ns);
            used.voluntary_switches = used.voluntary_switches.saturating_sub(1);
            self.planned = Duration::ZERO;
        }
        *marked = now;
        let cpu = accounts::cpu().unwrap_or(u32::MAX);
        let to = clock.stamp_unfenced();
        let place = u64::from(self.thread) << 32 | u64::from(cpu);
        tracer.span(QUERY, number, place, from..to);
        for (site, value) in COUNTS.into_iter().zip(used.counts()) {
            tracer.span(site, number, value, to..to);
        }
        to
    }
}

/// Nanoseconds as ticks.
pub(super) fn ticks(nanos: u64, clock: &Clock) -> u64 {
    (nanos as f64 * clock.rate().ticks_per_second / 1e9) as u64
}
