//! Predicted against measured: the delays of a replay of recorded arrivals through a real pipeline,
//! and those that the simulation predicts from service times measured before.
//!
//! Where: `nanotape lab queue --validate` replays. This module works on numbers only.
//!
//! Predictions and measurements are compared on the same messages: on all, and on those that are
//! quiet (see [`replay`](crate::replay)). Quantiles are those of the nearest rank over all replays
//! together.

use std::{collections::BTreeMap, ops::Range};

use serde_json::{Value, json};

use crate::{Model, Replay, ServiceTimes};

/// The quantiles that are compared, by name.
pub const COMPARED: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// How far a prediction may be from the measurement, as a share of the measurement.
pub const GOAL: f64 = 0.1;

/// Points of a curve: one message in so many has a delay at or above.
const CURVE: [u64; 18] = [
    2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000,
    200_000, 500_000,
];

/// Some consecutive messages of a replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// What they are.
    pub name: String,
    /// The messages, by their index.
    pub messages: Range<usize>,
    /// The arrivals of the first and the last one.
    pub span_ns: (u64, u64),
}

/// The delays of some messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delays {
    /// Who says so: `measured`, or a model.
    pub name: &'static str,
    /// The quantiles of [`COMPARED`].
    pub quantiles: [u64; 3],
    /// The largest one.
    pub largest_ns: u64,
    /// The delays that one message in so many reaches.
    curve: Vec<(u64, u64)>,
}

/// The measured delays of some messages, and what each model predicts for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// Messages, over all replays together.
    pub messages: u64,
    /// What was measured.
    pub measured: Delays,
    /// The smallest and the largest value of each quantile, and of the largest delay, over the
    /// replays.
    pub rounds: [(u64, u64); 4],
    /// What the models predict.
    pub predicted: Vec<Delays>,
}

/// One case.
#[derive(Clone, PartialEq, Debug)]
pub struct Validation {
    /// Its messages.
    pub case: Case,
    /// Replays of the recorded schedule.
    pub replays: usize,
    /// The share of messages that found the receiver idle.
    pub idle_share: f64,
    /// The mean service times that were measured without and after a long idle time.
    pub mean_ns: [u64; 2],
    /// The quiet messages; `None` if there are none.
    pub quiet: Option<Comparison>,
    /// All messages. The last prediction has the interruptions of the replay.
    pub all: Comparison,
    /// For each cause of interruptions: their count, and their time in nanoseconds.
    pub causes: BTreeMap<&'static str, (u64, u64)>,
    /// Interruptions that were not kept: no message after them counts as quiet.
    pub not_kept: u64,
}

/// The name of the prediction with interruptions.
const WITH_INTERRUPTIONS: &str = "own, interrupted";

impl Validation {
    /// Compares replays of a recorded schedule with predictions. `None` without replays, and if
    /// the case has messages that a replay lacks.
    pub fn of(case: &Case, times: &ServiceTimes, replays: &[Replay], seed: u64) -> Option<Self> {
        let fits = |replay: &Replay| replay.end_ns.len() >= case.messages.end;
        if replays.is_empty() || case.messages.is_empty() || !replays.iter().all(fits) {
            return None;
        }
        let (mut all, mut quiet) = (Collected::default(), Collected::default());
        let (mut idle, mut not_kept) = (0, 0);
        let mut causes: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
        for (round, replay) in replays.iter().enumerate() {
            let mut replay = replay.clone();
            replay.add_unexplained();
            replay.leave_out_long_messages(|index| times.own_ns(index));
            let seed = seed.wrapping_add(round as u64);
            let predict = |model| times.predict(model, &replay.due_ns, &[], seed);
            let mut predicted: Vec<Vec<u64>> = Model::ALL.map(predict).into();
            let blocked = &replay.interruptions;
            predicted.push(times.predict(Model::Own, &replay.due_ns, blocked, seed));
            let measured = replay.delays_ns();
            let interrupted = replay.interrupted();
            let is_quiet = |index: &usize| !interrupted[*index];
            all.add(case.messages.clone(), &measured, &predicted);
            quiet.add(case.messages.clone().filter(is_quiet), &measured, &predicted);
            let steps = replay.steps().skip(case.messages.start).take(case.messages.len());
            let (mut from_ns, mut to_ns) = (u64::MAX, 0);
            for step in steps {
                idle += u64::from(step.idle_ns.is_some());
                (from_ns, to_ns) = (from_ns.min(step.start_ns), to_ns.max(step.end_ns));
            }
            for one in blocked.iter().filter(|one| one.from_ns < to_ns && one.to_ns > from_ns) {
                let (count, ns) = causes.entry(one.cause).or_default();
                *count += 1;
                *ns += one.to_ns - one.from_ns;
            }
            not_kept += replay.not_kept;
        }
        let all = all.finish()?;
        let mut quiet = quiet.finish();
        // Nothing interrupted them.
        quiet.iter_mut().for_each(|quiet| _ = quiet.predicted.pop());
        Some(Self {
            case: case.clone(),
            replays: replays.len(),
            idle_share: idle as f64 / all.messages as f64,
            mean_ns: times.mean_ns(),
            quiet,
            all,
            causes,
            not_kept,
        })
    }

    /// The share of messages that were interrupted.
    pub fn interrupted_share(&self) -> f64 {
        let quiet = self.quiet.as_ref().map_or(0, |quiet| quiet.messages);
        1.0 - quiet as f64 / self.all.messages as f64
    }

    /// The object of docs/formats/lab-queue.md.
    pub fn record(&self) -> Value {
        let cause = |(cause, (count, ns)): (&&'static str, &(u64, u64))| json!({ "cause": cause, "count": count, "ns": ns });
        json!({
            "name": self.case.name,
            "first_ns": self.case.span_ns.0,
            "last_ns": self.case.span_ns.1,
            "messages": self.case.messages.len(),
            "replays": self.replays,
            "idle_share": self.idle_share,
            "busy_mean_ns": self.mean_ns[0],
            "idle_mean_ns": self.mean_ns[1],
            "interrupted_share": self.interrupted_share(),
            "causes": self.causes.iter().map(cause).collect::<Vec<_>>(),
            "not_kept": self.not_kept,
            "quiet": self.quiet.as_ref().map(Comparison::record),
            "all": self.all.record(),
        })
    }
}

impl Comparison {
    /// The model that is judged: chosen before any comparison, and not the best one after it.
    pub fn judged(&self) -> Option<&Delays> {
        self.predicted.iter().find(|one| one.name == Model::TypesAndIdle.name())
    }

    /// The error of each quantile as a share of what was measured: positive if the prediction is
    /// too long.
    pub fn errors(&self, predicted: &Delays) -> [f64; 3] {
        let both = [0, 1, 2].map(|at| (predicted.quantiles[at], self.measured.quantiles[at]));
        both.map(|(predicted, measured)| predicted as f64 / measured.max(1) as f64 - 1.0)
    }

    fn record(&self) -> Value {
        let delays = |one: &Delays| {
            let mut record = json!({
                "name": one.name,
                "largest_ns": one.largest_ns,
                "curve": one.curve,
            });
            for ((name, _), ns) in COMPARED.iter().zip(one.quantiles) {
                record[*name] = json!(ns);
            }
            record
        };
        json!({
            "messages": self.messages,
            "measured": delays(&self.measured),
            "rounds": self.rounds,
            "predicted": self.predicted.iter().map(delays).collect::<Vec<_>>(),
        })
    }
}

/// The delays of the same messages: measured, and as each model predicts them.
#[derive(Default)]
struct Collected {
    measured: Vec<u64>,
    predicted: Vec<Vec<u64>>,
    /// The quantiles of each replay, and its largest delay.
    rounds: Vec<[u64; 4]>,
}

impl Collected {
    fn add(
        &mut self,
        indices: impl Iterator<Item = usize> + Clone,
        measured: &[u64],
        predicted: &[Vec<u64>],
    ) {
        let of = |delays: &[u64]| -> Vec<u64> {
            indices.clone().filter_map(|index| delays.get(index).copied()).collect()
        };
        let of_round = of(measured);
        self.measured.extend_from_slice(&of_round);
        if let Some(round) = Delays::of("", of_round) {
            let [p50, p99, p999] = round.quantiles;
            self.rounds.push([p50, p99, p999, round.largest_ns]);
        }
        self.predicted.resize(predicted.len(), Vec::new());
        for (all, one) in self.predicted.iter_mut().zip(predicted) {
            all.extend(of(one));
        }
    }

    fn finish(self) -> Option<Comparison> {
        let names = Model::ALL.map(Model::name).into_iter().chain([WITH_INTERRUPTIONS]);
        let messages = self.measured.len() as u64;
        let range = |at: usize| {
            let values = self.rounds.iter().map(|round| round[at]);
            (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
        };
        let rounds = [0, 1, 2, 3].map(range);
        let predicted = self.predicted.into_iter().zip(names);
        let predicted: Option<Vec<Delays>> =
            predicted.map(|(delays, name)| Delays::of(name, delays)).collect();
        let measured = Delays::of("measured", self.measured)?;
        Some(Comparison { messages, measured, rounds, predicted: predicted? })
    }
}

impl Delays {
    /// `None` without delays.
    fn of(name: &'static str, mut delays: Vec<u64>) -> Option<Self> {
        delays.sort_unstable();
        let largest_ns = *delays.last()?;
        let rank = |quantile: f64| (quantile * delays.len() as f64).ceil() as usize;
        let at = |quantile: f64| delays[rank(quantile).clamp(1, delays.len()) - 1];
        let reached = CURVE.iter().take_while(|&&one_in| one_in <= delays.len() as u64);
        let curve = reached.map(|&one_in| (one_in, at(1.0 - 1.0 / one_in as f64))).collect();
        let quantiles = COMPARED.map(|(_, quantile)| at(quantile));
        Some(Self { name, quantiles, largest_ns, curve })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interruption;

    /// Messages that are due every 100 ns, and take 60 ns after an idle time and 40 without one.
    fn replays(interruptions: &[Interruption]) -> (ServiceTimes, Replay) {
        let letters = [b'A'; 1_000];
        let each = |gap: u64, service: u64| {
            let due_ns: Vec<u64> = (0..1_000).map(|at| at * (gap + service)).collect();
            let end_ns = due_ns.iter().map(|due| due + service).collect();
            Replay { due_ns, end_ns, ..Replay::default() }
        };
        let (busy, idle) = (each(0, 40), each(40, 60));
        let times = ServiceTimes::of(&letters, &[busy], &[idle]).unwrap();
        let due_ns: Vec<u64> = (0..1_000).map(|at| at * 100).collect();
        let delays = times.predict(Model::Own, &due_ns, interruptions, 1);
        let end_ns = due_ns.iter().zip(delays).map(|(due, delay)| due + delay).collect();
        let interruptions = interruptions.to_vec();
        (times, Replay { due_ns, end_ns, interruptions, not_kept: 0 })
    }

    #[test]
    fn quiet_messages_leave_out_what_an_interruption_delayed() {
        // Message 500 and 12 more are done before the receiver is idle again.
        let stolen =
            Interruption { from_ns: 49_990, to_ns: 50_740, message: None, cause: "stolen" };
        let (times, replay) = replays(&[stolen]);
        let case = Case { name: "all".to_owned(), messages: 0..1_000, span_ns: (0, 99_900) };
        let found = Validation::of(&case, &times, &[replay.clone(), replay], 1).unwrap();
        let quiet = found.quiet.as_ref().unwrap();
        assert_eq!((found.all.messages, quiet.messages), (2_000, 2_000 - 2 * 13));
        assert_eq!((quiet.measured.quantiles, quiet.measured.largest_ns), ([60; 3], 60));
        let names: Vec<_> = quiet.predicted.iter().map(|one| one.name).collect();
        assert_eq!(names, ["constant", "by type", "by type and idle time", "own and idle time"]);
        assert_eq!(quiet.errors(&quiet.predicted[0]), [40.0 / 60.0 - 1.0; 3]);
        assert_eq!(quiet.errors(quiet.judged().unwrap()), [0.0; 3]);
        assert_eq!(found.all.measured.largest_ns, 740 + 60);
        assert_eq!(found.all.predicted.last().unwrap().quantiles, found.all.measured.quantiles);
        assert_eq!(found.causes["stolen"], (2, 1_500));
        assert_eq!(found.mean_ns, [40, 60]);
        assert!((found.interrupted_share() - 0.013).abs() < 1e-9 && found.idle_share > 0.98);
        let record = found.record();
        assert_eq!(record["quiet"]["measured"]["p99.9"], 60);
        assert_eq!(record["causes"][0]["cause"], "stolen");
    }

    #[test]
    fn a_case_outside_of_a_replay_and_one_without_quiet_messages_are_reported() {
        let always = Interruption { from_ns: 0, to_ns: 1_000_000, message: None, cause: "stolen" };
        let (times, mut replay) = replays(&[]);
        replay.interruptions = vec![always];
        let case = Case { name: "all".to_owned(), messages: 0..1_001, span_ns: (0, 1) };
        assert!(Validation::of(&case, &times, &[replay.clone()], 1).is_none());
        let case = Case { messages: 0..10, ..case };
        let found = Validation::of(&case, &times, &[replay], 1).unwrap();
        assert!(found.quiet.is_none() && found.interrupted_share() == 1.0);
        assert!(Validation::of(&case, &times, &[], 1).is_none());
    }
}
