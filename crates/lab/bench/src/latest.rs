//! `nanotape lab bench latest`: the map that many processes update in place, compared with the
//! limits of the machine and with a map of one thread.
//!
//! ```text
//! process 0, on one processor ==== a map in shared memory ==== a second side, on another
//!                                                              processor: a thread or a process
//! or a table of as many bytes without keys, or `std::collections::HashMap`: the limits
//! ```
//!
//! A value that differs from what was stored, or an update that is not in the sum of all values at
//! the end, is a finding and ends the run.
//! To add a row, add a line to [`ROWS`].

mod keys;
mod limits;
mod loops;
mod map;
mod rows;
mod work;

use std::{fs::File, time::Duration};

use anyhow::bail;
use clap::Args;
use nanotape_console::{records::Columns, values::grouped};
use nanotape_host::available_memory_bytes;
use nanotape_latest::LatestSpec;
use serde::{Deserialize, Serialize};

use self::rows::{FIGURES, ROWS, Sides, Table, What, Work};
use crate::{
    engine::{
        Amount, Base, Benchmark, Figures, Folder, Reading, Requested, Row, Run, Timed, Wanted,
        Worker, columns, goals, slowest, table,
    },
    error::Error,
};

/// The map of latest values: its operations, and the limits of this machine.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench latest                                       the table
  nanotape lab bench latest --entries 1000000 --rounds 1          quick, with a smaller map
  nanotape lab bench latest --entries 100000000 --only update,limit
  nanotape lab bench latest --rounds 9 -o latest.json             more rounds, as one JSON list
  nanotape lab bench latest --only latency,limit/load --rate 100000 --seconds 10
  nanotape lab bench latest --list                                the names

A row has a full map of --entries keys, or fills one. The keys of its operations are random and
uniform. `key-8` has keys of 8 bytes, `key-16` of 16; values have 8. `threads-2` is one process with
two threads, `processes-2` two processes that map the same file; each side has a processor. An
update adds 1 to a value in place. `ten-keys` makes half of all updates on the same ten keys.

`loads` and `adds` below `limit` read and increase random words of a table with as many bytes as the
map, which has no keys: the processor overlaps them. `limit/dependent` needs each word for the
position of the next one. `limit/std` is std::collections::HashMap of one thread, which no other
thread can use. Latency rows have a schedule of --rate operations a second: times are from the
moment at which an operation was due, `call` is the operation alone.

Every value is checked, and the sum of all values at the end.

Exit status: 0 success, even if goals are missed; 1 a wrong or missing value; 2 wrong usage, or a
map or process that cannot be created.")]
pub(crate) struct Latest {
    /// Keys of a map [default: 10 million, or as many as fit into a quarter of the free memory]
    #[arg(long, value_name = "N", value_parser = nanotape_console::values::count::<u64>(1_000..=1 << 30))]
    entries: Option<u64>,

    /// Operations a second in the latency rows, whether or not the previous one has ended
    #[arg(long, value_name = "PER_SECOND", default_value_t = 1_000_000, value_parser = nanotape_console::values::count::<u32>(1..=100_000_000))]
    rate: u32,

    /// Operations of each side of a reading, instead of --seconds
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = nanotape_console::values::count::<u64>(100..=1 << 40))]
    operations: Option<u64>,

    #[command(flatten)]
    timed: Timed,

    /// The processor of a second thread.
    #[arg(skip)]
    second_cpu: Option<u32>,
}

/// Keys of a map, if they fit.
const USUAL_ENTRIES: u64 = 10_000_000;

/// The fewest keys of a map.
const FEWEST_ENTRIES: u64 = 1_000;

/// Entries for the results of the second process.
const REPORT_ENTRIES: u64 = 2;

/// Writers of a map: two sides, and some to spare.
const WRITERS: u32 = 8;

impl Latest {
    fn entries(&self) -> u64 {
        self.entries.unwrap_or(USUAL_ENTRIES)
    }

    /// Operations of a side, or its time. A row of `insert` ends when its map is full.
    fn amount(&self) -> Amount {
        self.operations.map_or(self.timed.amount(), Amount::Messages)
    }

    /// What a map of this row is made for.
    fn spec(&self, work: Work) -> LatestSpec {
        LatestSpec {
            entries: self.entries() + REPORT_ENTRIES,
            key_words: work.key_words,
            value_words: 1,
            writers: WRITERS,
            value_layout: 0,
        }
    }

    /// Bytes of the file of a map of this row.
    fn map_bytes(&self, work: Work) -> Result<u64, Error> {
        Ok(self.spec(work).bytes()?)
    }

    /// Most bytes that a reading of this row occupies.
    fn needed_bytes(&self, work: Work) -> Result<u64, Error> {
        Ok(match work.table {
            Table::Std => limits::std_bytes(self.entries(), work.key_words),
            Table::Map | Table::Lines => self.map_bytes(work)?,
        })
    }
}

/// Bytes that a map can have: those that are free where maps are, and in memory.
fn free_bytes() -> Result<u64, Error> {
    let open = || {
        let folder = Folder::new(Latest::NAME)?;
        Ok(nanotape_shm::free_bytes(&File::open(folder.path())?))
    };
    let free = open().map_err(Error::system("open a folder for maps"))?;
    Ok(free.min(available_memory_bytes().unwrap_or(u64::MAX)))
}

impl Benchmark for Latest {
    const NAME: &'static str = "latest";
    const ROWS: &'static [Row<Self>] = ROWS;
    const NAME_WIDTH: usize = 28;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "section", "operations_per_second" = "written_per_second", "bytes_per_entry",
        "p50_ns" = "latency/p50_ns", "p90_ns" = "latency/p90_ns", "p99_ns" = "latency/p99_ns",
        "p99.9_ns" = "latency/p99.9_ns", "p99.99_ns" = "latency/p99.99_ns",
        "max_ns" = "latency/max_ns", "over_100us" = "latency/over_100us",
        "call_p50_ns" = "calls/p50_ns", "call_p99_ns" = "calls/p99_ns", "of_std", "ratio",
        "ratio_to", "foreign" = "environment/foreign",
    };
    const GOALS: &'static [Wanted] = goals! {
        rows::UPDATE => "updates/s" = "written_per_second", AtLeast 8e6,
            1e-6 "million updates a second" 2;
        rows::UPDATE_OF_TWO => "updates/s" = "written_per_second", AtLeast 12e6,
            1e-6 "million updates a second" 2;
        rows::LATENCY_OF_UPDATES => "p50_ns" = "latency/p50_ns", AtMost 500.0, 1.0 "ns p50" 0;
        rows::LATENCY_OF_UPDATES => "p99_ns" = "latency/p99_ns", AtMost 800.0, 1.0 "ns p99" 0;
    };

    type Work = Work;
    type Pass = ();

    fn requested(&self) -> Requested {
        self.timed.requested()
    }

    fn prepare(run: &mut Run<Self>) -> anyhow::Result<()> {
        let options = &mut run.options;
        options.second_cpu = run.cpus.are_two().then_some(run.cpus.readers[0]);
        let free_bytes = free_bytes()?;
        let most = |options: &Self| {
            let needed = run.rows.iter().map(|row| options.needed_bytes(row.work));
            needed.reduce(|one, other| Ok(one?.max(other?))).unwrap_or(Ok(0))
        };
        let is_default = options.entries.is_none();
        while is_default && most(options)? > free_bytes / 4 && options.entries() > FEWEST_ENTRIES {
            options.entries = Some((options.entries() / 2).max(FEWEST_ENTRIES));
        }
        options.entries = Some(options.entries());
        let needed_bytes = most(options)?;
        if needed_bytes > free_bytes {
            bail!(
                "{free_bytes} bytes are free, but a map of {} entries takes {needed_bytes}: use \
                 fewer --entries",
                options.entries()
            );
        }
        Ok(())
    }

    fn readers(row: &Row<Self>) -> usize {
        usize::from(row.work.sides == Sides::Processes)
    }

    /// A full map is made before, and its values are added after.
    fn longest(&self, _: &Row<Self>) -> Duration {
        let most = match self.amount() {
            Amount::Seconds(seconds) => Duration::from_secs(seconds.into()),
            Amount::Messages(operations) => slowest(operations),
        };
        most + slowest(self.entries())
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        work::work(worker)
    }

    /// The median time if operations are timed, else the rate of all sides together.
    fn number(row: &Row<Self>, reading: &Reading) -> Option<f64> {
        if row.section.is_timed { reading.p50_ns() } else { reading.written_per_second() }
    }

    fn base(row: &Row<Self>) -> Option<Base> {
        let of_sides = |one, two| if row.work.sides == Sides::One { one } else { two };
        let base = match (row.work.what, row.work.table) {
            (What::Get | What::Dependent, _) => of_sides(rows::LOADS, rows::LOADS_OF_TWO),
            (What::Update, _) => of_sides(rows::ADDS, rows::ADDS_OF_TWO),
            (What::Insert, Table::Map) => {
                of_sides(rows::STD_INSERT, rows::insert_of_one(row.work.key_words))
            }
            (What::GetEach | What::UpdateEach, _) => rows::one_by_one(row.work),
            (What::TenKeys, _) => rows::UPDATE_OF_TWO,
            (What::Latency, _) => rows::LOAD,
            (What::Insert, _) => return None,
        };
        (base != row.name).then_some(Base::whole(base))
    }

    fn heading(run: &Run<Self>) -> String {
        let amount = match run.options.amount() {
            Amount::Seconds(seconds) => format!("{seconds} s"),
            Amount::Messages(operations) => format!("{} operations", grouped(operations)),
        };
        format!(
            "maps of {} entries with values of 8 bytes; {} of {amount} each; processors {} and {}",
            grouped(run.options.entries()),
            table::rounds(run),
            run.cpus.writer,
            run.cpus.readers[0],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        Measured, Times, Written,
        test::{measured, run},
    };

    fn rates(name: &str, nanos: &[u64]) -> Measured<Latest> {
        let reading = |&nanos: &u64| Reading {
            written: Written { messages: 1_000, nanos },
            ..Reading::default()
        };
        measured(name, nanos.iter().map(reading))
    }

    #[test]
    fn rates_are_compared_with_the_limit_of_as_many_sides() {
        let all = run(vec![
            rates(rows::UPDATE, &[100_000, 300_000, 200_000]),
            rates(rows::UPDATE_OF_TWO, &[100_000, 100_000, 100_000]),
            rates(rows::ADDS, &[50_000, 75_000, 50_000]),
            rates(rows::ADDS_OF_TWO, &[25_000, 25_000, 25_000]),
            rates(rows::STD_UPDATE, &[100_000, 150_000, 100_000]),
        ]);
        let ratio = |at: usize| all.measured[at].ratio(&all).map(|ratio| ratio.value);
        assert_eq!([0, 1, 2, 3].map(ratio), [Some(0.25), Some(0.25), None, None]);
        assert_eq!(rows::of_std(&all.measured[0], &all), Some(0.5));
        assert_eq!(rows::of_std(&all.measured[4], &all), None);
        let [goal] = &Latest::goals(&all.measured[1], &all)[..] else { panic!("one goal") };
        assert!(!goal.is_met() && goal.value == 1e7);
    }

    #[test]
    fn times_are_compared_with_one_load_and_have_two_goals() {
        let timed = |name: &str, p50_ns: u64| {
            let times = Times { count: 1, p50_ns, p99_ns: 2 * p50_ns, ..Times::default() };
            measured::<Latest>(name, [Reading { times: Some(times), ..Reading::default() }])
        };
        let all = run(vec![timed(rows::LATENCY_OF_UPDATES, 450), timed(rows::LOAD, 150)]);
        assert_eq!(all.measured[0].ratio(&all).unwrap().value, 3.0);
        let met: Vec<bool> =
            Latest::goals(&all.measured[0], &all).iter().map(|goal| goal.is_met()).collect();
        assert_eq!(met, [true, false]);
    }

    #[test]
    fn a_map_states_its_bytes_before_it_is_made() {
        let options = Latest { entries: Some(1 << 20), ..run::<Latest>(Vec::new()).options };
        let of = |name: &str| {
            let row = crate::engine::row::find::<Latest>(name).unwrap();
            options.needed_bytes(row.work).unwrap() as f64 / f64::from(1 << 20)
        };
        assert!((42.0..44.0).contains(&of(rows::UPDATE)), "{}", of(rows::UPDATE));
        let key_16 = of("update/key-16/threads-1");
        assert!((56.0..59.0).contains(&key_16), "{key_16}");
        assert_eq!(of(rows::LOADS), of(rows::UPDATE));
        assert!((17.0..40.0).contains(&of(rows::STD_UPDATE)), "{}", of(rows::STD_UPDATE));
    }
}
