//! `nanotape lab bench book`: every structure of the books on one day file, with the limits.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use nanotape_console::{progress::Progress, records::Columns};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Day, Pass,
    beside::{BESIDE, is_beside},
    one_by_one,
    profile::{Profile, profile},
    reading::{compare, heading},
    variants::{DEFAULT, FIGURES, ROWS, Take},
};
use crate::{
    engine::{
        Base, Benchmark, Figures, Reading, Requested, RequestedCpus, Row, Run, Worker, columns,
    },
    error::Error,
};

/// The books: which day, and what is found out.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench book day.itch50                             the table
  nanotape lab bench book day.itch50 --rounds 9 -o books.json    more rounds, as one JSON list
  nanotape lab bench book day.itch50 --only default,levels/sorted-map --latency
  nanotape lab bench book day.itch50 --only default,decode --profile
  nanotape lab bench book day.itch50 --repeat 10                 ten such days in a row
  nanotape lab bench book day.pitch.pcap --beside day.itch50.pcap
                                                                 two feeds of one market
  nanotape lab bench book --list                                 the names

Every structure of price levels runs with the default store of orders, and every store with the
default levels. In each round each of them is measured once, in a process of its own and in a
random order, on one processor. The rows of the default's own parts run the same code as
`default`: the difference between them is noise. Compare numbers of one run only.

Times are per message, from the first byte to the last message, in processor time (`wall`: elapsed
time); they are medians over rounds. Ratios are medians over rounds too. Allocating the tables is
`start-up` and not part of the times. A compressed file is decompressed within the time:
decompress it before. JSON is one list with an object for each row.

A capture of any feed is a day too, with the cost of its packets in every time. With --beside, the
rows below `beside` measure a second file in the same rounds: `file / this` is the time of FILE
divided by that of the second file, for a message and for a byte of a message. Compare a capture
with a capture.

`peak` is the most memory of the process (VmHWM), including the program. `anonymous` is the most
memory seen that belongs to no file (RssAnon, read every 32 MB of the file and at the end); it may
miss the moment in which a growing table exists twice.

With --repeat the file goes through the same books several times. If a day ends with live orders,
the next one finds their references in use and counts anomalies.

Exit status: 0 success; 1 the file is damaged or empty, or the books of different structures
differ; 2 wrong usage, or a file that cannot be read or written.")]
pub(crate) struct Book {
    #[command(flatten)]
    pub(super) day: Day,

    /// Send the file N times through the same books, as N days
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = nanotape_console::values::count::<u32>(1..=10_000))]
    repeat: u32,

    /// Measure this file in the same rounds, for rows below `beside`
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,

    /// The second day.
    #[arg(skip)]
    #[serde(default)]
    pub(super) second: Day,

    /// Also time single messages as a live feed delivers them, for `default` or the --only rows
    #[arg(long)]
    latency: bool,

    /// Also profile `default`: message types, instructions, hardware counters
    #[arg(long)]
    profile: bool,

    /// Run on this processor [default: the last allowed one]
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,

    /// Use the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,

    /// Whether all rows are selected.
    #[arg(skip)]
    is_all: bool,

    /// The result of the profile.
    #[arg(skip)]
    #[serde(skip)]
    pub(super) profiled: Option<Profile>,
}

fn is_books(row: &Row<Book>) -> bool {
    row.section.name == "books"
}

pub(super) fn is_load(row: &Row<Book>) -> bool {
    row.section.name == "memory"
}

impl Benchmark for Book {
    const NAME: &'static str = "book";
    const ROWS: &'static [Row<Self>] = ROWS;
    const NOUN: &'static str = "variant";
    const SELECTS_BELOW: bool = false;
    const IS_PAIR: bool = false;
    const NAME_WIDTH: usize = 28;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "kind", "ns_per_message", "ns_per_message_low", "ns_per_message_high",
        "wall_ns_per_message", "ratio_to_default", "ns_per_byte", "file_to_beside",
        "file_to_beside_per_byte", "ns_per_access", "startup_ms",
        "peak_memory_bytes", "peak_anonymous_bytes", "latency_p50_ns" = "latency/p50_ns",
        "latency_p99_ns" = "latency/p99_ns", "latency_p99.9_ns" = "latency/p99.9_ns",
        "latency_max_ns" = "latency/max_ns",
    };

    type Work = Take;
    type Pass = Pass;

    fn day(&self) -> Option<&Day> {
        Some(&self.day)
    }

    fn day_of(&self, row: &Row<Self>) -> Option<&Day> {
        Some(if is_beside(row) { &self.second } else { &self.day })
    }

    fn requested(&self) -> Requested {
        Requested { cpus: RequestedCpus::One(self.cpu), real_time_priority: self.realtime }
    }

    fn prepare(run: &mut Run<Self>) -> anyhow::Result<()> {
        let options = &mut run.options;
        if options.latency && !run.rows.iter().any(|row| is_books(row)) {
            bail!("--latency applies to book rows, but --only selects none");
        }
        if options.profile && !run.rows.iter().any(|row| row.name == DEFAULT) {
            bail!("--profile applies to {DEFAULT}, but --only does not select it");
        }
        options.is_all = run.is_all;
        options.day.repeat = options.repeat;
        options.day.survey_input(run.cpu, &mut run.notes)?;
        if options.day.is_capture && (options.latency || options.profile) {
            bail!(
                "{}: is a capture, and --latency and --profile need a BinaryFILE day",
                options.day.path().display()
            );
        }
        match &options.beside {
            Some(beside) => {
                let orders = options.day.orders;
                let file = Some(beside.clone());
                options.second = Day { file, orders, repeat: options.repeat, ..Day::default() };
                options.second.survey_input(run.cpu, &mut run.notes)
            }
            None if !run.is_all && run.rows.iter().any(|row| is_beside(row)) => {
                bail!("--only selects rows below {BESIDE}, which need a second file: --beside FILE")
            }
            None => {
                run.rows.retain(|row| !is_beside(row));
                Ok(())
            }
        }
    }

    fn passes(&self, row: &Row<Self>) -> Vec<Pass> {
        let is_wanted = self.latency && is_books(row) && (!self.is_all || row.name == DEFAULT);
        [Pass::Measure].into_iter().chain(is_wanted.then_some(Pass::Single)).collect()
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        worker.begin(&[])?;
        let options = &worker.job.options;
        let day = options.day_of(worker.row).unwrap_or(&options.day);
        (worker.row.work)(day, worker.clock, worker.job.pass)
    }

    fn number(_: &Row<Self>, reading: &Reading) -> Option<f64> {
        Some(reading.day.processor_ns())
    }

    fn base(row: &Row<Self>) -> Option<Base> {
        (!is_load(row) && !is_beside(row)).then_some(Base::whole(DEFAULT))
    }

    fn conclude(run: &mut Run<Self>, progress: &Progress) -> Result<(), Error> {
        compare(run, &run.options.day)?;
        compare(run, &run.options.second)?;
        if run.options.profile {
            run.options.profiled = Some(profile(run, &run.options.day, &ROWS[0], false, progress)?);
        }
        Ok(())
    }

    fn listed(row: &Row<Self>) -> Value {
        json!({ "name": row.name, "kind": row.section.name })
    }

    fn heading(run: &Run<Self>) -> String {
        heading(run, &run.options.day)
    }

    fn footing(run: &Run<Self>) -> String {
        one_by_one::table(run) + &run.options.profiled.as_ref().map_or(String::new(), Profile::text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        day_file::DayReading,
        engine::{
            Measured, Spread, table,
            test::{measured, run},
        },
    };

    #[test]
    fn ratios_are_of_the_same_round() {
        let of = |name: &str, nanos: [u64; 3]| -> Measured<Book> {
            let reading = |processor_nanos| Reading {
                day: DayReading { processor_nanos, operations: 10, ..DayReading::default() },
                ..Reading::default()
            };
            measured(name, nanos.map(reading))
        };
        let twice = of("levels/packed", [200, 1_000, 1_800]);
        let run = run(vec![of(DEFAULT, [100, 500, 900]), twice]);
        let [base, twice] = &run.measured[..] else { panic!() };
        assert_eq!(twice.ratio(&run).unwrap().value, 2.0);
        let spread = Spread { median: 50.0, lowest: 10.0, highest: 90.0 };
        assert_eq!(table::number(base), Some(spread));
        assert_eq!(twice.added(base), Some(spread));
    }
}
