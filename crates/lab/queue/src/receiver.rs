//! A receiver with several cores, a bounded ring in front of each, batches, and a service time for
//! each message.
//!
//! Where: `nanotape lab queue` with `--cores`, `--ring`, `--batch` or `--cost` feeds it the
//! arrivals that [`Simulation`](crate::Simulation) gets, with the service time of each.
//!
//! Definitions, beside those of [`nanotape_queue`](crate):
//!
//! 1. A message goes to core `key % cores`. Each core processes its messages in their order.
//! 2. A core that is free takes all waiting messages at once, up to the size of a batch, and none
//!    that arrives after that moment. Messages that arrive at that moment are taken too.
//! 3. A batch needs its fixed time and the service times of its messages. All of them end with it:
//!    the delay of a message is the time from its arrival to the end of its batch.
//! 4. The ring of a core has the messages in the system, those in service among them. A message
//!    that finds it full is dropped: it has no delay and needs no time.
//! 5. A message whose batch ends at the moment of an arrival has left the ring.
//!
//! Batches of one message without a fixed time are the receiver of [`nanotape_queue`](crate).
//!
//! Bounds: [`MAX_CORES`] cores, [`MAX_RING`] messages in each ring. Memory grows to the largest
//! queue.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use nanotape_trace::Histogram;

use crate::{Link, MAX_CORES, MAX_RING, QueueError};

/// How messages are taken from the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Messages that are taken at once, at most.
    pub messages: usize,
    /// The time that a batch needs beside its messages.
    pub fixed_ns: u64,
}

impl Batch {
    /// One message after another.
    pub const SINGLE: Self = Self { messages: 1, fixed_ns: 0 };
}

/// The state of a receiver after some arrivals.
#[derive(Clone, Debug)]
pub struct Receiver {
    cores: Vec<Core>,
    ring: usize,
    batch: Batch,
    last_ns: u64,
    number: u64,
    delays: Histogram,
    links: Vec<Link>,
    /// When messages leave the cores, their numbers and bytes; none without links.
    leaving: Option<Leaving>,
}

type Leaving = BinaryHeap<Reverse<(u64, u64, u64)>>;

/// One core, with its results.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// Messages in the ring that are not in service, in their order.
    waiting: VecDeque<Waiting>,
    /// Messages in service.
    serving: usize,
    /// The end of their batch.
    end_ns: u64,
    /// Messages that were processed.
    pub messages: u64,
    /// Batches that were processed.
    pub batches: u64,
    /// Messages that found the ring full.
    pub dropped: u64,
    /// The largest delay.
    pub largest_delay_ns: u64,
    /// The largest queue.
    pub largest_queue: u64,
    /// The time of processing.
    pub busy_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    at_ns: u64,
    service_ns: u64,
    number: u64,
    bytes: u64,
}

impl Receiver {
    /// A receiver with this number of cores, and so many messages in the ring of each.
    pub fn new(cores: usize, ring: usize, batch: Batch) -> Result<Self, QueueError> {
        if !(1..=MAX_CORES).contains(&cores) {
            return Err(QueueError::Cores { count: cores });
        }
        if !(1..=MAX_RING).contains(&ring) {
            return Err(QueueError::Ring { messages: ring });
        }
        if !(1..=MAX_RING).contains(&batch.messages) {
            return Err(QueueError::Batch { messages: batch.messages });
        }
        let cores = vec![Core::default(); cores];
        Ok(Self {
            cores,
            ring,
            batch,
            last_ns: 0,
            number: 0,
            delays: Histogram::fine(),
            links: Vec::new(),
            leaving: None,
        })
    }

    /// The same receiver with links behind it, before the first arrival.
    pub fn with_links(mut self, links: Vec<Link>) -> Self {
        self.leaving = (!links.is_empty()).then(Leaving::new);
        self.links = links;
        self
    }

    /// A message of this key arrives, and needs `service_ns`.
    #[inline]
    pub fn arrive(&mut self, at_ns: u64, key: u64, service_ns: u64, bytes: u64) {
        let at_ns = at_ns.max(self.last_ns);
        if at_ns > self.last_ns && !self.links.is_empty() {
            self.send_until(at_ns);
        }
        self.last_ns = at_ns;
        self.number += 1;
        let core = (key % self.cores.len() as u64) as usize;
        let core = &mut self.cores[core];
        core.advance(at_ns, self.batch, &mut self.delays, &mut self.leaving);
        let queue = core.serving + core.waiting.len();
        if queue == self.ring {
            core.dropped += 1;
            return;
        }
        core.waiting.push_back(Waiting { at_ns, service_ns, number: self.number, bytes });
        core.largest_queue = core.largest_queue.max(queue as u64 + 1);
    }

    /// Processes the messages that still wait, after the last arrival.
    pub fn finish(&mut self) {
        for core in &mut self.cores {
            while let Some(start_ns) = core.next_start_ns() {
                core.begin(start_ns, self.batch, &mut self.delays, &mut self.leaving);
            }
        }
        self.send(u64::MAX);
    }

    /// Sends what leaves before this moment: a batch that has not begun ends after it.
    fn send_until(&mut self, at_ns: u64) {
        for core in &mut self.cores {
            core.advance(at_ns, self.batch, &mut self.delays, &mut self.leaving);
        }
        self.send(at_ns);
    }

    fn send(&mut self, until_ns: u64) {
        let Some(leaving) = &mut self.leaving else { return };
        while let Some(&Reverse((leave_ns, _, bytes))) = leaving.peek()
            && leave_ns <= until_ns
        {
            leaving.pop();
            self.links.iter_mut().for_each(|link| link.arrive(leave_ns, bytes));
        }
    }

    /// The links behind it.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The stage with the largest delay, `receiver` or a link; of equal ones the first.
    pub fn bottleneck(&self) -> &str {
        let mut worst = ("receiver", self.delays.max().unwrap_or(0));
        for link in &self.links {
            if link.largest_delay_ns.value > worst.1 {
                worst = (link.name(), link.largest_delay_ns.value);
            }
        }
        worst.0
    }

    /// How messages are taken.
    pub fn batch(&self) -> Batch {
        self.batch
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

impl Core {
    /// Begins every batch before this moment: one that begins at the moment can still grow. Ends
    /// every batch up to it.
    #[inline]
    fn advance(
        &mut self,
        at_ns: u64,
        batch: Batch,
        delays: &mut Histogram,
        leaving: &mut Option<Leaving>,
    ) {
        while self.end_ns <= at_ns {
            self.serving = 0;
            match self.next_start_ns() {
                Some(start_ns) if start_ns < at_ns => self.begin(start_ns, batch, delays, leaving),
                _ => break,
            }
        }
    }

    /// The start of the next batch, if a message waits.
    #[inline]
    fn next_start_ns(&self) -> Option<u64> {
        self.waiting.front().map(|first| self.end_ns.max(first.at_ns))
    }

    /// Takes the messages that arrived up to this moment.
    #[inline]
    fn begin(
        &mut self,
        start_ns: u64,
        batch: Batch,
        delays: &mut Histogram,
        leaving: &mut Option<Leaving>,
    ) {
        let can_take = self.waiting.iter().take(batch.messages);
        let taken = can_take.take_while(|message| message.at_ns <= start_ns);
        let (count, needs_ns) = taken.fold((0, batch.fixed_ns), |(count, needs_ns), message| {
            (count + 1, needs_ns.saturating_add(message.service_ns))
        });
        // A sum beyond 64 bits means times near the end of the clock.
        self.end_ns = start_ns.saturating_add(needs_ns);
        self.serving = count;
        self.messages += count as u64;
        self.batches += 1;
        self.busy_ns = self.busy_ns.saturating_add(needs_ns);
        for message in self.waiting.drain(..count) {
            let delay_ns = self.end_ns - message.at_ns;
            self.largest_delay_ns = self.largest_delay_ns.max(delay_ns);
            delays.record(delay_ns);
            if let Some(leaving) = leaving {
                leaving.push(Reverse((self.end_ns, message.number, message.bytes)));
            }
        }
    }
}
