//! `nanotape lab bench delay`: estimates of the delay between two feeds, and the parts of a
//! correlation by transforms.

mod rows;
mod work;

use std::time::Duration;

use clap::Args;
use nanotape_console::records::Columns;
use serde::{Deserialize, Serialize};

use self::rows::{FIGURES, Part, ROWS, What};
use crate::{
    engine::{
        Base, Benchmark, Figures, Reading, Requested, Row, Run, Timed, Worker, columns, table,
    },
    error::Error,
};

/// Estimates of the delay between two feeds, and the parts of a correlation.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench delay                                   the table
  nanotape lab bench delay --rounds 9 -o delay.json          more rounds, as one JSON list
  nanotape lab bench delay --only whole,transforms           correlations and their transforms
  nanotape lab bench delay --cpus 2,3 --realtime 20          on two quiet processors
  nanotape lab bench delay --list                            the names

`whole/N` correlates N samples of each side, circular: two transforms, the product, the transform
back and the search of all lags. `transforms/N` has the three transforms alone, `peak/N` the search
alone. `smoothed/N` also smooths, and searches an eighth of the lags. `estimate` begins with the
changes of a window of 65 ms and ends with a delay and its interval; the name has the changes a
second. `batch` has 500 such windows, on one processor and on both. `values` estimates 4 series of 500
stocks by equal values, on one processor. `numbers` matches the messages of two lines. Every answer is checked.

Exit status: 0 success; 1 a wrong delay; 2 wrong usage, or a process that cannot be created.")]
pub(crate) struct Delay {
    #[command(flatten)]
    timed: Timed,
}

impl Benchmark for Delay {
    const NAME: &'static str = "delay";
    const ROWS: &'static [Row<Self>] = ROWS;
    const NAME_WIDTH: usize = 20;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "section", "p50_ns" = "latency/p50_ns", "p99_ns" = "latency/p99_ns", "ratio",
        "ratio_to",
    };

    type Work = What;
    type Pass = ();

    fn requested(&self) -> Requested {
        self.timed.requested()
    }

    fn longest(&self, _: &Row<Self>) -> Duration {
        Duration::from_secs(self.timed.seconds.into())
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        work::work(worker)
    }

    fn number(_: &Row<Self>, reading: &Reading) -> Option<f64> {
        reading.p50_ns()
    }

    fn base(row: &Row<Self>) -> Option<Base> {
        match row.work {
            What::Part(Part::Transforms, _) => None,
            What::Part(_, points) => rows::transforms(points).map(Base::whole),
            What::Estimate(_) | What::Values | What::Numbers => None,
            What::Batch { is_spread } => is_spread.then(|| Base::whole(rows::BATCH)),
        }
    }

    fn heading(run: &Run<Self>) -> String {
        table::heading(run, run.options.timed.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        Times,
        test::{measured, run},
    };

    #[test]
    fn parts_are_compared_with_the_transforms_of_their_length() {
        let timed = |name: &str, p50_ns: u64| {
            let times = Some(Times { count: 1, p50_ns, ..Times::default() });
            measured::<Delay>(name, [Reading { times, ..Reading::default() }])
        };
        let all = run(vec![
            timed("whole/2048", 300),
            timed("transforms/2048", 200),
            timed("transforms/16384", 999),
            timed("batch/one", 100),
            timed("batch/both", 60),
        ]);
        let ratio = |at: usize| all.measured[at].ratio(&all).map(|ratio| ratio.value);
        assert_eq!([0, 1, 3, 4].map(ratio), [Some(1.5), None, None, Some(0.6)]);
    }
}
