//! The sub-commands of the command line. Each command keeps its own arguments beside its code.

use clap::{Parser, Subcommand};
use nanotape_console::verbosity::VerbosityArguments;

use crate::commands::{
    audit::AuditArguments,
    book::BookArguments,
    capture::CaptureArguments,
    certificates::CertificatesArguments,
    check::CheckArguments,
    completions::CompletionsArguments,
    demo::DemoArguments,
    depth::DepthArguments,
    diff::DiffArguments,
    exchange::ExchangeArguments,
    inside::InsideArguments,
    inspect::InspectArguments,
    journal::JournalArguments,
    latest::LatestArguments,
    man::ManArguments,
    replay::ReplayArguments,
    ring::RingArguments,
    run::RunArguments,
    stat::StatArguments,
    stats::StatsArguments,
    synth::SynthArguments,
    tap::{TapArguments, convert::ConvertArguments},
    trace::TraceArguments,
    trades::TradesArguments,
};

/// A ticker plant: exchange packets in; order books, best prices and statistics out.
#[derive(Parser, Debug)]
#[command(name = "nanotape", version = env!("NANOTAPE_VERSION"), max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) verbosity: VerbosityArguments,
}

const EXAMPLES: &str = "\
Examples:
  nanotape                                  a demonstration: books from a synthetic day
  nanotape stats 12302019.NASDAQ_ITCH50.gz  rates, volumes and latencies of a real day
  nanotape convert 12302019.NASDAQ_ITCH50.gz -o day.dbn.zst
  nanotape inside day.gz --symbols AAPL,MSFT -o inside.csv
  nanotape book day.gz --symbols AAPL --at 09:45 --levels 5

INPUT is a Nasdaq ITCH 5.0 BinaryFILE day or a capture of Nasdaq, IEX or Cboe (pcap or pcapng; both
plain, gzip or zstd), the folder of a journal that recorded a plant, a DBN file (plain or zstd; of
tap or of Databento), or - for one of these files on standard input. The content decides, not the
suffix.
Results go to standard output or to -o FILE, whose suffix chooses the format (.csv, .json, .txt) and
compression (.gz, .zst).

Exit status: 0 success; 1 the data is damaged or a check failed; 2 wrong usage, or a file that cannot
be opened or written.";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Turn an embedded synthetic day into books, best prices and statistics (the default)
    Demo(DemoArguments),
    /// Write a realistic synthetic day of ITCH 5.0, IEX or Cboe PITCH
    Synth(SynthArguments),
    /// Decode a day and print its messages
    Inspect(InspectArguments),
    /// Validate a day against the rules of the specification
    Check(CheckArguments),
    /// Print the groups and sessions of a capture, and what is missing of them
    Capture(CaptureArguments),
    /// Make certificates for machines that replicate journals
    Certificates(CertificatesArguments),
    /// Print the best bid and offer after every change
    Inside(InsideArguments),
    /// Print the book of one stock at one moment
    Book(BookArguments),
    /// Print the first levels of one stock's book after every message about it
    Depth(DepthArguments),
    /// Print what changed in one stock's book between two moments
    Diff(DiffArguments),
    /// Convert a day, journal or DBN file into a DBN, CSV or JSON file of records
    Convert(Box<ConvertArguments>),
    /// Write days as Parquet, Arrow or CSV tables: best prices, trades, orders, depth, bars
    Export,
    /// Print every trade, with its price and whether it was broken
    Trades(TradesArguments),
    /// Report rates, volumes, event depth and processing time, per stock and in total
    Stats(StatsArguments),
    /// Run a plant: read a day, publish normalised records on a ring for any number of processes
    Run(Box<RunArguments>),
    /// Send a day as the exchange would: two multicast lines, re-requests, SoupBinTCP, GLIMPSE
    Exchange(Box<ExchangeArguments>),
    /// Send a day or a capture at its recorded pace, or write it as a capture for Wireshark
    Replay(Box<ReplayArguments>),
    /// Read the records of a plant that runs in another process
    Tap(TapArguments),
    /// Compare what a recorder stores with what the plant publishes
    Audit(AuditArguments),
    /// Report a plant's counters, damage, times and ring from another process
    Stat(StatArguments),
    /// Switch on and read the spans of a plant: where the time of each message went
    Trace(TraceArguments),
    /// Explain each slow message of a plant: what it waited for, and what interrupted it
    Explain,
    /// Estimate how much later a second feed shows what a first one shows
    Delay,
    /// Broadcast rings in shared memory: inspect, check and test them
    Ring(RingArguments),
    /// Journals on disk: write, read, check and maintain them
    Journal(JournalArguments),
    /// Maps of the latest values, in shared memory: inspect, change and test them
    Latest(LatestArguments),
    /// Measure, compare, and check whether a measurement can be trusted
    Lab,
    /// Print the script with which a shell completes commands, options and values
    Completions(CompletionsArguments),
    /// Write the manual pages of all commands
    Man(ManArguments),
}
