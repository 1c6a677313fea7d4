//! The worst bursts of an input: the messages that a receiver takes without an idle moment.
//!
//! Where: `nanotape lab queue --bursts` keeps their bytes, which this module does not read.
//!
//! A burst begins with the message that finds the receiver idle, and ends before the next message
//! that does, as in [`nanotape_queue`](crate). Bursts are compared by their largest delay; of equal
//! ones the earlier is worse.
//!
//! Bounds: the number of bursts, and [`MAX_BURST_MESSAGES`] messages of each. A longer burst counts
//! all of its messages, and has the bytes of the first ones.

use crate::MAX_SERVICE_NS;

/// Messages of a burst whose bytes and arrivals are kept.
pub const MAX_BURST_MESSAGES: u64 = 1 << 16;

/// One burst.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Burst {
    /// The arrival of its first message.
    pub first_ns: u64,
    /// The arrival of its last message.
    pub last_ns: u64,
    /// Its messages.
    pub messages: u64,
    /// Its largest delay.
    pub largest_delay_ns: u64,
    /// What [`Bursts::arrive`] got for its messages, up to [`MAX_BURST_MESSAGES`].
    pub bytes: Vec<u8>,
    /// The arrivals of these messages.
    pub(super) arrivals: Vec<u64>,
}

impl Burst {
    /// The longest service time with which a ring of so many messages drops none of this burst
    /// alone, up to the [messages](MAX_BURST_MESSAGES) that are kept; `None` if it drops none at
    /// 10 ms. The ring has the message in service, and at least room for one.
    pub fn longest_service_ns(&self, ring: u64) -> Option<u64> {
        if self.fits(MAX_SERVICE_NS, ring) {
            return None;
        }
        // No message waits at 0 ns.
        let (mut good_ns, mut bad_ns) = (0, MAX_SERVICE_NS);
        while bad_ns - good_ns > 1 {
            let middle_ns = good_ns.midpoint(bad_ns);
            match self.fits(middle_ns, ring) {
                true => good_ns = middle_ns,
                false => bad_ns = middle_ns,
            }
        }
        Some(good_ns)
    }

    fn fits(&self, service_ns: u64, ring: u64) -> bool {
        let most_ns = ring.max(1).saturating_mul(service_ns);
        let mut leave_ns = 0_u64;
        self.arrivals.iter().all(|&at_ns| {
            leave_ns = leave_ns.max(at_ns).saturating_add(service_ns);
            leave_ns - at_ns <= most_ns
        })
    }
}

/// The worst bursts of a service time so far.
#[derive(Clone, Debug)]
pub struct Bursts {
    service_ns: u64,
    most: usize,
    /// Worst first.
    worst: Vec<Burst>,
    current: Burst,
    last_ns: u64,
    leave_ns: u64,
}

impl Bursts {
    /// Keeps the `most` worst bursts of a receiver that takes `service_ns` a message.
    pub fn new(service_ns: u64, most: usize) -> Self {
        let current = Burst::default();
        Self { service_ns, most, worst: Vec::new(), current, last_ns: 0, leave_ns: 0 }
    }

    /// A message arrives; `append` adds its bytes.
    pub fn arrive(&mut self, at_ns: u64, append: impl FnOnce(&mut Vec<u8>)) {
        let at_ns = at_ns.max(self.last_ns);
        self.last_ns = at_ns;
        if self.leave_ns <= at_ns {
            self.close();
            self.current.first_ns = at_ns;
            self.leave_ns = at_ns;
        }
        self.leave_ns = self.leave_ns.saturating_add(self.service_ns);
        let burst = &mut self.current;
        burst.largest_delay_ns = burst.largest_delay_ns.max(self.leave_ns - at_ns);
        burst.messages += 1;
        burst.last_ns = at_ns;
        if burst.messages <= MAX_BURST_MESSAGES {
            append(&mut burst.bytes);
            burst.arrivals.push(at_ns);
        }
    }

    /// The bursts, worst first.
    pub fn finish(mut self) -> Vec<Burst> {
        self.close();
        self.worst
    }

    /// Keeps the current burst if it is one of the worst, and begins an empty one.
    fn close(&mut self) {
        let burst = &mut self.current;
        let delay_ns = burst.largest_delay_ns;
        let rank = self.worst.partition_point(|worse| worse.largest_delay_ns >= delay_ns);
        if burst.messages > 0 && rank < self.most {
            self.worst.truncate(self.most - 1);
            self.worst.insert(rank, std::mem::take(burst));
        }
        burst.messages = 0;
        burst.largest_delay_ns = 0;
        burst.bytes.clear();
        burst.arrivals.clear();
    }
}
