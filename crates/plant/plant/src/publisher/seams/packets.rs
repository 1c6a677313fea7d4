//! The stages of a message of a live session before it is decoded.
//!
//! ```text
//! ts_recv -- plant.receive --> the plant has the packet
//!         -- plant.arbitrate --> its line and number are checked, and its messages are handed on
//!         -- plant.queue --> the earlier messages of the packet are done; plant.decode begins
//! ```
//!
//! The first message of a packet has no `plant.queue`. A message that was kept until earlier ones
//! came has no `plant.receive`: all of its time since `ts_recv` is `plant.arbitrate`.
//! Accuracy: `ts_recv` is the kernel's UTC. It becomes a stamp by the clock of the publisher, which
//! follows the kernel's once a second while spans are on. `docs/formats/spans.md` has the error.
//! Cost: a test and a store for each packet while spans are off; two stamps for each packet while
//! they are on.

use nanotape_clock::{Clock, Stamp};
use nanotape_trace::spans::{Site, Tracer};

use super::{SITES, Seams};

const RECEIVE: Site = SITES.site("plant.receive");
const ARBITRATE: Site = SITES.site("plant.arbitrate");
const QUEUE: Site = SITES.site("plant.queue");

/// The packet of the next message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packets {
    /// The receive time of the last packet, and when the plant had it; `None` if the source has no
    /// packets, or nothing was on.
    arrived: Option<(u64, Stamp)>,
    handed_on: Option<HandedOn>,
}

/// Messages that were handed on together.
#[derive(Clone, Copy, Debug)]
struct HandedOn {
    ts_recv_ns: u64,
    /// When the plant had the packet; `None` if it kept the messages until earlier ones came.
    had: Option<Stamp>,
    at: Stamp,
}

impl HandedOn {
    /// Writes the stages before the messages were handed on. Returns when they were received.
    fn trace(&self, number: u64, tracer: &mut Tracer, clock: &Clock) -> Stamp {
        let received = received(self.ts_recv_ns, self.had.unwrap_or(self.at), clock);
        if let Some(had) = self.had {
            tracer.span(RECEIVE, number, self.ts_recv_ns, received..had);
        }
        let was_kept = u64::from(self.had.is_none());
        tracer.span(ARBITRATE, number, was_kept, self.had.unwrap_or(received)..self.at);
        received
    }
}

impl Seams {
    /// A packet is at hand that was received at this time.
    #[inline]
    pub(in crate::publisher) fn arrived(&mut self, ts_recv_ns: u64, clock: &Clock) {
        self.packets.arrived = match self.is_needed() {
            true => Some((ts_recv_ns, clock.stamp_unfenced())),
            false => None,
        };
    }

    /// The next messages are handed on. They are of the packet that was received at this time.
    #[inline]
    pub(in crate::publisher) fn received(&mut self, ts_recv_ns: u64, clock: &Clock) {
        self.packets.handed_on = match self.packets.arrived {
            Some(arrived) if self.is_needed() => Some(self.hand_on(ts_recv_ns, arrived, clock)),
            _ => None,
        };
    }

    #[cold]
    #[inline(never)]
    fn hand_on(&self, ts_recv_ns: u64, (arrived_ns, had): (u64, Stamp), clock: &Clock) -> HandedOn {
        let at = if self.is_sampled { clock.stamp() } else { clock.stamp_unfenced() };
        HandedOn { ts_recv_ns, had: (arrived_ns == ts_recv_ns).then_some(had), at: at.max(had) }
    }

    /// The message with this number is the current one: ends its stages before the decoding.
    #[inline(always)]
    pub(in crate::publisher) fn enter(&mut self, number: u64, clock: &Clock) {
        self.number = number;
        if let Some(packet) = self.packets.handed_on {
            self.leave(packet, number, clock);
        }
    }

    /// Ends the stages of a packet for one of its messages.
    #[inline(never)]
    fn leave(&mut self, packet: HandedOn, number: u64, clock: &Clock) {
        if self.is_traced
            && let Some(tracer) = &mut self.tracer
        {
            let received = packet.trace(number, tracer, clock);
            // A packet that came while the plant was idle had to wait for nothing.
            let was_idle = self.last <= received;
            self.started = if was_idle { received } else { self.last.max(packet.at) }.ticks();
            if self.last > packet.at {
                tracer.span(QUEUE, number, 0, packet.at..self.last);
            }
        }
        // The plant might have been idle before the packet.
        self.last = self.last.max(packet.at);
    }
}

/// The stamp of a receive time before `until`; `until` itself if the clock has no earlier time.
fn received(ts_recv_ns: u64, until: Stamp, clock: &Clock) -> Stamp {
    let waited_ns = clock.utc(until).unix_ns().saturating_sub(ts_recv_ns);
    let ticks = waited_ns as f64 * clock.rate().ticks_per_second / 1e9;
    Stamp::from_ticks(until.ticks().saturating_sub(ticks as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receive_time_becomes_a_stamp_before_that_of_the_packet() {
        let clock = Clock::calibrate();
        let now = clock.stamp();
        let now_ns = clock.utc(now).unix_ns();
        for waited_ns in [0, 1, 1_000, 1_000_000_000] {
            let stamp = received(now_ns - waited_ns, now, &clock);
            let between = clock.nanos_between(stamp, now);
            assert!(between.abs_diff(waited_ns) <= 2, "{waited_ns}: {between}");
        }
        assert_eq!(received(now_ns + 1_000, now, &clock), now, "later than the packet");
        assert_eq!(received(0, now, &clock).ticks(), 0, "before the machine had started");
    }
}
