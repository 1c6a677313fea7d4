//! The engine of the benchmark tables: `nanotape lab bench NAME`.
//!
//! A benchmark is a type: its fields are the options of the command line, its rows are a constant
//! table, and [`Benchmark::work`] is what one process of a row does. The engine does everything
//! else: it selects rows, starts processes, takes turns over rounds, collects what the processes
//! report, and prints text, CSV and JSON.
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
mod folder;
mod goal;
mod line;
mod measured;
pub(crate) mod message;
pub(crate) mod pace;
mod process;
mod progress;
mod report;
mod rng;
pub(crate) mod row;
pub(crate) mod sample;
mod spread;
pub(crate) mod table;
mod timeout;
mod worker;

use std::{fmt::Debug, path::Path, time::Duration};

use clap::Args;
use nanotape_console::{progress::Progress, records::Columns};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub(crate) use self::{
    command::Run,
    cpus::{Asked, AskedCpus, Cpus, keep_off, pair},
    folder::Folder,
    goal::{Bound, Goal},
    measured::Measured,
    pace::Amount,
    process::{End, Launch, Program, WORKER, Workers},
    report::{Reading, Report, Taken, Times, Written},
    rng::{Rng, mix},
    row::{Base, Row, Section},
    spread::Spread,
    table::Column,
    timeout::{TimedOut, Timeout, Wait},
    worker::{Worker, end_with_parent, report_ready, work},
};
use crate::error::Error;

/// A latency above this counts as one during which a processor was taken away.
pub(crate) const PREEMPTED_NANOS: u64 = 100_000;

/// A table of rows that are measured beside each other. Its fields are its options.
pub(crate) trait Benchmark:
    Args + Clone + Debug + Serialize + DeserializeOwned + 'static
{
    /// Its name on the command line.
    const NAME: &'static str;

    /// All rows, in the order of the table.
    const ROWS: &'static [Row<Self>];

    /// What a row is called in messages.
    const NOUN: &'static str = "row";

    /// Whether `--only NAME` also selects the rows below NAME.
    const SELECTS_BELOW: bool = true;

    /// Whether the processes of a row compare their clocks, and each row has a noise of its own.
    const IS_PAIR: bool = true;

    /// Whether the folder in which processes meet goes as soon as they have opened everything.
    const LEAVES_FOLDER: bool = true;

    /// The columns of CSV.
    const COLUMNS: Columns;

    /// The width of names in the text.
    const NAME_WIDTH: usize;

    /// The difference between rows.
    type Work: Copy + Debug + 'static;

    /// What one reading of a row finds out, where there is more than one thing.
    type Pass: Copy + Debug + Default + PartialEq + Serialize + DeserializeOwned;

    /// Where it is to run.
    fn asked(&self) -> Asked;

    /// Checks and completes the options before anything is measured.
    fn prepare(_: &mut Run<Self>) -> anyhow::Result<()> {
        Ok(())
    }

    /// How many processes read in this row.
    fn readers(_: &Row<Self>) -> usize {
        0
    }

    /// What a reading of a row finds out: the first pass is what the table is about.
    fn passes(&self, _: &Row<Self>) -> Vec<Self::Pass> {
        vec![Self::Pass::default()]
    }

    /// Where the processes of this row get a folder for their data.
    fn data_folder(&self, _: &Row<Self>) -> Option<&Path> {
        None
    }

    /// How long a reading of this row may take, beside the start of its processes.
    fn longest(&self, row: &Row<Self>) -> Duration;

    /// What a process of a row does.
    fn work(worker: &mut Worker<Self>) -> Result<Report, Error>;

    /// Whether readers may lose messages of this row.
    fn may_lose(_: &Row<Self>) -> bool {
        false
    }

    /// The number by which a row is judged.
    fn number(row: &Row<Self>, reading: &Reading) -> Option<f64>;

    /// The row that this row is held against.
    fn base(row: &Row<Self>) -> Option<Base>;

    /// The goals of a row, as far as they were measured.
    fn goals(_: &Measured<Self>, _: &Run<Self>) -> Vec<Goal> {
        Vec::new()
    }

    /// Compares the answers, and finds out what is not of a single row.
    fn conclude(_: &mut Run<Self>, _: &Progress) -> Result<(), Error> {
        Ok(())
    }

    /// A row of `--list` in JSON.
    fn listed(row: &Row<Self>) -> Value {
        json!({ "name": row.name, "section": row.section.name })
    }

    /// The lines before the table.
    fn heading(run: &Run<Self>) -> String;

    /// What is known of one row beside what every benchmark knows: members of a JSON object.
    fn record(measured: &Measured<Self>, run: &Run<Self>) -> Value;

    /// The lines after the table.
    fn footing(_: &Run<Self>) -> String {
        String::new()
    }
}

#[cfg(test)]
pub(crate) mod test {
    //! Runs and rows for tests.

    use clap::{Command, FromArgMatches as _};

    use super::{command::TableArguments, *};

    /// A run with default options in which this was measured.
    pub(crate) fn run<B: Benchmark>(measured: Vec<Measured<B>>) -> Run<B> {
        let command = TableArguments::<B>::augment_args(Command::new("bench"));
        let matches = command.try_get_matches_from(["bench", "--list"]).unwrap();
        let arguments = TableArguments::<B>::from_arg_matches(&matches).unwrap();
        Run { measured, ..Run::new(&arguments, B::ROWS.iter().collect()).unwrap() }
    }

    /// A row that was measured.
    pub(crate) fn measured<B: Benchmark>(
        name: &str,
        readings: impl IntoIterator<Item = Reading>,
    ) -> Measured<B> {
        let row = row::find(name).unwrap();
        Measured { row, readings: readings.into_iter().collect(), others: Vec::new() }
    }
}
