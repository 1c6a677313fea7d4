//! `nanotape synth`: write a realistic synthetic day, or one whose delays and leads are known, as
//! ITCH 5.0 or in the protocol of another exchange.

mod first;
mod protocol;
mod second;
mod truth;

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use first::{First, Hours};
use nanotape_synth::{LeadSpec, MarketConfig, SecondFeedSpec, TradeDate, WaveSpec};
use protocol::ProtocolArguments;
use second::Second;
use truth::{TruthFile, TruthRows, write_pairs};

use crate::{
    output::{Output, OutputArguments},
    status::Status,
    values::nanos,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape synth -o day.itch50                    5 million messages, 8,500 stocks
  nanotape synth -o day.itch50.zst --messages 50M --seed 7
  nanotape synth -o - --messages 100k --stocks 100 | nanotape check -
  nanotape synth -o a.itch50 --second-output b.itch50 --truth truth.csv \\
    --second-feed delay=350us,jitter=20us,conflate=10%,foreign=20%,lost=1%
  nanotape synth -o a.itch50 --second-feed delay=5us,drift=1us/h,shape=copy --second-output b.itch50
  nanotape synth -o a.itch50 --wave square:2ms --second-feed delay=350us --second-output b.itch50
  nanotape synth -o day.itch50 --leads pairs=20,lead=50ms..500ms,rho=0.8,unrelated=20,ticks=3/s \\
    --truth pairs.csv
  nanotape synth -o deep.pcap.zst --protocol iex-deep --date 2024-03-11       packets of IEX DEEP
  nanotape synth -o pitch.pcap --protocol cboe-pitch --units 4 --lines 2

The same options give the same bytes on every machine. The day passes every rule of `nanotape
check` and resembles a real day statistically; docs/synthetic-market.md compares them. The
suffixes .gz and .zst compress. The date selects another day of the same stocks; it occurs in file
names, not in ITCH messages.

--protocol writes the same day as packets of another exchange, in a capture: the same books and trades
at the same times, with the midnight of --date in New York. Line A goes to 239.1.1.1:5001 and line B
to 239.1.1.2:5002; each further unit of PITCH has the next port. The suffix of FILE chooses the format,
.pcap or .pcapng. docs/synthetic-market.md has a table of the messages.

--second-feed writes a second day that shows what the first shows, later. Keys of SPEC:
  delay=350us          how much later; -350us is earlier
  drift=20us/s         how the delay grows from 04:00 on, or from the first of --hours (/s or /h)
  swing=100us/10s      the delay rises by so much and falls again, with this period
  jitter=20us          scale of the noise of each delay; the median stays
  noise=exponential    the distribution of the noise [default: lognormal]
  burst=1ms            updates that follow one another within this time share their noise
  conflate=10%         updates that only the stock's next update shows
  foreign=20%          updates of other venues, which the first day does not have
  lost=1%              updates that are never shown, in runs of eight on average
  shape=inside         the best bid and offer of each stock as one order a side (the default)
  shape=copy           all messages with their numbers, as a second line of the same feed
  symbols=ABC:XYZ      only these stocks
The second day keeps its order: an update waits for the one before it.

--truth writes a row for each window of the first day's time that has updates: quantiles of the delays
with which the second day shows them, and how many it shows, conflates and loses. With --leads it
writes the pairs.

--wave gives the best bid of a stock the shares of a wave: a square of 1,600 and 100 shares, or a
triangle from 100 to 1,700 in 16 steps. Also square:2ms,stocks=4. --leads gives pairs of instruments
of which one follows the other, each observed at random times of its own.")]
pub(crate) struct SynthArguments {
    /// Write to FILE; - is standard output; .gz and .zst compress
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Overwrite files that exist
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    market: MarketArguments,

    #[command(flatten)]
    protocol: ProtocolArguments,

    #[command(flatten)]
    known: KnownArguments,
}

/// Options of days about which something is known.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Known delays and leads")]
struct KnownArguments {
    /// Also write a second day that is later by this, as in delay=350us,jitter=20us
    #[arg(long, value_name = "SPEC", requires = "second_output")]
    second_feed: Option<SecondFeedSpec>,

    /// Write the second day to FILE, as -o does
    #[arg(long, value_name = "FILE", requires = "second_feed")]
    second_output: Option<PathBuf>,

    /// Write what is true about the delays or leads to FILE (.csv, .json or .txt)
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,

    /// Length of the windows of --truth
    #[arg(
        long, value_name = "TIME", default_value = "1s", requires = "second_feed",
        value_parser = crate::values::duration
    )]
    truth_window: Duration,

    /// Rows of --truth for each stock, not only for all of them
    #[arg(long, requires = "truth", requires = "second_feed")]
    truth_by_stock: bool,

    /// Instead of the market: stocks whose best bid is a wave, as in square:2ms or triangle:2ms
    #[arg(long, value_name = "WAVE", conflicts_with_all = ["messages", "stocks", "leads"])]
    wave: Option<WaveSpec>,

    /// Instead of the market: pairs with known leads, as in pairs=20,lead=50ms..500ms,rho=0.8
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["messages", "stocks", "second_feed"])]
    leads: Option<LeadSpec>,

    /// When --wave or --leads begins and ends [default: 09:30-09:31 for a wave, 09:30-16:00 for
    /// leads]
    #[arg(long, value_name = "FROM-UNTIL", conflicts_with_all = ["messages", "stocks"])]
    hours: Option<Hours>,
}

/// Options of the synthetic market, shared with the demonstration.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MarketArguments {
    /// Exact number of messages
    #[arg(long, value_name = "N", default_value_t = MarketConfig::default().messages, value_parser = crate::values::count::<u64>(..))]
    messages: u64,

    /// Number of stocks
    #[arg(
        long,
        value_name = "N",
        alias = "symbols",
        default_value_t = MarketConfig::default().symbols,
        value_parser = crate::values::count::<u16>(..)
    )]
    stocks: u16,

    /// Seed for the stocks and their events
    #[arg(long, value_name = "N", default_value_t = MarketConfig::default().seed)]
    seed: u64,

    /// Trade date, YYYY-MM-DD
    #[arg(long, value_name = "DATE", default_value_t = MarketConfig::default().date)]
    date: TradeDate,
}

impl Default for MarketArguments {
    fn default() -> Self {
        let MarketConfig { messages, symbols: stocks, seed, date } = MarketConfig::default();
        Self { messages, stocks, seed, date }
    }
}

impl MarketArguments {
    pub(crate) fn config(self) -> MarketConfig {
        let Self { messages, stocks: symbols, seed, date } = self;
        MarketConfig { messages, symbols, seed, date }
    }
}

/// Average bytes of a message with its length over a day, for the progress bar.
pub(crate) const BYTES_PER_MESSAGE: u64 = 31;

pub(crate) fn run(arguments: &SynthArguments) -> anyhow::Result<Status> {
    let SynthArguments { output, force, market, protocol, known } = arguments;
    check_outputs(output, known)?;
    let capture = protocol.capture(&market.config(), output, *force)?;
    let mut first = First::new(market.config(), known)?;
    if let Some(capture) = capture {
        if known.second_feed.is_some() {
            bail!("--second-feed writes two days of ITCH: leave out --protocol");
        }
        let truth = truth_file(known, *force, &first)?;
        truth.map_or(Ok(()), |file| write_pairs(file, first.pairs()))?;
        capture.write(&mut first)?;
        return Ok(Status::Good);
    }
    let output = open(output, *force)?;
    let truth = truth_file(known, *force, &first)?;
    let mut second = None;
    match (&known.second_feed, &known.second_output) {
        (Some(spec), Some(path)) => {
            let truth = truth.map(|file| TruthRows::new(file, known));
            let output = open(path, *force)?;
            second = Some(Second::new(spec, first.market(), first.starts_ns(), output, truth)?);
        }
        _ => truth.map_or(Ok(()), |file| write_pairs(file, first.pairs()))?,
    }
    write(&mut first, output, second)?;
    Ok(Status::Good)
}

/// Opens the file of `--truth`.
fn truth_file(
    known: &KnownArguments,
    force: bool,
    first: &First,
) -> anyhow::Result<Option<TruthFile>> {
    let Some(path) = known.truth.as_deref() else { return Ok(None) };
    Ok(Some(TruthFile {
        format: output_of(path, force).row_format()?,
        output: open(path, force)?,
        symbols: first.market().stock_symbols(),
    }))
}

/// Writes the days, piece by piece.
fn write(first: &mut First, mut output: Output, mut second: Option<Second>) -> anyhow::Result<()> {
    let progress = first.progress();
    let mut buffer = Vec::new();
    while first.fill(&mut buffer) {
        output.write_all(&buffer)?;
        progress.set(first.done());
        if let Some(second) = &mut second {
            second.add(&mut buffer)?;
        }
        buffer.clear();
    }
    drop(progress);
    output.finish()?;
    Ok(second.map_or(Ok(()), Second::finish)?)
}

/// Refuses what cannot be together, before anything is written.
fn check_outputs(output: &Path, known: &KnownArguments) -> anyhow::Result<()> {
    let second = known.second_output.as_deref();
    let days = [Some(output), second];
    if days.contains(&Some(Path::new("-"))) && io::stdout().is_terminal() {
        bail!("standard output is a terminal and a day is binary; pipe it, or use -o FILE");
    }
    let all = [Some(output), second, known.truth.as_deref()];
    for (index, path) in all.iter().enumerate().filter_map(|(i, path)| path.map(|p| (i, p))) {
        if all[..index].contains(&Some(path)) {
            bail!("{} is given for two outputs", path.display());
        }
    }
    if known.truth.is_some() && known.second_feed.is_none() && known.leads.is_none() {
        bail!("--truth needs --second-feed or --leads: nothing else is known");
    }
    if known.hours.is_some() && known.wave.is_none() && known.leads.is_none() {
        bail!("--hours applies to --wave and --leads");
    }
    if nanos(known.truth_window) == 0 {
        bail!("--truth-window 0: expected at least 1ns");
    }
    Ok(())
}

fn output_of(path: &Path, force: bool) -> OutputArguments {
    // --force may be for another of the files.
    let force = force && path != Path::new("-");
    OutputArguments { output: Some(path.to_owned()), force, format: None }
}

fn open(path: &Path, force: bool) -> anyhow::Result<Output> {
    output_of(path, force).open()
}
