//! What a plant is to reach, beside what it reached.

use super::{
    one_by_one::QUANTILES,
    plant_variants::{BACKBONE, PLANT},
    session::Measured,
};

/// A time that is not to be exceeded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal {
    /// Which, as it stands in results.
    pub name: &'static str,
    /// The most it should be.
    pub at_most_ns: f64,
    /// What it is.
    pub ns: f64,
}

/// What records and ring may add to a message's time.
const MOST_ADDED_NS: f64 = 40.0;

/// The most that messages may take one by one: so many of them.
const MOST_OF_QUANTILES: [(&str, f64); 2] = [("p99", 650.0), ("p99.9", 1_000.0)];

impl Goal {
    /// Whether it was reached.
    pub fn is_met(&self) -> bool {
        self.ns <= self.at_most_ns
    }

    /// How far the time is from it, on either side.
    pub fn distance_ns(&self) -> f64 {
        (self.at_most_ns - self.ns).abs()
    }
}

/// The goals of the usual plant, as far as they were measured.
pub fn goals(measured: &[Measured]) -> Vec<Goal> {
    let of = |name| measured.iter().find(|one: &&Measured| one.variant.name == name);
    let Some(plant) = of(PLANT) else { return Vec::new() };
    let added = of(BACKBONE).and_then(|backbone| plant.added_ns(backbone));
    let added =
        added.map(|added| Goal { name: "adds", at_most_ns: MOST_ADDED_NS, ns: added.median });
    let quantiles = MOST_OF_QUANTILES.into_iter().filter_map(|(name, at_most_ns)| {
        let place = QUANTILES.iter().position(|(known, _)| *known == name)?;
        Some(Goal { name, at_most_ns, ns: plant.latency.as_ref()?.quantiles_ns[place] })
    });
    added.into_iter().chain(quantiles).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::day_file::{MessageLatency, PLANT_VARIANTS, Reading};

    fn measured(place: usize, nanos: u64, latency: Option<MessageLatency>) -> Measured {
        let reading = Reading { processor_nanos: nanos, ..Reading::default() };
        Measured {
            variant: &PLANT_VARIANTS[place],
            readings: vec![reading],
            latency,
            operations: 10,
        }
    }

    #[test]
    fn goals_are_of_the_plant_beside_the_backbone() {
        let latency = MessageLatency {
            count: 10,
            quantiles_ns: [100.0, 200.0, 650.0, 1_200.0, 2_000.0],
            max_ns: 3_000,
            clock_ns: 19.0,
            clock: "a clock".to_owned(),
        };
        let rows = [measured(0, 500, None), measured(2, 950, Some(latency))];
        let goals = goals(&rows);
        let met = goals.iter().map(|goal| (goal.name, goal.is_met(), goal.distance_ns()));
        let expected = [("adds", false, 5.0), ("p99", true, 0.0), ("p99.9", false, 200.0)];
        assert!(met.eq(expected), "{goals:?}");
        assert!(super::goals(&rows[..1]).is_empty());
        assert!(super::goals(&rows[1..]).iter().all(|goal| goal.name != "adds"));
    }
}
