//! Comparisons with a known statistical power.
//!
//! Two subjects run in separate processes on one processor, together with a control: the base a
//! second time. They take turns of some milliseconds in random order. After many such replicates,
//! the logarithms of their ratios give an estimate with an interval, and a verdict. If two runs are
//! compared one after the other instead, identical code counts as different in 20 to 90% of cases
//! on a shared machine; see docs/BENCHMARKING.md.

pub(crate) mod arm;
pub(crate) mod judge;
mod record;
pub(crate) mod replicate;
pub mod revision;
pub(crate) mod session;

pub use arm::{ArmError, Subject};
pub use judge::{Contrast, Rules, Verdict, judge_pairs};
pub use replicate::Design;
pub use session::{Compared, Pair, Progress, QuantileRatio, compare};

/// The names of the benchmarks in `program`.
pub fn names_of(program: &std::path::Path, arguments: &[String]) -> Result<Vec<String>, ArmError> {
    Ok(arm::Arm::start(program, arguments, 0)?.names().to_vec())
}
