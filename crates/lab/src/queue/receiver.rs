//! A receiver with several cores, a bounded ring in front of each, and a service time for each
//! message.
//!
//! Where: `nanotape lab queue` with `--cores`, `--ring` or `--cost` feeds it the arrivals that
//! [`Simulation`](super::Simulation) gets, with the service time of each.
//!
//! Definitions, beside those of [`queue`](super):
//!
//! 1. A message goes to core `key % cores`. Each core processes its messages one after another.
//! 2. The ring of a core has the messages in the system, the one in service among them. A message
//!    that finds it full is dropped: it has no delay and needs no time.
//! 3. A message whose processing ends at the moment of an arrival has left the ring.
//!
//! Bounds: [`MAX_CORES`] cores, [`MAX_RING`] messages in each ring. Memory grows to the largest
//! queue.

use std::collections::VecDeque;

use nanotape_trace::Histogram;

use super::QueueError;

/// Cores of a receiver.
pub const MAX_CORES: usize = 256;

/// Messages in the ring of a core.
pub const MAX_RING: usize = 1 << 20;

/// The state of a receiver after some arrivals.
#[derive(Clone, Debug)]
pub struct Receiver {
    cores: Vec<Core>,
    ring: usize,
    last_ns: u64,
    delays: Histogram,
}

/// One core, with its results.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// The moments at which the messages in the system leave, ascending.
    leaves: VecDeque<u64>,
    /// Messages that were processed.
    pub messages: u64,
    /// Messages that found the ring full.
    pub dropped: u64,
    /// The largest delay.
    pub largest_delay_ns: u64,
    /// The largest queue.
    pub largest_queue: u64,
    /// The time of processing.
    pub busy_ns: u64,
}

impl Receiver {
    /// A receiver with this number of cores, and so many messages in the ring of each.
    pub fn new(cores: usize, ring: usize) -> Result<Self, QueueError> {
        if !(1..=MAX_CORES).contains(&cores) {
            return Err(QueueError::Cores { count: cores });
        }
        if !(1..=MAX_RING).contains(&ring) {
            return Err(QueueError::Ring { messages: ring });
        }
        let cores = vec![Core::default(); cores];
        Ok(Self { cores, ring, last_ns: 0, delays: Histogram::fine() })
    }

    /// A message of this key arrives, and needs `service_ns`.
    #[inline]
    pub fn arrive(&mut self, at_ns: u64, key: u64, service_ns: u64) {
        let at_ns = at_ns.max(self.last_ns);
        self.last_ns = at_ns;
        let core = (key % self.cores.len() as u64) as usize;
        let core = &mut self.cores[core];
        while core.leaves.front().is_some_and(|&leave_ns| leave_ns <= at_ns) {
            core.leaves.pop_front();
        }
        if core.leaves.len() == self.ring {
            core.dropped += 1;
            return;
        }
        let start_ns = core.leaves.back().copied().unwrap_or(at_ns);
        // A sum beyond 64 bits means times near the end of the clock.
        let leave_ns = start_ns.saturating_add(service_ns);
        core.leaves.push_back(leave_ns);
        core.messages += 1;
        core.busy_ns = core.busy_ns.saturating_add(service_ns);
        core.largest_delay_ns = core.largest_delay_ns.max(leave_ns - at_ns);
        core.largest_queue = core.largest_queue.max(core.leaves.len() as u64);
        self.delays.record(leave_ns - at_ns);
    }

    /// The cores, in the order of their numbers.
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The delays of all messages that were processed.
    pub fn delays(&self) -> &Histogram {
        &self.delays
    }

    /// Messages that found a ring full.
    pub fn dropped(&self) -> u64 {
        self.cores.iter().map(|core| core.dropped).sum()
    }
}
