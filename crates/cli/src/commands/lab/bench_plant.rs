//! `nanotape lab bench plant`: what the ring and the records add to the way of a message.

mod record;
mod tables;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use nanotape_bench::{
    day_file::{
        self, BACKBONE, Goal, Measured, PLANT, Plan, Settings, Survey, Taps, goals, select_plants,
    },
    ring::Cpus,
};
use nanotape_lab::{NoiseWatch, Pin, Placement, Wish, record::Circumstances, text};
use serde_json::json;

use super::{
    bench_book::{judged, notes, survey},
    bench_ring::pair,
};
use crate::{input::Progress, status::Status};
use nanotape_console::records::{Columns, RecordArguments};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab bench plant day.itch50                            the table
  nanotape lab bench plant day.itch50 --rounds 9 -o plant.json   more rounds, as one JSON list
  nanotape lab bench plant day.itch50 --only backbone,plant
  nanotape lab bench plant day.itch50 --cpus 2,3 --realtime 20   on two quiet processors
  nanotape lab bench plant --list                                the names

`backbone` goes from the bytes of the file to the books, and counts. The other rows also make records
and publish them, as `nanotape run` does: a ring and a board in /dev/shm. In rows with taps, as many
processes poll the ring meanwhile, each for the insides of the stock with the most messages. Each has
a processor of its own, as far as there are some beside the plant's; the last row has one tap more.

In each round each row is measured once, in processes of its own and in an order drawn by lot. Times
are on the plant's processor (`wall`: that passed), from the first byte to the last record, for one
message; the median of the rounds. `adds` and `ratio` are taken within a round, against `backbone`, and
are the median of those. `backbone/again` is the same as `backbone`: what lies between the two is
noise. Compare numbers of one run only.

Single messages are timed from their bytes to the published records, one at a time with nothing loaded
ahead. Goals that are missed change no exit status.

Exit status: 0 good; 1 the file is damaged or empty, rows differ in what they found, or a tap cannot
account for every record; 2 wrong usage, or something cannot be read or written.")]
pub(super) struct PlantCommand {
    /// ITCH 5.0 day file (plain, gzip or zstd)
    #[arg(value_name = "FILE", required_unless_present = "list")]
    file: Option<PathBuf>,

    /// Print the names and measure nothing
    #[arg(long)]
    list: bool,

    /// Rounds; in each, every row is measured once
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,

    /// Only these; without `backbone` nothing is said of what a row adds
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Live orders to make room for at the start [default: a twentieth of the messages, at most 2^21]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    orders: Option<u32>,

    /// The plant and its first tap run on these processors [default: the last two that are allowed]
    #[arg(long, value_name = "PLANT,TAP", value_parser = pair)]
    cpus: Option<(u32, u32)>,

    /// Ask for the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,

    #[command(flatten)]
    output: RecordArguments,
}

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

/// Rows whose messages are also timed one by one.
const ONE_BY_ONE: [&str; 3] = [BACKBONE, PLANT, "plant/1-tap"];

/// Everything that was found out.
struct Results {
    survey: Survey,
    settings: Settings,
    cpus: Cpus,
    rounds: u32,
    measured: Vec<Measured>,
    goals: Vec<Goal>,
    circumstances: Circumstances,
    notes: Vec<String>,
}

pub(super) fn run(command: &PlantCommand) -> anyhow::Result<Status> {
    let cpus = Cpus::choose(command.cpus)?;
    let beside = if cpus.are_two() { cpus.readers.len() } else { 0 };
    let mut output = command.output.records(COLUMNS)?.in_one_list();
    let Some(path) = command.file.as_deref().filter(|_| !command.list) else {
        for variant in select_plants(&command.only, usize::MAX - 1)? {
            let taps = variant.shape.map(|shape| shape.taps);
            let record = json!({ "name": variant.name, "taps": taps });
            output.result(&format!("{}\n", variant.name), record)?;
        }
        output.finish()?;
        return Ok(Status::Good);
    };
    let variants = select_plants(&command.only, beside)?;
    let survey = survey(path)?;
    let placement = Placement::apply(&Wish {
        pin: Pin::To(cpus.writer),
        real_time_priority: command.realtime,
        lock_memory: false,
    });
    let mut circumstances = Circumstances::capture(&placement);
    let settings = Settings {
        path: path.to_owned(),
        repeat: 1,
        orders: command.orders.map_or_else(|| survey.orders(), |orders| orders as usize),
        cpu: placement.cpu(),
        real_time_priority: command.realtime,
        taps: Taps { cpus: cpus.readers.clone(), symbol: survey.busiest },
    };
    let mut notes = notes(&survey, &settings);
    notes.extend_from_slice(placement.refused());
    placement.release();
    output.heading(&text::circumstances(&circumstances))?;

    let latency = ONE_BY_ONE.to_vec();
    let plan = Plan { settings, variants, rounds: command.rounds, latency };
    let watch = NoiseWatch::start_for_children(circumstances.clock, plan.settings.cpu);
    let program = std::env::current_exe().context("this program's own path")?;
    let progress = Progress::with_steps("measurements", plan.readings());
    let measured = day_file::measure(&program, &plan, &survey, &mut |done, name| {
        progress.set_of(done, plan.readings(), name);
    });
    drop(progress);
    let measured = measured.map_err(judged)?;
    circumstances.noise = watch.stop();
    let goals = goals(&measured);
    let Plan { settings, rounds, .. } = plan;
    let results = Results { survey, settings, cpus, rounds, measured, goals, circumstances, notes };
    tables::write(&results, &mut output)?;
    output.finish()?;
    Ok(Status::Good)
}

impl Results {
    fn backbone(&self) -> Option<&Measured> {
        self.measured.iter().find(|measured| measured.variant.name == BACKBONE)
    }

    /// Processes that read the plant of a row, and whether one of them shares its processor.
    fn taps(&self, measured: &Measured) -> (usize, bool) {
        let taps = measured.variant.shape.map_or(0, |shape| shape.taps);
        (taps, self.cpus.are_short_for(taps))
    }
}
