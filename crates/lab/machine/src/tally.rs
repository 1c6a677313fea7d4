//! Interruptions by cause: how many, how long.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cause::Cause;

/// Causes with more names than this are reported together, by their kind.
const MOST_CAUSES: usize = 24;

/// Lengths of interruptions, by cause.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<Cause, Vec<u64>>);

/// All interruptions of one cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Total {
    /// The cause, in words.
    pub cause: String,
    /// How many.
    pub count: u64,
    /// The sum of their lengths in nanoseconds.
    pub sum_ns: u64,
    /// The median length.
    pub p50_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Tally {
    /// Adds one of this length.
    pub fn add(&mut self, cause: &Cause, nanos: u64) {
        match self.0.get_mut(cause) {
            Some(lengths) => lengths.push(nanos),
            None => {
                self.0.insert(cause.clone(), vec![nanos]);
            }
        }
    }

    /// A total for each cause, the one with the longest sum first.
    pub fn totals(&self) -> Vec<Total> {
        let mut by_name: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let is_long = self.0.len() > MOST_CAUSES;
        for (cause, lengths) in &self.0 {
            let name = if is_long { cause.kind().to_owned() } else { cause.to_string() };
            by_name.entry(name).or_default().extend(lengths);
        }
        let mut totals: Vec<Total> =
            by_name.into_iter().filter_map(|(cause, lengths)| Total::of(cause, lengths)).collect();
        totals
            .sort_by(|one, other| other.sum_ns.cmp(&one.sum_ns).then(one.cause.cmp(&other.cause)));
        totals
    }
}

impl Total {
    fn of(cause: String, mut lengths: Vec<u64>) -> Option<Self> {
        lengths.sort_unstable();
        Some(Self {
            cause,
            count: lengths.len() as u64,
            sum_ns: lengths.iter().sum(),
            p50_ns: *lengths.get((lengths.len() - 1) / 2)?,
            max_ns: *lengths.last()?,
        })
    }

    /// The cause object of docs/formats/lab-machine.md.
    pub fn to_json(&self) -> Value {
        let Self { cause, count, sum_ns, p50_ns, max_ns } = self;
        json!({ "cause": cause, "count": count, "ns": sum_ns, "p50_ns": p50_ns, "max_ns": max_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_that_took_most_is_first() {
        let mut tally = Tally::default();
        for nanos in [10, 30, 20] {
            tally.add(&Cause::Timer, nanos);
        }
        tally.add(&Cause::Stolen, 5_000);
        let totals = tally.totals();
        let timer = Total {
            cause: "timer interrupt".to_owned(),
            count: 3,
            sum_ns: 60,
            p50_ns: 20,
            max_ns: 30,
        };
        assert_eq!(totals.len(), 2);
        assert_eq!((&*totals[0].cause, &totals[1]), ("stolen by the hypervisor", &timer));
    }

    #[test]
    fn many_names_are_reported_by_their_kind() {
        let mut tally = Tally::default();
        for number in 0..=MOST_CAUSES as u32 {
            tally.add(&Cause::Signal { number }, 1);
        }
        let totals = tally.totals();
        assert_eq!((totals.len(), &*totals[0].cause, totals[0].count), (1, "signal", 25));
    }
}
