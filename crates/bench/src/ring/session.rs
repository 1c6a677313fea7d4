//! Rounds of readings, and what they amount to.
//!
//! Within a round every row is read once, in an order drawn by lot, so that what the machine does
//! meanwhile meets all of them alike. Ratios are of readings of the same round.

use std::path::Path;

use nanotape_lab::{
    environment::{FOREIGN_LIMIT, Noise, STOLEN_LIMIT},
    statistics::order::median,
};

use super::{
    error::RingBenchError,
    job::Settings,
    reading::{Reading, Times},
    rows::{Design, LINE, MEMCPY, Row, Section, What},
    start,
};
use crate::{lot::Lot, spread::Spread};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What all readings have in common.
    pub settings: Settings,
    /// What is read in each round.
    pub rows: Vec<&'static Row>,
    /// How often.
    pub rounds: u32,
}

/// What was measured of one row.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which.
    pub row: &'static Row,
    /// One of each round.
    pub readings: Vec<Reading>,
}

/// How many times another row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The median over rounds of the quotient of two readings of the same round.
    pub value: f64,
    /// The row that it is held against.
    pub to: &'static str,
    /// Whether half of that row's time is what it is held against: a way, not a round trip.
    pub is_to_half: bool,
}

impl Plan {
    /// Readings that will be taken.
    pub fn readings(&self) -> u64 {
        u64::from(self.rounds) * self.rows.len() as u64
    }
}

/// Measures. `program` plays [`role`](super::role); `progress` is told how many readings are done,
/// and what the next one is of.
pub fn measure(
    program: &Path,
    plan: &Plan,
    progress: &mut dyn FnMut(u64, &str),
) -> Result<Vec<Measured>, RingBenchError> {
    let mut measured: Vec<Measured> =
        plan.rows.iter().map(|&row| Measured { row, readings: Vec::new() }).collect();
    let mut turns: Vec<usize> = (0..measured.len()).collect();
    let mut done = 0;
    for round in 1..=plan.rounds {
        let mut lot = Lot(round.into());
        lot.shuffle(&mut turns);
        for &turn in &turns {
            let Measured { row, readings } = &mut measured[turn];
            progress(done, row.name);
            let padding = lot.below(start::MOST_PADDING);
            let reading = start::read(program, row, &plan.settings, padding)?;
            if let Some(complaint) = reading.complaint(row.may_lose()) {
                return Err(RingBenchError::Unaccounted { row: row.name, complaint });
            }
            readings.push(reading);
            done += 1;
        }
    }
    Ok(measured)
}

/// So many in so many ns, for a second.
fn per_second(messages: u64, nanos: u64) -> Option<f64> {
    (nanos > 0).then(|| messages as f64 * 1e9 / nanos as f64)
}

impl Reading {
    /// Messages that the writer published in a second.
    pub fn written_per_second(&self) -> Option<f64> {
        per_second(self.written.messages, self.written.nanos)
    }

    /// Messages that the slowest reader read in a second.
    pub fn read_per_second(&self) -> Option<f64> {
        let rates = self.taken.iter().filter_map(|taken| per_second(taken.messages, taken.nanos));
        rates.reduce(f64::min)
    }

    /// The share of messages that readers lost.
    pub fn lost_share(&self) -> Option<f64> {
        let lost: u64 = self.taken.iter().map(|taken| taken.lost).sum();
        let accounted: u64 = self.taken.iter().map(|taken| taken.accounted()).sum();
        (accounted > 0).then(|| lost as f64 / accounted as f64)
    }
}

impl Measured {
    /// Messages published in a second; of those that are timed, none.
    pub fn written_per_second(&self) -> Option<Spread> {
        Spread::of(&self.numbers(|reading| reading.written_per_second()))
            .filter(|_| !self.row.is_timed())
    }

    /// Messages that the slowest reader read in a second.
    pub fn read_per_second(&self) -> Option<Spread> {
        Spread::of(&self.numbers(|reading| reading.read_per_second()))
    }

    /// The share of messages that readers lost.
    pub fn lost_share(&self) -> Option<Spread> {
        let numbers = self.numbers(|reading| reading.lost_share());
        Spread::of(&numbers).filter(|_| self.row.may_lose() || !self.row.is_timed())
    }

    /// Messages in the median batch.
    pub fn batch_p50(&self) -> Option<f64> {
        let of = |reading: &Reading| reading.taken.first()?.batch_p50.map(|size| size as f64);
        median(&self.numbers(of))
    }

    /// A time of single messages. A round whose reader lost all of them has none.
    pub fn time_ns(&self, time: impl Fn(&Times) -> Option<u64>) -> Option<Spread> {
        let of = |reading: &Reading| {
            let times = reading.times.as_ref().filter(|times| times.count > 0)?;
            time(times).map(|nanos| nanos as f64)
        };
        Spread::of(&self.numbers(of))
    }

    /// The number by which the row is judged, round by round: p50 in ns, or messages a second.
    pub fn by_round(&self) -> Vec<f64> {
        self.numbers(|reading| main_number(self.row, reading))
    }

    /// How the row stands to its limit, or to one reader, if that was measured too.
    pub fn ratio(&self, all: &[Measured]) -> Option<Ratio> {
        let (to, is_to_half) = base(self.row)?;
        let base = all.iter().find(|one| one.row.name == to)?;
        let pairs = self.readings.iter().zip(&base.readings);
        let quotients: Vec<f64> = pairs
            .filter_map(|(own, other)| {
                let quotient = main_number(self.row, own)? / main_number(base.row, other)?;
                Some(if is_to_half { 2.0 * quotient } else { quotient })
            })
            .collect();
        Some(Ratio { value: median(&quotients)?, to, is_to_half })
    }

    /// What disturbed its processes: shares are medians over rounds, of the worst process of each.
    pub fn noise(&self) -> Noise {
        let mut noise = Noise {
            stolen: median(&self.numbers(|reading| reading.noise.stolen)),
            foreign: median(&self.numbers(|reading| reading.noise.foreign)),
            involuntary_switches: self
                .readings
                .iter()
                .map(|reading| reading.noise.involuntary_switches)
                .sum(),
            ..Noise::default()
        };
        let mut judge = |share: Option<f64>, limit: f64, who: &str| {
            if let Some(share) = share.filter(|&share| share > limit) {
                let (share, limit) = (100.0 * share, 100.0 * limit);
                noise.sentences.push(format!(
                    "{who} took {share:.1}% of a processor of this row (limit {limit:.1}%)"
                ));
            }
        };
        judge(noise.stolen, STOLEN_LIMIT, "the hypervisor");
        // To a reader that shares its processor, the others are foreign.
        if self.row.readers() < 2 {
            judge(noise.foreign, FOREIGN_LIMIT, "other processes");
        }
        noise
    }

    fn numbers(&self, number: impl Fn(&Reading) -> Option<f64>) -> Vec<f64> {
        self.readings.iter().filter_map(number).collect()
    }
}

/// p50 where messages are timed, what a reader takes where readers read as fast as they can, and
/// else what the writer publishes.
fn main_number(row: &Row, reading: &Reading) -> Option<f64> {
    match row.what {
        What::OneWay | What::RoundTrip | What::Line { .. } => {
            reading.times.map(|times| times.p50_ns as f64).filter(|&nanos| nanos > 0.0)
        }
        What::Flow { .. } => reading.read_per_second(),
        What::Readers(_) | What::Copy | What::Store => reading.written_per_second(),
    }
}

/// What a row is held against, and whether half of it.
fn base(row: &Row) -> Option<(&'static str, bool)> {
    match (row.section, row.what, row.design) {
        (Section::OneWay, ..) => Some((LINE, true)),
        (Section::RoundTrip, ..) => Some((LINE, false)),
        (Section::Throughput, ..) => Some((MEMCPY, false)),
        (Section::Readers, _, Some(Design::Stream)) => Some(("stream/throughput/readers-1", false)),
        (Section::Readers, _, _) => Some(("slots/throughput/readers-1", false)),
        (Section::Limits, What::Line { pause: true }, _) => Some((LINE, false)),
        (Section::Limits, ..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::{
        ROWS,
        reading::{Taken, Written},
    };

    fn row(name: &str) -> &'static Row {
        ROWS.iter().find(|row| row.name == name).unwrap()
    }

    fn timed(name: &str, p50s: &[u64]) -> Measured {
        let reading = |&p50_ns: &u64| Reading {
            times: Some(Times { p50_ns, ..Times::default() }),
            ..Reading::default()
        };
        Measured { row: row(name), readings: p50s.iter().map(reading).collect() }
    }

    #[test]
    fn ratios_are_of_the_same_round_and_one_way_is_half_a_round_trip() {
        let all = [
            timed(LINE, &[300, 100, 500]),
            timed("stream/latency", &[180, 90, 275]),
            timed("slots/round-trip", &[450, 160, 700]),
        ];
        let ratio = all[1].ratio(&all).unwrap();
        assert_eq!((ratio.value, ratio.to, ratio.is_to_half), (1.2, LINE, true));
        assert_eq!(all[2].ratio(&all).unwrap().value, 1.5);
        assert_eq!((all[0].ratio(&all), all[1].ratio(&all[1..])), (None, None));
    }

    #[test]
    fn rates_are_of_the_slowest_reader_and_losses_of_all() {
        let taken = |messages, lost| Taken { messages, lost, nanos: 1_000, batch_p50: None };
        let written = Written { messages: 100, nanos: 500 };
        let taken = vec![taken(100, 0), taken(50, 50)];
        let reading = Reading { written, taken, ..Reading::default() };
        let readings = vec![reading];
        let measured = Measured { row: row("stream/throughput/readers-2"), readings };
        assert_eq!(measured.written_per_second().unwrap().median, 2e8);
        assert_eq!(measured.read_per_second().unwrap().median, 5e7);
        assert_eq!(measured.lost_share().unwrap().median, 0.25);
        assert_eq!(measured.by_round(), [2e8]);
    }
}
