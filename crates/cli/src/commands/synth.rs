//! `nanotape synth`: write a realistic synthetic ITCH 5.0 day.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
};

use anyhow::bail;
use clap::Args;
use nanotape_synth::{Market, MarketConfig, TradeDate};

use crate::{
    input::Progress,
    output::{Format, OutputArguments},
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape synth -o day.itch50                    5 million messages, 8,500 stocks
  nanotape synth -o day.itch50.zst --messages 50M --seed 7
  nanotape synth -o - --messages 100k --stocks 100 | nanotape check -

The same options give the same bytes on every machine. The day passes every rule of `nanotape
check` and resembles a real day statistically; docs/synthetic-market.md compares them. The
suffixes .gz and .zst compress. The date selects another day of the same stocks; it occurs in file
names, not in ITCH messages.")]
pub(crate) struct SynthArguments {
    /// Write to FILE; - is standard output; .gz and .zst compress
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    market: MarketArguments,
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
    let to_stdout = arguments.output.as_os_str() == "-";
    if to_stdout && io::stdout().is_terminal() {
        bail!("standard output is a terminal and a day is binary; pipe it, or use -o FILE");
    }
    let mut market = Market::new(arguments.market.config())?;
    let path = &arguments.output;
    let output = OutputArguments::<Format> {
        output: Some(path.clone()),
        force: arguments.force,
        format: None,
    };
    let mut output = output.open()?;
    let progress = Progress::with_total(Some(arguments.market.messages * BYTES_PER_MESSAGE));
    let (mut buffer, mut written) = (Vec::new(), 0);
    loop {
        buffer.clear();
        let more = market.fill(&mut buffer);
        output.write_all(&buffer)?;
        written += buffer.len() as u64;
        progress.set(written);
        if !more {
            break;
        }
    }
    drop(progress);
    output.finish()?;
    Ok(Status::Good)
}
