//! Why a round trip was slow: when one of both processes did not poll.
//!
//! Protocol: each process stamps each of its turns. A turn that takes longer than [`LONGEST_NS`] is
//! an interruption: another thread had the processor, or the hypervisor, or the kernel was at work
//! for this one, such as for an interrupt or a page. All stamps are of one clock, so that the
//! interruptions of both processes are compared with the trips of the first one.
//! Cost: a stamp a turn, and no allocation.

use nanotape_clock::{Clock, Stamp};
use serde_json::{Value, json};

use crate::engine::Reading;

/// The longest usual turn: it appends, sends, receives and reads. A system call that sends brings
/// the bytes as far as the socket of the other process, up to 20 us on a virtual machine.
const LONGEST_NS: u64 = 25_000;

/// Trips up to here are not kept.
const KEPT_NS: u64 = 30_000;

/// Most of either that a process keeps.
const MOST: usize = 1 << 16;

/// Trips of more than this many times the p99 are slow.
const SLOW: u64 = 3;

/// The share of a trip's time beyond the median that interruptions must have to explain it.
const ENOUGH: f64 = 0.8;

/// A time between two stamps, in ticks.
type Span = [u64; 2];

/// What one process sees of itself.
pub(super) struct Watch {
    clock: Clock,
    last: Option<Stamp>,
    interruptions: Vec<Span>,
    trips: Vec<Span>,
}

impl Watch {
    pub(super) fn new(clock: Clock) -> Self {
        let (interruptions, trips) = (Vec::with_capacity(MOST), Vec::with_capacity(MOST));
        Self { clock, last: None, interruptions, trips }
    }

    /// A turn begins.
    #[inline(always)]
    pub(super) fn turn(&mut self) {
        let now = self.clock.stamp_unfenced();
        if let Some(last) = self.last.replace(now)
            && self.clock.nanos_between(last, now) > LONGEST_NS
        {
            keep(&mut self.interruptions, last, now);
        }
    }

    /// A trip has ended.
    #[inline(always)]
    pub(super) fn trip(&mut self, from: Stamp, to: Stamp) {
        if self.clock.nanos_between(from, to) > KEPT_NS {
            keep(&mut self.trips, from, to);
        }
    }

    /// For the report of process `side`.
    pub(super) fn detail(&self, side: usize) -> Value {
        let interruptions = [FIRST, SECOND][side];
        if side > 0 {
            return json!({ interruptions: self.interruptions });
        }
        const TICKS: u64 = 1 << 40;
        let nanos = self.clock.nanos_between(Stamp::from_ticks(0), Stamp::from_ticks(TICKS));
        json!({
            interruptions: self.interruptions,
            "trips": self.trips,
            "nanos_per_tick": nanos as f64 / TICKS as f64,
        })
    }
}

const FIRST: &str = "interruptions_of_first";
const SECOND: &str = "interruptions_of_second";

#[cold]
fn keep(spans: &mut Vec<Span>, from: Stamp, to: Stamp) {
    if spans.len() < MOST {
        spans.push([from.ticks(), to.ticks()]);
    }
}

/// The slow trips of a row, and what interruptions explain of them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct SlowTrips {
    /// Trips of more than three times the p99 of their round.
    pub(super) trips: u64,
    /// Those of which interruptions are most of the time beyond the median.
    pub(super) explained: u64,
    /// The time of all of them beyond the median, in ns.
    beyond_ns: f64,
    /// The part of it in which the first process did not poll, and the part in which only the
    /// second one did not.
    parts_ns: [f64; 2],
}

impl SlowTrips {
    /// Those of all rounds; `None` if a process does not watch itself.
    pub(super) fn of(readings: &[Reading]) -> Option<Self> {
        let mut all = Self::default();
        for reading in readings {
            all.add(reading)?;
        }
        Some(all)
    }

    fn add(&mut self, reading: &Reading) -> Option<()> {
        let times = reading.times?;
        let spans = |name: &str| -> Option<Vec<Span>> {
            serde_json::from_value(reading.detail.get(name)?.clone()).ok()
        };
        let [first, second, trips] = [spans(FIRST)?, spans(SECOND)?, spans("trips")?];
        let nanos_per_tick = reading.detail.get("nanos_per_tick")?.as_f64()?;
        // A list that is full knows nothing of what came later.
        let full = [&first, &second, &trips].into_iter().filter(|spans| spans.len() >= MOST);
        let until = full.filter_map(|spans| Some(spans.last()?[1])).min().unwrap_or(u64::MAX);
        for trip in trips {
            let nanos = length(trip) as f64 * nanos_per_tick;
            if nanos <= (SLOW * times.p99_ns) as f64 || trip[1] > until {
                continue;
            }
            let beyond_ns = nanos - times.p50_ns as f64;
            let of_first = ticks_in(trip, &first);
            // An interruption of both counts once.
            let both = overlapping(trip, &first).iter();
            let both = both.map(|&span| ticks_in(cut(trip, span), &second)).sum::<u64>();
            let of_second = ticks_in(trip, &second).saturating_sub(both);
            let parts = [of_first, of_second].map(|ticks| ticks as f64 * nanos_per_tick);
            self.trips += 1;
            self.explained += u64::from(parts.iter().sum::<f64>() >= ENOUGH * beyond_ns);
            self.beyond_ns += beyond_ns;
            let in_first = parts[0].min(beyond_ns);
            self.parts_ns[0] += in_first;
            self.parts_ns[1] += parts[1].min(beyond_ns - in_first);
        }
        Some(())
    }

    /// The parts of the time beyond the median; `None` without a slow trip.
    pub(super) fn shares(&self) -> Option<[f64; 2]> {
        (self.trips > 0).then(|| self.parts_ns.map(|part| part / self.beyond_ns))
    }
}

fn length([from, to]: Span) -> u64 {
    to.saturating_sub(from)
}

/// The part of a span that is in another one.
fn cut([from, to]: Span, [begin, end]: Span) -> Span {
    [from.max(begin), to.min(end)]
}

fn ticks_in(span: Span, interruptions: &[Span]) -> u64 {
    let overlapping = overlapping(span, interruptions).iter();
    overlapping.map(|&interruption| length(cut(span, interruption))).sum()
}

/// The interruptions that have a part in a span. Those of a process are one after the other.
fn overlapping([from, to]: Span, interruptions: &[Span]) -> &[Span] {
    let begin = interruptions.partition_point(|&[_, end]| end <= from);
    let count = interruptions[begin..].partition_point(|&[begin, _]| begin < to);
    &interruptions[begin..begin + count]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Times;

    fn reading(trips: &[Span], first: &[Span], second: &[Span]) -> Reading {
        let times = Times { p50_ns: 10, p99_ns: 20, ..Times::default() };
        let detail = json!({ FIRST: first, SECOND: second, "trips": trips, "nanos_per_tick": 0.5 });
        Reading { times: Some(times), detail, ..Reading::default() }
    }

    #[test]
    fn the_time_of_slow_trips_is_that_of_interruptions_on_either_side_or_neither() {
        // In ticks of half a nanosecond: 60 ns is not slow; 110 ns has 100 beyond the median.
        let trips = [[0, 120], [1_000, 1_220], [2_000, 2_220], [3_000, 3_220]];
        let first = [[900, 1_100], [3_000, 3_100]];
        let second = [[1_050, 1_200], [2_000, 2_010], [5_000, 6_000]];
        let slow = SlowTrips::of(&[reading(&trips, &first, &second)]).unwrap();
        // The second trip: 100 ticks of the first process, and 100 more of the second one alone.
        assert_eq!((slow.trips, slow.explained), (3, 1));
        let [of_first, of_second] = slow.shares().unwrap();
        assert!((of_first - (50.0 + 50.0) / 300.0).abs() < 1e-9, "{of_first}");
        assert!((of_second - (50.0 + 5.0) / 300.0).abs() < 1e-9, "{of_second}");
    }

    #[test]
    fn trips_after_a_list_was_full_do_not_count() {
        let many: Vec<Span> = (0..MOST as u64).map(|at| [10 * at, 10 * at + 1]).collect();
        let last = many[MOST - 1][1];
        let trips = [[last - 300, last], [last, last + 300]];
        let slow = SlowTrips::of(&[reading(&trips, &[], &many)]).unwrap();
        assert_eq!((slow.trips, slow.explained), (1, 0));
    }

    #[test]
    fn a_row_without_a_watch_or_without_a_slow_trip_has_no_shares() {
        assert_eq!(SlowTrips::of(&[Reading::default()]), None);
        let none = SlowTrips::of(&[reading(&[[0, 120]], &[], &[])]).unwrap();
        assert_eq!((none.trips, none.shares()), (0, None));
    }

    #[test]
    fn a_watch_keeps_turns_and_trips_that_are_long() {
        let mut watch = Watch::new(Clock::calibrate());
        let begin = watch.clock.stamp();
        watch.turn();
        std::thread::sleep(std::time::Duration::from_millis(1));
        watch.turn();
        watch.trip(begin, watch.clock.stamp());
        let [first, second] = [0, 1].map(|side| watch.detail(side));
        assert_eq!(first["trips"].as_array().unwrap().len(), 1);
        assert!(!first[FIRST].as_array().unwrap().is_empty());
        assert_eq!(first[FIRST], second[SECOND]);
    }
}
