//! The longest service time with which a share of all messages stays below a limit.
//!
//! A delay never shrinks if the service time grows, so the service times that are good enough end
//! at one number. Each pass over the arrivals tries up to [`LANES`] service times between the
//! longest one that was good enough and the shortest one that was not.

use super::{LANES, MAX_SERVICE_NS, ServiceResult};

/// `p99.99 below 10 us`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Question {
    /// The share of all messages, more than 0 and at most 1.
    pub quantile: f64,
    /// The delay that they must not exceed.
    pub limit_ns: u64,
}

impl Question {
    /// Whether so many of `messages` can exceed the limit: the quantile is the value of the nearest
    /// rank, as in [`nanotape_trace::Histogram::quantile`].
    pub fn is_met(&self, messages: u64, over: u64) -> bool {
        let rank = (self.quantile * messages as f64).ceil() as u64;
        rank.clamp(1, messages.max(1)) <= messages.saturating_sub(over) || messages == 0
    }
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

    /// Learns from the results of a simulation whose limit number `limit` is that of the question.
    pub fn learn(&mut self, question: &Question, limit: usize, results: &[ServiceResult]) {
        for result in results {
            let over = result.over.get(limit).copied().unwrap_or(0);
            let ns = result.service_ns;
            if question.is_met(result.delays.count(), over) {
                self.good_ns = self.good_ns.max(ns);
            } else {
                self.bad_ns = Some(self.bad_ns.map_or(ns, |bad_ns| bad_ns.min(ns)));
            }
        }
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
    use crate::queue::Simulation;

    #[test]
    fn a_question_is_met_by_the_nearest_rank() {
        let question = |quantile| Question { quantile, limit_ns: 10 };
        assert!(question(0.99).is_met(100, 1));
        assert!(!question(0.99).is_met(100, 2));
        assert!(question(1.0).is_met(100, 0) && !question(1.0).is_met(100, 1));
        assert!(question(0.5).is_met(0, 0), "no message is late");
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
        for (quantile, limit_ns) in [(0.5, 5_000), (0.99, 20_000), (1.0, 40_000)] {
            let question = Question { quantile, limit_ns };
            let mut search = Search::new();
            for pass in 0.. {
                assert!(pass < 5, "60^4 is more than 10 ms");
                let services = search.next();
                if services.is_empty() {
                    break;
                }
                let mut simulation = Simulation::new(&services, &[limit_ns], 1_000).unwrap();
                sorted.iter().for_each(|&at| simulation.arrive(at));
                search.learn(&question, 0, &simulation.finish().services);
            }
            // One service time after another.
            let is_met = |service: u64| {
                let mut free_at = 0;
                let delays = sorted.iter().map(|&at| {
                    free_at = at.max(free_at) + service;
                    free_at - at
                });
                let over = delays.filter(|&delay| delay > limit_ns).count() as u64;
                question.is_met(sorted.len() as u64, over)
            };
            let expected = (1..).take_while(|&service| is_met(service)).last().unwrap_or(0);
            assert_eq!(search, Search { good_ns: expected, bad_ns: Some(expected + 1) });
        }
    }
}
