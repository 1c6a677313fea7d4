//! One replicate: a fresh process of every arm on one processor, measured in turns.
//!
//! The replicate is the unit of all statistics. Two processes of one program differ in their memory
//! layout, and stay different as long as they live. So turns of one pair of processes share an
//! offset, and any number of them gives no information about the next pair. Within a replicate the
//! arms take turns of some milliseconds in blocks. Each block has a random order and then its
//! reverse (A B B A for two), so that slow changes affect all arms alike.

use crate::{
    Rng,
    compare::arm::{Arm, ArmError, Subject},
    sampler::Cut,
    statistics::order::median,
};

/// How a replicate is measured.
#[derive(Clone, Copy, Debug)]
pub struct Design {
    /// The processor that all arms run on, one at a time; any if `None`.
    pub cpu: Option<u32>,
    /// The priority of their real-time class, if it is requested.
    pub real_time_priority: Option<u8>,
    /// Whether they lock all their memory.
    pub lock_memory: bool,
    /// Blocks of turns in a replicate.
    pub blocks: usize,
    /// Epochs in a turn.
    pub epochs_per_turn: usize,
    /// Time that a new process runs before it is measured.
    pub warm_up_nanos: u64,
}

impl Default for Design {
    fn default() -> Self {
        Self {
            cpu: None,
            real_time_priority: None,
            lock_memory: true,
            blocks: 3,
            epochs_per_turn: 3,
            warm_up_nanos: 3_000_000,
        }
    }
}

/// The measurements of one arm in one replicate.
#[derive(Clone, Debug)]
pub(crate) struct ArmReplicate {
    /// For each block, the mean of the logarithms of its two turns, in ns for one operation.
    pub(crate) block_ln_ns: Vec<f64>,
    /// Every sample, in ns for one operation.
    pub(crate) samples_ns: Vec<f64>,
}

impl ArmReplicate {
    pub(crate) fn median_ns(&self) -> f64 {
        median(&self.block_ln_ns).map_or(f64::NAN, f64::exp)
    }

    /// The median over blocks of ln(self / base).
    pub(crate) fn ln_ratio_to(&self, base: &Self) -> f64 {
        let pairs = self.block_ln_ns.iter().zip(&base.block_ln_ns);
        let differences: Vec<f64> = pairs.map(|(own, base)| own - base).collect();
        median(&differences).unwrap_or(f64::NAN)
    }
}

/// Measures one replicate of `subjects`. `cut` is determined in the first replicate of a benchmark
/// and kept for all later ones, so that every arm does the same number of runs.
pub(crate) fn measure(
    subjects: &[&Subject],
    design: &Design,
    cut: &mut Option<Cut>,
    rng: &mut Rng,
) -> Result<Vec<ArmReplicate>, ArmError> {
    const MOST_PADDING: usize = 4096;
    let mut arms: Vec<(Arm, f64)> = Vec::with_capacity(subjects.len());
    // The first process to start gets its preferred memory, so the order of starts is random too.
    let starts = rng.order(subjects.len());
    let mut slots: Vec<Option<(Arm, f64)>> = subjects.iter().map(|_| None).collect();
    for &index in &starts {
        let subject = subjects[index];
        let padding = rng.below(MOST_PADDING);
        let mut arm = Arm::start(&subject.program, &subject.arguments, padding)?;
        let operations = arm.open(design, &subject.benchmark)?;
        slots[index] = Some((arm, operations as f64));
    }
    arms.extend(slots.into_iter().flatten());

    let mut proposed: Option<Cut> = None;
    for &index in &starts {
        let own = arms[index].0.calibrate(design.warm_up_nanos)?;
        proposed = Some(proposed.map_or(own, |other| other.of_the_slower(own)));
    }
    let Some(cut) = cut.or(proposed).inspect(|&chosen| *cut = Some(chosen)) else {
        return Ok(Vec::new());
    };

    let nothing = ArmReplicate { block_ln_ns: Vec::new(), samples_ns: Vec::new() };
    let mut seen = vec![nothing; arms.len()];
    for _ in 0..design.blocks {
        let order = rng.order(arms.len());
        let mut sums = vec![0.0; arms.len()];
        for &index in order.iter().chain(order.iter().rev()) {
            let (arm, operations) = &mut arms[index];
            let nanos = arm.turn(design.epochs_per_turn, cut)?;
            let per_sample = *operations * f64::from(cut.runs_per_sample);
            let samples: Vec<f64> = nanos.iter().map(|&nanos| nanos as f64 / per_sample).collect();
            sums[index] += turn_value(&samples, cut).ln();
            seen[index].samples_ns.extend(samples);
        }
        for (arm, sum) in seen.iter_mut().zip(sums) {
            arm.block_ln_ns.push(sum / 2.0);
        }
    }
    Ok(seen)
}

/// The median over a turn's epochs of each epoch's median sample.
fn turn_value(samples: &[f64], cut: Cut) -> f64 {
    let epochs = samples.chunks(cut.samples_per_epoch as usize);
    let medians: Vec<f64> = epochs.filter_map(median).collect();
    median(&medians).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_does_not_move_the_value_of_a_turn() {
        let cut = Cut { runs_per_sample: 1, samples_per_epoch: 4 };
        let quiet = [10.0, 11.0, 10.0, 11.0, 10.0, 11.0, 10.0, 11.0, 10.0, 11.0, 10.0, 11.0];
        let mut interrupted = quiet;
        interrupted[5] = 4_000_000.0;
        assert_eq!(turn_value(&quiet, cut), 10.5);
        assert!((turn_value(&interrupted, cut) - 10.5).abs() <= 0.5);
    }

    #[test]
    fn the_ratio_is_taken_block_by_block() {
        let arm = |values: &[f64]| ArmReplicate {
            block_ln_ns: values.iter().map(|value| value.ln()).collect(),
            samples_ns: Vec::new(),
        };
        // The machine became twice as slow between blocks; the candidate is 10% slower in each.
        let (base, candidate) = (arm(&[10.0, 20.0, 40.0]), arm(&[11.0, 22.0, 44.0]));
        assert!((candidate.ln_ratio_to(&base) - 1.1f64.ln()).abs() < 1e-12);
        assert!((candidate.median_ns() - 22.0).abs() < 1e-9);
    }
}
