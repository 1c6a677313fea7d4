//! Rounds of readings, and what they amount to.

use std::{path::Path, time::Duration};

use nanotape_lab::{environment::Noise, statistics::order::median};

use super::{
    ROLE,
    error::RingBenchError,
    job::{Job, Settings},
    rows::{Design, LINE, MEMCPY, Row, Section, What},
};
use crate::{
    folder::Folder,
    sides::{self, Amount, Cast, Ratio, Reading, SideError, rounds, run},
    spread::Spread,
};

/// What was measured of one row.
pub type Measured = sides::Measured<Row>;

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
    rounds(&plan.rows, plan.rounds, progress, |row, padding| {
        let reading = read(program, row, &plan.settings, padding)?;
        match reading.complaint(row.may_lose()) {
            Some(complaint) => Err(RingBenchError::Unaccounted { row: row.name, complaint }),
            None => Ok(reading),
        }
    })
}

/// Takes one reading of a row.
fn read(
    program: &Path,
    row: &'static Row,
    settings: &Settings,
    padding: usize,
) -> Result<Reading, RingBenchError> {
    let folder = Folder::new("ring").map_err(SideError::system("make a folder in memory"))?;
    let jobs = Job::all(row, settings, folder.path().to_owned());
    let cast = Cast {
        program,
        row: row.name,
        variable: ROLE,
        jobs: jobs.iter().map(Job::to_text).collect(),
        arguments: vec![folder.path()],
        padding,
        work: match settings.amount {
            Amount::Seconds(seconds) => Duration::from_secs(seconds.into()),
            // At the slowest pace there is.
            Amount::Messages(messages) => Duration::from_micros(100 * messages.min(1 << 40)),
        },
    };
    // Once they have it all open no file is left, whatever becomes of this process.
    Ok(run(&cast, || folder.remove())?)
}

impl Measured {
    /// Messages published in a second; of those that are timed, none.
    pub fn written_per_second(&self) -> Option<Spread> {
        Spread::of(&self.numbers(Reading::written_per_second)).filter(|_| !self.row.is_timed())
    }

    /// The share of messages that readers lost.
    pub fn lost_share(&self) -> Option<Spread> {
        let numbers = self.numbers(Reading::lost_share);
        Spread::of(&numbers).filter(|_| self.row.may_lose() || !self.row.is_timed())
    }

    /// Messages in the median batch.
    pub fn batch_p50(&self) -> Option<f64> {
        let of = |reading: &Reading| reading.taken.first()?.batch_p50.map(|size| size as f64);
        median(&self.numbers(of))
    }

    /// The number by which the row is judged, round by round: p50 in ns, or messages a second.
    pub fn by_round(&self) -> Vec<f64> {
        self.numbers(|reading| main_number(self.row, reading))
    }

    /// How the row stands to its limit, or to one reader, if that was measured too.
    pub fn ratio(&self, all: &[Measured]) -> Option<Ratio> {
        let (to, is_to_half) = base(self.row)?;
        let base = all.iter().find(|one| one.row.name == to)?;
        let quotient = self.quotient(
            |own| main_number(self.row, own),
            base,
            |other| main_number(base.row, other),
        )?;
        let value = if is_to_half { 2.0 * quotient } else { quotient };
        Some(Ratio { value, to, is_to_half })
    }

    /// What disturbed its processes. To a reader that shares its processor, the others are foreign.
    pub fn noise(&self) -> Noise {
        self.noise_of(self.row.readers() >= 2)
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
    use crate::{
        ring::ROWS,
        sides::{Taken, Times, Written},
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
