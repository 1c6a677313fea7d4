//! The worst bursts of an input: the messages that a receiver takes without an idle moment.
//!
//! Where: `nanotape lab queue --bursts` keeps their bytes, which this module does not read.
//!
//! A burst begins with the message that finds the receiver idle, and ends before the next message
//! that does, as in [`queue`](super). Bursts are compared by their largest delay; of equal ones the
//! earlier is worse.
//!
//! Bounds: the number of bursts, and [`MAX_BURST_MESSAGES`] messages of each. A longer burst counts
//! all of its messages, and has the bytes of the first ones.

/// Messages of a burst whose bytes are kept.
pub const MAX_BURST_MESSAGES: u64 = 1 << 16;

/// One burst.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Burst {
    /// The arrival of its first message.
    pub first_ns: u64,
    /// Its messages.
    pub messages: u64,
    /// Its largest delay.
    pub largest_delay_ns: u64,
    /// What [`Bursts::arrive`] got for its messages, up to [`MAX_BURST_MESSAGES`].
    pub bytes: Vec<u8>,
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
        if burst.messages <= MAX_BURST_MESSAGES {
            append(&mut burst.bytes);
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
    }
}
