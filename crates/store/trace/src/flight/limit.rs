//! The recorder's own budget: the share of a CPU that it takes.

use std::fmt;

/// How long a share is measured, in ns: shorter ones would turn a recorder off for one copy.
const WINDOW_NS: u64 = 1_000_000_000;

/// A recorder that turned itself off.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Off {
    /// When, in ns since its first poll.
    pub after_ns: u64,
    /// The share of a CPU that it took in the last second.
    pub share: f64,
    /// Its limit.
    pub limit: f64,
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (after, share) = (self.after_ns as f64 / 1e9, self.share * 100.0);
        let limit = self.limit * 100.0;
        write!(
            f,
            "the recorder turned itself off after {after:.1} s: it took {share:.1}% of a CPU, \
             limit {limit:.1}%"
        )
    }
}

#[derive(Debug)]
pub(super) struct Limit {
    limit: f64,
    first_ns: Option<u64>,
    /// The begin of the window, and the thread's CPU time then.
    window: Option<(u64, u64)>,
    off: Option<Off>,
}

impl Limit {
    pub(super) fn new(limit: f64) -> Self {
        Self { limit, first_ns: None, window: None, off: None }
    }

    pub(super) fn off(&self) -> Option<Off> {
        self.off
    }

    /// Compares the CPU time of the last window with the limit, once a window.
    pub(super) fn check(&mut self, now_ns: u64, cpu_ns: impl FnOnce() -> u64) {
        let first_ns = *self.first_ns.get_or_insert(now_ns);
        match self.window {
            Some((begin_ns, _)) if now_ns.saturating_sub(begin_ns) < WINDOW_NS => {}
            None => self.window = Some((now_ns, cpu_ns())),
            Some((begin_ns, cpu_before)) => {
                let cpu_now = cpu_ns();
                let took = cpu_now.saturating_sub(cpu_before) as f64;
                let share = took / now_ns.saturating_sub(begin_ns) as f64;
                self.window = Some((now_ns, cpu_now));
                if share > self.limit && self.off.is_none() {
                    let after_ns = now_ns.saturating_sub(first_ns);
                    self.off = Some(Off { after_ns, share, limit: self.limit });
                }
            }
        }
    }
}
