//! The order of measurements: every case once in each round, each round in another order.

use std::time::Duration;

use nanotape_console::progress::Progress;
use nanotape_lab::Rng;

use super::StudyError;

/// The fewest rounds: an interval of the difference between two cases at 95% needs six.
pub(super) const FEWEST: u32 = 6;

/// The longest turn of a case, so that slow changes of the machine affect all cases alike.
const LONGEST_TURN: Duration = Duration::from_millis(250);

/// How often, and for how long, each case is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rounds {
    pub(super) count: u32,
    pub(super) turn: Duration,
}

impl Rounds {
    /// Divides the time between this many cases.
    pub(super) fn plan(time: Duration, cases: usize) -> Self {
        let each = time / u32::try_from(cases.max(1)).unwrap_or(u32::MAX);
        let needed = each.as_nanos().div_ceil(LONGEST_TURN.as_nanos());
        let count = u32::try_from(needed).unwrap_or(u32::MAX).clamp(FEWEST, 10_000);
        Self { count, turn: each / count }
    }

    /// Calls `measure` with the index of each case, once in each round.
    pub(super) fn run(
        self,
        progress: &Progress,
        names: &[impl AsRef<str>],
        mut measure: impl FnMut(usize) -> Result<(), StudyError>,
    ) -> Result<(), StudyError> {
        let total = u64::from(self.count) * names.len() as u64;
        let mut order: Vec<usize> = (0..names.len()).collect();
        let mut done = 0;
        for round in 1..=self.count {
            Rng::new(round.into()).shuffle(&mut order);
            for &case in &order {
                progress.set_of(done, total, names[case].as_ref());
                measure(case)?;
                done += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_short_and_there_are_enough_of_them() {
        let plan = Rounds::plan(Duration::from_secs(10), 5);
        assert_eq!(plan, Rounds { count: 8, turn: Duration::from_millis(250) });
        let plan = Rounds::plan(Duration::from_millis(60), 5);
        assert_eq!(plan, Rounds { count: 6, turn: Duration::from_millis(2) });
        assert!(Rounds::plan(Duration::MAX, 0).turn > LONGEST_TURN);
    }

    #[test]
    fn every_case_is_measured_once_in_each_round_and_the_order_changes() {
        let progress = Progress::with_steps("turns", 0);
        let mut order = Vec::new();
        let rounds = Rounds { count: 6, turn: Duration::ZERO };
        let measured = rounds.run(&progress, &["a", "b", "c", "d"], |case| {
            order.push(case);
            Ok(())
        });
        assert!(measured.is_ok());
        let rounds: Vec<&[usize]> = order.chunks(4).collect();
        assert_eq!(rounds.len(), 6);
        for round in &rounds {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert!(rounds.iter().any(|round| round != &rounds[0]));
    }
}
