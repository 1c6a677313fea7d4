//! `nanotape lab bench replicate`: journals that are replicated over loopback, and a mirrored ring,
//! beside the limits of the machine.
//!
//! ```text
//! process A: journal A --link--> process B: copy of A
//!            copy of B <--link--            journal B      there and back: one round trip
//! ```
//!
//! A missing excerpt, or one with a wrong payload, is a finding and ends the run.
//! To add a row, add a line to [`ROWS`].

#[cfg(feature = "aeron")]
mod aeron;
mod append;
mod catch_up;
mod limits;
mod links;
mod mirror;
mod programs;
mod round_trip;
mod rows;
mod slow;
mod work;

use std::{fs::File, path::Path, path::PathBuf, time::Duration};

use anyhow::bail;
use clap::Args;
use nanotape_console::{records::Columns, values::grouped};
use nanotape_journal::{AppenderOptions, RollCycle, SyncPolicy, excerpt_bytes};
use nanotape_shm::free_bytes;
use serde::{Deserialize, Serialize};

use self::rows::{FIGURES, LOOPBACK, PING_PONG, PROGRAMS, ROWS, TLS, What};
use crate::{
    engine::{
        Base, Benchmark, Figures, Goal, Measured, Reading, Requested, Row, Run, Timed, Wanted,
        Worker, columns, command::slowest, goals, goals_text, message::SHORTEST, real, table,
    },
    error::Error,
};

/// Length of a segment of a measured journal.
const SEGMENT_BYTES: u64 = 16 << 20;

/// A bare round trip whose p99 is longer than this leaves no room for the goal of TLS.
const MOST_BARE_P99_NS: f64 = 12_000.0;

/// Replication: what is appended, and where.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench replicate                                     the table
  nanotape lab bench replicate --rounds 20 -o replicate.json       more rounds, as one JSON list
  nanotape lab bench replicate --only round-trip,limit/ping-pong --seconds 10
  nanotape lab bench replicate --only catch-up,limit --size 1GiB --folder /data
  nanotape lab bench replicate --only append --rounds 20           a verdict needs 8 rounds or more
  nanotape lab bench replicate --rounds 1 --size 8MiB              everything once
  nanotape lab bench replicate --list                              the names

A round trip is an append to journal A, its copy on the other side of a TCP connection, a read
there, an append to journal B, its copy, and a read of that. In `round-trip/plain` and `tls` one
thread of each process appends, reads and drives both links. In `round-trip/programs` each process
has the threads of `nanotape journal serve` and `replicate`: six threads spin in all. With fewer
processors they yield instead, and the times are those of shared processors: `spin` has the number
of threads, and a note names the row. In `round-trip/sleeping` the links wait as the commands do by
default.

Numbers are medians over rounds, the longest time is that of all rounds. Ratios are taken within a
round, and are the medians of those. The verdict on appends with followers is that of
`nanotape lab compare`, on the p99 of each round, with 5% as the smallest effect of interest.

Exit status: 0 success, even if goals are missed; 1 a wrong or missing excerpt; 2 wrong usage, or
a file or process that cannot be created.")]
pub(crate) struct Replicate {
    #[command(flatten)]
    timed: Timed,

    /// Bytes of a message
    #[arg(long, value_name = "BYTES", default_value_t = 73, value_parser = nanotape_console::values::count::<u32>(SHORTEST as u64..=65_536))]
    length: u32,

    /// Messages a second in the rows `append` and `mirror`, whether or not the previous one arrived
    #[arg(long, value_name = "PER_SECOND", default_value_t = 100_000, value_parser = nanotape_console::values::count::<u32>(1..=100_000_000))]
    rate: u32,

    /// Bytes that a follower lacks at first in the rows `catch-up`
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = nanotape_console::values::bytes)]
    size: usize,

    /// Folder for journals and copies
    #[arg(long, value_name = "FOLDER", default_value = "/dev/shm")]
    folder: PathBuf,

    /// All allowed processors, those of the two sides first.
    #[arg(skip)]
    processors: Vec<u32>,
}

impl Replicate {
    /// Bytes of a message.
    fn bytes(&self) -> usize {
        self.length as usize
    }

    /// Number of excerpts that a follower lacks at first.
    fn excerpts(&self) -> u64 {
        (self.size / excerpt_bytes(self.bytes())).max(1) as u64
    }

    /// Number of messages with a schedule.
    fn scheduled(&self) -> u64 {
        u64::from(self.timed.seconds) * u64::from(self.rate)
    }

    /// Whether every spinning thread of a row has a processor of its own.
    fn has_processors_for(&self, what: What) -> bool {
        what.spinning_threads() <= self.processors.len()
    }

    /// The processors for threads beside those of the two sides.
    fn processors_of_links(&self) -> &[u32] {
        match self.processors.get(2..) {
            Some(rest) if self.has_processors_for(What::PROGRAMS) => rest,
            _ => &self.processors,
        }
    }

    /// Most bytes that a reading of this row occupies in the folder.
    fn needed_bytes(&self, row: &Row<Self>) -> u64 {
        let excerpt = excerpt_bytes(self.bytes()) as u64;
        let (journals, excerpts) = match row.work {
            What::CatchUp { .. } => (2, self.excerpts()),
            What::NewPages => (1, self.excerpts()),
            What::Append { followers } => (1 + followers as u64, self.scheduled()),
            // No round trip is faster than 5 us.
            What::RoundTrip { .. } => (4, 200_000 * u64::from(self.timed.seconds)),
            What::PingPong | What::Loopback | What::Mirror | What::Ring => return 0,
            #[cfg(feature = "aeron")]
            What::Aeron { .. } => return 0,
        };
        let bytes = excerpts * excerpt;
        journals * (bytes + bytes / 16 + 4 * SEGMENT_BYTES)
    }

    /// Options of an appender.
    fn appender(&self) -> AppenderOptions {
        AppenderOptions {
            segment_bytes: SEGMENT_BYTES.max(4 * u64::from(self.length).next_multiple_of(4096)),
            // In this benchmark the time of a message is its number.
            roll_cycle: RollCycle::Size,
            sync: SyncPolicy::Never,
            ..AppenderOptions::default()
        }
    }
}

impl Benchmark for Replicate {
    const NAME: &'static str = "replicate";
    const ROWS: &'static [Row<Self>] = ROWS;
    const NAME_WIDTH: usize = 24;
    // The two sides check that their files are in their place.
    const LEAVES_FOLDER: bool = false;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "section", "bytes_per_second", "limit_share", "p50_ns" = "latency/p50_ns",
        "p90_ns" = "latency/p90_ns", "p99_ns" = "latency/p99_ns", "p99.9_ns" = "latency/p99.9_ns",
        "max_ns" = "latency/max_ns", "over_100us" = "latency/over_100us", "ratio", "ratio_to",
        "p99_ratio", "p99.9_of_p99", "verdict", "spinning_threads", "processors",
        "foreign" = "environment/foreign",
    };
    const GOALS: &'static [Wanted] = goals! {
        rows::PLAIN => "ratio" = "ratio", AtMost 1.5, 1.0 "times the ping-pong, p50" 2;
        rows::PLAIN => "p99_ratio" = "p99_ratio", AtMost 2.0, 1.0 "times the ping-pong, p99" 2;
        rows::PLAIN => "p99.9_of_p99" = "p99.9_of_p99", AtMost 3.0, 1.0 "times its p99, p99.9" 2;
        PROGRAMS => "ratio" = "ratio", AtMost 1.5, 1.0 "times the ping-pong, p50" 2;
        PROGRAMS => "p99_ratio" = "p99_ratio", AtMost 2.0, 1.0 "times the ping-pong, p99" 2;
        PROGRAMS => "p99.9_of_p99" = "p99.9_of_p99", AtMost 3.0, 1.0 "times its p99, p99.9" 2;
        TLS => "p99_ns" = "latency/p99_ns", AtMost 25_000.0, 0.001 "us p99" 1;
        rows::CATCH_UP => "limit_share" = "limit_share", AtLeast 0.8, 1.0 "of the limit" 2;
        rows::CATCH_UP_TLS => "limit_share" = "limit_share", AtLeast 0.4, 1.0 "of the limit" 2;
        rows::MIRROR => "ratio" = "ratio", AtMost 1.5, 1.0 "times the ring, p50" 2;
    };

    type Work = What;
    type Pass = ();

    fn requested(&self) -> Requested {
        self.timed.requested()
    }

    fn prepare(run: &mut Run<Self>) -> anyhow::Result<()> {
        let options = &mut run.options;
        options.folder = real(&options.folder)?;
        options.processors = vec![run.cpus.writer];
        options.processors.extend(run.cpus.readers.iter().filter(|&&cpu| cpu != run.cpus.writer));
        let (folder, file) = (options.folder.display(), File::open(&options.folder));
        let free_bytes = free_bytes(&file.map_err(Error::system("open the folder"))?);
        for row in &run.rows {
            let needed_bytes = options.needed_bytes(row);
            if needed_bytes > free_bytes {
                bail!(
                    "{folder} has {free_bytes} bytes free, but a reading takes {needed_bytes}: use \
                     a smaller --size, fewer --seconds or another folder"
                );
            }
            if !options.has_processors_for(row.work) {
                run.notes.push(format!(
                    "{}: {} threads poll on {} processors and yield to each other; its times are \
                     those of shared processors",
                    row.name,
                    row.work.spinning_threads(),
                    options.processors.len(),
                ));
            }
        }
        Ok(())
    }

    fn readers(row: &Row<Self>) -> usize {
        match row.work {
            What::NewPages | What::Append { followers: 0 } => 0,
            // The process that serves, and the followers.
            What::Append { followers } => 1 + followers,
            // The reader, and the mirror.
            What::Mirror => 2,
            _ => 1,
        }
    }

    fn data_folder(&self, _: &Row<Self>) -> Option<&Path> {
        Some(&self.folder)
    }

    fn longest(&self, row: &Row<Self>) -> Duration {
        match row.work {
            What::CatchUp { .. } | What::Loopback | What::NewPages => slowest(self.excerpts()),
            _ => Duration::from_secs(self.timed.seconds.into()),
        }
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        work::work(worker)
    }

    /// The median time if calls or messages are timed, else the rate of the slower side.
    fn number(row: &Row<Self>, reading: &Reading) -> Option<f64> {
        match row.work {
            What::NewPages => reading.written_per_second(),
            What::CatchUp { .. } | What::Loopback => reading.read_per_second(),
            _ => reading.p50_ns(),
        }
    }

    fn base(row: &Row<Self>) -> Option<Base> {
        match row.work {
            What::RoundTrip { .. } => Some(Base::whole(PING_PONG)),
            What::CatchUp { .. } => Some(Base::whole(LOOPBACK)),
            What::Append { .. } if row.name != rows::ALONE => Some(Base::whole(rows::ALONE)),
            What::Mirror => Some(Base::whole(rows::RING)),
            #[cfg(feature = "aeron")]
            What::Aeron { has_rings: true } => Some(Base::whole(rows::AERON_PING)),
            _ => None,
        }
    }

    /// Goals that the machine makes possible: a processor for each thread that spins, and for TLS a
    /// bare round trip that leaves room.
    fn goals(row: &Measured<Self>, run: &Run<Self>) -> Vec<Goal> {
        let bare_p99_ns = run.find(PING_PONG).and_then(rows::p99_ns);
        let is_slow = bare_p99_ns.is_none_or(|nanos| nanos >= MOST_BARE_P99_NS);
        if row.row.name == TLS && is_slow || !run.options.has_processors_for(row.row.work) {
            return Vec::new();
        }
        Self::GOALS.iter().filter_map(|wanted| wanted.of(row, run)).collect()
    }

    fn heading(run: &Run<Self>) -> String {
        let options = &run.options;
        format!(
            "messages of {} bytes; {}; {} a second in append and mirror, {} bytes to catch up\n\
             journals in {}",
            options.length,
            table::heading(run, options.timed.seconds),
            grouped(options.rate.into()),
            grouped(options.size as u64),
            options.folder.display(),
        )
    }

    fn footing(run: &Run<Self>) -> String {
        let judged = rows::verdict(run).map_or(String::new(), |(verdict, reason)| {
            let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
            format!("\np99 of an append with two followers: {verdict}{reason}\n")
        });
        let slow: String = run.measured.iter().filter_map(slow_text).collect();
        slow + &judged + &goals_text(run)
    }
}

/// `round-trip/plain: 57 trips took more than 3 times the p99; ...`
fn slow_text(row: &Measured<Replicate>) -> Option<String> {
    let slow = rows::slow(row)?;
    let name = row.row.name;
    let Some([first, second]) = slow.shares() else {
        return Some(format!("\n{name}: no trip took more than 3 times the p99\n"));
    };
    let [first, second, neither] = [first, second, 1.0 - first - second].map(|it| 100.0 * it);
    Some(format!(
        "\n{name}: {} trips took more than 3 times the p99, {} of them because a process did not \
         poll; of the time beyond the median, {first:.0}% in the first process, {second:.0}% in the \
         second, {neither:.0}% in neither\n",
        slow.trips, slow.explained,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        Taken, Times, Written,
        row::find,
        test::{measured, run},
    };

    fn timed(name: &str, times: &[(u64, u64, u64)]) -> Measured<Replicate> {
        let reading = |&(p50_ns, p99_ns, p999_ns): &(u64, u64, u64)| Reading {
            times: Some(Times { count: 1, p50_ns, p99_ns, p999_ns, ..Times::default() }),
            ..Reading::default()
        };
        measured(name, times.iter().map(reading))
    }

    fn with_processors(mut run: Run<Replicate>, processors: u32) -> Run<Replicate> {
        run.options.processors = (0..processors).collect();
        run
    }

    fn met(run: &Run<Replicate>, row: &str) -> Vec<(&'static str, bool)> {
        let row = run.find(row).unwrap();
        Replicate::goals(row, run).iter().map(|goal| (goal.of, goal.is_met())).collect()
    }

    #[test]
    fn a_round_trip_that_became_slow_misses_its_goals() {
        let bare = timed(PING_PONG, &[(10_000, 11_000, 20_000), (20_000, 22_000, 30_000)]);
        let of = |factor: u64| {
            let times = [(14_000, 20_000, 40_000), (28_000, 40_000, 80_000)];
            let times = times.map(|(p50, p99, p999)| (factor * p50, factor * p99, factor * p999));
            with_processors(run(vec![timed(rows::PLAIN, &times), bare.clone()]), 2)
        };
        let all = [("ratio", true), ("p99_ratio", true), ("p99.9_of_p99", true)];
        assert_eq!(met(&of(1), rows::PLAIN), all);
        let slow = [("ratio", false), ("p99_ratio", false), ("p99.9_of_p99", true)];
        assert_eq!(met(&of(2), rows::PLAIN), slow);
    }

    #[test]
    fn goals_are_for_machines_that_can_reach_them() {
        let tls = |bare_p99| {
            let rows = vec![
                timed(TLS, &[(20_000, 24_000, 30_000)]),
                timed(PING_PONG, &[(10_000, bare_p99, 20_000)]),
            ];
            with_processors(run(rows), 2)
        };
        assert_eq!(met(&tls(11_000), TLS), [("p99_ns", true)]);
        assert_eq!(met(&tls(12_000), TLS), []);
        let programs = |processors| {
            let rows = vec![timed(PROGRAMS, &[(20, 24, 30)]), timed(PING_PONG, &[(10, 12, 20)])];
            with_processors(run(rows), processors)
        };
        assert_eq!(met(&programs(5), PROGRAMS), []);
        assert_eq!(met(&programs(6), PROGRAMS).len(), 3);
    }

    #[test]
    fn catching_up_is_held_against_the_smaller_limit_of_its_round() {
        let rate = |messages, nanos| Reading {
            written: Written { messages, nanos },
            taken: vec![Taken { messages, nanos, ..Taken::default() }],
            ..Reading::default()
        };
        let all = run::<Replicate>(vec![
            measured(rows::CATCH_UP, [rate(8, 10), rate(6, 10)]),
            measured(LOOPBACK, [rate(10, 10), rate(20, 10)]),
            measured(rows::NEW_PAGES, [rate(30, 10), rate(10, 10)]),
        ]);
        let found = rows::limit_share(&all.measured[0], &all);
        assert!((found.unwrap() - 0.7).abs() < 1e-9, "{found:?}");
        let without = run::<Replicate>(all.measured[..2].to_vec());
        assert_eq!(rows::limit_share(&without.measured[0], &without), None);
    }

    #[test]
    fn slower_appends_are_noticed_and_equal_ones_are_the_same() {
        let p99 = |round: u64, percent: u64| (1, (1_000 + 5 * (round % 3)) * percent / 100, 1);
        let of = |percent| {
            let rounds = |percent| (0..12).map(|round| p99(round, percent)).collect::<Vec<_>>();
            let names = [(rows::ALONE, 100), (rows::AGAIN, 100), (rows::FOLLOWED, percent)];
            let rows = names.map(|(name, percent)| timed(name, &rounds(percent)));
            rows::verdict(&run(rows.to_vec())).map(|(verdict, _)| verdict.to_string())
        };
        assert_eq!(of(101).unwrap(), "same");
        assert_eq!(of(120).unwrap(), "slower");
        let few = [rows::ALONE, rows::AGAIN, rows::FOLLOWED].map(|name| timed(name, &[(1, 2, 3)]));
        let (verdict, reason) = rows::verdict(&run(few.to_vec())).unwrap();
        assert_eq!(verdict.to_string(), "not enough power");
        assert!(reason.unwrap().starts_with("too few"));
        assert!(rows::verdict(&run(few[..2].to_vec())).is_none());
    }

    #[test]
    fn links_leave_the_processors_of_the_two_sides_where_there_are_enough() {
        let few = with_processors(run(Vec::new()), 5).options;
        assert_eq!(few.processors_of_links(), [0, 1, 2, 3, 4]);
        let enough = with_processors(run(Vec::new()), 8).options;
        assert_eq!(enough.processors_of_links(), [2, 3, 4, 5, 6, 7]);
        assert!(few.has_processors_for(find::<Replicate>(rows::MIRROR).unwrap().work));
    }
}
