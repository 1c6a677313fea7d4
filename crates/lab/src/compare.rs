//! Comparisons that know their power.
//!
//! Two subjects are run in processes of their own, on one processor, in turns of some milliseconds
//! whose order is drawn by lot, beside a control: the base once more. Many such replicates later
//! the logarithms of their ratios give an estimate with an interval, and a verdict. Comparing one
//! run after another instead calls identical code different in 20 to 90% of cases on a shared
//! machine; see docs/BENCHMARKING.md.

pub(crate) mod arm;
pub(crate) mod judge;
mod record;
pub(crate) mod replicate;
pub mod revision;
pub(crate) mod session;

pub use arm::{ArmError, Subject};
pub use judge::{Contrast, Rules, Verdict};
pub use replicate::Design;
pub use session::{Compared, Pair, Progress, QuantileRatio, compare};

/// The names of the benchmarks that `program` has.
pub fn names_of(program: &std::path::Path, arguments: &[String]) -> Result<Vec<String>, ArmError> {
    Ok(arm::Arm::start(program, arguments, 0)?.names().to_vec())
}
