//! The speeds of an input at which a ring of messages drops, and the burst that drops first.
//!
//! Where: `nanotape lab queue --ring` feeds it the arrivals once more, when it knows the longest
//! service time with which the ring drops none.
//!
//! Definitions, beside those of [`nanotape_queue`](crate):
//!
//! 1. The ring has the messages in the system, the one in service among them. A message that finds
//!    it full is dropped: it needs no time.
//! 2. At `f` times its speed all times between arrivals of an input are divided by `f`. The queue
//!    is then that of a service time multiplied by `f`: each condition compares a sum of times
//!    between arrivals with a sum of service times. So a service time stands for a speed: that time
//!    divided by the one of the receiver.
//! 3. A burst begins with the message that finds the receiver idle, and ends before the next one
//!    that does.
//!
//! Bounds: [`MAX_SPEEDS`] speeds, and a few numbers for each. With a constant service time the
//! queue is the work that is left, divided by it, so no message is stored.

/// Speeds of one simulation.
pub const MAX_SPEEDS: usize = 16;

/// The speeds that [`Capacity::of_receiver`] tries.
const SPEEDS: [f64; 9] = [1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0];

/// A ring at several speeds of one series of arrivals.
#[derive(Clone, Debug)]
pub struct Capacity {
    ring: u64,
    receiver_ns: u64,
    speeds: Vec<Speed>,
    last_ns: u64,
}

/// The drops at one speed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Speed {
    /// The service time that stands for the speed.
    pub service_ns: u64,
    /// Messages that found the ring full.
    pub dropped: u64,
    /// Bursts with such a message.
    pub bursts: u64,
    /// The burst that drops first.
    pub first: Option<FirstDrop>,
    /// The moment at which the receiver is idle.
    idle_ns: u64,
    burst_ns: u64,
    burst_messages: u64,
    has_dropped: bool,
}

/// The first message that is dropped, and its burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstDrop {
    /// The arrival of the first message of the burst.
    pub burst_ns: u64,
    /// The arrival of the dropped message.
    pub dropped_ns: u64,
    /// Its number in the burst, from 1.
    pub message: u64,
}

impl Capacity {
    /// A ring of `ring` messages in front of a receiver that takes `receiver_ns` a message, at the
    /// speeds that `services_ns` stand for. Speeds beyond [`MAX_SPEEDS`] are left out.
    pub fn new(ring: u64, receiver_ns: u64, services_ns: &[u64]) -> Self {
        let speed = |&service_ns: &u64| Speed {
            service_ns,
            dropped: 0,
            bursts: 0,
            first: None,
            idle_ns: 0,
            burst_ns: 0,
            burst_messages: 0,
            has_dropped: false,
        };
        let speeds = services_ns.iter().take(MAX_SPEEDS).map(speed).collect();
        Self { ring: ring.max(1), receiver_ns, speeds, last_ns: 0 }
    }

    /// The ring at the first speed at which it drops, for which `bad_ns` stands, and at some speeds
    /// up to 10.
    pub fn of_receiver(ring: u64, receiver_ns: u64, bad_ns: u64) -> Self {
        let mut services: Vec<u64> =
            SPEEDS.iter().map(|speed| (receiver_ns as f64 * speed).ceil() as u64).collect();
        services.push(bad_ns);
        services.sort_unstable();
        services.dedup();
        Self::new(ring, receiver_ns, &services)
    }

    /// A message arrives.
    #[inline]
    pub fn arrive(&mut self, at_ns: u64) {
        let at_ns = at_ns.max(self.last_ns);
        self.last_ns = at_ns;
        for speed in &mut self.speeds {
            speed.arrive(at_ns, self.ring);
        }
    }

    /// Messages of the ring.
    pub fn ring(&self) -> u64 {
        self.ring
    }

    /// The service time of the receiver.
    pub fn receiver_ns(&self) -> u64 {
        self.receiver_ns
    }

    /// The results, in the order of the service times that were given.
    pub fn speeds(&self) -> &[Speed] {
        &self.speeds
    }

    /// The factor by which the times between arrivals are divided, for which a service time stands.
    pub fn factor(&self, service_ns: u64) -> f64 {
        service_ns as f64 / self.receiver_ns as f64
    }
}

impl Speed {
    #[inline]
    fn arrive(&mut self, at_ns: u64, ring: u64) {
        if self.idle_ns <= at_ns {
            self.idle_ns = at_ns;
            self.burst_ns = at_ns;
            self.burst_messages = 0;
            self.has_dropped = false;
        }
        self.burst_messages += 1;
        // A full ring has more work left than that of one message less.
        if self.idle_ns - at_ns > (ring - 1).saturating_mul(self.service_ns) {
            self.drop_message(at_ns);
        } else {
            self.idle_ns = self.idle_ns.saturating_add(self.service_ns);
        }
    }

    #[cold]
    fn drop_message(&mut self, at_ns: u64) {
        self.dropped += 1;
        self.bursts += u64::from(!self.has_dropped);
        self.has_dropped = true;
        let (burst_ns, message) = (self.burst_ns, self.burst_messages);
        self.first.get_or_insert(FirstDrop { burst_ns, dropped_ns: at_ns, message });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same with a list of the moments at which messages leave, and times between arrivals
    /// multiplied by `scale` so that a speed is a fraction of whole numbers.
    fn naive(arrivals: &[u64], scale: u64, ring: usize, service: u64) -> (u64, u64, Option<u64>) {
        let (mut leaves, mut dropped, mut bursts) = (Vec::<u64>::new(), 0, 0);
        let (mut first, mut has_dropped) = (None, false);
        for at in arrivals.iter().map(|at| at * scale) {
            leaves.retain(|&leave| leave > at);
            has_dropped &= !leaves.is_empty();
            if leaves.len() == ring {
                dropped += 1;
                bursts += u64::from(!has_dropped);
                has_dropped = true;
                first.get_or_insert(at / scale);
            } else {
                leaves.push(leaves.last().copied().unwrap_or(at) + service);
            }
        }
        (dropped, bursts, first)
    }

    proptest! {
        #[test]
        fn a_speed_is_the_ratio_of_two_service_times(
            gaps in prop::collection::vec(prop_oneof![Just(0), 0..300_u64], 0..200),
            receiver in 1..80_u64,
            services in prop::collection::vec(1..400_u64, 1..5),
            ring in 1..12_usize,
        ) {
            let mut now = 0;
            let arrivals: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
            let mut capacity = Capacity::new(ring as u64, receiver, &services);
            arrivals.iter().for_each(|&at| capacity.arrive(at));
            for (speed, &service) in capacity.speeds().iter().zip(&services) {
                // Gaps times receiver / service, and the service time of the receiver; both times
                // `service`, so that all numbers are whole.
                let (dropped, bursts, first) = naive(&arrivals, receiver, ring, receiver * service);
                prop_assert_eq!((speed.dropped, speed.bursts), (dropped, bursts));
                prop_assert_eq!(speed.first.map(|first| first.dropped_ns), first);
            }
        }
    }

    #[test]
    fn the_first_drop_names_its_burst() {
        let mut capacity = Capacity::new(2, 10, &[10, 30]);
        [0, 100, 115, 118, 119, 500].iter().for_each(|&at| capacity.arrive(at));
        let [at_speed, faster] = capacity.speeds() else { panic!("two speeds") };
        let first = FirstDrop { burst_ns: 115, dropped_ns: 119, message: 3 };
        assert_eq!((at_speed.dropped, at_speed.bursts, at_speed.first), (1, 1, Some(first)));
        let first = FirstDrop { burst_ns: 100, dropped_ns: 118, message: 3 };
        assert_eq!((faster.dropped, faster.bursts, faster.first), (2, 1, Some(first)));
        assert_eq!(capacity.factor(30), 3.0);
        // The end of the clock is no panic.
        capacity.arrive(u64::MAX);
        capacity.arrive(u64::MAX);
    }

    #[test]
    fn the_speeds_of_a_receiver_have_the_first_one_that_drops() {
        let capacity = Capacity::of_receiver(8, 400, 641);
        let services: Vec<u64> = capacity.speeds().iter().map(|speed| speed.service_ns).collect();
        assert_eq!(services, [400, 500, 600, 641, 800, 1_000, 1_200, 1_600, 2_400, 4_000]);
    }
}
