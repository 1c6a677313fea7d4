//! Which of many instruments lead which, with the share of false discoveries controlled.
//!
//! A thousand pairs of unrelated instruments have fifty with p below 0.05. A pair is found if its
//! q is not above the chosen rate: then at most that share of all found pairs is expected to be
//! unrelated (Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate", J. R. Stat.
//! Soc. B 57, 1995). The procedure needs p-values that are independent or depend positively.
//! Pairs of instruments that have one in common are such: given the one, whose signs are not
//! turned, the others' p-values depend only on their own moves. The procedure for any dependence
//! (Benjamini and Yekutieli, 2001) would need p-values that are smaller by the logarithm of the
//! number of pairs, a factor of 9 for the pairs of 100 instruments, for a dependence that these
//! pairs do not have.

use std::num::NonZeroUsize;

use super::{Lead, LeadLag, LeadLagSettings, MOST_PERMUTATIONS};
use crate::{Changes, Window, batch::on_threads};

/// Examines many pairs of instruments.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use nanotape_delay::{LeadLagSettings, Matrix, Series, Window};
///
/// // The second and the third repeat the first, 40 ms later and 30 ms earlier.
/// let mut set = [Series::new(), Series::new(), Series::new()];
/// let mut level = 0;
/// for number in 0_i64..2_000 {
///     level += if number * number % 7 < 3 { 1 } else { -1 };
///     let time_ns = 1_000_000_000 + number * 100_000_000 + number * number % 97 * 1_000_000;
///     for (series, later_ms) in set.iter_mut().zip([0, 40, -30]) {
///         series.push(time_ns + later_ms * 1_000_000, level);
///     }
/// }
/// let settings = LeadLagSettings::default();
/// let threads = NonZeroUsize::new(2).unwrap();
/// let matrix = Matrix { settings, false_discovery_rate: 0.05, threads };
/// let set = [set[0].changes(), set[1].changes(), set[2].changes()];
/// let pairs = matrix.all_pairs(&set, Window::new(0, 202_000_000_000));
/// let found = pairs.iter().filter(|pair| pair.is_found);
/// let leads: Vec<f64> = found.map(|pair| pair.lead.estimate.unwrap().delay_ns / 1e6).collect();
/// assert_eq!(leads, [40.0, -30.0, -70.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Matrix {
    /// How to examine a pair. The permutations are raised to the number of pairs by the rate, up
    /// to 2^20, since fewer could not give a p-value that is small enough for one found pair.
    pub settings: LeadLagSettings,
    /// The expected share of unrelated pairs among those found, as in 0.05.
    pub false_discovery_rate: f64,
    /// Threads. The result does not depend on them.
    pub threads: NonZeroUsize,
}

/// A pair of the matrix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair {
    /// The index of the first instrument.
    pub first: usize,
    /// The index of the second instrument. A positive delay means that it follows the first.
    pub second: usize,
    /// What the window says. The interval says whether the lead can be 0.
    pub lead: Lead,
    /// The lowest rate of false discoveries at which the pair would be found; absent as p is.
    pub q_value: Option<f64>,
    /// Whether the pair is related at the chosen rate, with an estimate of the lead.
    pub is_found: bool,
}

impl Matrix {
    /// All pairs of different instruments of one set, in order of the first and then the second.
    pub fn all_pairs(&self, set: &[Changes<'_>], window: Window) -> Vec<Pair> {
        let count = set.len();
        let pairs = (0..count).flat_map(|first| (first + 1..count).map(move |two| (first, two)));
        self.examine(&pairs.collect::<Vec<_>>(), set, set, window)
    }

    /// All pairs of an instrument of the first set and one of the second, in this order.
    pub fn between(
        &self,
        first: &[Changes<'_>],
        second: &[Changes<'_>],
        window: Window,
    ) -> Vec<Pair> {
        let pairs = (0..first.len()).flat_map(|one| (0..second.len()).map(move |two| (one, two)));
        self.examine(&pairs.collect::<Vec<_>>(), first, second, window)
    }

    fn examine(
        &self,
        pairs: &[(usize, usize)],
        first: &[Changes<'_>],
        second: &[Changes<'_>],
        window: Window,
    ) -> Vec<Pair> {
        let rate = self.false_discovery_rate;
        let needed = (pairs.len() as f64 / rate).min(MOST_PERMUTATIONS as f64) as usize;
        let settings = LeadLagSettings {
            permutations: self.settings.permutations.max(needed),
            largest_p: self.settings.largest_p.max(rate),
            ..self.settings
        };
        let threads = self.threads.get().min(pairs.len());
        let mut workers: Vec<LeadLag> = (0..threads).map(|_| LeadLag::new(settings)).collect();
        let leads = on_threads(pairs.len(), 1, &mut workers, |lead_lag, index| {
            // Each pair has draws of its own, whichever thread it is on.
            lead_lag.settings.seed = settings.seed.wrapping_add(index as u64);
            let (one, two) = pairs[index];
            lead_lag.examine(first[one], second[two], window)
        });
        let p_values: Vec<Option<f64>> =
            leads.iter().map(|lead| lead.evidence.map(|evidence| evidence.p_value)).collect();
        let rows = pairs.iter().zip(leads).zip(q_values(&p_values));
        rows.map(|((&(first, second), lead), q_value)| {
            let is_found = lead.estimate.is_ok() && q_value.is_some_and(|q| q <= rate);
            Pair { first, second, lead, q_value, is_found }
        })
        .collect()
    }
}

/// The q of each p that is present.
fn q_values(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(index, &p)| Some((index, p?))).collect();
    order.sort_unstable_by(|one, two| one.1.total_cmp(&two.1));
    let mut q_values = vec![None; p_values.len()];
    let mut least: f64 = 1.0;
    for (rank, &(index, p)) in order.iter().enumerate().rev() {
        least = least.min(p * order.len() as f64 / (rank + 1) as f64);
        q_values[index] = Some(least);
    }
    q_values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_values_are_those_of_the_step_up_procedure() {
        let p_values = [Some(0.04), None, Some(0.01), Some(0.03), Some(0.9), Some(0.005)];
        // By rank: 0.005 * 5/1, 0.01 * 5/2, 0.03 * 5/3, 0.04 * 5/4, 0.9 * 5/5.
        let expected = [Some(0.05), None, Some(0.025), Some(0.05), Some(0.9), Some(0.025)];
        for (q, expected) in q_values(&p_values).into_iter().zip(expected) {
            assert_eq!(q.is_some(), expected.is_some());
            assert!((q.unwrap_or(0.0) - expected.unwrap_or(0.0)).abs() < 1e-12);
        }
        assert!(q_values(&[]).is_empty());
    }
}
