//! `nanotape tap`: the records of a plant in another process, and their losses.

mod dbn_files;
mod details;
mod follow;
mod join;
mod printer;
mod row;
mod rows;

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use nanotape_history::Runs;
use nanotape_plant::records::RecordKinds;
use nanotape_ring::{Rejoin, Start};
use nanotape_types::Symbol;

use crate::{
    interrupt,
    output::{FileFormat, OutputArguments},
    regions::place,
    status::{Status, tell},
    values::seconds,
};
use follow::Tap;
pub(super) use join::of_subscription;
use printer::Printer;
pub(super) use rows::line_of;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape tap equities                              everything from now on
  nanotape tap equities --symbols AAPL,MSFT --records bbo
  nanotape tap equities --from oldest --wait 10 -o day.dbn.zst
  nanotape tap equities --records trades --format json --count 20
  nanotape tap equities --through-restarts -o equities.csv
  nanotape tap equities --from oldest --fail-on-loss -o day.dbn && echo complete
  nanotape tap equities --heal days/equities --fail-on-loss   lost records come from the journal
  nanotape tap equities --heal days/equities --whole          begin with the books of the day
  nanotape tap days/equities --symbols AAPL --format csv      the last run of a journal
  nanotape tap equities --symbols AAPL --records bbo --format csv |
      awk -F, 'NR == 1 || $2 == \"bbo\"' | cut -d, -f5,6,13,14,16,17
                                                     the rows of nanotape inside

NAME is the name of a ring (equities is /dev/shm/nanotape-equities), its path, or the folder of a
journal that recorded one. From a ring, the default is to start with the next record; from a
journal, with its last run.

With --heal, records that were overwritten before they could be read come from the journal, and the
ring continues at the exact number: nothing twice, nothing missing. A row (healed) reports each
return to the ring, with the first and the last number that came from the journal. --from may then
be before the oldest record of the ring. If the recorder is behind, dead or out of room, the tap
waits up to --heal-wait seconds, and then reports the loss. --whole starts with the last snapshot
of the run: for each stock a clear (action R), then its live orders (flag 32), then all records
since.

Every record is one row: records of the selected kinds, and the notices of the plant (start, stop,
gap, taint). Records that were overwritten before they could be read are one row (lost) with the
first and the last lost sequence number; reading continues after them. --from oldest starts with
such a row if the ring no longer has record 1. CSV has the same columns for all records; ts_ns is
nanoseconds since the exchange's midnight, message is the number of the message in its day. JSON
has the members of the record. DBN is the format of Databento's tools; losses and notices are
error and system messages in it, so name the schema: to_df(schema=\"mbo\"). A DBN file holds one
trade date: with --through-restarts the next date goes to FILE.2.dbn. So does a plant that assigns
the same instrument numbers to other stocks. A DBN stream on standard output ends there, with
status 2.

Format: text on a terminal, CSV otherwise.

The command ends when the plant stops, dies or closes the ring, on Ctrl-C, or after N records;
with --through-restarts only on Ctrl-C or after N records. The last line on standard error counts
messages read, records written and messages lost: read plus lost is what was published meanwhile.

--check-digest computes the digest of all records of the run, printed or not, and compares it with
that in the plant's stop record. It needs all of them: --from the start of the run, or --whole.

Exit status: 0 success; 1 the digests differ or could not be compared, the plant died, the ring is damaged, or was truncated, removed or
replaced while it was read, or no message named a requested stock, or records were lost and
--fail-on-loss was given; 2 there is no plant, or the output cannot be written.")]
pub(crate) struct TapArguments {
    /// Name or path of the plant's ring, or the folder of its journal
    #[arg(value_name = "NAME")]
    name: String,

    /// Only these stocks
    #[arg(long, value_name = "A,B", value_delimiter = ',', alias = "symbol")]
    symbols: Vec<Symbol>,

    /// Only these kinds: mbo, bbo, trades, status, definitions, imbalances, or all
    #[arg(long, value_name = "A,B", default_value = "all")]
    records: RecordKinds,

    /// Where to start: oldest (or beginning), newest (or end), or a sequence number; with a journal
    /// also a time of recording [default: newest; of a journal: its last run]
    #[arg(long, value_name = "START", conflicts_with = "whole")]
    from: Option<Start>,

    /// Where to continue after a loss
    #[arg(long, value_enum, default_value_t)]
    rejoin: WhereToRejoin,

    /// Read what was overwritten from the journal in this folder, which records the ring
    #[arg(long, value_name = "JOURNAL")]
    heal: Option<PathBuf>,

    /// Wait up to SECONDS for a recorder that is behind or was killed
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds,
        requires = "heal")]
    heal_wait: Duration,

    /// Start with the books of the run: the last snapshot in the journal, and all records since
    #[arg(long)]
    whole: bool,

    /// Wait up to SECONDS for the plant to start
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,

    /// Stop after N records
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// When the plant ends, continue with the next plant on this ring
    #[arg(long)]
    through_restarts: bool,

    /// End with status 1 if a record was lost
    #[arg(long)]
    fail_on_loss: bool,

    /// Compare the digest of everything that was read with that of the plant at its stop
    #[arg(long)]
    check_digest: bool,

    #[command(flatten)]
    output: OutputArguments<TapFormat>,
}

/// How records are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum TapFormat {
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
    let path = command.path()?;
    let format = command.format()?;
    let interrupt = interrupt::install()?;
    // An output that cannot be opened is reported before the wait for the plant.
    let output = command.output.open()?;
    let Some(subscriber) = join::join(command, &path, &interrupt)? else {
        tell(format_args!("{}: interrupted before a plant started", path.display()));
        return Ok(Status::Good);
    };
    join::warn_of_unpublished(&subscriber, command.records);
    let printer = Printer::new(output, format, command);
    Tap::new(command, subscriber, printer).run()
}

impl TapArguments {
    /// The ring, or the folder of a journal if no ring has the name.
    fn path(&self) -> anyhow::Result<PathBuf> {
        let ring = place(&self.name)?;
        let is_journal = !ring.is_file() && Path::new(&self.name).is_dir();
        if !is_journal && self.whole && self.heal.is_none() {
            bail!("--whole needs the journal of the ring: add --heal JOURNAL");
        }
        if is_journal && self.heal.is_some() {
            bail!("--heal is for a ring: {} is the folder of a journal", self.name);
        }
        Ok(if is_journal { PathBuf::from(&self.name) } else { ring })
    }

    /// Where to start.
    fn start(&self, path: &Path) -> Start {
        let of_last_run = || {
            let runs = Runs::read_good(path).unwrap_or_default();
            runs.iter().last().map_or(Start::Oldest, |run| Start::Sequence(run.first_sequence))
        };
        match self.from {
            Some(start) => start,
            None if path.is_dir() => of_last_run(),
            None => Start::Newest,
        }
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
