//! `nanotape tap`: the records of a plant in another process, and their losses.

mod aeron;
pub(crate) mod convert;
mod dbn_files;
mod event_times;
mod follow;
mod join;
mod merged;
mod missing_end;
mod numbered;
mod printer;
mod rolling;
mod rows;
mod source;

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use follow::Tap;
use nanotape_aeron::AeronAddress;
use nanotape_answers::{Given, Input, InputKind, InputOptions, RunChoice};
use nanotape_arguments::{GroupArguments, SymbolArguments, errors::of_input};
use nanotape_plant::{
    Moment, TradeDate,
    records::{RecordKind, RecordKinds},
};
use nanotape_ring::Rejoin;
use nanotape_tap::Subscriber;
use nanotape_tape::ShutdownFlag;
use nanotape_types::{StockLocate, Symbol};
use printer::Printer;
use rolling::Roll;
pub(super) use rows::line_of;
use source::TapStart;

use crate::{
    aeron::DriverArguments,
    interrupt,
    output::{FileFormat, Output, OutputArguments},
    status::{Status, note},
    values::{seconds, some_duration},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape tap equities                              everything from now on
  nanotape tap equities --symbols AAPL,MSFT --records bbo
  nanotape tap equities --from oldest --wait 10 -o day.dbn.zst
  nanotape tap equities --records trades --format json --count 20
  nanotape tap equities --through-restarts -o equities.csv
  nanotape tap equities --through-restarts -o equities.csv --roll 15m   readable while it runs
  nanotape tap equities --from oldest --fail-on-loss -o day.dbn && echo complete
  nanotape tap equities --name to-disk --wait 60 -o day.dbn.zst   with run --wait-for 1: complete
  nanotape tap equities --heal days/equities --fail-on-loss   lost records come from the journal
  nanotape tap equities --heal days/equities --whole          begin with the books of the day
  nanotape tap days/equities --symbols AAPL --format csv      the last run of a journal
  nanotape tap days/equities --from 09:45 --until 10:00       a quarter of an hour of it
  nanotape tap 'aeron:udp?endpoint=239.1.1.1:4000|stream=7' --embedded-driver   another host's ring
  nanotape tap 12302019.NASDAQ_ITCH50.gz -o day.dbn.zst       what a plant publishes of a day file
  zstd -dc day.dbn.zst | nanotape tap - --records trades      a DBN file on standard input
  nanotape tap nasdaq iex bzx --records bbo                   three rings, in the order of ts_recv
  nanotape tap a.pcap b.dbn.zst days/c -o all.dbn.zst         three files, in that of ts_event
  nanotape tap equities --symbols AAPL --records bbo --format csv |
      awk -F, 'NR == 1 || $2 == \"bbo\"' | cut -d, -f5,6,13,14,16,17
                                                     the rows of nanotape inside

INPUT is the name of a ring (equities is /dev/shm/nanotape-equities), its path, the folder of a
journal that recorded one, a day file, or a DBN file of tap or of Databento. From a ring, the
default is to start with the next record; from a journal or a DBN file, with its last run. A name
without a slash is first that of a ring.

An Aeron stream, which nanotape ring publish-aeron sends, is read like its ring: the default is to
start with the first record that arrives. What the network or the publisher lost is a row (lost), or
comes from a journal with --heal, and so does what was sent before. The symbols of stocks come from
their definitions, which a plant publishes once a run; a tap that joins later has those of the journal.

From a day file, a plant in this process publishes all kinds of records, without a ring in
/dev/shm; it waits for the output, so nothing is lost. The numbers are those of a plant that
publishes --records all. The numbers of a DBN file are those of its records, from 1, and a loss
that it has as text is a row (loss).

--from and --until with a moment print only records of that span of the exchange's time, and end with
status 0 at the end of the span. In a journal, reading begins after the last snapshot before the
span. A record without a time, such as a gap in the input, has that of the record before it.

With --heal, records that were overwritten before they could be read come from the journal, and the
ring continues at the exact number: nothing twice, nothing missing. A row (healed) reports each
return to the ring, with the first and the last number that came from the journal; if the tap ends
before a return, the row comes last. --from may then be before the oldest record of the ring. --from oldest begins with the run of the oldest record that
the ring or the journal has; what both lack of that run is a row (lost), as it is for a journal
alone. If the recorder is behind, dead or out of room, the tap
waits up to --heal-wait seconds, and then reports the loss. --whole starts with the last snapshot
of the run: for each stock a clear (action R), then its live orders (flag 32), then all records
since.

With --name the tap shows its position to the plant. A plant that reads a file and runs with
--wait-for waits for it, so that nothing is lost; any other plant waits for no one. The tap begins
with the first record of the plant's run, unless --from says otherwise, and ends with the plant. A
plant that has ended is not joined: --wait waits for the next one. With --heal as well, a tap that
joins in the middle of a run has its records from the beginning, and the plant waits for it as soon
as it has joined.

Every record is one row: records of the selected kinds, and the notices of the plant (start, stop,
gap, taint). Records that were overwritten before they could be read are one row (lost) with the
first and the last lost sequence number; reading continues after them. --from oldest starts with
such a row if the ring no longer has record 1. CSV has the same columns for all records; ts_ns is
nanoseconds since the exchange's midnight, message is the number of the message in its day. JSON
has the members of the record; ts_event and ts_recv are strings, as Databento's are, because many
readers round numbers of that size.

DBN is the format of Databento's tools. If --records names one kind, the file has its schema, and
to_df() reads it as it is. Such a file has no place for losses and notices: losses are lines on
standard error and status 1. --notices keeps both in the file. A file of several kinds
has them as error and system messages, so name the schema: to_df(schema=\"mbo\"). A DBN file holds one
trade date: with --through-restarts the next date goes to FILE.2.dbn. So does a plant that assigns
the same instrument numbers to other stocks. A DBN stream on standard output ends there, with
status 2.

With -o FILE, rows are written to a hidden file beside it, .FILE.RANDOM.partial, which gets its name
when the tap ends: FILE is always complete. With --roll it gets its name earlier, and the tap
continues in FILE.2, FILE.3 and so on (day.2.csv for day.csv). A killed tap leaves the .partial
file; the next command that writes FILE names it.

With several INPUTs their records come in the order of --by; of equal times, the first INPUT is first,
and the order of one INPUT never changes. Each row has the source, and DBN's number and data set of
its publisher. Files and journals are merged exactly. A record of a ring waits up to --wait-silent for
the other rings; a record that comes after one of a later time is printed at once, and the last lines
count those. A DBN file of several INPUTs has one trade date, records of all publishers, and in its
metadata the data set of the first INPUT. Its stocks have numbers of their own, since two INPUTs can
use one number for two stocks: docs/formats/records.md explains them. It has no starts and stops of
plants. Options of a single plant, such as --heal and --name, do not apply.

Format: text on a terminal, CSV otherwise.

The command ends when the plant stops, dies or closes the ring, at the end of a file, on Ctrl-C, or
after N records;
with --through-restarts only on Ctrl-C or after N records. The last line on standard error counts
messages read, records written and messages lost: read plus lost is what was published meanwhile.

If a journal has no stop record after its last record, the end of the run is missing: a line on
standard error, and status 1 with --fail-on-loss or --strict.

--whole prints a line on standard error if records were lost, or a selected book was marked
unreliable (tainted), before the snapshot. --strict ends the tap at the first loss, gap in the
input, or unreliable book of a selected stock, also before that snapshot.

--check-digest computes the digest of all records of the run, printed or not, and compares it with
that in the plant's stop record. It needs all of them: --from the start of the run, or --whole.

Exit status: 0 success; 1 the digests differ or could not be compared, the plant died, the ring is damaged, or was truncated, removed or
replaced while it was read, or no message named a requested stock, or a journal has a run that its file runs lacks, or records or the end of a run
were lost and --fail-on-loss was given, or --strict refused the records, or an Aeron
stream cannot be received any more; 2 there is no plant or publisher, or the output cannot be written.")]
pub(crate) struct TapArguments {
    /// Name or path of a plant's ring, folder of its journal, Aeron stream, day or DBN file, or -
    /// for a day or DBN file on standard input
    #[arg(value_name = "INPUT")]
    input: Given,

    /// Further inputs: the records of all of them come in the order of their times
    #[arg(value_name = "INPUTS")]
    more: Vec<Given>,

    #[command(flatten)]
    symbols: SymbolArguments,

    /// Only these kinds: mbo, bbo, trades, status, definitions, imbalances, or all
    #[arg(long, value_name = "A,B", default_value = "all")]
    records: RecordKinds,

    /// The time by which the records of several inputs are ordered [default: ts_recv if one is a
    /// ring, otherwise ts_event]
    #[arg(
        help_heading = "Several inputs",
        long,
        value_name = "TIME",
        value_enum,
        requires = "more"
    )]
    by: Option<By>,

    /// How long a record of a ring waits for a ring that is silent
    #[arg(help_heading = "Several inputs", long, value_name = "TIME", default_value = "100ms",
        value_parser = some_duration)]
    wait_silent: Duration,

    /// Where to start: oldest (or beginning), newest (or end), or a sequence number; except for a
    /// ring also a moment of the exchange's time (inclusive): HH:MM[:SS[.nnnnnnnnn]], an RFC 3339
    /// time, or @ and nanoseconds since 1970 [default: of a ring, newest; of a journal or a DBN
    /// file, its last run]
    #[arg(long, value_name = "START", conflicts_with = "whole")]
    from: Option<TapStart>,

    /// Except for a ring: only before this moment of the exchange's time (exclusive)
    #[arg(long, value_name = "T", alias = "to")]
    until: Option<Moment>,

    /// Stop after N records
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(1..))]
    count: Option<u64>,

    /// Wait up to SECONDS for the plant to start; the tap then begins with its first record, unless
    /// --from says otherwise
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,

    #[command(flatten)]
    output: OutputArguments<TapFormat>,

    /// Complete the file of -o and continue in FILE.2, so that the rows so far can be read: date
    /// (with each trade date), a time (30s, 15m, 1h), or bytes (100MiB)
    #[arg(long, value_name = "RULE", requires = "output")]
    roll: Option<Roll>,

    /// Read what was overwritten from the journal in this folder, which records the ring
    #[arg(help_heading = "Losses and restarts", long, value_name = "JOURNAL")]
    heal: Option<PathBuf>,

    /// Wait up to SECONDS for a recorder that is behind or was killed
    #[arg(help_heading = "Losses and restarts",
        long, value_name = "SECONDS", default_value = "10", value_parser = seconds,
        requires = "heal")]
    heal_wait: Duration,

    /// Start with the books of the run: the last snapshot in the journal, and all records since
    #[arg(help_heading = "Losses and restarts", long)]
    whole: bool,

    /// Name under which a plant with --wait-for waits for this tap: 1 to 100 letters, digits, dots,
    /// dashes or underscores
    #[arg(
        help_heading = "Losses and restarts",
        long,
        value_name = "NAME",
        conflicts_with = "whole"
    )]
    name: Option<String>,

    /// Where to continue after a loss [default: halfway]
    #[arg(help_heading = "Losses and restarts", long, value_enum)]
    rejoin: Option<WhereToRejoin>,

    /// When the plant ends, continue with the next plant on this ring
    #[arg(help_heading = "Losses and restarts", long)]
    through_restarts: bool,

    /// End with status 1 if a record was lost
    #[arg(help_heading = "Losses and restarts", long)]
    fail_on_loss: bool,

    /// End with status 1 at the first record that was lost, or book of a selected stock that is
    /// unreliable (tainted), and leave no output file
    #[arg(help_heading = "Losses and restarts", long, conflicts_with = "fail_on_loss")]
    strict: bool,

    /// Compare the digest of everything that was read with that of the plant at its stop
    #[arg(help_heading = "Losses and restarts", long)]
    check_digest: bool,

    /// The receive time of records: that of the plant, or the exchange's time, for replays
    #[arg(help_heading = "DBN files", long, value_name = "TIME", value_enum, default_value_t)]
    ts_recv: TsRecv,

    /// In a DBN file of one kind of record, write losses and notices too: then it has no schema
    #[arg(help_heading = "DBN files", long)]
    notices: bool,

    /// Run of a plant in a journal or DBN file: a number from 1, or last [default: last]
    #[arg(help_heading = "Input", long, value_name = "N")]
    run: Option<RunChoice>,

    /// Trade date of a day file, if its name has none or a wrong one, as in 2019-12-30
    #[arg(help_heading = "Input", long, value_name = "DATE")]
    date: Option<TradeDate>,

    #[command(flatten)]
    groups: GroupArguments,

    #[command(flatten)]
    driver: DriverArguments,
}

/// `--by`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum By {
    /// When the plant received the message
    TsRecv,
    /// The exchange's time of the message
    TsEvent,
}

/// `--ts-recv`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum TsRecv {
    /// When the plant received the message
    #[default]
    Receive,
    /// The exchange's time of the message (ts_event)
    Event,
}

/// How records are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TapFormat {
    /// Human-readable, one line per record
    Text,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Json,
    /// Databento Binary Encoding, version 3
    Dbn,
}

impl FileFormat for TapFormat {
    const SUFFIXES: &str = ".csv, .json, .txt or .dbn";

    fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "csv" => Some(Self::Csv),
            "json" | "jsonl" | "ndjson" => Some(Self::Json),
            "txt" => Some(Self::Text),
            "dbn" => Some(Self::Dbn),
            _ => None,
        }
    }
}

/// [`Rejoin`] as it is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum WhereToRejoin {
    /// At the oldest record in the ring
    Oldest,
    /// Half a ring before the newest record
    #[default]
    Halfway,
    /// After the newest record
    Newest,
}

impl From<WhereToRejoin> for Rejoin {
    fn from(place: WhereToRejoin) -> Self {
        match place {
            WhereToRejoin::Oldest => Self::Oldest,
            WhereToRejoin::Halfway => Self::Halfway,
            WhereToRejoin::Newest => Self::Newest,
        }
    }
}

pub(crate) fn run(command: &TapArguments) -> anyhow::Result<Status> {
    // The handler turns access to a truncated ring into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    let format = command.format()?;
    let interrupt = interrupt::install()?;
    if !command.more.is_empty() {
        return merged::run(command, format, &interrupt);
    }
    if AeronAddress::is_meant(&command.input) {
        return aeron::run(command, format, &interrupt);
    }
    if command.driver.is_given() {
        let option =
            if command.driver.embedded_driver { "--embedded-driver" } else { "--aeron-dir" };
        bail!("{}: is no Aeron stream, to which alone {option} applies", command.input);
    }
    let input = command.open(true)?;
    source::check(command, input.kind())?;
    input.require_date().map_err(of_input)?;
    command.print(input, format, &interrupt)
}

impl TapArguments {
    /// Opens the INPUT. `rings`: whether it can be the name of one.
    fn open(&self, rings: bool) -> anyhow::Result<Input> {
        Input::open(self.input.clone(), self.options(rings)).map_err(of_input)
    }

    fn options(&self, rings: bool) -> InputOptions {
        let capture = self.groups.choice();
        InputOptions { run: self.run, date: self.date, capture, rings, lenient: false }
    }

    /// Writes the records of an open INPUT.
    fn print(
        &self,
        input: Input,
        format: TapFormat,
        interrupt: &ShutdownFlag,
    ) -> anyhow::Result<Status> {
        let kind = input.kind();
        let is_of_one_kind = format == TapFormat::Dbn && self.only_kind().is_some();
        let names = if is_of_one_kind { input.stocks().map_err(of_input)? } else { Vec::new() };
        // An output that cannot be opened is reported before the wait for the plant.
        let output = self.open_output(format)?;
        let Some(subscriber) = join::join(self, input, interrupt)? else {
            note(format_args!("{}: interrupted before a plant started", self.input));
            return Ok(Status::Good);
        };
        join::warn_of_unpublished(&subscriber, self.records);
        join::warn_of_no_gate(self, &subscriber);
        self.print_records(subscriber, kind, format, output, names)
    }

    /// The time after which a file is over although no record comes.
    fn quiet_time(&self) -> Option<Duration> {
        if let Some(Roll::Every(time)) = self.roll { Some(time) } else { None }
    }

    /// Opens the output, unless the options contradict each other.
    fn open_output(&self, format: TapFormat) -> anyhow::Result<Output> {
        if self.notices && (format != TapFormat::Dbn || self.records.iter().count() != 1) {
            bail!("--notices applies to a DBN file of one kind of record (--records mbo)");
        }
        if self.roll.is_some() && numbered::NumberedFiles::of(&self.output).is_none() {
            bail!("--roll needs a file: -o names a device, a pipe or standard output");
        }
        self.output.open()
    }

    /// Writes the records of a subscriber.
    fn print_records(
        &self,
        subscriber: Subscriber,
        kind: InputKind,
        format: TapFormat,
        output: Output,
        names: Vec<(StockLocate, Symbol)>,
    ) -> anyhow::Result<Status> {
        let printer = Printer::new(output, format, self, names);
        Tap::new(self, kind, format, subscriber, printer).run()
    }

    /// The only kind of record that a DBN file has.
    fn only_kind(&self) -> Option<RecordKind> {
        let mut kinds = self.records.iter();
        let first = kinds.next().filter(|_| !self.notices);
        if kinds.next().is_some() { None } else { first }
    }

    fn format(&self) -> anyhow::Result<TapFormat> {
        let is_terminal = io::stdout().is_terminal();
        let usual = if is_terminal { TapFormat::Text } else { TapFormat::Csv };
        let format = self.output.format_or(usual)?;
        let file = self.output.output.as_deref().filter(|path| *path != Path::new("-"));
        if format == TapFormat::Dbn && is_terminal && file.is_none() {
            bail!("DBN is binary: write it to a file with -o day.dbn, or to a pipe");
        }
        Ok(format)
    }
}
