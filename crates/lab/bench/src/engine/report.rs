//! What the processes of a row measure.

use nanotape_lab::environment::Noise;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::day_file::DayReading;

/// Counts of a writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Written {
    /// Messages, without the one that ends readers.
    pub(crate) messages: u64,
    /// Time from before the first message to after the last.
    pub(crate) nanos: u64,
}

/// Counts of a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// Messages read and verified.
    pub(crate) messages: u64,
    /// Messages reported as lost.
    pub(crate) lost: u64,
    /// Time from the first message to the last; 0 if messages are timed one by one.
    pub(crate) nanos: u64,
    /// Median size of the batches, if messages are read in batches.
    pub(crate) batch_p50: Option<u64>,
    /// Messages that passed the reader's filter, if it has one.
    pub(crate) wanted: u64,
}

/// Times of single messages, or of round trips, without the first tenth of the run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) count: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p90_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) p9999_ns: u64,
    pub(crate) max_ns: u64,
    /// Samples above [`PREEMPTED_NANOS`](super::PREEMPTED_NANOS).
    pub(crate) over_100us: u64,
    /// Samples with an end before their begin, by the clocks of their processors.
    pub(crate) reversed: u64,
    /// Measured from the time at which a message was due.
    pub(crate) due_p50_ns: Option<u64>,
    pub(crate) due_p99_ns: Option<u64>,
    /// Time of an empty pair of stamps: it is in every sample.
    pub(crate) clock_ns: f64,
}

/// The reading of a row in one round. Each of its processes reports what it measures.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// Counts of the writer.
    pub(crate) written: Written,
    /// Counts of each reader; empty if there is none.
    pub(crate) taken: Vec<Taken>,
    /// Times, if messages are timed one by one.
    pub(crate) times: Option<Times>,
    /// Times of the writer's calls, if they are timed.
    pub(crate) calls: Option<Times>,
    /// Times of the calls that rolled to a new file.
    pub(crate) rolls: Option<Times>,
    /// The reading of a whole day, for benchmarks that run days.
    pub(crate) day: DayReading,
    /// Members that only one benchmark has.
    pub(crate) detail: Value,
    /// Disturbances of its processes.
    pub(crate) noise: Noise,
}

/// A reading of a process that measures one thing.
macro_rules! readings_of {
    ($($type:ident: $member:ident = |$it:ident| $value:expr;)*) => {
        $(impl From<$type> for Reading {
            fn from($it: $type) -> Self {
                Self { $member: $value, ..Self::default() }
            }
        })*
    };
}
readings_of! {
    Written: written = |written| written;
    Taken: taken = |taken| vec![taken];
    Times: times = |times| Some(times);
    DayReading: day = |day| day;
}

impl Reading {
    /// Adds the report of a further process.
    pub(crate) fn with(mut self, report: Self) -> Self {
        if report.written != Written::default() {
            self.written = report.written;
        }
        if report.day != DayReading::default() {
            self.day = report.day;
        }
        match (&mut self.detail, report.detail) {
            (_, Value::Null) => {}
            (Value::Object(own), Value::Object(others)) => own.extend(others),
            (own, other) => *own = other,
        }
        self.taken.extend(report.taken);
        self.times = report.times.or(self.times);
        self.calls = report.calls.or(self.calls);
        self.rolls = report.rolls.or(self.rolls);
        // The worst share of all processes, and the sum of their switches.
        let worse = |one: Option<f64>, other| one.into_iter().chain(other).reduce(f64::max);
        self.noise.stolen = worse(self.noise.stolen, report.noise.stolen);
        self.noise.foreign = worse(self.noise.foreign, report.noise.foreign);
        if let Some(switches) = report.noise.involuntary_switches {
            *self.noise.involuntary_switches.get_or_insert(0) += switches;
        }
        self
    }

    /// Messages that the writer wrote per second.
    pub(crate) fn written_per_second(&self) -> Option<f64> {
        per_second_of(self.written.messages, self.written.nanos)
    }

    /// Messages that the slowest reader read per second.
    pub(crate) fn read_per_second(&self) -> Option<f64> {
        let rates = self.taken.iter();
        let rates = rates.filter_map(|taken| per_second_of(taken.messages, taken.nanos));
        rates.reduce(f64::min)
    }

    /// The share of messages that readers lost.
    pub(crate) fn lost_share(&self) -> Option<f64> {
        let lost: u64 = self.taken.iter().map(|taken| taken.lost).sum();
        let accounted: u64 = self.taken.iter().map(Taken::accounted).sum();
        (accounted > 0).then(|| lost as f64 / accounted as f64)
    }

    /// Median of its times.
    pub(crate) fn p50_ns(&self) -> Option<f64> {
        self.times.map(|times| times.p50_ns as f64).filter(|&nanos| nanos > 0.0)
    }

    /// An error in the count of messages: each must be read or reported as lost, and none may be
    /// lost if the writer waits.
    pub(crate) fn complaint(&self, may_lose: bool) -> Option<String> {
        let published = self.written.messages;
        self.taken.iter().find_map(|taken| match taken.accounted() {
            accounted if accounted != published => {
                Some(format!("{published} messages were published, and {accounted} accounted for"))
            }
            _ if taken.lost > 0 && !may_lose => {
                Some(format!("{} of {published} messages were lost", taken.lost))
            }
            _ => None,
        })
    }
}

/// The rate per second of `messages` in `nanos`.
fn per_second_of(messages: u64, nanos: u64) -> Option<f64> {
    (nanos > 0).then(|| messages as f64 * 1e9 / nanos as f64)
}

impl Taken {
    /// Messages read, or known to be lost.
    pub(crate) fn accounted(&self) -> u64 {
        self.messages + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(messages: u64, lost: u64) -> Reading {
        let taken = Taken { messages, lost, nanos: 1, batch_p50: Some(4), wanted: 0 };
        let written = Written { messages: 100, nanos: 1_000 };
        Reading { written, taken: vec![taken], ..Reading::default() }
    }

    #[test]
    fn every_message_is_accounted_for_or_there_is_a_complaint() {
        assert_eq!(read(90, 10).complaint(true), None);
        assert_eq!(read(100, 0).complaint(false), None);
        let complaint = read(90, 9).complaint(true).unwrap();
        assert_eq!(complaint, "100 messages were published, and 99 accounted for");
        let complaint = read(90, 10).complaint(false).unwrap();
        assert_eq!(complaint, "10 of 100 messages were lost");
    }

    #[test]
    fn what_processes_report_is_what_was_measured() {
        let times = Times { count: 5, p50_ns: 200, due_p50_ns: Some(7), ..Times::default() };
        let Reading { written, taken, .. } = read(90, 10);
        let quiet = Noise { foreign: Some(0.01), ..Noise::default() };
        let noisy = Noise { foreign: Some(0.5), involuntary_switches: Some(3), ..Noise::default() };
        let writer = Reading { calls: Some(times), noise: quiet, ..written.into() };
        let reader = Reading { times: Some(times), noise: noisy.clone(), ..taken[0].into() };
        let sent = [writer, reader].map(|report| serde_json::to_string(&report).unwrap());
        let reports = sent.iter().map(|text| serde_json::from_str::<Reading>(text).unwrap());
        let reading = reports.fold(Reading::default(), Reading::with);
        assert_eq!((reading.written, reading.taken, reading.times), (written, taken, Some(times)));
        assert_eq!((reading.calls, reading.rolls), (Some(times), None));
        assert_eq!(reading.noise, noisy);
    }
}
