//! The links behind a receiver, such as the disk of a recorder or the network of a follower.
//!
//! Where: `nanotape lab queue --link` feeds them what leaves a [`Receiver`](crate::Receiver).
//!
//! Definitions, beside those of [`nanotape_queue`](crate):
//!
//! 1. Each link gets every message, at the moment at which it leaves the receiver. Links do not
//!    wait for each other, and the receiver does not wait for them.
//! 2. A link sends one message after another. A message occupies it for a fixed time and for its
//!    bits at the rate of the link, rounded up to a whole picosecond.
//! 3. The backlog is the messages in the link just after one came, the new one among them. The
//!    message that is being sent counts with all of its bytes. An earlier message whose sending
//!    ends at that moment has left.
//! 4. A link with a ring drops a message that finds that many in the link.
//! 5. The delay of a message is the time from its arrival at the link to the end of its sending,
//!    rounded up to a whole nanosecond.
//!
//! Bounds: [`MAX_LINKS`] links, and [`MAX_BACKLOG`] messages in each: more are dropped.

use std::collections::VecDeque;

use nanotape_trace::Histogram;

/// Links behind one receiver.
pub const MAX_LINKS: usize = 16;

/// Messages in a link.
pub const MAX_BACKLOG: usize = 1 << 22;

/// The fastest link, in bits a second.
pub const MAX_BITS_PER_SECOND: u64 = 10_000_000_000_000;

const PICOS: u128 = 1_000;

/// What a link needs for a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkOptions {
    /// Its name.
    pub name: String,
    /// Its rate; None: bytes take no time.
    pub bits_per_second: Option<u64>,
    /// The fixed time of a message.
    pub message_ns: u64,
    /// Bytes of each message; None: its own length.
    pub bytes: Option<u64>,
    /// Messages in the link, at most.
    pub ring: Option<usize>,
}

/// One link, with its results.
#[derive(Clone, Debug)]
pub struct Link {
    options: LinkOptions,
    /// The moments at which the messages leave, in ps, and their bytes.
    leaves: VecDeque<(u128, u64)>,
    backlog_bytes: u64,
    delays: Histogram,
    busy_ps: u128,
    /// Messages that were sent.
    pub messages: u64,
    /// Messages that were dropped.
    pub dropped: u64,
    /// Bytes of the messages that were sent.
    pub bytes: u64,
    /// The largest delay in ns, and the first arrival with it.
    pub largest_delay_ns: Peak,
    /// The largest backlog in bytes.
    pub largest_bytes: Peak,
    /// The largest backlog in messages.
    pub largest_messages: Peak,
}

/// The largest value, and the first moment that had it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Peak {
    /// The value; 0 before the first.
    pub value: u64,
    /// The moment in ns.
    pub at_ns: u64,
}

impl Peak {
    #[inline]
    fn learn(&mut self, value: u64, at_ns: u64) {
        if value > self.value {
            *self = Self { value, at_ns };
        }
    }
}

impl Link {
    /// An idle link. A rate of 0 counts as 1 bit a second.
    pub fn new(options: LinkOptions) -> Self {
        Self {
            options,
            leaves: VecDeque::new(),
            backlog_bytes: 0,
            delays: Histogram::fine(),
            busy_ps: 0,
            messages: 0,
            dropped: 0,
            bytes: 0,
            largest_delay_ns: Peak::default(),
            largest_bytes: Peak::default(),
            largest_messages: Peak::default(),
        }
    }

    /// A message of so many bytes comes. Moments must not go back.
    #[inline]
    pub fn arrive(&mut self, at_ns: u64, bytes: u64) {
        let at_ps = u128::from(at_ns) * PICOS;
        while let Some(&(leave_ps, sent)) = self.leaves.front()
            && leave_ps <= at_ps
        {
            self.leaves.pop_front();
            self.backlog_bytes -= sent;
        }
        if self.leaves.len() >= self.options.ring.unwrap_or(MAX_BACKLOG) {
            self.dropped += 1;
            return;
        }
        let bytes = self.options.bytes.unwrap_or(bytes);
        let needs_ps = self.needs_ps(bytes);
        let leave_ps = self.leaves.back().map_or(at_ps, |last| last.0) + needs_ps;
        self.leaves.push_back((leave_ps, bytes));
        self.backlog_bytes = self.backlog_bytes.saturating_add(bytes);
        self.busy_ps += needs_ps;
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        let delay_ns = whole_ns(leave_ps - at_ps);
        self.delays.record(delay_ns);
        self.largest_delay_ns.learn(delay_ns, at_ns);
        self.largest_bytes.learn(self.backlog_bytes, at_ns);
        self.largest_messages.learn(self.leaves.len() as u64, at_ns);
    }

    /// The time that a message of so many bytes needs.
    #[inline]
    fn needs_ps(&self, bytes: u64) -> u128 {
        let fixed_ps = u128::from(self.options.message_ns) * PICOS;
        let bits = u128::from(bytes) * 8;
        let rate = |bits_per_second: u64| {
            // 10^12 picoseconds a second.
            (bits * 1_000_000_000_000).div_ceil(u128::from(bits_per_second.max(1)))
        };
        fixed_ps + self.options.bits_per_second.map_or(0, rate)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// The delays of all messages that were sent.
    pub fn delays(&self) -> &Histogram {
        &self.delays
    }

    /// The time of sending, rounded up.
    pub fn busy_ns(&self) -> u64 {
        whole_ns(self.busy_ps)
    }
}

/// Rounded up; at most 64 bits.
#[inline]
fn whole_ns(ps: u128) -> u64 {
    u64::try_from(ps.div_ceil(PICOS)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn options(bits_per_second: Option<u64>, message_ns: u64) -> LinkOptions {
        LinkOptions {
            name: "disk".to_owned(),
            bits_per_second,
            message_ns,
            bytes: None,
            ring: None,
        }
    }

    proptest! {
        #[test]
        fn a_link_equals_a_naive_one(
            messages in prop::collection::vec((0..300_u64, 0..200_u64), 0..200),
            rate in prop::option::of(1_000_000_000..20_000_000_000_u64),
            message_ns in 0..100_u64,
            ring in prop::option::of(1..10_usize),
        ) {
            let mut link = Link::new(LinkOptions { ring, ..options(rate, message_ns) });
            let mut naive: Vec<(u128, u64)> = Vec::new();
            let (mut now, mut delays, mut backlogs, mut counts) = (0, vec![], vec![], vec![]);
            for &(gap, bytes) in &messages {
                now += gap;
                link.arrive(now, bytes);
                let now_ps = u128::from(now) * 1_000;
                let inside = naive.iter().filter(|leave| leave.0 > now_ps);
                let (count, backlog) =
                    (inside.clone().count(), inside.map(|leave| leave.1).sum::<u64>());
                if ring == Some(count) {
                    continue;
                }
                // The new message counts, also one that takes no time.
                counts.push((count as u64 + 1, now));
                backlogs.push((backlog + bytes, now));
                let transfer_ps = rate.map_or(0, |rate| {
                    let ps = u128::from(bytes) * 8 * 1_000_000_000_000;
                    ps / u128::from(rate) + u128::from(!ps.is_multiple_of(u128::from(rate)))
                });
                let free_ps = naive.last().map_or(0, |last| last.0).max(now_ps);
                naive.push((free_ps + u128::from(message_ns) * 1_000 + transfer_ps, bytes));
                let delay_ps = naive[naive.len() - 1].0 - now_ps;
                delays.push((delay_ps.div_ceil(1_000) as u64, now));
            }
            prop_assert_eq!(link.messages, naive.len() as u64);
            prop_assert_eq!(link.dropped, (messages.len() - naive.len()) as u64);
            prop_assert_eq!(link.delays().max(), delays.iter().map(|delay| delay.0).max());
            for (found, naive) in [
                (link.largest_delay_ns, delays),
                (link.largest_bytes, backlogs),
                (link.largest_messages, counts),
            ] {
                let largest = naive.iter().map(|one| one.0).max().unwrap_or(0);
                prop_assert_eq!(found.value, largest);
                let first = naive.iter().find(|one| one.0 == largest);
                if largest > 0 {
                    prop_assert_eq!(Some(found.at_ns), first.map(|one| one.1));
                }
            }
        }
    }

    #[test]
    fn a_message_occupies_a_link_for_its_bits_and_a_fixed_time() {
        // 3 bits a nanosecond: 8 bits need 2,667 ps.
        let mut link = Link::new(options(Some(3_000_000_000), 10));
        link.arrive(100, 1);
        link.arrive(100, 1);
        assert_eq!(link.busy_ns(), 26, "25.334 ns");
        assert_eq!(link.largest_delay_ns, Peak { value: 26, at_ns: 100 });
        assert_eq!(link.largest_bytes, Peak { value: 2, at_ns: 100 });
        // The end of the clock, and the largest message, are no panic.
        let mut slow = Link::new(options(Some(0), u64::MAX));
        slow.arrive(u64::MAX, u64::MAX);
        slow.arrive(u64::MAX, u64::MAX);
        assert_eq!(slow.busy_ns(), u64::MAX);
    }
}
