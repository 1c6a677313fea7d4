//! `nanotape lab bench gaps`: what the gap meter and an attribution cost, and round trips of eight
//! bytes, compared with the limits of the machine.

mod rows;
mod work;

use std::time::Duration;

use clap::Args;
use nanotape_console::records::Columns;
use serde::{Deserialize, Serialize};

use self::rows::{FIGURES, ROWS, What};
use crate::{
    engine::{
        Base, Benchmark, Figures, Reading, Requested, Row, Run, Timed, Wanted, Worker, columns,
        goals, table,
    },
    error::Error,
};

/// The meter of interruptions, and round trips of eight bytes.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench gaps                                    the table
  nanotape lab bench gaps --rounds 9 -o gaps.json            more rounds, as one JSON list
  nanotape lab bench gaps --only cells,stream,limit          round trips only
  nanotape lab bench gaps --cpus 2,3 --realtime 20           on two quiet processors
  nanotape lab bench gaps --list                             the names

The rows `turn` are loops on one processor that only read the clock, and that also check for
interruptions; `added` is the difference within a round. `attribution` is the time of one question
to the kernel about the cause of an interruption: again and again, and after each interruption of
at least 2 us, with the caches that it leaves. `seen` makes pauses of 100 to 150 ns in a loop and
counts how many the meter sees. Round trips are between two processes, one message at a time.

Exit status: 0 success; 1 a wrong or missing message; 2 wrong usage, or a ring or process that
cannot be created.")]
pub(crate) struct Gaps {
    #[command(flatten)]
    timed: Timed,
}

impl Benchmark for Gaps {
    const NAME: &'static str = "gaps";
    const ROWS: &'static [Row<Self>] = ROWS;
    const NAME_WIDTH: usize = 28;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "section", "added_ns", "seen_share", "p50_ns" = "latency/p50_ns",
        "p99_ns" = "latency/p99_ns", "ratio", "ratio_to",
    };
    const GOALS: &'static [Wanted] = goals! {
        rows::METER => "added_ns" = "added_ns", AtMost 3.0, 1.0 "ns added to a stamp" 2;
        rows::ATTRIBUTION => "p50_ns" = "latency/p50_ns", AtMost 2_000.0, 1.0 "ns p50" 0;
        rows::AFTER_A_GAP => "p50_ns" = "latency/p50_ns", AtMost 2_000.0, 1.0 "ns p50" 0;
        rows::SEEN => "seen_share" = "seen_share", AtLeast 1.0, 100.0 "% of pauses seen" 2;
        rows::CELLS => "ratio" = "ratio", AtMost 1.1, 1.0 "times the line" 2;
        rows::STREAM => "ratio" = "ratio", AtMost 1.5, 1.0 "times the line" 2;
    };

    type Work = What;
    type Pass = ();

    fn requested(&self) -> Requested {
        self.timed.requested()
    }

    fn readers(row: &Row<Self>) -> usize {
        usize::from(row.work.is_pair())
    }

    fn longest(&self, _: &Row<Self>) -> Duration {
        Duration::from_secs(self.timed.seconds.into())
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        work::work(worker)
    }

    /// Nanoseconds of a turn, or the median of what is timed.
    fn number(row: &Row<Self>, reading: &Reading) -> Option<f64> {
        match row.work {
            What::Turn(_) | What::Seen => {
                let written = reading.written;
                (written.messages > 0).then(|| written.nanos as f64 / written.messages as f64)
            }
            _ => reading.p50_ns(),
        }
    }

    fn base(row: &Row<Self>) -> Option<Base> {
        match row.work {
            What::Turn(work::Turn::Meter | work::Turn::Watch) => Some(Base::whole(rows::STAMP)),
            What::RoundTrip(_) => Some(Base::whole(rows::LINE)),
            _ => None,
        }
    }

    fn heading(run: &Run<Self>) -> String {
        table::heading(run, run.options.timed.seconds)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        rows::{added, seen_share},
        *,
    };
    use crate::engine::{
        Measured, Times, Written,
        test::{measured, run},
    };

    fn turn(name: &str, nanos: &[u64]) -> Measured<Gaps> {
        let reading = |&nanos: &u64| Reading {
            written: Written { messages: 100, nanos },
            ..Reading::default()
        };
        measured(name, nanos.iter().map(reading))
    }

    fn timed(name: &str, p50_ns: u64) -> Measured<Gaps> {
        let times = Some(Times { count: 1, p50_ns, ..Times::default() });
        measured(name, [Reading { times, ..Reading::default() }])
    }

    #[test]
    fn what_the_meter_adds_is_a_difference_within_a_round() {
        let all = run(vec![
            turn(rows::STAMP, &[1_000, 2_000, 1_500]),
            turn(rows::METER, &[1_200, 2_100, 1_800]),
        ]);
        assert_eq!(added(&all.measured[1], &all), Some(2.0));
        assert_eq!(added(&all.measured[0], &all), None);
        let [goal] = &Gaps::goals(&all.measured[1], &all)[..] else { panic!("one goal") };
        assert!(goal.is_met() && goal.of == "added_ns");
    }

    #[test]
    fn round_trips_are_judged_by_the_line_of_their_round() {
        let all = run(vec![timed(rows::CELLS, 440), timed(rows::LINE, 400)]);
        let [goal] = &Gaps::goals(&all.measured[0], &all)[..] else { panic!("one goal") };
        assert!((goal.value - 1.1).abs() < 1e-9 && goal.is_met());
        assert_eq!(Gaps::goals(&all.measured[1], &all), []);
    }

    #[test]
    fn a_pause_that_is_missed_is_a_missed_goal() {
        let reading =
            |seen| Reading { detail: json!({ "made": 100, "seen": seen }), ..Reading::default() };
        let all = run(vec![measured(rows::SEEN, [reading(100), reading(98)])]);
        assert_eq!(seen_share(&all.measured[0]), Some(0.99));
        assert!(!Gaps::goals(&all.measured[0], &all)[0].is_met());
    }
}
