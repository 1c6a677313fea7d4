//! `nanotape run`: a plant. It reads a day and publishes normalised records on a ring, until the
//! day ends or the run is stopped.

mod feed;
mod journal;
mod latest;
mod live;
mod outcome;
mod plant;
mod recorder;
mod results;
mod several;
mod systemd;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_arguments::{GroupArguments, SymbolArguments};
use nanotape_plant::{Moment, Pace, PlantConfig, TradeDate, config::EXAMPLE, records::RecordKinds};
use plant::Plant;
use results::Results;
use systemd::Service;

use crate::{
    interrupt,
    log::{self, LogFormat},
    output::{Format, OutputArguments},
    printing,
    status::Status,
    values::{bytes, count, duration, duration_or_seconds, mode},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape run --input 12302019.NASDAQ_ITCH50.gz --ring equities
  nanotape run --input day.gz --date 2019-12-30 --ring equities --pace 1x --pace-from 09:30
  zcat day.gz | nanotape run --input - --date 2019-12-30 --ring equities --symbols AAPL,MSFT
  nanotape run --example-config > plant.toml; nanotape run --config plant.toml --pace 10x
  nanotape run --input day.gz --date 2019-12-30 --ring equities --journal days/equities
  nanotape run --config plant.toml --journal days/equities --snapshots
  nanotape run --config plant.toml --journal days/equities --latest quotes
  nanotape run --config nasdaq.toml --config bx.toml --config psx.toml
  nanotape run --config venues.toml                     a file with several [[input]]
  nanotape run --input day.gz --date 2019-12-30 --ring equities --wait-for 1
  nanotape run --live --line-a 233.54.12.111:26477 --line-b 233.86.230.111:26477 \\
      --interface 10.0.0.5 --rerequest 10.0.0.9:17777 --ring equities
In other terminals:
  nanotape tap equities --symbols AAPL --records bbo    its best prices as they change
  nanotape stat equities                                progress and problems

NAME is a name (equities is /dev/shm/nanotape-equities), or a path if it contains a slash. The
ring is created, or taken over if its last plant is gone: then sequence numbers continue, and taps
keep their positions. The ring stays when the plant ends; `nanotape ring remove NAME` removes it.
Ctrl-C ends a plant cleanly. A plant stops if its ring or board is removed, replaced or truncated,
because no reader could open it any more. Options override the configuration.

With --journal, a process of its own records everything that is published, as `nanotape journal
record` does. It is started again if it is killed, and ends after the last message, also if the
plant is killed. The plant waits when the recorder is half a ring behind, so no message is lost;
with --no-wait it never waits, and messages that the recorder is too late for are missing. A full
disk is waited for; Ctrl-C ends the plant then too, with status 1 and the numbers that the journal
lacks, and the recorder stays to record them when there is room.
--snapshots starts one more process, which reads the journal and writes snapshots of the books as
`nanotape journal snapshot --follow` does. It is started again if it fails, and the plant never
waits for it before its end; snapshots that are missing then, as on a full disk, are status 1. If
the journal is removed, replaced or renamed, the recorder ends; the plant ends too, with status 1,
or goes on without it with --no-wait. --journal-compress, --journal-keep and --journal-older-than
start one that does `nanotape journal upkeep --follow`: a journal takes about four times the bytes of
its day file, and about half of that compressed.

--latest starts one more process, which keeps the newest state of every stock in a map in memory, as
`nanotape latest keep` does: `nanotape latest get NAME AAPL` prints it, and a program reads it in a
fraction of a microsecond. It is started again if it fails and continues with the next record. The
plant never waits for it. What the ring has overwritten before it could be read comes from the
journal; without a journal it is lost, a line reports it, and every state has a doubt until the next run.
At its end the plant waits for a keeper that makes progress; what is missing then is status 1.

A plant that reads a file is usually faster than a tap that writes to a disk, and never waits for
one. With --wait-for N it waits, so that the output of each follower is complete: before its first
record until N named followers have joined, then whenever the slowest is half a ring behind, and
at its end until all have read the last record. A follower is a tap or a recorder with --name; it
can start first, with --wait. The plant gives up, with status 2, when they have not joined within
--wait-for-limit, and prints each minute what is missing. If one is killed or ends early, the plant reports it and goes on
without it, and ends with status 1. One of the same name can join again. A live session waits for
no one.

With several --config, each is a plant with a thread of its own, and all of its settings are in its
file. A file can have several, too: each table [[input]] is one, with the keys of [input] and name, ring,
journal, latest, cpu, records and symbols; the other sections apply to all of them. Each plant has its
name, or that of its ring, before its lines, and an object in JSON. One that cannot start ends the others too. After that each ends by itself: the process ends
with the last one, with the highest exit status.

A unit of systemd with Type=notify and WatchdogSec= knows when the plant has started, what it does and
whether it works: contrib/systemd has one.

Exit status: 0 the whole day was published, or Ctrl-C; 1 the day is damaged, truncated or lacks
the symbols, the ring or board was removed, replaced or truncated, messages are missing in the
journal, or snapshots or newest states are, or a named follower did not read all; 2 wrong usage, an input, a ring or a journal that cannot be opened, or the recorder
failed.")]
pub(crate) struct RunArguments {
    /// ITCH 5.0 day file or capture (pcap, pcapng), plain, gzip or zstd; - is standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Name or path of the ring to publish on
    #[arg(long, value_name = "NAME")]
    ring: Option<PathBuf>,

    /// Trade date, if the name of the file does not contain it
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<TradeDate>,

    /// Pace: max, or a multiple of the recorded pace such as 1x or 10x [default: max]
    #[arg(long)]
    pace: Option<Pace>,

    /// Publish messages before this moment at full speed: a time of day (HH:MM[:SS[.nnnnnnnnn]],
    /// exchange-local), an RFC 3339 time, or @ and nanoseconds since 1970
    #[arg(long, value_name = "T")]
    pace_from: Option<Moment>,

    /// Only before this moment (exclusive): the plant stops there
    #[arg(long, value_name = "T", alias = "to")]
    until: Option<Moment>,

    #[command(flatten)]
    symbols: SymbolArguments,

    /// Kinds of records: mbo, bbo, trades, status, definitions, imbalances or all [default: all but
    /// imbalances]
    #[arg(long, value_name = "A,B")]
    records: Option<RecordKinds>,

    #[command(flatten)]
    journal: journal::JournalArguments,

    #[command(flatten)]
    latest: latest::LatestOptions,

    /// Wait for N named followers (nanotape tap --name NAME, nanotape journal record --name NAME)
    /// before the first record, and whenever one of them is half a ring behind
    #[arg(long, value_name = "N")]
    wait_for: Option<usize>,

    /// How long --wait-for waits for followers to join; 0s: without a limit [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = duration_or_seconds)]
    wait_for_limit: Option<Duration>,

    /// Read the configuration from FILE; given again, one more plant of this process, with its own
    /// lines, thread and ring
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,

    /// Print a commented configuration and exit
    #[arg(long, exclusive = true)]
    example_config: bool,

    #[command(flatten)]
    output: OutputArguments,

    /// Form of lines on standard error, with time and level [default: `nanotape:` and the message]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,

    #[command(flatten)]
    groups: GroupArguments,

    /// Size of the ring, a power of two [default: that of the existing ring, or 32MiB]
    #[arg(help_heading = "Ring", long, value_name = "BYTES", value_parser = bytes)]
    capacity: Option<usize>,

    /// Permissions of the ring: 0600 is this user only, 0644 lets all users read [default: 0600]
    #[arg(help_heading = "Ring", long, value_name = "OCTAL", value_parser = mode)]
    mode: Option<u32>,

    /// Lock the ring in memory
    #[arg(help_heading = "Ring", long)]
    lock: bool,

    /// Use huge pages if available
    #[arg(help_heading = "Ring", long)]
    huge_pages: bool,

    /// Replace an existing ring with an empty one, unless its writer is alive
    #[arg(help_heading = "Ring", long)]
    replace: bool,

    /// Run on this processor only
    #[arg(help_heading = "Processors and memory", long, value_name = "N")]
    cpu: Option<u32>,

    /// Live orders to allocate memory for at the start [default: from the size of the file]
    #[arg(help_heading = "Processors and memory",
        long, value_name = "N", alias = "orders", value_parser = count::<usize>(..))]
    live_orders: Option<usize>,

    /// Spans to keep in memory for `nanotape trace`, a power of two; 0: none [default: 65536]
    #[arg(help_heading = "Spans", long, value_name = "N", value_parser = count::<usize>(..))]
    trace_spans: Option<usize>,

    /// Query the kernel for the cause of each message that takes longer, while the sites kernel.*
    /// are on [default: 5us]
    #[arg(help_heading = "Spans", long, value_name = "TIME", value_parser = duration)]
    trace_ask_above: Option<Duration>,

    #[command(flatten)]
    live: live::LiveArguments,

    #[command(flatten)]
    feed: feed::FeedArguments,
}

pub(crate) fn run(arguments: &RunArguments) -> anyhow::Result<Status> {
    if arguments.example_config {
        print!("{EXAMPLE}");
        return Ok(Status::Good);
    }
    arguments.log_format.into_iter().for_each(log::use_format);
    let configs = arguments.configs()?;
    let format = arguments.output.format_or(Format::Text)?;
    // The handler turns access to a truncated region into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    let interrupt = interrupt::install()?;
    let results = Results::new(arguments.output.open()?, format)?;
    // A plant must not wait for the reader of its lines.
    let _lines = printing::in_background();
    let status = match &configs[..] {
        [config] => Plant::new(config, (&Service::of([""]), 0), &results, None).run(interrupt)?,
        configs => several::run(configs, &results, &interrupt),
    };
    results.finish()?;
    Ok(status)
}

impl RunArguments {
    /// The configurations of all plants, each checked.
    fn configs(&self) -> anyhow::Result<Vec<PlantConfig>> {
        let mut given = Vec::new();
        for path in &self.config {
            let configs = PlantConfig::read_all(path)?;
            given.extend(configs.into_iter().map(|config| (path.as_path(), config)));
        }
        if given.len() < 2 {
            let config = given.pop().map(|(_, config)| config);
            return Ok(vec![self.overriding(config.unwrap_or_default())?]);
        }
        let mut configs: Vec<PlantConfig> = Vec::new();
        for (place, (path, config)) in given.iter().enumerate() {
            let place_of = |place: usize| self.place_of(&given, place);
            let overridden = self.overriding(config.clone());
            if overridden.with_context(|| place_of(place))? != *config {
                let files: Vec<_> =
                    self.config.iter().map(|path| path.display().to_string()).collect();
                bail!(
                    "options of a plant do not apply to several: change {} instead",
                    files.join(", ")
                );
            }
            if let Some((other, what)) = several::conflict(&configs, config) {
                let place = place_of(place);
                bail!("{place}: {what} is that of {}: each plant has its own", place_of(other));
            }
            let is_same = |other: &PlantConfig| other.display_name() == config.display_name();
            if config.name.is_some() && configs.iter().any(is_same) {
                let name = config.display_name();
                bail!("{}: another plant has the name {name}, too", path.display());
            }
            configs.push(config.clone());
        }
        Ok(configs)
    }

    /// The file of a plant, and its input if the file has several.
    fn place_of(&self, given: &[(&Path, PlantConfig)], place: usize) -> String {
        let (path, config) = &given[place];
        let of_file = given.iter().filter(|(other, _)| other == path).count();
        match of_file > self.config.iter().filter(|other| other == path).count() {
            true => format!("{}: input {}", path.display(), config.display_name()),
            false => path.display().to_string(),
        }
    }

    /// A configuration, overridden by the options.
    fn overriding(&self, mut config: PlantConfig) -> anyhow::Result<PlantConfig> {
        self.override_input(&mut config);
        self.live.override_schedule(self.input.is_some(), &mut config);
        self.override_ring(&mut config);
        if let Some(records) = self.records {
            config.publish.records = records;
        }
        let symbols = self.symbols.list();
        if !symbols.is_empty() {
            config.publish.symbols = symbols;
        }
        self.journal.override_journal(&mut config.journal);
        self.latest.override_latest(&mut config.latest);
        config.trace.spans = self.trace_spans.unwrap_or(config.trace.spans);
        config.trace.ask_above = self.trace_ask_above.unwrap_or(config.trace.ask_above);
        config.machine.cpu = self.cpu.or(config.machine.cpu);
        config.machine.orders = self.live_orders.or(config.machine.orders);
        self.require_enough(&config)?;
        Ok(config)
    }

    fn override_input(&self, config: &mut PlantConfig) {
        let input = &mut config.input;
        if let Some(file) = &self.input {
            input.file.clone_from(file);
            // The date in the configuration belongs to its own file, which can be another one.
            input.date = TradeDate::of_file_name(file).or(input.date);
            // So do the choices of a capture.
            input.groups.clear();
            input.pieces.clear();
            input.session = None;
        }
        if !self.groups.groups.is_empty() {
            input.groups.clone_from(&self.groups.groups);
        }
        input.session = self.groups.read_session.or(input.session);
        if !self.groups.pieces.is_empty() {
            input.pieces.clone_from(&self.groups.pieces);
        }
        self.live.override_input(self.input.is_some(), input);
        self.feed.override_input(self.input.is_some() || self.live.is_given(), input);
        input.date = self.date.or(input.date);
        input.pace = self.pace.unwrap_or(input.pace);
        input.pace_from = self.pace_from.or(input.pace_from);
        input.until = self.until.or(input.until);
    }

    fn override_ring(&self, config: &mut PlantConfig) {
        let ring = &mut config.ring;
        if let Some(name) = &self.ring {
            ring.name.clone_from(name);
        }
        ring.capacity_bytes = self.capacity.or(ring.capacity_bytes);
        ring.mode = self.mode.unwrap_or(ring.mode);
        ring.lock |= self.lock;
        ring.huge_pages |= self.huge_pages;
        ring.replace |= self.replace;
        ring.wait_for = self.wait_for.unwrap_or(ring.wait_for);
        ring.wait_for_limit = self.wait_for_limit.unwrap_or(ring.wait_for_limit);
    }

    fn require_enough(&self, config: &PlantConfig) -> anyhow::Result<()> {
        let is_live = config.input.is_live();
        if config.input.file.as_os_str().is_empty() && !is_live {
            bail!(
                "no input given: use --input FILE (- for standard input), --live, --feed or \
                 --config FILE"
            );
        }
        feed::require_feed(config)?;
        live::require_line(config)?;
        self.live.require_schedule(config)?;
        if config.ring.name.as_os_str().is_empty() {
            bail!("no ring given: use --ring NAME, as in --ring equities");
        }
        self.journal.require_folder(config.journal.as_ref())?;
        self.latest.require_map(config)?;
        if is_live && !config.input.choice().is_default() {
            bail!(
                "--group, --session and --piece apply to captures: a live session has --line-a and \
                 --line-b"
            );
        }
        if is_live && config.input.pace != Pace::Max {
            bail!("--pace does not apply to a live session, which has its own pace");
        }
        if self.pace_from.is_some() && config.input.pace == Pace::Max {
            bail!("--pace-from has no effect at full speed: choose a pace, as in --pace 1x");
        }
        Ok(())
    }
}
