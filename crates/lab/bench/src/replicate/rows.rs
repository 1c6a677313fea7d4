//! The rows of `nanotape lab bench replicate`, one line each, in the order of the table.

use nanotape_journal::excerpt_bytes;
use nanotape_lab::{
    compare::{Rules, Verdict, judge_pairs},
    statistics::order::median,
};

use super::{Replicate, slow::SlowTrips};
use crate::engine::{
    Benchmark as _, Figure, Figures, Measured, Reading, Row, Run, Spread, figures, sections,
    shared::{END, LONGEST, QUANTILES},
};

pub(super) const PLAIN: &str = "round-trip/plain";
pub(super) const TLS: &str = "round-trip/tls";
pub(super) const PROGRAMS: &str = "round-trip/programs";
pub(super) const PING_PONG: &str = "limit/ping-pong";
pub(super) const CATCH_UP: &str = "catch-up/plain";
pub(super) const CATCH_UP_TLS: &str = "catch-up/tls";
pub(super) const LOOPBACK: &str = "limit/loopback";
pub(super) const NEW_PAGES: &str = "limit/new-pages";
pub(super) const ALONE: &str = "append/alone";
pub(super) const AGAIN: &str = "append/alone-again";
pub(super) const FOLLOWED: &str = "append/two-followers";
pub(super) const MIRROR: &str = "mirror/one-way";
pub(super) const RING: &str = "limit/ring";
#[cfg(feature = "aeron")]
pub(super) const AERON_PING: &str = "limit/aeron-ping";

/// Every row.
pub(super) const ROWS: &[Row<Replicate>] = &[
    Row::new(PLAIN, &ROUND_TRIPS, embedded(false)),
    Row::new(TLS, &ROUND_TRIPS, embedded(true)),
    Row::new(PROGRAMS, &ROUND_TRIPS, What::PROGRAMS),
    Row::new("round-trip/programs-tls", &ROUND_TRIPS, programs(true, false)),
    Row::new("round-trip/sleeping", &ROUND_TRIPS, programs(false, true)),
    Row::new(PING_PONG, &ROUND_TRIPS, What::PingPong),
    Row::new(CATCH_UP, &RATES, What::CatchUp { has_tls: false }),
    Row::new(CATCH_UP_TLS, &RATES, What::CatchUp { has_tls: true }),
    Row::new(LOOPBACK, &RATES, What::Loopback),
    Row::new(NEW_PAGES, &RATES, What::NewPages),
    Row::new(ALONE, &CALLS, What::Append { followers: 0 }),
    Row::new(AGAIN, &CALLS, What::Append { followers: 0 }),
    Row::new(FOLLOWED, &CALLS, What::Append { followers: 2 }),
    Row::new(MIRROR, &ONE_WAY, What::Mirror),
    Row::new(RING, &ONE_WAY, What::Ring),
    #[cfg(feature = "aeron")]
    Row::new("aeron/rings", &OVER_AERON, What::Aeron { has_rings: true }),
    #[cfg(feature = "aeron")]
    Row::new(AERON_PING, &OVER_AERON, What::Aeron { has_rings: false }),
];

/// The work of the processes of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Two journals, each copied to the other process.
    RoundTrip { has_tls: bool, by: Driver },
    /// As many bytes over a bare connection.
    PingPong,
    /// A follower without anything.
    CatchUp { has_tls: bool },
    /// As many bytes over a bare connection, in one direction.
    Loopback,
    /// As many bytes stored to new files.
    NewPages,
    /// Appends with a schedule.
    Append { followers: usize },
    /// A ring, its mirror, and a reader of that.
    Mirror,
    /// A ring and a reader.
    Ring,
    /// Round trips over Aeron, of messages of two rings or of bare ones.
    #[cfg(feature = "aeron")]
    Aeron { has_rings: bool },
}

/// Who drives the links of a round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Driver {
    /// The thread that appends and reads.
    Embedded,
    /// Threads of their own, as in the commands.
    Programs { sleeps: bool },
}

const fn embedded(has_tls: bool) -> What {
    What::RoundTrip { has_tls, by: Driver::Embedded }
}

const fn programs(has_tls: bool, sleeps: bool) -> What {
    What::RoundTrip { has_tls, by: Driver::Programs { sleeps } }
}

impl What {
    pub(super) const PROGRAMS: Self = programs(false, false);

    /// Threads that poll without a pause in all processes of a row.
    pub(super) fn spinning_threads(self) -> usize {
        match self {
            // Each process has one that appends and reads, one that serves, and one that follows.
            Self::RoundTrip { by: Driver::Programs { sleeps: false }, .. } => 6,
            Self::Mirror => 3,
            // The media driver is a thread.
            #[cfg(feature = "aeron")]
            Self::Aeron { .. } => 3,
            Self::NewPages | Self::Append { .. } => 1,
            _ => 2,
        }
    }
}

sections! {
    Replicate:
    ROUND_TRIPS = "round trip" times
        [QUANTILES, LONGEST, &["spinning_threads", "p99_ratio", "p99.9_of_p99"], END] |_|
        "Round trip: ns from an append to the read of its answer, through two copies; p99 x: p99 \
        divided by that of the ping-pong; tail: p99.9 divided by p99";
    RATES = "catch up" rates
        [&["bytes_per_second*", "spinning_threads", "limit_share"], END] |_|
        "Catching up: bytes of excerpts a second; of limit: divided by the smaller limit";
    CALLS = "append call" times [QUANTILES, LONGEST, &["spinning_threads", "p99_ratio"], END] |run|
        format!(
            "Append call: ns of each at {} a second; p99 x: p99 divided by that of {ALONE}",
            run.options.rate
        );
    ONE_WAY = "one way" times [QUANTILES, LONGEST, &["spinning_threads", "p99_ratio"], END] |run|
        format!(
            "One way: ns from the stamp before publishing to the end of the copy, at {} a second",
            run.options.rate
        );
}

#[cfg(feature = "aeron")]
sections! {
    Replicate:
    OVER_AERON = "over Aeron" times [QUANTILES, LONGEST, &["spinning_threads", "p99_ratio"], END] |_|
        "Over Aeron, UDP on loopback: ns from a message on a ring to the arrival of its answer";
}

/// Format: docs/formats/lab-bench-replicate.md.
pub(super) const FIGURES: Figures<Replicate> = &[
    Figure::COMMON,
    Figure::SECTION,
    figures! {
        /// The duration of a reading with a schedule or of round trips
        "seconds": "number" = |_, run| run.options.timed.seconds;
        /// Payload of a message
        "message_bytes": "number" = |_, run| run.options.length;
        /// Messages a second in `append` and `mirror`
        "rate_per_second": "number" = |_, run| run.options.rate;
        /// The folder of journals and copies
        "folder": "text" = |_, run| run.options.folder.to_string_lossy();
        /// Threads that poll without a pause, in all processes of the row
        "spinning_threads": "number" ["spin" 4 plain] = |row, _| row.row.work.spinning_threads();
        /// Processors that these threads may use. With fewer than threads, they yield
        "processors": "number" = |_, run| run.options.processors.len();
        /// Bytes of excerpts a second, with their headers; null if messages are timed
        "bytes_per_second": spread ["per second" 13 megabytes] = |row, run| {
            bytes_per_second(row, run)
        };
        /// For `catch-up`: the rate divided by that of the slower of `limit/loopback` and
        /// `limit/new-pages`; the median over rounds of the quotients of one round
        "limit_share": "number or null" ["of limit" 8 nanos] = |row, run| limit_share(row, run);
        /// The p99 divided by that of `ratio_to`; the median over rounds of the quotients of one
        /// round
        "p99_ratio": "number or null" ["p99 x" 6 nanos] = |row, run| p99_ratio(row, run);
        /// The p99.9 divided by the p99 of the row; the median over rounds
        "p99.9_of_p99": "number or null" ["tail" 6 nanos] = |row, _| tail(row);
        /// For `round-trip/plain` and `tls`: trips of more than 3 times the p99 of their round, in
        /// all rounds. Trips of up to 30 us do not count, nor those after 65,536 longer ones or
        /// interruptions
        "slow_trips": "number or null" = |row, _| slow(row).map(|slow| slow.trips);
        /// Those of which at least 80% of the time beyond the median are interruptions: a process
        /// did not poll for more than 25 us
        "slow_explained": "number or null" = |row, _| slow(row).map(|slow| slow.explained);
        /// The part of the time of `slow_trips` beyond the median in which the first process did
        /// not poll; null without any
        "slow_in_first_share": "number or null" = |row, _| slow_share(row, 0);
        /// The part in which only the second process did not poll
        "slow_in_second_share": "number or null" = |row, _| slow_share(row, 1);
        /// For `append/two-followers`: the verdict of `nanotape lab compare` on the p99 of each
        /// round, against `append/alone` with `append/alone-again` as the control. The smallest
        /// effect of interest is 5%
        "verdict": "text or null" = |row, run| {
            verdict(run)
                .filter(|_| row.row.name == FOLLOWED)
                .map(|(verdict, _)| verdict.to_string())
        };
    },
    Figure::CPUS,
    Figure::LATENCY,
    Figure::REVERSED,
    Figure::DUE,
    Figure::PAIR,
    Figure::GOALS,
];

fn bytes_per_second(row: &Measured<Replicate>, run: &Run<Replicate>) -> Option<Spread> {
    let excerpt = excerpt_bytes(run.options.bytes()) as f64;
    let of = |reading: &Reading| Replicate::number(row.row, reading).map(|rate| rate * excerpt);
    if row.row.section.is_timed { None } else { row.spread(of) }
}

/// The rate divided by the smaller of the two limits, round by round.
pub(super) fn limit_share(row: &Measured<Replicate>, run: &Run<Replicate>) -> Option<f64> {
    if !matches!(row.row.work, super::What::CatchUp { .. }) {
        return None;
    }
    let (loopback, pages) = (run.find(LOOPBACK)?.by_round(), run.find(NEW_PAGES)?.by_round());
    let limits = loopback.into_iter().zip(pages).map(|(one, other)| one.min(other));
    let shares: Vec<f64> =
        row.by_round().into_iter().zip(limits).map(|(rate, limit)| rate / limit).collect();
    median(&shares)
}

fn p99(reading: &Reading) -> Option<f64> {
    reading.times.map(|times| times.p99_ns as f64).filter(|&nanos| nanos > 0.0)
}

/// The median p99 over rounds.
pub(super) fn p99_ns(row: &Measured<Replicate>) -> Option<f64> {
    median(&row.numbers(p99))
}

fn p99_ratio(row: &Measured<Replicate>, run: &Run<Replicate>) -> Option<f64> {
    let base = run.find(Replicate::base(row.row)?.row)?;
    let pairs = row.readings.iter().zip(&base.readings);
    let ratios: Vec<f64> = pairs.filter_map(|(one, other)| Some(p99(one)? / p99(other)?)).collect();
    median(&ratios)
}

/// Why the slow trips of a row were slow.
pub(super) fn slow(row: &Measured<Replicate>) -> Option<SlowTrips> {
    SlowTrips::of(&row.readings)
}

fn slow_share(row: &Measured<Replicate>, process: usize) -> Option<f64> {
    slow(row)?.shares().map(|shares| shares[process])
}

fn tail(row: &Measured<Replicate>) -> Option<f64> {
    let of = |reading: &Reading| Some(reading.times?.p999_ns as f64 / p99(reading)?);
    median(&row.numbers(of))
}

/// Whether the p99 of an append is the same with followers as without, and why that is unknown.
pub(super) fn verdict(run: &Run<Replicate>) -> Option<(Verdict, Option<String>)> {
    let p99s = |name| run.find(name).map(|row| row.numbers(p99));
    let (alone, again, followed) = (p99s(ALONE)?, p99s(AGAIN)?, p99s(FOLLOWED)?);
    let against = |arm: Vec<f64>| -> Vec<f64> {
        arm.iter().zip(&alone).map(|(one, other)| (one / other).ln()).collect()
    };
    let rules = Rules { smallest_effect: 0.05, looks: 1, ..Rules::default() };
    Some(judge_pairs(&against(followed), &against(again), &rules))
}
