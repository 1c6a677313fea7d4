//! The longest service time with which the delays or the queue stay below a limit.
//!
//! Neither a delay nor the queue shrinks if the service time grows, so the service times that are
//! good enough end at one number. Each pass over the arrivals tries up to [`LANES`] service times
//! between the longest one that was good enough and the shortest one that was not.

use crate::{LANES, MAX_SERVICE_NS, ServiceResult};

/// What a service time must keep to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Question {
    /// `p99.99 below 10 us`.
    Delay {
        /// The share of all messages, more than 0 and at most 1.
        quantile: f64,
        /// The delay that they must not exceed.
        limit_ns: u64,
        /// The number of this limit in the simulation.
        limit: usize,
    },
    /// A ring of this many messages, the one in service among them, drops none.
    Ring {
        /// The messages.
        messages: u64,
    },
}

impl Question {
    fn is_met(&self, result: &ServiceResult) -> bool {
        match *self {
            Self::Delay { quantile, limit, .. } => {
                let over = result.over.get(limit).copied().unwrap_or(0);
                is_at_or_below(quantile, result.delays.count(), over)
            }
            Self::Ring { messages } => result.largest_queue <= messages,
        }
    }
}

/// Whether so many of `messages` can exceed the limit: the quantile is the value of the nearest
/// rank, as in [`nanotape_trace::Histogram::quantile`].
fn is_at_or_below(quantile: f64, messages: u64, over: u64) -> bool {
    let rank = (quantile * messages as f64).ceil() as u64;
    rank.clamp(1, messages.max(1)) <= messages.saturating_sub(over) || messages == 0
}

/// The known bounds of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Search {
    /// The longest service time that is known to be good enough; 0 if none is.
    pub good_ns: u64,
    /// The shortest service time that is known to be too long.
    pub bad_ns: Option<u64>,
}

impl Search {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self { good_ns: 0, bad_ns: None }
    }

    /// Learns from the results of a simulation.
    pub fn learn(&mut self, question: &Question, results: &[ServiceResult]) {
        for result in results {
            let ns = result.service_ns;
            if question.is_met(result) {
                self.good_ns = self.good_ns.max(ns);
            } else {
                self.bad_ns = Some(self.bad_ns.map_or(ns, |bad_ns| bad_ns.min(ns)));
            }
        }
    }

    /// How many times faster the same messages may come for a receiver that takes `service_ns`, at
    /// least. If all times between arrivals are divided by a number, the queue is that of a service
    /// time multiplied by it.
    pub fn speed(&self, service_ns: u64) -> f64 {
        self.good_ns as f64 / service_ns as f64
    }

    /// The next service times to try, ascending; none if the bounds are next to each other.
    pub fn next(&self) -> Vec<u64> {
        let bad_ns = self.bad_ns.unwrap_or(MAX_SERVICE_NS + 1);
        let between = bad_ns.saturating_sub(self.good_ns).saturating_sub(1);
        let count = between.min(LANES as u64);
        (1..=count).map(|step| self.good_ns + (between + 1) * step / (count + 1)).collect()
    }
}

impl Default for Search {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;

    #[test]
    fn a_question_is_met_by_the_nearest_rank() {
        assert!(is_at_or_below(0.99, 100, 1) && !is_at_or_below(0.99, 100, 2));
        assert!(is_at_or_below(1.0, 100, 0) && !is_at_or_below(1.0, 100, 1));
        assert!(is_at_or_below(0.5, 0, 0), "no message is late");
    }

    #[test]
    fn the_next_service_times_are_all_between_the_bounds() {
        let narrow = Search { good_ns: 412, bad_ns: Some(415) };
        assert_eq!(narrow.next(), [413, 414]);
        assert_eq!(Search { good_ns: 412, bad_ns: Some(413) }.next(), [0; 0]);
        assert_eq!(Search { good_ns: MAX_SERVICE_NS, bad_ns: None }.next(), [0; 0]);
        let wide = Search::new().next();
        assert_eq!(wide.len(), LANES);
        assert!(wide.is_sorted_by(|one, two| one < two) && wide[LANES - 1] <= MAX_SERVICE_NS);
    }

    #[test]
    fn the_search_ends_at_the_longest_service_time_that_is_good_enough() {
        let arrivals: Vec<u64> = (0..500u64).map(|n| n * n * 7_919 % 400_000).collect();
        let mut sorted = arrivals.clone();
        sorted.sort_unstable();
        let delay = |quantile, limit_ns| Question::Delay { quantile, limit_ns, limit: 0 };
        let ring = |messages| Question::Ring { messages };
        let delays = [delay(0.5, 5_000), delay(0.99, 20_000), delay(1.0, 40_000)];
        for question in delays.into_iter().chain([ring(1), ring(20), ring(400)]) {
            let limit_ns = match question {
                Question::Delay { limit_ns, .. } => limit_ns,
                Question::Ring { .. } => 0,
            };
            let mut search = Search::new();
            for pass in 0.. {
                assert!(pass < 5, "60^4 is more than 10 ms");
                let services = search.next();
                if services.is_empty() {
                    break;
                }
                let mut simulation = Simulation::new(&services, &[limit_ns], 1_000).unwrap();
                sorted.iter().for_each(|&at| simulation.arrive(at));
                search.learn(&question, &simulation.finish().services);
            }
            // One service time after another.
            let is_met = |service: u64| {
                let (mut leaves, mut over, mut queue) = (Vec::new(), 0, 0);
                for &at in &sorted {
                    let leave = at.max(leaves.last().copied().unwrap_or(0)) + service;
                    leaves.push(leave);
                    over += u64::from(leave - at > limit_ns);
                    queue = leaves.iter().filter(|&&leave| leave > at).count().max(queue);
                }
                match question {
                    Question::Delay { quantile, .. } => {
                        is_at_or_below(quantile, sorted.len() as u64, over)
                    }
                    Question::Ring { messages } => queue as u64 <= messages,
                }
            };
            let expected = (1..).take_while(|&service| is_met(service)).last().unwrap_or(0);
            assert_eq!(search, Search { good_ns: expected, bad_ns: Some(expected + 1) });
        }
    }
}
