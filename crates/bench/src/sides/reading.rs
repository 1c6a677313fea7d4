//! What the processes of one row give back.

use nanotape_lab::environment::Noise;
use serde_json::{Value, json};

/// What a writer did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Messages, without the one that tells readers to stop.
    pub messages: u64,
    /// From before the first to behind the last.
    pub nanos: u64,
}

/// What a reader got.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Taken {
    /// Messages read, and found to be right.
    pub messages: u64,
    /// Messages of which it was said that they were lost.
    pub lost: u64,
    /// From the first message to the last; 0 where messages are timed one by one.
    pub nanos: u64,
    /// The median of the batches, where messages are read in batches.
    pub batch_p50: Option<u64>,
}

/// Times of single messages, or of round trips, without the first tenth of the run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[expect(missing_docs, reason = "they are what their names say")]
pub struct Times {
    pub count: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub p9999_ns: u64,
    pub max_ns: u64,
    /// Samples over [`PREEMPTED_NANOS`](super::PREEMPTED_NANOS).
    pub over_100us: u64,
    /// Samples that ended before they began, by the clocks of their processors.
    pub reversed: u64,
    /// From the time at which a message was due.
    pub due_p50_ns: Option<u64>,
    pub due_p99_ns: Option<u64>,
    /// What the clock reads of nothing: it is in every sample.
    pub clock_ns: f64,
}

/// One row in one round.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reading {
    /// By the writer.
    pub written: Written,
    /// By each reader; empty where there is none.
    pub taken: Vec<Taken>,
    /// Where messages are timed one by one.
    pub times: Option<Times>,
    /// Of the writer's calls, where those are timed beside.
    pub calls: Option<Times>,
    /// Of those calls that went over to a new file, where there are such.
    pub rolls: Option<Times>,
    /// What disturbed any of its processes.
    pub noise: Noise,
}

impl Reading {
    /// Messages that the writer wrote in a second.
    pub fn written_per_second(&self) -> Option<f64> {
        per_second_of(self.written.messages, self.written.nanos)
    }

    /// Messages that the slowest reader read in a second.
    pub fn read_per_second(&self) -> Option<f64> {
        let rates = self.taken.iter();
        let rates = rates.filter_map(|taken| per_second_of(taken.messages, taken.nanos));
        rates.reduce(f64::min)
    }

    /// The share of messages that readers lost.
    pub fn lost_share(&self) -> Option<f64> {
        let lost: u64 = self.taken.iter().map(|taken| taken.lost).sum();
        let accounted: u64 = self.taken.iter().map(|taken| taken.accounted()).sum();
        (accounted > 0).then(|| lost as f64 / accounted as f64)
    }
}

/// So many in so many ns, for a second.
fn per_second_of(messages: u64, nanos: u64) -> Option<f64> {
    (nanos > 0).then(|| messages as f64 * 1e9 / nanos as f64)
}

impl Taken {
    /// Messages whose fate is known.
    pub fn accounted(&self) -> u64 {
        self.messages + self.lost
    }
}

/// What one process says.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) written: Option<Written>,
    pub(crate) taken: Option<Taken>,
    pub(crate) times: Option<Times>,
    pub(crate) calls: Option<Times>,
    pub(crate) rolls: Option<Times>,
}

impl Told {
    /// With what disturbed the process.
    pub(crate) fn to_json(&self, noise: &Noise) -> Value {
        let taken = self.taken.map(|taken| {
            json!({
                "messages": taken.messages,
                "lost": taken.lost,
                "nanos": taken.nanos,
                "batch_p50": taken.batch_p50,
            })
        });
        let written = self
            .written
            .map(|written| json!({ "messages": written.messages, "nanos": written.nanos }));
        json!({
            "written": written,
            "taken": taken,
            "times": self.times.map(Times::to_json),
            "calls": self.calls.map(Times::to_json),
            "rolls": self.rolls.map(Times::to_json),
            "noise": {
                "stolen": noise.stolen,
                "foreign": noise.foreign,
                "involuntary_switches": noise.involuntary_switches,
            },
        })
    }
}

impl Times {
    fn to_json(self) -> Value {
        json!({
            "count": self.count,
            "p50_ns": self.p50_ns,
            "p90_ns": self.p90_ns,
            "p99_ns": self.p99_ns,
            "p999_ns": self.p999_ns,
            "p9999_ns": self.p9999_ns,
            "max_ns": self.max_ns,
            "over_100us": self.over_100us,
            "reversed": self.reversed,
            "due_p50_ns": self.due_p50_ns,
            "due_p99_ns": self.due_p99_ns,
            "clock_ns": self.clock_ns,
        })
    }

    fn of_json(value: &Value) -> Option<Self> {
        let number = |name: &str| value[name].as_u64();
        Some(Self {
            count: number("count")?,
            p50_ns: number("p50_ns")?,
            p90_ns: number("p90_ns")?,
            p99_ns: number("p99_ns")?,
            p999_ns: number("p999_ns")?,
            p9999_ns: number("p9999_ns")?,
            max_ns: number("max_ns")?,
            over_100us: number("over_100us")?,
            reversed: number("reversed")?,
            due_p50_ns: number("due_p50_ns"),
            due_p99_ns: number("due_p99_ns"),
            clock_ns: value["clock_ns"].as_f64()?,
        })
    }
}

impl Reading {
    /// From what all processes of a row said, the writer first; None if one of them said something
    /// else.
    pub(crate) fn of_json(told: &[Value]) -> Option<Self> {
        let mut reading = Self::default();
        let written = &told.first()?["written"];
        reading.written =
            Written { messages: written["messages"].as_u64()?, nanos: written["nanos"].as_u64()? };
        for value in told {
            if let taken @ Value::Object(_) = &value["taken"] {
                reading.taken.push(Taken {
                    messages: taken["messages"].as_u64()?,
                    lost: taken["lost"].as_u64()?,
                    nanos: taken["nanos"].as_u64()?,
                    batch_p50: taken["batch_p50"].as_u64(),
                });
            }
            for (name, place) in [
                ("times", &mut reading.times),
                ("calls", &mut reading.calls),
                ("rolls", &mut reading.rolls),
            ] {
                if let times @ Value::Object(_) = &value[name] {
                    *place = Some(Times::of_json(times)?);
                }
            }
            reading.add_noise(&value["noise"]);
        }
        Some(reading)
    }

    /// The worst of all processes, and all their switches.
    fn add_noise(&mut self, noise: &Value) {
        let worse = |before: Option<f64>, name: &str| {
            let now = noise[name].as_f64();
            before.into_iter().chain(now).reduce(f64::max)
        };
        self.noise.stolen = worse(self.noise.stolen, "stolen");
        self.noise.foreign = worse(self.noise.foreign, "foreign");
        if let Some(switches) = noise["involuntary_switches"].as_u64() {
            *self.noise.involuntary_switches.get_or_insert(0) += switches;
        }
    }

    /// What is wrong with the count of messages, if something is: each must be read, or known to be
    /// lost, and nothing may be lost where the writer waits.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(messages: u64, lost: u64) -> Reading {
        let taken = Taken { messages, lost, nanos: 1, batch_p50: Some(4) };
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
    fn what_processes_tell_is_what_was_measured() {
        let times = Times { count: 5, p50_ns: 200, due_p50_ns: Some(7), ..Times::default() };
        let Reading { written, taken, .. } = read(90, 10);
        let writer = Told { written: Some(written), calls: Some(times), ..Told::default() };
        let reader = Told { taken: Some(taken[0]), times: Some(times), ..Told::default() };
        let quiet = Noise { foreign: Some(0.01), ..Noise::default() };
        let noisy = Noise { foreign: Some(0.5), involuntary_switches: Some(3), ..Noise::default() };
        let told = [writer.to_json(&quiet), reader.to_json(&noisy)];
        let reading = Reading::of_json(&told).unwrap();
        assert_eq!((reading.written, reading.taken, reading.times), (written, taken, Some(times)));
        assert_eq!((reading.calls, reading.rolls), (Some(times), None));
        assert_eq!(reading.noise, noisy);
        assert_eq!(Reading::of_json(&told[1..]), None);
    }
}
