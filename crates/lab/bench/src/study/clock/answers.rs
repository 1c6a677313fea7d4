//! The answers about clocks, from the numbers.

use nanotape_clock::cross_core::Ending;
use nanotape_console::values::{counted, grouped};
use nanotape_lab::text::nanos;

use super::{Measured, Study, offset_text, ways::Kind};
use crate::study::numbers::factor;

/// The share of an error that matters in a measured time.
const ERROR: f64 = 0.1;

impl Study {
    pub(super) fn answers(&self) -> Vec<String> {
        let mut answers: Vec<String> = self.cheapest().into_iter().collect();
        answers.extend(self.others());
        answers.push(self.short_work());
        answers.push(self.steps_back());
        answers.extend(self.offset());
        answers.extend(self.drift());
        answers
    }

    /// The cheapest way of a kind.
    fn cheapest_of(&self, kinds: &[Kind]) -> Option<(&Measured, f64)> {
        let ways = self.ways.iter().filter(|way| kinds.contains(&way.way.kind));
        let costs = ways.filter_map(|way| Some((way, way.cost?.median)));
        costs.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    fn cheapest(&self) -> Option<String> {
        let (way, cost) = self.cheapest_of(&[Kind::Counter, Kind::Shared, Kind::SystemCall])?;
        let resolution = way.resolution.map_or(String::new(), |resolution| {
            format!(", and its smallest step is {}", nanos(resolution))
        });
        Some(format!(
            "The cheapest way with the full resolution is {}: {} a reading{resolution}.",
            way.way.name,
            nanos(cost)
        ))
    }

    /// Every other kind, relative to the cheapest.
    fn others(&self) -> Vec<String> {
        let base = self.cheapest_of(&[Kind::Counter, Kind::Shared, Kind::SystemCall]);
        let Some((base, base_cost)) = base.filter(|(_, cost)| *cost > 0.0) else {
            return Vec::new();
        };
        let kinds = [
            (Kind::Shared, "the kernel's clock without a system call"),
            (Kind::SystemCall, "a clock that needs a system call"),
            (Kind::Coarse, "the coarse clock"),
        ];
        let sentence = |(kind, what): (Kind, &str)| {
            let (way, cost) = self.cheapest_of(&[kind])?;
            if core::ptr::eq(way.way, base.way) {
                return None;
            }
            let steps = match (kind, way.resolution) {
                (Kind::Coarse, Some(step)) => format!(", and it stands still for {}", nanos(step)),
                _ => String::new(),
            };
            Some(format!(
                "A reading of {what} ({}) takes {}, {} x as long{steps}.",
                way.way.name,
                nanos(cost),
                factor(cost / base_cost)
            ))
        };
        kinds.into_iter().filter_map(sentence).collect()
    }

    fn short_work(&self) -> String {
        format!(
            "Two stamps with nothing between them read {}: this is in every measured time. Time \
             work shorter than {} in batches, or more than {:.0}% of the result is the clock.",
            nanos(self.empty),
            nanos(self.empty / ERROR),
            100.0 * ERROR
        )
    }

    fn steps_back(&self) -> String {
        let readings: u64 = self.ways.iter().map(|way| way.readings).sum();
        let back: Vec<String> = self
            .ways
            .iter()
            .filter(|way| way.steps_back > 0)
            .map(|way| format!("{} {}", way.way.name, counted(way.steps_back, "time")))
            .collect();
        match back[..] {
            [] => format!("No clock went back in {} readings.", grouped(readings)),
            _ => format!(
                "Some clocks went back between two readings of one thread: {}.",
                back.join(", ")
            ),
        }
    }

    fn offset(&self) -> Option<String> {
        if let Some(apart) = self.offsets.iter().find(|one| one.ending == Ending::Inconsistent) {
            return Some(format!(
                "The clocks of processors {} and {} do not differ by a constant: stamps of the \
                 two must not be compared.",
                apart.reference_cpu, apart.cpu
            ));
        }
        let known = self.offsets.iter().filter(|offset| offset.bound_nanos.is_finite());
        let largest =
            |one: &&nanotape_clock::cross_core::Offset| one.offset_nanos.abs() + one.bound_nanos;
        let worst = known.max_by(|one, other| largest(one).total_cmp(&largest(other)))?;
        Some(format!(
            "The clock of processor {} differs from that of processor {} by {}: a time between \
             stamps of different processors can be wrong by up to {}.",
            worst.cpu,
            worst.reference_cpu,
            offset_text(worst),
            nanos(largest(&worst))
        ))
    }

    fn drift(&self) -> Option<String> {
        let last = self.drifts.last()?;
        let verdict = if last.is_explained() {
            "which the uncertainty of its rate explains"
        } else {
            "which is more than the uncertainty of its rate: do not compare stamps that are far \
             apart"
        };
        Some(format!(
            "After {} the clock differed from the kernel's by {:+} ns (within {} ns), {verdict}.",
            nanos(last.elapsed_nanos as f64),
            last.counter_ahead_nanos,
            last.bound_nanos
        ))
    }
}

#[cfg(test)]
mod tests {
    use nanotape_clock::{Drift, cross_core::Offset};

    use super::*;
    use crate::study::{clock::ways::WAYS, numbers::Quartiles};

    fn measured(index: usize, cost: f64) -> Measured {
        let cost = Some(Quartiles { low: cost, median: cost, high: cost });
        let way = &WAYS[index];
        Measured { way, cost, resolution: Some(0.4), steps_back: 0, readings: 1_000 }
    }

    fn study() -> Study {
        Study {
            ways: vec![measured(0, 10.0), measured(3, 25.0), measured(6, 5.0), measured(7, 150.0)],
            empty: 20.0,
            offsets: vec![Offset {
                cpu: 1,
                reference_cpu: 0,
                offset_nanos: -3.0,
                bound_nanos: 60.0,
                round_trip_nanos: 150.0,
                rounds: 100,
                ending: Ending::Complete,
            }],
            drifts: vec![Drift {
                elapsed_nanos: 2_000_000_000,
                counter_ahead_nanos: 12,
                bound_nanos: 31,
                rate_uncertainty_ppb: 100.0,
                realtime_moved_nanos: 0,
                realtime_bound_nanos: 50,
            }],
        }
    }

    #[test]
    fn every_answer_follows_the_numbers() {
        let answers = study().answers();
        let expected = [
            "The cheapest way with the full resolution is counter: 10.0 ns a reading, and its \
             smallest step is 0.40 ns.",
            "A reading of the kernel's clock without a system call (CLOCK_MONOTONIC) takes 25.0 \
             ns, 2.50 x as long.",
            "A reading of a clock that needs a system call (CLOCK_REALTIME_ALARM) takes 150 ns, \
             15.0 x as long.",
            "A reading of the coarse clock (CLOCK_MONOTONIC_COARSE) takes 5.00 ns, 0.50 x as \
             long, and it stands still for 0.40 ns.",
            "Two stamps with nothing between them read 20.0 ns: this is in every measured time. \
             Time work shorter than 200 ns in batches, or more than 10% of the result is the \
             clock.",
            "No clock went back in 4,000 readings.",
            "The clock of processor 1 differs from that of processor 0 by -3.00 ns within 60.0 ns: \
             a time between stamps of different processors can be wrong by up to 63.0 ns.",
            "After 2.00 s the clock differed from the kernel's by +12 ns (within 31 ns), which the \
             uncertainty of its rate explains.",
        ];
        assert_eq!(answers, expected);
    }

    #[test]
    fn a_clock_that_goes_back_or_drifts_is_named() {
        let mut study = study();
        study.ways[1].steps_back = 3;
        study.offsets[0].ending = Ending::Inconsistent;
        study.drifts[0].counter_ahead_nanos = 5_000;
        let answers = study.answers();
        assert!(answers.iter().any(|one| one.contains("CLOCK_MONOTONIC 3 times")), "{answers:?}");
        assert!(answers.iter().any(|one| one.contains("must not be compared")), "{answers:?}");
        assert!(answers.iter().any(|one| one.contains("do not compare stamps")), "{answers:?}");
    }
}
