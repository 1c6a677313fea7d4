//! `nanotape lab bench trace`: what spans and the flight recorder cost, alone and in a plant.

mod calls;
mod pairs;
mod plant;
mod recorder;
mod rows;

use std::time::Duration;

use clap::Args;
use nanotape_console::records::Columns;
use serde::{Deserialize, Serialize};

use self::rows::{FIGURES, ROWS, What};
use super::{
    Day,
    reading::{compare, heading},
};
use crate::{
    engine::{
        Base, Benchmark, Figures, Measured, Reading, Requested, RequestedCpus, Row, Run, Spread,
        Wanted, Worker, columns, command::slowest, goals,
    },
    error::Error,
};

/// Spans and the flight recorder: which day, and where they run.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench trace day.itch50                            the table
  nanotape lab bench trace day.itch50 --rounds 9 -o trace.json   more rounds, as one JSON list
  nanotape lab bench trace day.itch50 --only plant               rows of the plant only
  nanotape lab bench trace day.itch50 --cpus 2,3 --realtime 20   on two quiet processors
  nanotape lab bench trace --list                                the names

Every row compares two programs in one process, in turns of milliseconds or less and in a random
order: `adds` is the median difference of the pairs. The table has the median, lowest and highest
round. Rows `again` compare a program with itself: their difference is noise.

Rows `span` are loops of the work of a stage, 64 multiplications; each turn then does nothing (work),
takes an unfenced stamp, or ends a stage whose site is off, on for one turn in 16, or on. The work
hides a part of that, as in a plant. Rows `bare` have no work. Rows `plant` are a plant at full speed, as in `nanotape run`, whose five sites are switched every four blocks of the file, with
all of them off as the other side. Rows `recorder` are a plant with all sites on, one message at a
time: alone, and with a process on the other processor that computes, that reads the spans, or that
also copies and exports them all the time. They show the 99.9% quantile of the time of a message.

What a plant pays for sites that are off, no row can show: a plant without them is another program.
Compare the revisions: `nanotape lab compare`.

Missed goals do not change the exit status.

Exit status: 0 success; 1 the file is damaged or empty, rows differ in their results, or spans are
missing; 2 wrong usage, or a file that cannot be read or written.")]
pub(crate) struct Trace {
    #[command(flatten)]
    day: Day,

    /// Pairs of runs in each reading of a row `span` or `bare`, of 1,024 turns each
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = nanotape_console::values::count::<u32>(1..=10_000_000))]
    pairs: u32,

    /// Run the plant and the recorder on these processors [default: the last two allowed ones]
    #[arg(long, value_name = "PLANT,RECORDER", value_parser = nanotape_console::values::two_cpus)]
    cpus: Option<(u32, u32)>,

    /// Use the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,
}

impl Benchmark for Trace {
    const NAME: &'static str = "trace";
    const ROWS: &'static [Row<Self>] = ROWS;
    const IS_PAIR: bool = false;
    /// A plant stops when its ring is removed.
    const LEAVES_FOLDER: bool = false;
    const NAME_WIDTH: usize = 18;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "section", "ns", "ns_low", "ns_high", "beside", "beside_ns", "adds_ns",
        "adds_ns_low", "adds_ns_high", "takes_share", "takes_share_low", "takes_share_high",
        "copies",
    };
    const GOALS: &'static [Wanted] = goals! {
        rows::BEYOND_STAMP => "adds_ns" = "adds_ns", AtMost 6.0, 1.0 "ns beyond a stamp" 2;
        rows::BARE_BEYOND => "adds_ns" = "adds_ns", AtMost 6.0, 1.0 "ns beyond a stamp" 2;
        rows::ONE_IN_16 => "takes_share" = "takes_share", AtMost 0.05, 100.0 "% of the rate" 2;
        rows::ON => "adds_ns" = "adds_ns", AtMost 80.0, 1.0 "ns added to a message" 1;
        rows::COPIES => "adds_ns" = "adds_ns", AtMost 1_000.0, 1.0 "ns added to p99.9" 0;
    };

    type Work = What;
    type Pass = ();

    fn day(&self) -> Option<&Day> {
        Some(&self.day)
    }

    fn requested(&self) -> Requested {
        Requested { cpus: RequestedCpus::Two(self.cpus), real_time_priority: self.realtime }
    }

    fn prepare(run: &mut Run<Self>) -> anyhow::Result<()> {
        run.options.day.survey(run.cpu, &mut run.notes)
    }

    fn readers(row: &Row<Self>) -> usize {
        usize::from(matches!(row.work, What::Recorder(_)))
    }

    fn longest(&self, row: &Row<Self>) -> Duration {
        match row.work {
            What::Calls { .. } => slowest(calls::turns(self.pairs)),
            What::Plant(_) | What::Recorder(_) => 2 * slowest(self.day.operations()),
        }
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        match (worker.row.work, worker.reader()) {
            (What::Calls { has_work, base, own }, _) => {
                calls::measure(worker, has_work, (base, own))
            }
            (What::Plant(spans), _) => plant::measure(worker, spans),
            (What::Recorder(_), None) => recorder::plant(worker),
            (What::Recorder(mode), Some(_)) => recorder::beside(worker, mode),
        }
    }

    fn number(_: &Row<Self>, reading: &Reading) -> Option<f64> {
        reading.detail["ns"].as_f64()
    }

    /// Rows are compared within their own process.
    fn base(_: &Row<Self>) -> Option<Base> {
        None
    }

    fn conclude(
        run: &mut Run<Self>,
        _: &nanotape_console::progress::Progress,
    ) -> Result<(), Error> {
        let made = |row: &Measured<Self>| row.row.name != rows::COPIES || copies(row) > 0;
        if !run.measured.iter().all(made) {
            return Err(Error::found(rows::COPIES, "the recorder made no copy"));
        }
        compare(run, &run.options.day)
    }

    fn heading(run: &Run<Self>) -> String {
        let (plant, recorder) = (run.cpus.writer, run.cpus.readers[0]);
        let heading = heading(run, &run.options.day);
        format!("{heading}; plant on processor {plant}, recorder on processor {recorder}")
    }
}

/// A number of all rounds.
fn spread(measured: &Measured<Trace>, number: &str) -> Option<Spread> {
    measured.spread(|reading| reading.detail[number].as_f64())
}

/// The share of the rate of a plant.
fn takes(measured: &Measured<Trace>) -> Option<Spread> {
    spread(measured, "takes_share").filter(|_| matches!(measured.row.work, What::Plant(_)))
}

/// The sum of a number over all rounds.
fn sum(measured: &Measured<Trace>, number: &str) -> u64 {
    measured.readings.iter().filter_map(|reading| reading.detail[number].as_u64()).sum()
}

/// The copies of all rounds.
fn copies(measured: &Measured<Trace>) -> u64 {
    sum(measured, "copies")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::test::{measured, run};

    fn of(name: &str, rounds: &[(f64, f64)]) -> Measured<Trace> {
        let reading = |&(adds, takes): &(f64, f64)| Reading {
            detail: json!({ "ns": 100.0, "adds_ns": adds, "takes_share": takes, "copies": 2 }),
            ..Reading::default()
        };
        measured(name, rounds.iter().map(reading))
    }

    #[test]
    fn goals_are_of_medians_over_rounds() {
        let all = run(vec![
            of(rows::BEYOND_STAMP, &[(5.0, 0.3), (9.0, 0.3), (6.5, 0.3)]),
            of(rows::ONE_IN_16, &[(9.0, 0.04)]),
            of(rows::ON, &[(80.0, 0.5)]),
            of(rows::COPIES, &[(1_200.0, 0.0)]),
        ]);
        let goals = all.measured.iter().flat_map(|row| Trace::goals(row, &all));
        let goals: Vec<_> = goals.map(|goal| (goal.of, goal.value, goal.is_met())).collect();
        let expected = [
            ("adds_ns", 6.5, false),
            ("takes_share", 0.04, true),
            ("adds_ns", 80.0, true),
            ("adds_ns", 1_200.0, false),
        ];
        assert_eq!(goals, expected);
        let text = Trace::footing(&all);
        assert!(text.contains("Goals: 2 of 4 met"), "{text}");
        assert!(text.contains("met    at most 5.00 % of the rate: 4.00, by 20%"), "{text}");
        assert!(Trace::goals(&of("span/on", &[(1.0, 0.0)]), &all).is_empty());
    }

    #[test]
    fn a_share_of_the_rate_is_that_of_a_plant_and_copies_are_of_all_rounds() {
        assert!(takes(&of("span/on", &[(1.0, 0.5)])).is_none());
        let rounds = of(rows::COPIES, &[(1.0, 0.5), (2.0, 0.5)]);
        assert_eq!(copies(&rounds), 4);
    }
}
