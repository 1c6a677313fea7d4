//! What a pause costs, and what it does to a loop that polls a cache line.
//!
//! Two threads on two processors write one cache line in turns, and poll it in the same way. A turn
//! of the poll loop is timed on a line that nothing changes.

mod answers;
mod line;
mod sibling;

use std::hint::black_box;

use nanotape_clock::Clock;
use nanotape_console::values::grouped;
use nanotape_lab::text::nanos;
use nanotape_shm::Word;
use serde_json::json;

use self::line::{Pauses, Spin, Way, Yield, poll_turns};
use super::{
    Setup, StudyError,
    findings::{Axis, Cell, Findings, Plot, Point, Series, cells},
    numbers::{Quartiles, Times},
    rounds::Rounds,
};

/// The ways to wait between two polls; the first one is the base of comparisons.
const WAYS: [Way; 5] = [
    Way::of::<Spin>("plain spin"),
    Way::of::<Pauses<1>>("pause"),
    Way::of::<Pauses<8>>("pause x 8"),
    Way::of::<Pauses<32>>("pause x 32"),
    Way::of::<Yield>("yield"),
];

/// Pauses in a chain, in batches of 32.
const BATCHES: u32 = 32;

/// Most samples of the poll loop, and of the chain, in a turn.
const SAMPLES: usize = 200;

/// Turns of the poll loop in a sample.
const TURNS: u32 = 1_000;

const CELLS: &[Cell<Measured>] = cells! {
    "way" Words = |way| way.name;
    "turn" Nanos = |way| way.turn.map(|turn| turn.median);
    "ticks" Count = |way| way.turn.map(|turn| turn.median * way.ticks_per_nano);
    "trip p25" Nanos = |way| way.round_trips.quartiles().map(|trip| trip.low);
    "trip p50" Nanos = |way| way.round_trips.quartiles().map(|trip| trip.median);
    "trip p75" Nanos = |way| way.round_trips.quartiles().map(|trip| trip.high);
    "trip p99" Nanos = |way| way.round_trips.p99();
    "trips" Count = |way| way.round_trips.count();
    "beside" Ratio = |way| way.beside;
};

/// The measurements of one way.
#[derive(Debug)]
struct Measured {
    name: &'static str,
    ticks_per_nano: f64,
    /// One turn of the poll loop, in ns.
    turn: Option<Quartiles>,
    round_trips: Times,
    /// The slowdown of a thread that shares the core, from the same rounds.
    beside: Option<f64>,
}

/// Everything that the answers are computed from.
#[derive(Debug)]
struct Study {
    /// One pause in a chain of pauses, in ns.
    pause: Option<Quartiles>,
    ticks_per_nano: f64,
    ways: Vec<Measured>,
}

pub(super) fn study(setup: &Setup<'_>) -> Result<Findings, StudyError> {
    let rounds = Rounds::plan(setup.options.time, WAYS.len());
    let names: Vec<&str> = WAYS.iter().map(|way| way.name).collect();
    let other = setup.cpus.get(1).copied().filter(|&cpu| cpu != setup.cpus[0]);
    let sibling = sibling::of(setup.cpus[0], &setup.cpus);
    let mut chains = Vec::new();
    let mut turns = vec![Vec::new(); WAYS.len()];
    let mut trips: Vec<Times> = WAYS.iter().map(|_| Times::new()).collect();
    let mut beside = vec![Vec::new(); WAYS.len()];
    rounds.run(setup.progress, &names, |index| {
        let way = &WAYS[index];
        let (chain, turn) = setup.on_first(|| (chain(&setup.clock), alone(way, &setup.clock)))?;
        chains.extend(chain);
        turns[index].extend(turn);
        if let Some(other) = other {
            let found = line::round_trips(setup, way, other, rounds.turn)?;
            if let Some(batches) = Quartiles::of(&found.batches) {
                trips[index].add_with(&found.nanos, batches.median);
            }
        }
        if let Some(sibling) = sibling {
            beside[index].push(sibling::slowdown(setup, way, sibling)?);
        }
        Ok(())
    })?;
    let ticks_per_nano = setup.clock.rate().ticks_per_second / 1e9;
    let ways = WAYS.iter().zip(turns).zip(trips).zip(beside);
    let ways = ways.map(|(((way, turns), round_trips), beside)| Measured {
        name: way.name,
        ticks_per_nano,
        turn: Quartiles::of(&turns),
        round_trips,
        beside: Quartiles::of(&beside).map(|quartiles| quartiles.median),
    });
    let study = Study { pause: Quartiles::of(&chains), ticks_per_nano, ways: ways.collect() };
    let mut findings = study.findings(setup, other);
    if other.is_none() {
        let why = "round trips: this process may use one processor, and they need two";
        findings.not_measured.push(why.to_owned());
    }
    if sibling.is_none() {
        findings.not_measured.push(format!(
            "the effect on a second thread of the same core: {}",
            sibling::why_none(setup.cpus[0])
        ));
    }
    Ok(findings)
}

impl Study {
    fn findings(&self, setup: &Setup<'_>, other: Option<u32>) -> Findings {
        let pause = self.pause.map(|pause| pause.median);
        let mut chain = vec![
            json!("a pause, in a chain"),
            json!(pause),
            json!(pause.map(|pause| pause * self.ticks_per_nano)),
        ];
        chain.resize(CELLS.len(), json!(null));
        let mut findings = Findings::of(CELLS, &self.ways);
        findings.rows.insert(0, chain);
        let between = other.map_or(String::new(), |other| {
            format!(
                " Threads on processors {} and {other} write one cache line in turns and wait in \
                 the same way; a round trip is two stores that the other side sees, and {} of the \
                 stamps around it. Differences between ways are of batches of round trips, because \
                 the clock has steps of {}. \"Beside\" is the time of fixed work on a thread that \
                 shares the core.",
                setup.cpus[0],
                nanos(setup.clock.costs().empty_nanos),
                nanos(setup.clock.resolution_nanos())
            )
        });
        Findings {
            method: format!(
                "A turn is one poll of a cache line that does not change, with the wait after it: \
                 the median of samples of {} turns.{between}",
                grouped(TURNS.into())
            ),
            answers: self.answers(),
            plots: vec![
                self.plot("Round trip over one cache line", |way| way.round_trips.quartiles()),
                self.plot("One turn of the poll loop", |way| way.turn),
            ],
            ..findings
        }
    }

    fn plot(&self, title: &'static str, of: impl Fn(&Measured) -> Option<Quartiles>) -> Plot {
        let point = |way: &Measured| Some(Point::of(way.name, of(way)?));
        Plot {
            title,
            x: Axis::words("wait between polls"),
            y: Axis::TIME,
            series: vec![Series::new("median and quartiles", self.ways.iter().filter_map(point))],
        }
    }
}

/// The time of one pause, from chains of them; some samples, in ns.
fn chain(clock: &Clock) -> Vec<f64> {
    let pauses = f64::from(BATCHES * 32);
    let sample = |_| {
        let from = clock.stamp_start();
        for _ in 0..BATCHES {
            line::pause::<32>();
        }
        (clock.nanos_between(from, clock.stamp()) as f64 - clock.costs().empty_nanos) / pauses
    };
    (0..SAMPLES / 10).map(sample).map(|nanos| nanos.max(0.0)).collect()
}

/// The time of one turn of the poll loop; some samples, in ns.
fn alone(way: &Way, clock: &Clock) -> Vec<f64> {
    let line = Word::new(0);
    let begin = clock.stamp();
    let mut samples = Vec::with_capacity(SAMPLES);
    // A few samples of slow ways are enough.
    while samples.len() < SAMPLES
        && (samples.len() < 3 || clock.nanos_between(begin, clock.stamp()) < 10_000_000)
    {
        let from = clock.stamp_start();
        poll_turns(way, black_box(&line), TURNS);
        let nanos = clock.nanos_between(from, clock.stamp()) as f64 - clock.costs().empty_nanos;
        samples.push(nanos.max(0.0) / f64::from(TURNS));
    }
    samples
}
