//! `nanotape lab bench book`: every structure of the books on one day file, beside the limits.

pub(super) mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_bench::day_file::{
    self, DEFAULT, DayFileError, Kind, Measured, Plan, Profile, Settings, Survey, Taps, Variant,
    select, table_bytes,
};
use nanotape_feed::Compression;
use nanotape_lab::{
    NoiseWatch, Pin, Placement, Wish, environment, record::Circumstances, text, text::in_full,
};
use serde_json::{Value, json};

use crate::{
    input::Progress,
    status::{BadData, Status},
};
use nanotape_console::records::{Columns, RecordArguments};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab bench book day.itch50                             the table
  nanotape lab bench book day.itch50 --rounds 9 -o books.json    more rounds, as one JSON list
  nanotape lab bench book day.itch50 --only default,levels/sorted-map --latency
  nanotape lab bench book day.itch50 --only default,decode --profile
  nanotape lab bench book day.itch50 --repeat 10                 ten such days in a row
  nanotape lab bench book --list                                 the names

Every structure of price levels runs with the default's store of orders, and every store with the
default's levels. In each round each of them is measured once, in a process of its own and in an order
drawn by lot, on one processor. The rows of what the default itself is made of run the same code as
`default`: what lies between them is noise. Compare numbers of one run only.

Times are from the first byte to the last message, on processors (`wall`: that passed), for one
message; the median of the rounds. Ratios are medians over rounds. Making the tables is `start-up`
and not part of it. A compressed file is decompressed within the time: decompress it before. JSON is
one list with an object for each row.

`peak` is the most memory the process ever had (VmHWM), with the program and some megabytes of the
mapped file; `anonymous` is the most that was seen to be of no file (RssAnon, every 32 MB of the file
and at the end), which may miss the moment in which a table that grows is there twice.

With --repeat the file goes through the same books again and again. Where a day ends with live orders,
the next one finds their references in use, and counts anomalies.

Exit status: 0 good; 1 the file is damaged or empty, or books of different structures differ; 2 wrong
usage, or something cannot be read or written.")]
pub(super) struct BookCommand {
    /// ITCH 5.0 day file (plain, gzip or zstd)
    #[arg(value_name = "FILE", required_unless_present = "list")]
    file: Option<PathBuf>,

    /// Print the names and measure nothing
    #[arg(long)]
    list: bool,

    /// Rounds; in each, every variant is measured once
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,

    /// Only these; without `default` there are no ratios
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// The file so many times through the same books, as so many days
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,

    /// Live orders to make room for at the start [default: a twentieth of the messages, at most 2^21]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    orders: Option<u32>,

    /// Also the time of single messages as a live feed gives them, of `default` or of what --only has
    #[arg(long)]
    latency: bool,

    /// Also where the time of `default` goes: message types, instructions, hardware counters
    #[arg(long)]
    profile: bool,

    /// Run on this processor [default: the last that is allowed]
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,

    /// Ask for the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,

    #[command(flatten)]
    output: RecordArguments,
}

const COLUMNS: Columns = &[
    ("name", "/name"),
    ("kind", "/kind"),
    ("ns_per_message", "/ns_per_message"),
    ("ns_per_message_low", "/ns_per_message_low"),
    ("ns_per_message_high", "/ns_per_message_high"),
    ("wall_ns_per_message", "/wall_ns_per_message"),
    ("ratio_to_default", "/ratio_to_default"),
    ("ns_per_access", "/ns_per_access"),
    ("startup_ms", "/startup_ms"),
    ("peak_memory_bytes", "/peak_memory_bytes"),
    ("peak_anonymous_bytes", "/peak_anonymous_bytes"),
    ("latency_p50_ns", "/latency/p50_ns"),
    ("latency_p99_ns", "/latency/p99_ns"),
    ("latency_p99.9_ns", "/latency/p99.9_ns"),
    ("latency_max_ns", "/latency/max_ns"),
];

/// Everything that was found out.
struct Results {
    survey: Survey,
    settings: Settings,
    rounds: u32,
    measured: Vec<Measured>,
    profile: Option<Profile>,
    circumstances: Circumstances,
    notes: Vec<String>,
}

pub(super) fn run(command: &BookCommand) -> anyhow::Result<Status> {
    let variants = select(&command.only)?;
    let mut output = command.output.records(COLUMNS)?.in_one_list();
    let Some(path) = command.file.as_deref().filter(|_| !command.list) else {
        for variant in variants {
            let record = json!({ "name": variant.name, "kind": variant.kind.name() });
            output.result(&format!("{}\n", variant.name), record)?;
        }
        output.finish()?;
        return Ok(Status::Good);
    };
    let has = |wanted: fn(&Variant) -> bool| variants.iter().any(|variant| wanted(variant));
    if command.latency && !has(|variant| variant.kind == Kind::Books) {
        bail!("--latency is of books, and --only names none");
    }
    if command.profile && !has(|variant| variant.name == DEFAULT) {
        bail!("--profile is of {DEFAULT}, which --only leaves out");
    }
    let survey = survey(path)?;
    let placement = Placement::apply(&Wish {
        pin: command.cpu.map_or(Pin::Last, Pin::To),
        real_time_priority: command.realtime,
        lock_memory: false,
    });
    let mut circumstances = Circumstances::capture(&placement);
    let settings = Settings {
        path: path.to_owned(),
        repeat: command.repeat,
        orders: command.orders.map_or_else(|| survey.orders(), |orders| orders as usize),
        cpu: placement.cpu(),
        real_time_priority: command.realtime,
        taps: Taps::default(),
    };
    placement.release();
    let notes = notes(&survey, &settings);
    output.heading(&text::circumstances(&circumstances))?;

    let latency = match (command.latency, command.only.is_empty()) {
        (false, _) => Vec::new(),
        (true, true) => vec![DEFAULT],
        (true, false) => variants.iter().map(|variant| variant.name).collect(),
    };
    let plan = Plan { settings: settings.clone(), variants, rounds: command.rounds, latency };
    let watch = NoiseWatch::start_for_children(circumstances.clock, settings.cpu);
    let program = std::env::current_exe().context("this program's own path")?;
    let progress = Progress::with_steps("measurements", plan.readings());
    let measured = day_file::measure(&program, &plan, &survey, &mut |done, name| {
        progress.set_of(done, plan.readings(), name);
    });
    let measured = measured.map_err(judged)?;
    circumstances.noise = watch.stop();
    let profile = match command.profile {
        false => None,
        true => {
            let messages = survey.messages;
            let told = &mut |what: &str| progress.set_of(plan.readings(), plan.readings(), what);
            Some(day_file::profile(&program, &settings, messages, told).map_err(judged)?)
        }
    };
    drop(progress);
    let rounds = command.rounds;
    let results = Results { survey, settings, rounds, measured, profile, circumstances, notes };
    tables::write(&results, &mut output)?;
    output.finish()?;
    Ok(Status::Good)
}

/// Reads the whole file once.
pub(super) fn survey(path: &Path) -> anyhow::Result<Survey> {
    if path == Path::new("-") {
        bail!("standard input can be read once only, and every measurement reads it: give a file");
    }
    let stored = std::fs::metadata(path).ok().map(|metadata| metadata.len());
    let progress = Progress::with_total(stored);
    Survey::of(path, |source| progress.update(source)).map_err(judged)
}

/// What is wrong with data is a finding; everything else is an obstacle.
pub(super) fn judged(error: DayFileError) -> anyhow::Error {
    match error {
        // Which knows by itself what it is.
        DayFileError::Source(error) => error.into(),
        error if error.is_finding() => BadData(in_full(&error)).into(),
        error => error.into(),
    }
}

pub(super) fn notes(survey: &Survey, settings: &Settings) -> Vec<String> {
    let mut notes = vec!["the file was read once before anything was measured".to_owned()];
    // As large as one huge page: the kernel answers alike for larger ones.
    let pages = nanotape_shm::Table::new(2 << 20, 0_u8).huge_pages();
    notes.push(format!("tables of packed, pages and buckets are in {pages}"));
    if !survey.stays_in_memory() {
        notes.push(format!(
            "the file has {:.1} GB and {:.1} GB of memory are available: it cannot stay in memory, \
             and times are of the disk as well",
            survey.stored_bytes as f64 / 1e9,
            survey.available_memory_bytes.unwrap_or(0) as f64 / 1e9
        ));
    }
    if survey.compression != Compression::None {
        notes.push(format!(
            "the file is compressed ({}): every time has its decompression in it",
            survey.compression
        ));
    }
    if settings.cpu.is_none() {
        notes.push("no processor of its own: readings may be of different ones".to_owned());
    }
    notes
}

impl Results {
    fn default(&self) -> Option<&Measured> {
        self.measured.iter().find(|measured| measured.variant.name == DEFAULT)
    }

    /// Everything that is known of one variant.
    fn record(&self, measured: &Measured) -> Value {
        let is_load = measured.variant.kind == Kind::Memory;
        let (time, wall) = (measured.processor_ns(), measured.wall_ns());
        let message = time.filter(|_| !is_load);
        let access = time.filter(|_| is_load);
        let ratio = self.default().filter(|_| !is_load).and_then(|base| measured.ratio_to(base));
        let profile = self.profile.as_ref().filter(|_| measured.variant.name == DEFAULT);
        json!({
            "name": measured.variant.name,
            "kind": measured.variant.kind.name(),
            "rounds": self.rounds,
            "repeat": self.settings.repeat,
            "file": {
                "path": self.survey.path.display().to_string(),
                "bytes": self.survey.bytes,
                "messages": self.survey.messages,
            },
            "orders": self.settings.orders,
            // Of a load: what a message would take that made one load and nothing else.
            "ns_per_message": time.map(|spread| spread.median),
            "ns_per_message_low": message.map(|spread| spread.lowest),
            "ns_per_message_high": message.map(|spread| spread.highest),
            "ns_by_round": measured.processor_ns_by_round(),
            "wall_ns_per_message": wall.filter(|_| !is_load).map(|spread| spread.median),
            "ratio_to_default": ratio,
            "ns_per_access": access.map(|spread| spread.median),
            "ns_per_access_low": access.map(|spread| spread.lowest),
            "ns_per_access_high": access.map(|spread| spread.highest),
            "table_bytes": is_load.then(|| table_bytes(self.settings.orders)),
            "startup_ms": measured.startup_ms().map(|spread| spread.median),
            "peak_memory_bytes": measured.peak_memory_bytes(),
            "peak_anonymous_bytes": measured.peak_anonymous_bytes(),
            "answer": measured.answer().to_json(),
            "latency": measured.latency.as_ref().map(|latency| latency.to_json()),
            "profile": profile.map(Profile::to_json),
            "environment":
                environment::to_json(&self.circumstances.environment, &self.circumstances.noise),
            "noise": self.circumstances.noise.sentences,
            "notes": self.notes,
        })
    }
}
