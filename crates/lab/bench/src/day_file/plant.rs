//! `nanotape lab bench plant`: the time that the ring and the records add to a message.

use anyhow::bail;
use clap::Args;
use core::fmt::Write as _;
use nanotape_console::{progress::Progress, records::Columns};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Day, Pass, one_by_one,
    plant_variants::{BACKBONE, FIGURES, ONE_TAP, PLANT, ROWS, Shape, limit_taps, taps},
    profile::{Profile, profile},
    publish,
    reading::{compare, heading},
    variants::take_default_books,
};
use crate::{
    engine::{
        Base, Benchmark, Figures, Goal, Measured, Reading, Requested, RequestedCpus, Row, Run,
        Wanted, Worker, columns, goals,
    },
    error::Error,
};

/// Plants: which day, and where they run.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench plant day.itch50                            the table
  nanotape lab bench plant day.itch50 --rounds 9 -o plant.json   more rounds, as one JSON list
  nanotape lab bench plant day.itch50 --only backbone,plant
  nanotape lab bench plant day.itch50 --only plant --profile
  nanotape lab bench plant day.itch50 --cpus 2,3 --realtime 20   on two quiet processors
  nanotape lab bench plant --list                                the names

`backbone` goes from the bytes of the file to the books, and counts. The other rows also make
records and publish them, as `nanotape run` does: on a ring with a board in /dev/shm. In rows with
taps, as many processes poll the ring meanwhile, each for the inside of the stock with the most
messages. Each tap has a processor of its own as long as there are enough beside the plant's; the
last row has one tap more.

In each round each row is measured once, in processes of its own and in a random order. Times are
per message, from the first byte to the last record, in processor time of the plant (`wall`:
elapsed time); they are medians over rounds. `adds` and `ratio` compare with `backbone` within a
round, and are the medians of those. `backbone/again` is the same as `backbone`: their difference
is noise. Compare numbers of one run only.

Single messages are timed from their bytes to the published records, one at a time with nothing
loaded ahead. Missed goals do not change the exit status.

Exit status: 0 success; 1 the file is damaged or empty, rows differ in their results, or a tap
cannot account for every record; 2 wrong usage, or a file that cannot be read or written.")]
pub(crate) struct Plant {
    #[command(flatten)]
    pub(super) day: Day,

    /// Run the plant and its first tap on these processors [default: the last two allowed ones]
    #[arg(long, value_name = "PLANT,TAP", value_parser = nanotape_console::values::two_cpus)]
    cpus: Option<(u32, u32)>,

    /// Use the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,

    /// Also profile `plant`: message types, instructions, hardware counters
    #[arg(long)]
    profile: bool,

    /// The result of the profile.
    #[arg(skip)]
    #[serde(skip)]
    pub(super) profiled: Option<Profile>,
}

/// Rows whose messages are also timed one by one.
const ONE_BY_ONE: [&str; 3] = [BACKBONE, PLANT, ONE_TAP];

impl Benchmark for Plant {
    const NAME: &'static str = "plant";
    const ROWS: &'static [Row<Self>] = ROWS;
    const NOUN: &'static str = "variant";
    const SELECTS_BELOW: bool = false;
    const IS_PAIR: bool = false;
    /// A plant stops when its ring is removed.
    const LEAVES_FOLDER: bool = false;
    const NAME_WIDTH: usize = 18;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "taps", "ns_per_message", "ns_per_message_low", "ns_per_message_high",
        "wall_ns_per_message", "adds_ns", "adds_ns_low", "adds_ns_high", "ratio_to_backbone",
        "messages_per_second", "records_per_second", "lost_share",
        "latency_p50_ns" = "latency/p50_ns", "latency_p99_ns" = "latency/p99_ns",
        "latency_p99.9_ns" = "latency/p99.9_ns", "latency_max_ns" = "latency/max_ns",
    };
    /// All of them are goals of `plant`; the rows are those of their numbers.
    const GOALS: &'static [Wanted] = goals! {
        PLANT => "adds" = "adds_ns", AtMost 30.0, 1.0 "ns" 1;
        ONE_TAP => "adds, 1 tap" = "adds_ns", AtMost 40.0, 1.0 "ns" 1;
        PLANT => "p99" = "latency/p99_ns", AtMost 650.0, 1.0 "ns" 1;
        PLANT => "p99.9" = "latency/p99.9_ns", AtMost 1_000.0, 1.0 "ns" 1;
    };

    /// What a plant publishes; None for a row of books only.
    type Work = Option<Shape>;
    type Pass = Pass;

    fn day(&self) -> Option<&Day> {
        Some(&self.day)
    }

    fn requested(&self) -> Requested {
        Requested { cpus: RequestedCpus::Two(self.cpus), real_time_priority: self.realtime }
    }

    fn prepare(run: &mut Run<Self>) -> anyhow::Result<()> {
        if run.options.profile && !run.rows.iter().any(|row| row.name == PLANT) {
            bail!("--profile applies to {PLANT}, but --only does not select it");
        }
        if run.is_all {
            let beside = if run.cpus.are_two() { run.cpus.readers.len() } else { 0 };
            limit_taps(&mut run.rows, beside);
        }
        run.options.day.survey(run.cpu, &mut run.notes)
    }

    fn readers(row: &Row<Self>) -> usize {
        taps(row)
    }

    fn passes(&self, row: &Row<Self>) -> Vec<Pass> {
        let is_single = ONE_BY_ONE.contains(&row.name);
        [Pass::Measure].into_iter().chain(is_single.then_some(Pass::Single)).collect()
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        let day = worker.job.options.day.clone();
        match (worker.row.work, worker.reader()) {
            (_, Some(_)) => publish::tap(worker, &day),
            (Some(shape), None) => publish::publish(worker, shape, worker.job.pass, None),
            (None, None) => {
                worker.begin(&[])?;
                take_default_books(&day, worker.clock, worker.job.pass)
            }
        }
    }

    fn may_lose(_: &Row<Self>) -> bool {
        true
    }

    fn number(_: &Row<Self>, reading: &Reading) -> Option<f64> {
        Some(reading.day.processor_ns())
    }

    fn base(_: &Row<Self>) -> Option<Base> {
        Some(Base::whole(BACKBONE))
    }

    /// The goals apply to the usual plant.
    fn goals(plant: &Measured<Self>, run: &Run<Self>) -> Vec<Goal> {
        if plant.row.name != PLANT {
            return Vec::new();
        }
        let goal = |wanted: &Wanted| wanted.of(run.find(wanted.rows)?, run);
        Self::GOALS.iter().filter_map(goal).collect()
    }

    fn conclude(run: &mut Run<Self>, progress: &Progress) -> Result<(), Error> {
        compare(run, &run.options.day)?;
        if run.options.profile {
            let Some(&row) = run.rows.iter().find(|row| row.name == PLANT) else { return Ok(()) };
            run.options.profiled = Some(profile(run, &run.options.day, row, true, progress)?);
        }
        Ok(())
    }

    fn listed(row: &Row<Self>) -> Value {
        json!({ "name": row.name, "taps": row.work.map(|shape| shape.taps) })
    }

    fn heading(run: &Run<Self>) -> String {
        let (plant, tap) = (run.cpus.writer, run.cpus.readers[0]);
        let heading = heading(run, &run.options.day);
        format!("{heading}; plant on processor {plant}, first tap on processor {tap}")
    }

    fn footing(run: &Run<Self>) -> String {
        let mut text = one_by_one::table(run);
        let goals = run.find(PLANT).map_or(Vec::new(), |plant| Self::goals(plant, run));
        if !goals.is_empty() {
            let _ = writeln!(text, "\nGoals of `{PLANT}`: ns");
            let _ = writeln!(text, "  {:<18} {:>8} {:>8}", "", "is", "at most");
        }
        for goal in goals {
            let what = match goal.of {
                adds if adds.starts_with("adds") => adds.to_owned(),
                quantile => format!("one by one, {quantile}"),
            };
            let _ = writeln!(
                text,
                "  {what:<18} {:>8.1} {:>8.0}  {} by {:.1}",
                goal.value,
                goal.bound.number(),
                if goal.is_met() { "met" } else { "missed" },
                goal.distance()
            );
        }
        text + &run.options.profiled.as_ref().map_or(String::new(), Profile::text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        day_file::DayReading,
        engine::{
            Times,
            test::{measured, run},
        },
    };

    #[test]
    fn goals_are_of_the_plant_beside_the_backbone() {
        let of = |name: &str, processor_nanos| -> Measured<Plant> {
            let day = DayReading { processor_nanos, operations: 10, ..DayReading::default() };
            measured(name, [Reading { day, ..Reading::default() }])
        };
        let times = Times { count: 10, p99_ns: 650, p999_ns: 1_200, ..Times::default() };
        let mut plant = of(PLANT, 850);
        plant.others = vec![Reading { times: Some(times), ..Reading::default() }];
        let all = run(vec![of(BACKBONE, 500), plant, of(ONE_TAP, 890)]);
        let goals = Plant::goals(&all.measured[1], &all);
        let met = goals.iter().map(|goal| (goal.of, goal.is_met(), goal.distance()));
        let expected = [
            ("adds", false, 5.0),
            ("adds, 1 tap", true, 1.0),
            ("p99", true, 0.0),
            ("p99.9", false, 200.0),
        ];
        assert!(met.eq(expected), "{goals:?}");
        assert!(Plant::goals(&all.measured[0], &all).is_empty());
        let alone = run(all.measured[1..].to_vec());
        let goals = Plant::goals(&alone.measured[0], &alone);
        assert!(goals.iter().all(|goal| !goal.of.starts_with("adds")));
    }
}
