//! `nanotape lab bench plant`: the time that the ring and the records add to a message.

use core::fmt::Write as _;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use nanotape_console::{progress::Progress, records::Columns};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Day, Pass, one_by_one,
    plant_variants::{
        BACKBONE, ONE_TAP, PLANT, ROWS, Shape, limit_taps, lost_share, records_per_second, taps,
    },
    profile::{Profile, profile},
    publish,
    reading::{compare, heading, record},
    variants::take_default_books,
};
use crate::{
    engine::{
        Asked, AskedCpus, Base, Benchmark, Bound, Goal, Measured, Reading, Report, Row, Run,
        Worker, command::slowest, table,
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
    profiled: Option<Profile>,
}

/// Rows whose messages are also timed one by one.
const ONE_BY_ONE: [&str; 3] = [BACKBONE, PLANT, ONE_TAP];

/// Limits of the time that records and ring add to a message: the name of the goal, its row, and
/// nanoseconds.
const MOST_ADDED: [(&str, &str, f64); 2] = [("adds", PLANT, 30.0), ("adds, 1 tap", ONE_TAP, 40.0)];

/// Limits of the times of single messages: a quantile, and nanoseconds.
const MOST_OF_QUANTILES: [(&str, f64); 2] = [("p99", 650.0), ("p99.9", 1_000.0)];

impl Benchmark for Plant {
    const NAME: &'static str = "plant";
    const ROWS: &'static [Row<Self>] = ROWS;
    const NOUN: &'static str = "variant";
    const SELECTS_BELOW: bool = false;
    const IS_PAIR: bool = false;
    /// A plant stops when its ring is removed.
    const LEAVES_FOLDER: bool = false;
    const NAME_WIDTH: usize = 18;
    const COLUMNS: Columns = &[
        ("name", "/name"),
        ("taps", "/taps"),
        ("ns_per_message", "/ns_per_message"),
        ("ns_per_message_low", "/ns_per_message_low"),
        ("ns_per_message_high", "/ns_per_message_high"),
        ("wall_ns_per_message", "/wall_ns_per_message"),
        ("adds_ns", "/adds_ns"),
        ("adds_ns_low", "/adds_ns_low"),
        ("adds_ns_high", "/adds_ns_high"),
        ("ratio_to_backbone", "/ratio_to_backbone"),
        ("messages_per_second", "/messages_per_second"),
        ("records_per_second", "/records_per_second"),
        ("lost_share", "/lost_share"),
        ("latency_p50_ns", "/latency/p50_ns"),
        ("latency_p99_ns", "/latency/p99_ns"),
        ("latency_p99.9_ns", "/latency/p99.9_ns"),
        ("latency_max_ns", "/latency/max_ns"),
    ];

    /// What a plant publishes; None for a row of books only.
    type Work = Option<Shape>;
    type Pass = Pass;

    fn asked(&self) -> Asked {
        Asked { cpus: AskedCpus::Two(self.cpus), real_time_priority: self.realtime }
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

    fn longest(&self, _: &Row<Self>) -> Duration {
        slowest(self.day.operations())
    }

    fn work(worker: &mut Worker<Self>) -> Result<Report, Error> {
        let day = worker.job.options.day.clone();
        match (worker.row.work, worker.reader()) {
            (_, Some(_)) => publish::tap(worker, &day),
            (Some(shape), None) => {
                let (ring, recorder) = (worker.path(publish::RING), None);
                let pass = worker.job.pass;
                let plan = publish::Plan { day: &day, shape, pass, ring, recorder };
                publish::publish(worker, &plan)
            }
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
        let goal = |of, most, value| Goal { of, bound: Bound::AtMost(most), value };
        let added = MOST_ADDED.into_iter().filter_map(|(name, row, most)| {
            let added = run.find(row)?.added(run.find(BACKBONE)?)?;
            Some(goal(name, most, added.median))
        });
        let quantiles = MOST_OF_QUANTILES.into_iter().filter_map(|(name, most)| {
            Some(goal(name, most, one_by_one::quantile_ns(plant, name)?))
        });
        added.chain(quantiles).collect()
    }

    fn conclude(run: &mut Run<Self>, progress: &Progress) -> Result<(), Error> {
        compare(run, run.options.day.operations())?;
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

    /// Format: docs/formats/lab-bench-plant.md.
    fn record(measured: &Measured<Self>, run: &Run<Self>) -> Value {
        let (row, day) = (measured.row, &run.options.day);
        let adds = run.find(BACKBONE).and_then(|backbone| measured.added(backbone));
        let profile = run.options.profiled.as_ref().filter(|_| row.name == PLANT);
        let taps = taps(row);
        let answer = measured.answer();
        let mut answers = answer.to_json();
        answers["order_records"] = json!(answer.order_records);
        let goals = || Self::goals(measured, run).into_iter().map(goal).collect::<Vec<_>>();
        let own = json!({
            "records": row.work.map(|shape| shape.kinds.to_string()),
            "capacity_bytes": row.work.map(|shape| shape.capacity_bytes),
            "taps": taps,
            "taps_share_processors": run.cpus.are_short_for(taps),
            "tap_symbol": day.busiest.as_ref().filter(|_| taps > 0),
            "cpus": {
                "plant": run.cpu,
                "taps": (0..taps).map(|tap| run.cpus.reader(tap, taps).0).collect::<Vec<_>>(),
            },
            "adds_ns": table::median(adds),
            "adds_ns_low": adds.map(|spread| spread.lowest),
            "adds_ns_high": adds.map(|spread| spread.highest),
            "ratio_to_backbone": measured.ratio(run).map(|ratio| ratio.value),
            "messages_per_second": table::median(measured.messages_per_second()),
            "records_per_second": table::median(records_per_second(measured)),
            "answer": answers,
            "published": published(measured),
            "lost_share": lost_share(measured),
            "goals": (row.name == PLANT).then(goals),
            "profile": profile.map(Profile::to_json),
        });
        record(measured, run, day, own)
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

/// The records of all rounds together; null if the row publishes none.
fn published(measured: &Measured<Plant>) -> Value {
    let readings = measured.readings.iter();
    measured.row.work.map_or(Value::Null, |_| {
        json!({
            "records": readings.map(|reading| reading.written.messages).sum::<u64>(),
            "read": measured.taken(|tap| tap.messages),
            "lost": measured.taken(|tap| tap.lost),
            "wanted": measured.taken(|tap| tap.wanted),
        })
    })
}

fn goal(goal: Goal) -> Value {
    json!({
        "name": goal.of,
        "at_most_ns": goal.bound.number(),
        "ns": goal.value,
        "met": goal.is_met(),
    })
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
