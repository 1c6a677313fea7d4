//! `--ring`: the speed of the input at which the ring drops, and the burst that drops first.

use std::fmt::Write as _;

use nanotape_console::values::{counted, grouped, nanos_text};
use nanotape_queue::{Capacity, Question, Search, capacity_record};
use serde_json::Value;

use super::{QueueCommand, text::time};

/// The drops of a ring at several speeds of the input.
pub(super) struct RingCapacity {
    capacity: Capacity,
    /// The longest service time that drops none, and the next one.
    good_ns: u64,
    bad_ns: u64,
}

impl QueueCommand {
    /// The capacity of the ring, if there is one, the search for its service time ended, and a
    /// service time up to 10 ms drops.
    pub(super) fn ring_capacity(
        &self,
        answers: &[(Question, Search)],
        at_ns: Option<u64>,
    ) -> anyhow::Result<Option<RingCapacity>> {
        let found = answers.iter().find_map(|(question, search)| match *question {
            Question::Ring { messages } => Some((messages, search.good_ns, search.bad_ns?)),
            Question::Delay { .. } => None,
        });
        let (Some((ring, good_ns, bad_ns)), Some(at_ns)) = (found, at_ns) else { return Ok(None) };
        if bad_ns - good_ns != 1 {
            return Ok(None);
        }
        let mut capacity = Capacity::of_receiver(ring, at_ns, bad_ns);
        self.read_arrivals(|at_ns, _, _| capacity.arrive(at_ns))?;
        Ok(Some(RingCapacity { capacity, good_ns, bad_ns }))
    }
}

impl RingCapacity {
    pub(super) fn record(&self) -> Value {
        capacity_record(&self.capacity, self.good_ns, self.bad_ns)
    }

    /// The sentence and the drops at each speed.
    pub(super) fn text(&self) -> String {
        let capacity = &self.capacity;
        let (holds, drops) = (capacity.factor(self.good_ns), capacity.factor(self.bad_ns));
        let mut text = String::new();
        let first = capacity.speeds().iter().find(|speed| speed.service_ns == self.bad_ns);
        if let Some(first) = first.and_then(|speed| speed.first) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "at {drops:.4} times the speed of this input you drop: first at {}, message {} of \
                 the burst from {}; at {holds:.4} times you drop none",
                time(first.dropped_ns),
                grouped(first.message),
                time(first.burst_ns),
            );
        }
        for speed in capacity.speeds() {
            let _ = writeln!(
                text,
                "  {:>8.4} times this speed (as {} a message): {} dropped in {}",
                capacity.factor(speed.service_ns),
                nanos_text(speed.service_ns),
                grouped(speed.dropped),
                counted(speed.bursts, "burst"),
            );
        }
        text
    }
}
