//! `nanotape convert`: a day, a journal or a DBN file as a file of records, complete and without a
//! ring.

use std::time::Duration;

use anyhow::bail;
use clap::Args;
use nanotape_answers::{Given, InputKind, RunChoice};
use nanotape_arguments::{
    GroupArguments, SpanArguments, SymbolArguments, errors::of_input, regions::place,
};
use nanotape_plant::{TradeDate, records::RecordKinds};
use nanotape_tape::ShutdownFlag;

use super::{TapArguments, TapFormat, TapStart, TsRecv, source};
use crate::{aeron::DriverArguments, output::OutputArguments, status::Status};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape convert 12302019.NASDAQ_ITCH50.gz -o day.dbn.zst
  nanotape convert day.gz --date 2019-12-30 --records mbo --symbols AAPL,MSFT -o mbo.dbn.zst
  nanotape convert day.gz --date 2019-12-30 --records trades --from 09:30 --until 16:00 -o trades.csv
  nanotape convert days/equities -o day.dbn.zst        the last run of a journal
  nanotape convert day.dbn.zst --records bbo -o bbo.csv
In Python:
  databento.DBNStore.from_file(\"mbo.dbn.zst\").to_df()

Writes the records that a plant publishes of the INPUT: order events (mbo), the inside after each
change (bbo, Databento's mbp-1), trades, status, definitions and imbalances. It reads as fast as it
can write, so nothing is lost; no ring is used. docs/formats/records.md has every record.

A DBN file of one kind of record has its schema, and Databento's to_df() reads it as it is. A file
of several kinds has none: name it, as in to_df(schema=\"mbo\"). A file of one kind has no place for
gaps in the INPUT: they are lines on standard error and status 1.

A day file has no receive times, so ts_recv is the exchange's time. A capture, a journal and a DBN
file have receive times; --ts-recv event replaces them.

Exit status: 0 the file is complete; 1 the INPUT is damaged or lacks a part, or no message named a
requested stock; 2 wrong usage, or a file that cannot be opened or written.")]
pub(crate) struct ConvertArguments {
    /// Day file or capture (pcap, pcapng), plain, gzip or zstd; folder of a journal that recorded a
    /// plant; DBN file; or - for one of these files on standard input
    #[arg(value_name = "INPUT")]
    input: Given,

    #[command(flatten)]
    symbols: SymbolArguments,

    /// Only these kinds: mbo, bbo, trades, status, definitions, imbalances, or all
    #[arg(long, value_name = "A,B", default_value = "all")]
    records: RecordKinds,

    #[command(flatten)]
    span: SpanArguments,

    #[command(flatten)]
    output: OutputArguments<TapFormat>,

    /// Run of a plant in a journal or DBN file: a number from 1, or last [default: last]
    #[arg(help_heading = "Input", long, value_name = "N")]
    run: Option<RunChoice>,

    /// Trade date of a day file, if its name has none or a wrong one, as in 2019-12-30
    #[arg(help_heading = "Input", long, value_name = "DATE")]
    date: Option<TradeDate>,

    #[command(flatten)]
    groups: GroupArguments,

    /// If a part of the input is missing, or a book of a selected stock is unreliable: status 1,
    /// and no output file
    #[arg(help_heading = "Input", long)]
    strict: bool,

    /// The receive time of records [default: event for a day file, otherwise receive]
    #[arg(help_heading = "Input", long, value_name = "TIME", value_enum)]
    ts_recv: Option<TsRecv>,
}

pub(crate) fn run(arguments: &ConvertArguments) -> anyhow::Result<Status> {
    let mut command = arguments.command();
    let format = command.format()?;
    let mut input = command.open(true)?;
    if input.kind() == InputKind::Ring {
        let is = match place(&command.input)?.exists() {
            true => "is a ring, which",
            false => "no such file or folder; a ring",
        };
        bail!("{}: {is} is read by nanotape tap, whose -o writes the same files", command.input);
    }
    source::check(&command, input.kind())?;
    input.require_date().map_err(of_input)?;
    command.ts_recv = match arguments.ts_recv {
        Some(ts_recv) => ts_recv,
        None if input.has_receive_times().map_err(of_input)? => TsRecv::Receive,
        None => TsRecv::Event,
    };
    // An interrupt removes the incomplete file.
    command.print(input, format, &ShutdownFlag::new())
}

impl ConvertArguments {
    /// The tap that reads the file to its end.
    fn command(&self) -> TapArguments {
        let (from, until) = self.span.moments();
        TapArguments {
            input: self.input.clone(),
            more: Vec::new(),
            by: None,
            wait_silent: Duration::ZERO,
            symbols: self.symbols.clone(),
            records: self.records,
            from: from.map(TapStart::Moment),
            until,
            run: self.run,
            date: self.date,
            groups: self.groups.clone(),
            rejoin: None,
            heal: None,
            heal_wait: Duration::ZERO,
            whole: false,
            name: None,
            wait: Duration::ZERO,
            count: None,
            through_restarts: false,
            fail_on_loss: !self.strict,
            strict: self.strict,
            check_digest: false,
            ts_recv: TsRecv::default(),
            notices: false,
            roll: None,
            driver: DriverArguments::default(),
            output: OutputArguments {
                output: self.output.output.clone(),
                force: self.output.force,
                format: self.output.format,
            },
        }
    }
}
