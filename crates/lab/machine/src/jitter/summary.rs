//! All turns of a variant: quantiles, the series for a plot, and the slow round trips with their
//! causes. Turns are summarised one by one, because their round trips take much memory.

use std::time::Duration;

use nanotape_clock::Clock;
use nanotape_lab::{counters::Rates, statistics::sign::median_interval};
use nanotape_trace::Histogram;

use super::{Turn, Variant};
use crate::{
    attribution::Rung,
    cause::Cause,
    gaps::Gap,
    kernel_trace::{KernelEvents, Losses},
    tally::Tally,
    watch::{Interruption, Watched},
};

/// The quantiles of round trips, with their names in records.
pub const QUANTILES: [(&str, f64); 10] = [
    ("p0", 0.0),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("p99.999", 0.99999),
    ("p100", 1.0),
];

/// Slices of the series of a turn.
const SLICES: u32 = 250;

/// The slow round trips that are kept with their causes.
const MOST_SLOW: usize = 200;

/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// The summary of one variant.
#[derive(Debug)]
pub struct Summary {
    /// The variant.
    pub variant: Variant,
    /// All round trips, with a resolution of 0.8%.
    pub histogram: Histogram,
    /// One for each turn, in order.
    pub turns: Vec<TurnSummary>,
    /// The series over all turns.
    pub slices: Vec<Slice>,
    /// The length of a slice.
    pub slice: Duration,
    /// The slowest round trips, slowest first.
    pub slowest: Vec<SlowRoundTrip>,
    /// Slow round trips by side: pinger, ponger, both, neither.
    pub slow_by_side: [u64; 4],
    /// Interruptions of the pinger and of the ponger.
    pub sides: [SideSummary; 2],
    /// Events of the pinger's processor for a round trip, of the last turn.
    pub counters: Option<Result<Rates, String>>,
    /// What the system refused, a sentence each.
    pub refused: Vec<String>,
    /// The accounts that were used, and those that were not.
    pub rungs: Vec<Rung>,
    /// Events of the kernel since the trace began, read and lost; `None` without a trace.
    pub events: Option<Losses>,
}

/// The round trips of one turn.
#[derive(Clone, PartialEq, Debug)]
pub struct TurnSummary {
    /// How many.
    pub count: u64,
    /// In nanoseconds, in the order of [`QUANTILES`].
    pub quantiles_ns: [u64; QUANTILES.len()],
}

/// The round trips that began in a part of the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Slice {
    /// Shortest, median and longest, in nanoseconds; `None` if none began.
    pub range_ns: Option<(u64, u64, u64)>,
}

/// A slow round trip and its explanation.
#[derive(Clone, PartialEq, Debug)]
pub struct SlowRoundTrip {
    /// Since the start of the variant, in nanoseconds, without pauses between turns.
    pub at_ns: u64,
    /// Its length.
    pub nanos: u64,
    /// Where the interruption was.
    pub where_: Where,
    /// The cause of the longest interruption within it.
    pub cause: Option<Cause>,
}

/// The side of an interruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Where {
    /// Of the pinger only.
    Pinger,
    /// Of the ponger only.
    Ponger,
    /// Of both.
    Both,
    /// Of none: the line between the processors was slow, or the interruption too short.
    Neither,
}

/// The interruptions of one side.
#[derive(Clone, Debug, Default)]
pub struct SideSummary {
    /// Its processor, if it was pinned.
    pub cpu: Option<u32>,
    /// How long it was watched, in nanoseconds.
    pub watched_ns: u64,
    /// Interruptions, with those that did not fit into memory.
    pub count: u64,
    /// The sum of the kept ones, in nanoseconds.
    pub lost_ns: u64,
    /// By cause.
    pub tally: Tally,
}

impl Where {
    /// All, in the order of [`Summary::slow_by_side`].
    pub const ALL: [(Self, &str); 4] = [
        (Self::Pinger, "pinger"),
        (Self::Ponger, "ponger"),
        (Self::Both, "both"),
        (Self::Neither, "neither"),
    ];

    /// Its name in records.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl Summary {
    /// Of no turn yet, of `turn` each.
    pub fn new(variant: Variant, turn: Duration) -> Self {
        Self {
            variant,
            histogram: Histogram::fine(),
            turns: Vec::new(),
            slices: Vec::new(),
            slice: turn / SLICES,
            slowest: Vec::new(),
            slow_by_side: [0; 4],
            sides: [SideSummary::default(), SideSummary::default()],
            counters: None,
            refused: Vec::new(),
            rungs: Vec::new(),
            events: None,
        }
    }

    /// Adds a turn. `slow_ns`: round trips of at least this length are explained.
    pub fn add(
        &mut self,
        clock: &Clock,
        mut turn: Turn,
        events: Option<&KernelEvents>,
        slow_ns: u64,
    ) {
        if let Some(events) = events {
            turn.pinger.watched.explain(events, clock);
            turn.ponger.watched.explain(events, clock);
            self.events = Some(events.losses());
        }
        self.add_times(clock, &turn);
        self.add_slow(clock, &turn, slow_ns);
        let watched_ns = turn.whole.nanos(clock);
        for (summary, side) in self.sides.iter_mut().zip([&turn.pinger, &turn.ponger]) {
            summary.cpu = side.cpu;
            summary.watched_ns += watched_ns;
            summary.add(clock, &side.watched);
        }
        for sentence in turn.refused {
            if !self.refused.contains(&sentence) {
                self.refused.push(sentence);
            }
        }
        self.rungs = turn.pinger.watched.rungs;
        self.counters = turn.counters;
    }

    fn add_times(&mut self, clock: &Clock, turn: &Turn) {
        let nanos = |ticks: u32| {
            clock.nanos_between(
                nanotape_clock::Stamp::from_ticks(0),
                nanotape_clock::Stamp::from_ticks(u64::from(ticks)),
            )
        };
        let mut sorted: Vec<u32> = turn.series.ticks().to_vec();
        sorted.sort_unstable();
        let at = |quantile: f64| {
            let rank = (quantile * sorted.len() as f64).ceil() as usize;
            sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).map_or(0, |&ticks| nanos(ticks))
        };
        self.turns.push(TurnSummary {
            count: sorted.len() as u64,
            quantiles_ns: QUANTILES.map(|(_, quantile)| at(quantile)),
        });
        sorted.iter().for_each(|&ticks| self.histogram.record(nanos(ticks)));

        let slice_ns = u64::try_from(self.slice.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut slices: Vec<Vec<u64>> = vec![Vec::new(); SLICES as usize];
        for one in turn.series.round_trips() {
            let index = clock.nanos_between(turn.whole.from, one.from) / slice_ns;
            let index = usize::try_from(index).unwrap_or(usize::MAX).min(slices.len() - 1);
            slices[index].push(clock.nanos_between(one.from, one.to));
        }
        self.slices.extend(slices.into_iter().map(Slice::of));
    }

    fn add_slow(&mut self, clock: &Clock, turn: &Turn, slow_ns: u64) {
        let before = self.turns.len().saturating_sub(1) as u32 * SLICES;
        let begin_ns = u64::try_from((self.slice * before).as_nanos()).unwrap_or(0);
        for one in turn.series.slow(clock, slow_ns) {
            let gap = Gap { from: one.from, to: one.to };
            let [pinger, ponger] =
                [&turn.pinger, &turn.ponger].map(|side| longest_in(&gap, &side.watched.kept));
            let where_ = match (pinger, ponger) {
                (Some(_), None) => Where::Pinger,
                (None, Some(_)) => Where::Ponger,
                (Some(_), Some(_)) => Where::Both,
                (None, None) => Where::Neither,
            };
            self.slow_by_side[where_ as usize] += 1;
            let longest =
                [pinger, ponger].into_iter().flatten().max_by_key(|one| one.gap.nanos(clock));
            self.slowest.push(SlowRoundTrip {
                at_ns: begin_ns + clock.nanos_between(turn.whole.from, one.from),
                nanos: gap.nanos(clock),
                where_,
                cause: longest.map(|one| one.cause.clone()),
            });
        }
        self.slowest.sort_by_key(|one| core::cmp::Reverse(one.nanos));
        self.slowest.truncate(MOST_SLOW);
    }

    /// Number of round trips.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// A quantile of all round trips, by its name, in nanoseconds.
    pub fn quantile_ns(&self, name: &str) -> Option<u64> {
        let (_, quantile) = QUANTILES.iter().find(|(known, _)| *known == name)?;
        self.histogram.quantile(*quantile)
    }

    /// The same quantile of each turn.
    pub fn by_turn_ns(&self, name: &str) -> Vec<f64> {
        let Some(index) = QUANTILES.iter().position(|(known, _)| *known == name) else {
            return Vec::new();
        };
        self.turns.iter().map(|turn| turn.quantiles_ns[index] as f64).collect()
    }

    /// The interval of a quantile: between order statistics of the turns, which assumes only that
    /// turns are independent. `None` with fewer than six turns.
    pub fn interval_ns(&self, name: &str) -> Option<(f64, f64)> {
        let interval = median_interval(&self.by_turn_ns(name), CONFIDENCE)?;
        Some((interval.low, interval.high))
    }
}

impl Slice {
    fn of(mut nanos: Vec<u64>) -> Self {
        nanos.sort_unstable();
        let middle = nanos.len().saturating_sub(1) / 2;
        let range = nanos.first().zip(nanos.get(middle)).zip(nanos.last());
        Self { range_ns: range.map(|((low, middle), high)| (*low, *middle, *high)) }
    }
}

impl SideSummary {
    fn add(&mut self, clock: &Clock, watched: &Watched) {
        self.count += watched.kept.len() as u64 + watched.not_kept;
        for one in &watched.kept {
            let nanos = one.gap.nanos(clock);
            self.lost_ns += nanos;
            self.tally.add(&one.cause, nanos);
        }
    }
}

/// Interruptions are in order, and do not overlap each other.
fn longest_in<'a>(gap: &Gap, kept: &'a [Interruption]) -> Option<&'a Interruption> {
    let first = kept.partition_point(|one| one.gap.to <= gap.from);
    let end = kept.partition_point(|one| one.gap.from < gap.to);
    let within = kept.get(first..end)?;
    within.iter().max_by_key(|one| one.gap.to.ticks().saturating_sub(one.gap.from.ticks()))
}

#[cfg(test)]
mod tests {
    use nanotape_clock::Stamp;

    use super::*;
    use crate::jitter::{RingKind, TurnOptions, Wait, run_turn};
    use crate::watch::WatchOptions;

    const VARIANT: Variant = Variant {
        ring: RingKind::Cells,
        wait: Wait::Yield,
        cpus: None,
        real_time_priority: None,
        huge_pages: false,
    };

    fn interruption(from: u64, to: u64) -> Interruption {
        let gap = Gap { from: Stamp::from_ticks(from), to: Stamp::from_ticks(to) };
        Interruption { gap, cpu: 0, cause: Cause::Timer }
    }

    #[test]
    fn the_longest_interruption_within_a_round_trip_is_its_cause() {
        let kept = [interruption(10, 20), interruption(30, 60), interruption(70, 75)];
        let longest = |from, to| {
            let gap = Gap { from: Stamp::from_ticks(from), to: Stamp::from_ticks(to) };
            longest_in(&gap, &kept).map(|one| one.gap.from.ticks())
        };
        assert_eq!(longest(15, 72), Some(30));
        assert_eq!(longest(0, 11), Some(10));
        assert_eq!(longest(20, 30), None);
        assert_eq!(longest(75, 100), None);
    }

    #[test]
    fn slices_are_the_range_of_their_round_trips() {
        assert_eq!(Slice::of(vec![30, 10, 20]).range_ns, Some((10, 20, 30)));
        assert_eq!(Slice::of(Vec::new()).range_ns, None);
    }

    #[test]
    fn turns_add_up() {
        let clock = Clock::calibrate();
        let options = TurnOptions {
            duration: Duration::from_millis(20),
            most_round_trips: 1 << 16,
            watch: WatchOptions { most: 1 << 12, ..WatchOptions::default() },
            counters: false,
        };
        let mut summary = Summary::new(VARIANT, options.duration);
        for _ in 0..6 {
            let turn = run_turn(&clock, &VARIANT, &options).unwrap();
            summary.add(&clock, turn, None, 2_000);
        }
        let counts: u64 = summary.turns.iter().map(|turn| turn.count).sum();
        assert_eq!((summary.count(), summary.slices.len()), (counts, 6 * SLICES as usize));
        let (low, high) = summary.interval_ns("p50").expect("six turns");
        assert!(low <= high && low > 0.0, "{low} to {high}");
        let slow: u64 = summary.slow_by_side.iter().sum();
        assert!(summary.slowest.len() as u64 <= slow);
        assert!(summary.slowest.windows(2).all(|pair| pair[0].nanos >= pair[1].nanos));
    }
}
