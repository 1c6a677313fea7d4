//! Rounds of readings, and what they amount to.
//!
//! Within a round every variant is read once, in an order drawn by lot, so that what the machine
//! does meanwhile meets all of them alike. Ratios are of readings of the same round.

use std::path::Path;

use nanotape_lab::statistics::order::median;

use super::{
    error::DayFileError,
    job::{Job, Role, Settings},
    one_by_one::MessageLatency,
    reading::{Answer, Published, Reading, disagreement},
    survey::Survey,
    variants::{Kind, Variant},
    worker,
};
use crate::{lot::Lot, spread::Spread};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What all readings have in common.
    pub settings: Settings,
    /// What is read in each round.
    pub variants: Vec<&'static Variant>,
    /// How often.
    pub rounds: u32,
    /// Those of them whose books are also run message by message, by name.
    pub latency: Vec<&'static str>,
}

/// What was measured of one variant.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which.
    pub variant: &'static Variant,
    /// One of each round.
    pub readings: Vec<Reading>,
    /// Times of single messages, if they were asked for and it has books.
    pub latency: Option<MessageLatency>,
    /// Messages of a reading, or loads.
    pub operations: u64,
}

impl Plan {
    /// Processes that will be started.
    pub fn readings(&self) -> u64 {
        let latencies = self.variants.iter().filter(|variant| self.has_latency(variant)).count();
        u64::from(self.rounds) * (self.variants.len() + latencies) as u64
    }

    fn has_latency(&self, variant: &Variant) -> bool {
        matches!(variant.kind, Kind::Books | Kind::Plant) && self.latency.contains(&variant.name)
    }
}

/// Measures a day that was surveyed. `program` plays [`role`](super::role); `progress` is told how
/// many readings are done, and what the next one is of.
pub fn measure(
    program: &Path,
    plan: &Plan,
    survey: &Survey,
    progress: &mut dyn FnMut(u64, &str),
) -> Result<Vec<Measured>, DayFileError> {
    let messages = survey.messages * u64::from(plan.settings.repeat);
    let count = plan.variants.len();
    let mut readings = vec![Vec::new(); count];
    let mut latencies = vec![Vec::new(); count];
    let mut turns: Vec<(usize, Role)> = (0..count).map(|place| (place, Role::Measure)).collect();
    let timed = (0..count).filter(|&place| plan.has_latency(plan.variants[place]));
    turns.extend(timed.map(|place| (place, Role::Latency)));
    // The survey is the first to know how many messages there are.
    let counted = Answer { messages: Some(messages), ..Answer::default() };
    let mut answers = vec![("the file", counted)];
    let mut done = 0;
    for round in 1..=plan.rounds {
        let mut lot = Lot(round.into());
        lot.shuffle(&mut turns);
        for &(place, role) in &turns {
            let variant = plan.variants[place];
            progress(done, variant.name);
            let job = Job { role, variant, settings: plan.settings.clone() };
            let told = worker::start(program, &job, lot.below(worker::MOST_PADDING))?;
            let published = Published::of_json(&told["published"]);
            if let Some(complaint) = published.and_then(|published| published.complaint()) {
                let difference = format!("{}: {complaint}", variant.name);
                return Err(DayFileError::Differ { difference });
            }
            if role == Role::Measure {
                let reading = Reading::of_json(&told).ok_or_else(|| unreadable(variant, &told))?;
                answers.push((variant.name, reading.answer));
                readings[place].push(reading);
            } else {
                answers.push((variant.name, Answer::of_json(&told["answer"])));
                latencies[place].push(told);
            }
            done += 1;
        }
    }
    if let Some(difference) = disagreement(answers) {
        return Err(DayFileError::Differ { difference });
    }
    let all = plan.variants.iter().zip(readings).zip(latencies);
    let measured = all.map(|((&variant, readings), latencies)| Measured {
        variant,
        operations: readings.first().and_then(|one| one.accesses).unwrap_or(messages),
        readings,
        latency: MessageLatency::of_runs(&latencies),
    });
    Ok(measured.collect())
}

fn unreadable(variant: &Variant, told: &serde_json::Value) -> DayFileError {
    let (status, said) = ("a reading that is none".to_owned(), told.to_string());
    DayFileError::Worker { variant: variant.name, status, said }
}

impl Measured {
    /// What a message takes more than with `base`, in ns on processors, round by round.
    pub fn added_ns(&self, base: &Self) -> Option<Spread> {
        let pairs = self.processor_ns_by_round().into_iter().zip(base.processor_ns_by_round());
        Spread::of(&pairs.map(|(own, base)| own - base).collect::<Vec<_>>())
    }

    /// Messages in a second that passed.
    pub fn messages_per_second(&self) -> Option<Spread> {
        self.spread(|reading| self.operations as f64 * 1e9 / reading.wall_nanos as f64)
    }

    /// Records in a second that passed; None if it publishes none.
    pub fn records_per_second(&self) -> Option<Spread> {
        self.published()?;
        let records = |reading: &Reading| reading.published.map_or(0, |one| one.records);
        self.spread(|reading| records(reading) as f64 * 1e9 / reading.wall_nanos as f64)
    }

    /// What all readings published, and what became of it, added up.
    pub fn published(&self) -> Option<Published> {
        let published = self.readings.iter().filter_map(|reading| reading.published);
        published.reduce(|one, other| Published {
            records: one.records + other.records,
            taps: one.taps,
            read: one.read + other.read,
            lost: one.lost + other.lost,
            wanted: one.wanted + other.wanted,
        })
    }

    /// Processor time for one operation, in ns.
    pub fn processor_ns(&self) -> Option<Spread> {
        self.spread(|reading| reading.processor_nanos as f64 / self.operations as f64)
    }

    /// The same, round by round.
    pub fn processor_ns_by_round(&self) -> Vec<f64> {
        let nanos = self.readings.iter().map(|reading| reading.processor_nanos as f64);
        nanos.map(|nanos| nanos / self.operations as f64).collect()
    }

    /// Time that passed for one operation, in ns.
    pub fn wall_ns(&self) -> Option<Spread> {
        self.spread(|reading| reading.wall_nanos as f64 / self.operations as f64)
    }

    /// Time to make the tables, in ms.
    pub fn startup_ms(&self) -> Option<Spread> {
        self.spread(|reading| reading.startup_nanos as f64 / 1e6)
    }

    /// The most memory in any round.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        self.readings.iter().filter_map(|reading| reading.peak_memory_bytes).max()
    }

    /// The most of it that was seen to be of no file.
    pub fn peak_anonymous_bytes(&self) -> Option<u64> {
        self.readings.iter().filter_map(|reading| reading.peak_anonymous_bytes).max()
    }

    /// What it found out about the day.
    pub fn answer(&self) -> Answer {
        self.readings.first().map_or(Answer::default(), |reading| reading.answer)
    }

    /// How many times as long as `base` it takes: the median over rounds.
    pub fn ratio_to(&self, base: &Self) -> Option<f64> {
        let time = |reading: &Reading| reading.processor_nanos as f64;
        let pairs = self.readings.iter().zip(&base.readings);
        let ratios: Vec<f64> = pairs.map(|(own, base)| time(own) / time(base)).collect();
        median(&ratios)
    }

    fn spread(&self, number: impl Fn(&Reading) -> f64) -> Option<Spread> {
        let numbers: Vec<f64> = self.readings.iter().map(number).collect();
        Spread::of(&numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::day_file::VARIANTS;

    fn measured(nanos: &[u64]) -> Measured {
        let reading = |&nanos: &u64| Reading { processor_nanos: nanos, ..Reading::default() };
        Measured {
            variant: &VARIANTS[0],
            readings: nanos.iter().map(reading).collect(),
            latency: None,
            operations: 10,
        }
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let (base, twice) = (measured(&[100, 500, 900]), measured(&[200, 1_000, 1_800]));
        assert_eq!(twice.ratio_to(&base), Some(2.0));
        let spread = Spread { median: 50.0, lowest: 10.0, highest: 90.0 };
        assert_eq!(base.processor_ns(), Some(spread));
        let spread = Spread { median: 50.0, lowest: 10.0, highest: 90.0 };
        assert_eq!(twice.added_ns(&base), Some(spread));
    }
}
