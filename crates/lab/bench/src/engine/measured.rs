//! The measurements of one row and their summary. Ratios compare readings of the same round.

use nanotape_lab::{
    environment::{FOREIGN_LIMIT, Noise, STOLEN_LIMIT},
    statistics::order::median,
};

use super::{Base, Benchmark, Reading, Row, Run, Taken, Times};

/// The measurements of one row.
#[derive(Clone, Debug)]
pub(crate) struct Measured<B: Benchmark> {
    pub(crate) row: &'static Row<B>,
    /// One reading per round.
    pub(crate) readings: Vec<Reading>,
    /// Readings of the other passes.
    pub(crate) others: Vec<Reading>,
}

/// The quotient of a row and its base.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Ratio {
    /// The median over rounds of the quotient of two readings of the same round.
    pub(crate) value: f64,
    pub(crate) to: Base,
}

/// A number over rounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    /// Median over rounds.
    pub(crate) median: f64,
    /// The smallest.
    pub(crate) lowest: f64,
    /// The largest.
    pub(crate) highest: f64,
}

impl Spread {
    /// Spread of the numbers of all rounds; None if there are none.
    pub(crate) fn of(numbers: &[f64]) -> Option<Self> {
        Some(Self {
            median: median(numbers)?,
            lowest: numbers.iter().copied().reduce(f64::min)?,
            highest: numbers.iter().copied().reduce(f64::max)?,
        })
    }
}

impl<B: Benchmark> Measured<B> {
    /// Messages written per second; None if messages are timed one by one.
    pub(crate) fn written_per_second(&self) -> Option<Spread> {
        self.spread(Reading::written_per_second).filter(|_| !self.row.section.is_timed)
    }

    /// Messages that the slowest reader read per second.
    pub(crate) fn read_per_second(&self) -> Option<Spread> {
        self.spread(Reading::read_per_second)
    }

    /// A time of single messages. A round whose reader lost all messages has none.
    pub(crate) fn time_ns(
        &self,
        which: impl Fn(&Reading) -> Option<&Times>,
        time: impl Fn(&Times) -> Option<u64>,
    ) -> Option<Spread> {
        self.spread(|reading| {
            let times = which(reading).filter(|times| times.count > 0)?;
            time(times).map(|nanos| nanos as f64)
        })
    }

    /// The sum of a number over all rounds.
    pub(crate) fn sum(
        &self,
        which: impl Fn(&Reading) -> Option<&Times>,
        number: impl Fn(&Times) -> u64,
    ) -> u64 {
        self.readings.iter().filter_map(which).map(number).sum()
    }

    /// The messages that were written in all rounds.
    pub(crate) fn written(&self) -> u64 {
        self.readings.iter().map(|reading| reading.written.messages).sum()
    }

    /// The sum of a number over all rounds and readers.
    pub(crate) fn taken(&self, number: fn(&Taken) -> u64) -> u64 {
        self.readings.iter().flat_map(|reading| &reading.taken).map(number).sum()
    }

    /// The number by which the row is judged, for each round.
    pub(crate) fn by_round(&self) -> Vec<f64> {
        self.numbers(|reading| B::number(self.row, reading))
    }

    /// The ratio of the row to its base, if that was measured too.
    pub(crate) fn ratio(&self, run: &Run<B>) -> Option<Ratio> {
        let to = B::base(self.row)?;
        let quotient = self.quotient(run.find(to.row)?)?;
        Some(Ratio { value: if to.is_half { 2.0 * quotient } else { quotient }, to })
    }

    /// The median over rounds of the quotient of this row and another one.
    pub(crate) fn quotient(&self, other: &Self) -> Option<f64> {
        let pairs = self.readings.iter().zip(&other.readings);
        let quotients = pairs
            .filter_map(|(one, two)| Some(B::number(self.row, one)? / B::number(other.row, two)?));
        median(&quotients.collect::<Vec<_>>())
    }

    /// The difference between the row and `base`, round by round.
    pub(crate) fn added(&self, base: &Self) -> Option<Spread> {
        let pairs = self.by_round().into_iter().zip(base.by_round());
        Spread::of(&pairs.map(|(own, base)| own - base).collect::<Vec<_>>())
    }

    /// Disturbances of its processes: shares are medians over rounds, of the most disturbed process
    /// in each. Several readers may share processors and then count as foreign to each other.
    pub(crate) fn noise(&self) -> Noise {
        let switches = self.readings.iter().map(|reading| reading.noise.involuntary_switches);
        let mut noise = Noise {
            stolen: median(&self.numbers(|reading| reading.noise.stolen)),
            foreign: median(&self.numbers(|reading| reading.noise.foreign)),
            involuntary_switches: switches.sum(),
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
        if B::readers(self.row) < 2 {
            judge(noise.foreign, FOREIGN_LIMIT, "other processes");
        }
        noise
    }

    /// The disturbances in its record: its own, or those of the run.
    pub(crate) fn noise_in(&self, run: &Run<B>) -> Noise {
        if B::IS_PAIR { self.noise() } else { run.context.noise.clone() }
    }

    /// A number of all rounds that have it.
    pub(crate) fn numbers(&self, number: impl Fn(&Reading) -> Option<f64>) -> Vec<f64> {
        self.readings.iter().filter_map(number).collect()
    }

    /// The same as a spread.
    pub(crate) fn spread(&self, number: impl Fn(&Reading) -> Option<f64>) -> Option<Spread> {
        Spread::of(&self.numbers(number))
    }
}
