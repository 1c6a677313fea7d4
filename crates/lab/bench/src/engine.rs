//! The engine of the benchmark tables: `nanotape lab bench NAME`.
//!
//! A benchmark is a type: its fields are the options of the command line, its rows are a constant
//! table, and [`Benchmark::work`] is the work of one process of a row. The engine does the rest: it
//! selects rows, starts processes, runs the rounds, collects the reports, and prints text, CSV and
//! JSON.
//!
//! ```text
//! command line:  rounds: each row once, in a random order, then the table
//!                    |
//!                    +-- process 0, the writer, on one processor ===> process 1, a reader
//!                           |                                                |
//!                           +---- a line of JSON each, about its own work ---+
//! ```
//!
//! To add a benchmark, see "Adding a benchmark" in docs/BENCHMARKING.md.

pub(crate) mod command;
mod cpus;
pub(crate) mod figure;
mod folder;
pub(crate) mod form;
mod goal;
pub(crate) mod line;
mod measured;
pub(crate) mod message;
pub(crate) mod pace;
mod process;
mod progress;
mod report;
pub(crate) mod row;
pub(crate) mod sample;
pub(crate) mod shared;
pub(crate) mod table;
mod timeout;
mod worker;

use std::{fmt::Debug, path::Path, time::Duration};

use clap::Args;
use nanotape_console::{progress::Progress, records::Columns};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub(crate) use self::{
    command::{Run, slowest},
    cpus::{Cpus, Requested, RequestedCpus, Timed, run_on},
    figure::{Cell, Figure, Figures, Take, columns, figures},
    folder::{Folder, is_memory, real},
    goal::{Bound, Goal, Wanted, goals, goals_text},
    measured::{Measured, Spread},
    pace::Amount,
    process::{End, Launch, Program, WORKER, Workers},
    report::{Reading, Taken, Times, Written},
    row::{Base, Row, Section, sections},
    timeout::{TimedOut, Timeout, Wait},
    worker::{Worker, end_with_parent, report_ready, work},
};
use crate::{
    day_file::{Day, compare},
    error::Error,
};

/// A longer latency counts as one during which the process was preempted.
pub(crate) const PREEMPTED_NANOS: u64 = 100_000;

/// A table of rows that are compared with each other. Its fields are its options.
pub(crate) trait Benchmark:
    Args + Clone + Debug + Serialize + DeserializeOwned + 'static
{
    /// Its name on the command line.
    const NAME: &'static str;

    /// All rows, in the order of the table.
    const ROWS: &'static [Row<Self>];

    /// The word for a row in messages.
    const NOUN: &'static str = "row";

    /// Whether `--only NAME` also selects the rows below NAME.
    const SELECTS_BELOW: bool = true;

    /// Whether the processes of a row compare their clocks, and each row has its own noise.
    const IS_PAIR: bool = true;

    /// Whether the folder of a reading is removed as soon as all processes have opened their files.
    const LEAVES_FOLDER: bool = true;

    /// The figures of a row.
    const FIGURES: Figures<Self>;

    /// The columns of CSV.
    const COLUMNS: Columns;

    /// The goals of its rows.
    const GOALS: &'static [Wanted] = &[];

    /// The width of names in the text.
    const NAME_WIDTH: usize;

    /// The property that differs between rows.
    type Work: Copy + Debug + 'static;

    /// What one reading of a row measures, if there are several kinds.
    type Pass: Copy + Debug + Default + PartialEq + Serialize + DeserializeOwned;

    /// The day file of its rows, if it has one.
    fn day(&self) -> Option<&Day> {
        None
    }

    /// The day file of one row.
    fn day_of(&self, _: &Row<Self>) -> Option<&Day> {
        self.day()
    }

    /// The requested processors and priority.
    fn requested(&self) -> Requested;

    /// Checks and completes the options before anything is measured.
    fn prepare(_: &mut Run<Self>) -> anyhow::Result<()> {
        Ok(())
    }

    /// Makes what all readings share. `is_ended` reports whether a stop was requested.
    fn start(_: &mut Run<Self>, _: &Progress, _is_ended: &dyn Fn() -> bool) -> Result<(), Error> {
        Ok(())
    }

    /// Number of reader processes of this row.
    fn readers(_: &Row<Self>) -> usize {
        0
    }

    /// The readings of a row in each round. The first pass gives the numbers of the table.
    fn passes(&self, _: &Row<Self>) -> Vec<Self::Pass> {
        vec![Self::Pass::default()]
    }

    /// Where the processes of this row create a folder for their data.
    fn data_folder(&self, _: &Row<Self>) -> Option<&Path> {
        None
    }

    /// Longest time of a reading of this row, without the start of its processes.
    fn longest(&self, row: &Row<Self>) -> Duration {
        slowest(self.day_of(row).map_or(0, Day::operations))
    }

    /// The work of one process of a row.
    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error>;

    /// Whether readers may lose messages of this row.
    fn may_lose(_: &Row<Self>) -> bool {
        false
    }

    /// The number by which a row is judged.
    fn number(row: &Row<Self>, reading: &Reading) -> Option<f64>;

    /// The row that this row is compared with.
    fn base(row: &Row<Self>) -> Option<Base>;

    /// The goals of a row that were measured.
    fn goals(row: &Measured<Self>, run: &Run<Self>) -> Vec<Goal> {
        Self::GOALS.iter().filter_map(|wanted| wanted.of(row, run)).collect()
    }

    /// Compares the answers, and computes results that belong to no single row.
    fn conclude(run: &mut Run<Self>, _: &Progress) -> Result<(), Error> {
        run.options.day().map_or(Ok(()), |day| compare(run, day))
    }

    /// A row of `--list` in JSON.
    fn listed(row: &Row<Self>) -> Value {
        json!({ "name": row.name, "section": row.section.name })
    }

    /// The text before the table.
    fn heading(run: &Run<Self>) -> String;

    /// The text after the table.
    fn footing(run: &Run<Self>) -> String {
        goals_text(run)
    }
}

#[cfg(test)]
pub(crate) mod test {
    //! Runs and rows for tests.

    use clap::{Command, FromArgMatches as _};

    use super::{command::TableArguments, *};

    /// A run with default options and these measurements.
    pub(crate) fn run<B: Benchmark>(measured: Vec<Measured<B>>) -> Run<B> {
        let command = TableArguments::<B>::augment_args(Command::new("bench"));
        let matches = command.try_get_matches_from(["bench", "--list"]).unwrap();
        let arguments = TableArguments::<B>::from_arg_matches(&matches).unwrap();
        Run { measured, ..Run::new(&arguments, B::ROWS.iter().collect()).unwrap() }
    }

    /// A measured row.
    pub(crate) fn measured<B: Benchmark>(
        name: &str,
        readings: impl IntoIterator<Item = Reading>,
    ) -> Measured<B> {
        let row = row::find(name).unwrap();
        Measured { row, readings: readings.into_iter().collect(), others: Vec::new() }
    }
}
