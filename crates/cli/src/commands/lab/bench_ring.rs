//! `nanotape lab bench ring`: the rings between processes, beside the limits of this machine.

mod record;
pub(super) mod tables;

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_bench::ring::{
    self, Amount, Cpus, Measured, Plan, RingBenchError, Settings, offset_between, select,
};
use nanotape_clock::{Source, cross_core::Offset};
use nanotape_lab::{Pin, Placement, Wish, record::Circumstances, text, text::in_full};
pub(super) use record::clock;
use serde_json::json;

use crate::{
    input::Progress,
    status::{BadData, Status},
};
use nanotape_console::records::{Columns, RecordArguments};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab bench ring                                        the table
  nanotape lab bench ring --rounds 9 -o ring.json                more rounds, as one JSON list
  nanotape lab bench ring --only stream,limit                    one of the rings, and the limits
  nanotape lab bench ring --only stream/latency,limit/line --rate 100000 --seconds 10
  nanotape lab bench ring --cpus 2,3 --realtime 20               on two quiet processors
  nanotape lab bench ring --list                                 the names

A writer and its readers are processes of their own, each on its processor, with the ring in /dev/shm
between them. In each round each row is measured once, in an order drawn by lot. Every message is
checked, and each is read or known to be lost, or the run ends with status 1. Compare numbers of one
run only.

Numbers are medians over rounds, the longest time is that of all rounds. Ratios are taken within a
round, and are the median of those: `1.31 x line` takes 1.31 times as long as the cache line that two
processors bounce, `0.62 x memcpy` reads 0.62 times as many messages as one processor copies. Times are
of every message behind the first tenth. JSON is one list with an object for each row.

In `lossless` rows the benchmark keeps the writer from overtaking the reader; a ring's writer never
waits by itself, and in the other rows of throughput a reader may lose messages, which are counted.

Exit status: 0 good; 1 a wrong, missing or torn message; 2 wrong usage, or something cannot be made.")]
pub(super) struct RingCommand {
    /// Print the names and measure nothing
    #[arg(long)]
    list: bool,

    /// Rounds; in each, every row is measured once
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,

    /// Only these rows, and those below these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// How long each reading publishes [default: 1]
    #[arg(long, value_name = "NUMBER", conflicts_with = "messages", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: Option<u32>,

    /// How many messages each reading publishes, instead of for how long
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(100..=1 << 40))]
    messages: Option<u64>,

    /// Messages a second in the rows of latency, whether the one before has arrived or not
    #[arg(long, value_name = "PER_SECOND", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    rate: u32,

    /// Bytes of a message
    #[arg(long, value_name = "BYTES", default_value_t = 73, value_parser = clap::value_parser!(u32).range(16..=65_536))]
    length: u32,

    /// Size of a ring, a power of two
    #[arg(long, value_name = "BYTES", default_value = "8MiB", value_parser = capacity)]
    capacity: usize,

    /// Writer and reader run on these processors [default: the last two that are allowed]
    #[arg(long, value_name = "WRITER,READER", value_parser = pair)]
    cpus: Option<(u32, u32)>,

    /// Ask for the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,

    #[command(flatten)]
    output: RecordArguments,
}

const COLUMNS: Columns = &[
    ("name", "/name"),
    ("section", "/section"),
    ("written_per_second", "/written_per_second"),
    ("read_per_second", "/read_per_second"),
    ("lost_share", "/lost_share"),
    ("batch_p50", "/batch_p50"),
    ("p50_ns", "/latency/p50_ns"),
    ("p90_ns", "/latency/p90_ns"),
    ("p99_ns", "/latency/p99_ns"),
    ("p99.9_ns", "/latency/p99.9_ns"),
    ("max_ns", "/latency/max_ns"),
    ("over_100us", "/latency/over_100us"),
    ("from_due_p50_ns", "/latency/from_due_p50_ns"),
    ("from_due_p99_ns", "/latency/from_due_p99_ns"),
    ("ratio", "/ratio"),
    ("ratio_to", "/ratio_to"),
    ("foreign", "/environment/foreign"),
];

/// Everything that was found out.
struct Results {
    settings: Settings,
    rounds: u32,
    measured: Vec<Measured>,
    circumstances: Circumstances,
    /// Of the clocks of the two processors.
    offset: Option<Offset>,
    notes: Vec<String>,
}

pub(super) fn run(command: &RingCommand) -> anyhow::Result<Status> {
    let rows = select(&command.only)?;
    let mut output = command.output.records(COLUMNS)?.in_one_list();
    if command.list {
        for row in rows {
            let record = json!({ "name": row.name, "section": row.section.name() });
            output.result(&format!("{}\n", row.name), record)?;
        }
        output.finish()?;
        return Ok(Status::Good);
    }
    let cpus = Cpus::choose(command.cpus)?;
    // Tried here, so that a refusal is said once and not by every process.
    let placement = Placement::apply(&Wish {
        pin: Pin::To(cpus.writer),
        real_time_priority: command.realtime,
        lock_memory: false,
    });
    let circumstances = Circumstances::capture(&placement);
    let mut notes = placement.refused().to_vec();
    placement.release();
    let settings = Settings {
        amount: match command.messages {
            Some(messages) => Amount::Messages(messages),
            None => Amount::Seconds(command.seconds.unwrap_or(1)),
        },
        rate: command.rate,
        length: command.length as usize,
        capacity_bytes: command.capacity,
        cpus,
        real_time_priority: command.realtime,
        counter: circumstances.clock.source() == Source::TimeStampCounter,
    };
    settings.check()?;
    output.heading(&text::circumstances(&circumstances))?;
    let offset = offset_between(&circumstances.clock, &settings.cpus);
    notes.extend(self::notes(settings.counter, &settings.cpus, &offset));

    let plan = Plan { settings, rows, rounds: command.rounds };
    let program = std::env::current_exe().context("this program's own path")?;
    let progress = Progress::with_steps("measurements", plan.readings());
    let measured = ring::measure(&program, &plan, &mut |done, name| {
        progress.set_of(done, plan.readings(), name);
    });
    drop(progress);
    let measured = measured.map_err(judged)?;
    let Plan { settings, rounds, .. } = plan;
    let results = Results { settings, rounds, measured, circumstances, offset, notes };
    tables::write(&results, &mut output)?;
    output.finish()?;
    Ok(Status::Good)
}

/// A wrong answer of a ring is a finding; everything else is an obstacle.
fn judged(error: RingBenchError) -> anyhow::Error {
    if error.is_finding() { BadData(in_full(&error)).into() } else { error.into() }
}

/// What is to be known of the clocks of two sides.
pub(super) fn notes(counter: bool, cpus: &Cpus, offset: &Option<Offset>) -> Vec<String> {
    let mut notes = Vec::new();
    notes.push(match counter {
        true => "stamps of all processes are of the time stamp counter, as they are".to_owned(),
        false => "stamps are of the kernel's monotonic clock: it cannot be seen whether the \
                  counter is the same everywhere"
            .to_owned(),
    });
    match offset {
        Some(offset) => notes.push(format!("clocks: {offset}; nothing is subtracted")),
        None if cpus.are_two() => {
            notes
                .push("how far the clocks of the two processors are apart is not known".to_owned());
        }
        None => notes.push(
            "one processor for both sides: every time has a change of processes in it".to_owned(),
        ),
    }
    notes
}

/// `8MiB`, `65536`, `64k`; None for more than there can be.
pub(super) fn bytes(text: &str) -> anyhow::Result<Option<usize>> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        unit => bail!("{unit} is no unit: use KiB, MiB or GiB"),
    };
    let number: usize = digits.parse().context("not a number of bytes")?;
    Ok(number.checked_mul(1 << shift))
}

/// A power of two.
fn capacity(text: &str) -> anyhow::Result<usize> {
    match bytes(text)? {
        Some(bytes) if bytes.is_power_of_two() && (4_096..=1 << 36).contains(&bytes) => Ok(bytes),
        _ => bail!("a ring has a power of two bytes, from 4KiB to 64GiB"),
    }
}

/// `2,3`.
pub(super) fn pair(text: &str) -> anyhow::Result<(u32, u32)> {
    let (writer, reader) = text.split_once(',').context("two processors, like 2,3")?;
    Ok((writer.trim().parse()?, reader.trim().parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two_with_their_unit() {
        for (text, bytes) in
            [("8MiB", 8 << 20), ("64k", 64 << 10), ("4096", 4096), ("1GiB", 1 << 30)]
        {
            assert_eq!(capacity(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "MiB", "3MiB", "8MB", "2k", "99999999999999999999", "128GiB"] {
            assert!(capacity(text).is_err(), "{text}");
        }
    }

    #[test]
    fn two_processors_are_two_numbers() {
        assert_eq!(pair("2,3").unwrap(), (2, 3));
        assert!(pair("2").is_err() && pair("2,3,4").is_err() && pair("a,b").is_err());
    }
}
