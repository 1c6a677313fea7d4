//! `nanotape export`: tables of an input, from one reading.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use nanotape_answers::{
    BarBy, Given, InputKind, Opening, Table, TableOptions, Tables, days_of, is_folder_of_days,
    name_in_dataset, require_distinct_days,
};
use nanotape_arguments::{
    InputArguments, SpanArguments, SymbolArguments, input::breaks_of, verdict::report_unmarked,
};
use nanotape_console::{
    status::{Status, note},
    values::{count, counted, duration, nanos},
};
use nanotape_plant::TradeDate;
use nanotape_tables::{Compressed, Fields, Lanes, ParquetOptions, Prices};
use nanotape_types::Symbol;

use crate::{
    arrays::{self, ArrayRequest},
    input_files::InputFiles,
    many,
    metadata::{Metadata, require_date},
    open_files::OpenFiles,
    outputs::{ExportFormat, Outputs, TableFormat},
    parts::{Files, MOST_STOCKS, Parts},
    paths::{has_days, is_dbn, is_folder},
    stated::{Stated, options_of},
    words::Words,
};

/// The options of tables, which arrays do not have, as clap names them.
const OF_TABLES: [&str; 10] = [
    "records",
    "every",
    "levels",
    "bars",
    "prices",
    "compression",
    "group_rows",
    "partition",
    "jobs",
    "threads",
];

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape export 12302019.NASDAQ_ITCH50.gz -o bbo.parquet
  nanotape export 12302019.NASDAQ_ITCH50.gz --records bbo,trades -o day/          day/bbo.parquet, day/trades.parquet
  nanotape export days/equities --records mbo --symbols AAPL,MSFT -o mbo.arrow   a journal that recorded a plant
  nanotape export day.gz --date 2019-12-30 --records depth --levels 5 --every 1s --symbols AAPL -o depth.parquet
  nanotape export iex.pcap.gz --records bars --bars 1m --from 09:30 --until 16:00 -o bars.csv

  nanotape export days/ --records bbo,trades -o dataset/                         every day in a folder
  nanotape export nasdaq.pcap --date 2019-12-30 --symbols AAPL --from 09:30 -o AAPL.npz    for hftbacktest

In Python:
  pyarrow.parquet.read_table(\"bbo.parquet\")    polars.read_parquet(\"bbo.parquet\")
  duckdb.sql(\"select symbol, count(*) from 'day/*.parquet' group by 1\")

Tables (docs/formats/tables.md has their columns):
  bbo          the best bid and offer after each change, as nanotape inside; with --every a grid
  trades       every print, as nanotape trades
  mbo          what each message did to single orders, and the trades, as nanotape convert
  depth        the first --levels levels after each message about a book, or with --every a grid
  bars         open, high, low, close, volume and average price of the trades of a bar
  status       trading states    definitions   the stocks of the day    imbalance   auctions

An array (.npz) has the events of one stock for hftbacktest, order by order, with both clocks; a folder
and --format npz has one for each of --symbols. It begins with the live orders at --from. Without times
of receipt, local_ts is exch_ts, and a warning: --latency adds the time that a feed takes.

A DBN file (.dbn, .dbn.zst) is the same as that of nanotape convert, whose options it has; without
--records it has all kinds. LOBSTER's two files are written by nanotape depth --lobster DIR.

All tables come from one reading of the INPUT. Times are timestamp[ns, UTC]. Prices are whole numbers
in units of 1e-9 (the field's metadata has the scale); --prices decimal and --prices float are other
forms. Symbols are dictionary columns. Each field has its unit and its meaning as metadata, and the
file has the input, its digest and the version. ts_recv is a column if the INPUT has receive times.

The column reason says why a row may be wrong: gap (a part of the input before it is missing or
damaged) or taint (a message did not fit the book of the stock). --strict writes nothing then. Without
it the tables of a damaged INPUT are written, the damage is reported, and the status is 1.

Several INPUTs, or a folder of days, become a dataset: -o DIR gets DIR/TABLE/date=YYYY-MM-DD/NAME.parquet,
which polars, duckdb, pyarrow and Spark read as one table with the column date. --jobs days are written
at a time, each by a process of its own. A day whose files exist is left out, so an export that was
interrupted goes on; --force writes it again. If they are of another input, of one that changed since,
or have other options, the day fails; of CSV and Arrow files only the names are compared. A day that fails does not end the others: the table at the end
lists the result of each, and the status is 1. One INPUT becomes a day of a DIR that has days.

--partition symbol also has a folder for each stock, so that readers of one stock read only its
files; for up to 1,024 stocks of a table. The file DIR/.complete/TABLE/date=YYYY-MM-DD/NAME lists
the stocks of a day that are complete, also those without rows: a day without it, or with other
--symbols, is written again. Each stock and table has an open file: the soft limit (ulimit -Sn) is
raised as far as the hard one.

Files get their names when all of them are complete: a command that is killed, or a full disk, leaves
no file of that name. Memory: about 100 MB, the books of the day, and for each table the encoded columns
of a row group, about 15 bytes a row; depth has 60 to 100.")]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    input: InputArguments,

    /// Further inputs, each of which is a day of the dataset
    #[arg(value_name = "INPUTS")]
    more: Vec<Given>,

    /// The tables: bbo, trades, mbo, depth, bars, status, definitions, imbalance [default: bbo]
    #[arg(long, visible_alias = "tables", value_name = "A,B", value_delimiter = ',')]
    records: Vec<Table>,

    #[command(flatten)]
    symbols: SymbolArguments,

    #[command(flatten)]
    span: SpanArguments,

    /// Rows of bbo and depth at each multiple of PERIOD since midnight (100ms, 1s, 5m), instead of
    /// one for each change
    #[arg(long, value_name = "PERIOD", value_parser = period_ns)]
    every: Option<u64>,

    /// Levels of each side of depth
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>(1..=1_000))]
    levels: u32,

    /// What is added to times of receipt in arrays of hftbacktest, or to the exchange's times where
    /// those are missing
    #[arg(long, value_name = "DELAY", value_parser = delay_ns)]
    latency: Option<u64>,

    /// What completes a bar: a period (1m, 5s), a number of trades (1000trades) or of shares
    /// (100000shares)
    #[arg(long, value_name = "BAR", default_value = "1m", value_parser = bar)]
    bars: BarBy,

    /// The file, or a folder that ends with / or exists, which gets a file for each table
    #[arg(help_heading = "Output", short, long, value_name = "FILE")]
    output: PathBuf,

    /// Overwrite files that exist
    #[arg(help_heading = "Output", long)]
    force: bool,

    /// The format of files [default: from the suffix of FILE; parquet in a folder]
    #[arg(help_heading = "Output", long, value_enum)]
    format: Option<ExportFormat>,

    /// The form of prices
    #[arg(help_heading = "Output", long, value_enum, default_value_t)]
    prices: PriceForm,

    /// The compression of Parquet pages
    #[arg(help_heading = "Output", long, value_enum, default_value_t)]
    compression: Compression,

    /// Rows of a Parquet row group
    #[arg(help_heading = "Output", long, value_name = "N", default_value_t = 1 << 20,
        value_parser = count::<u32>(1_000..=100_000_000))]
    group_rows: u32,

    /// Days that are written at the same time [default: half of the processors]
    #[arg(help_heading = "Many days", long, value_name = "N", value_parser = count::<usize>(1..=1_024))]
    jobs: Option<usize>,

    /// A folder for each stock below that of its date: -o DIR gets
    /// DIR/TABLE/date=YYYY-MM-DD/symbol=AAPL/NAME.parquet
    #[arg(help_heading = "Many days", long, value_name = "COLUMN", value_enum)]
    partition: Option<Partition>,

    /// Write one day into a dataset: for processes of many days
    #[arg(long = "of-a-day", hide = true)]
    of_a_day: bool,

    /// Threads that encode columns [default: one for each processor]
    #[arg(help_heading = "Output", long, value_name = "N", value_parser = count::<u32>(1..=1_024))]
    threads: Option<u32>,
}

/// `--prices`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum PriceForm {
    /// int64 in units of 1e-9, as in DBN
    #[default]
    Fixed,
    /// decimal128(18, 9)
    Decimal,
    /// float64 in USD
    Float,
}

impl From<PriceForm> for Prices {
    fn from(form: PriceForm) -> Self {
        match form {
            PriceForm::Fixed => Self::Fixed,
            PriceForm::Decimal => Self::Decimal,
            PriceForm::Float => Self::Float,
        }
    }
}

/// `--partition`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Partition {
    /// The stock
    Symbol,
}

/// `--compression`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Compression {
    /// zstd, level 1
    #[default]
    Zstd,
    /// LZ4: faster to write, and larger
    Lz4,
    /// None
    None,
}

impl From<Compression> for Compressed {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::Zstd => Self::Zstd,
            Compression::Lz4 => Self::Lz4,
            Compression::None => Self::No,
        }
    }
}

/// Parses a period that is not shorter than a microsecond.
fn period_ns(text: &str) -> Result<u64, String> {
    let period = nanos(duration(text)?);
    if period >= 1_000 { Ok(period) } else { Err("expected at least 1us".to_owned()) }
}

fn delay_ns(text: &str) -> Result<u64, String> {
    Ok(nanos(duration(text)?))
}

fn bar(text: &str) -> Result<BarBy, String> {
    let number = |digits: &str| match digits.trim().parse::<u64>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected a period (1m), or a number and trades or shares".to_owned()),
    };
    match (text.strip_suffix("trades"), text.strip_suffix("shares")) {
        (Some(digits), _) => number(digits).map(BarBy::Trades),
        (_, Some(digits)) => number(digits).map(BarBy::Volume),
        _ => period_ns(text).map(BarBy::Time),
    }
}

pub(crate) fn run(arguments: &ExportArguments, words: Words<'_>) -> anyhow::Result<Status> {
    let ExportArguments { input, more, .. } = arguments;
    if arguments.of_a_day {
        ensure!(more.is_empty(), "{}: is another input of a day", more[0]);
        many::end_with_parent()?;
        require_own_date(input.name(), words.value("date").as_deref())?;
    }
    if arguments.is_array() {
        arguments.require_no_tables(words)?;
        return arrays::run(ArrayRequest {
            input,
            span: arguments.span.into(),
            symbols: arguments.symbols.list(),
            latency: arguments.latency,
            output: &arguments.output,
            force: arguments.force,
        });
    }
    ensure!(arguments.latency.is_none(), "--latency is for arrays of hftbacktest: -o FILE.npz");
    let is_many = !more.is_empty() || is_folder_of_days(input.name().path());
    if is_many && !arguments.of_a_day {
        let given: Vec<&Given> = [input.name()].into_iter().chain(more).collect();
        let cannot = || format!("cannot read {}", input.name());
        let days = days_of(given.iter().copied()).with_context(cannot)?;
        ensure!(!days.is_empty(), "{}: has no days", input.name());
        ensure!(
            !arguments.output.is_file(),
            "{}: is a file; many days need a folder, which becomes a dataset",
            arguments.output.display()
        );
        require_distinct_days(&days, words.value("date").is_some())?;
        let jobs = arguments.jobs.unwrap_or((processors() / 2).max(1));
        return many::run(&days, &given, jobs);
    }
    one(arguments, words)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The tables of one input.
fn one(arguments: &ExportArguments, words: Words<'_>) -> anyhow::Result<Status> {
    let ExportArguments { input, span, symbols, .. } = arguments;
    let symbols = symbols.list();
    let mut tables = arguments.records.clone();
    if tables.is_empty() {
        tables.push(Table::Bbo);
    }
    tables.sort_unstable();
    tables.dedup();
    let format = arguments.format.and_then(ExportFormat::of_table);
    let output = &arguments.output;
    let is_to_add = is_folder(output) && has_days(output);
    let is_of_dataset = arguments.of_a_day || arguments.partition.is_some() || is_to_add;
    if arguments.partition.is_some() {
        ensure!(
            format.is_none_or(|format| format == TableFormat::Parquet),
            "--partition is for Parquet"
        );
        let has_folder = arguments.of_a_day || is_folder(output);
        ensure!(has_folder, "{0}: --partition needs a folder: -o {0}/", output.display());
    }
    let outputs = match is_of_dataset {
        true => Outputs::of_dataset(output, format, arguments.force),
        false => Outputs::of(output, format, arguments.force, &tables)?,
    };
    let files = InputFiles::of(input.name(), input.pieces());
    let ctime_ns = files.ctime_ns();
    let opening = input.open((*span).into(), &symbols)?;
    let midnight_ns = require_date(&opening, input.name(), "tables need")?;
    let outputs = match is_of_dataset {
        true => outputs.of_day(&date_of(midnight_ns)?, &name_of(input.name())?, &tables),
        false => outputs,
    };
    let mut outputs = match arguments.partition {
        Some(Partition::Symbol) => outputs.by_symbol(&symbols, &tables)?,
        None => outputs,
    };
    let removed = if is_of_dataset { outputs.remove_leftovers(&tables)? } else { 0 };
    let of_file = if arguments.partition.is_some() { Vec::new() } else { symbols.clone() };
    let options_of = |table: Table| options_of(words, table, &of_file);
    for &table in &tables {
        outputs.require_another(table, input.name())?;
        if is_of_dataset {
            outputs.require_one_layout(table)?;
            outputs.require_one_format(table)?;
        }
        let options = options_of(table);
        if is_of_dataset && !arguments.force {
            outputs.require_same(table, &files, &options)?;
            outputs.require_one_form(table, &options)?;
        }
        outputs.require_same_of_others(table, &files, &options)?;
    }
    if input.is_strict() {
        outputs.require_strict();
    }
    // After the lines about the day, the first of which becomes its detail.
    let note_removed = || {
        if removed > 0 {
            let files = counted(removed as u64, "unfinished file");
            note(format_args!("{files} of a process that was killed: removed"));
        }
    };
    if outputs.is_written {
        let status = outputs.conclude_written();
        note_removed();
        return Ok(status);
    }
    let options = TableOptions {
        symbols,
        levels: arguments.levels,
        every_ns: arguments.every,
        bars: arguments.bars,
        has_receipt: opening.has_receipt,
        is_of_records: opening.kind() != InputKind::Day,
        marks_later: arguments.marks_later(&outputs, &tables, opening.kind()),
    };
    let fields = Fields { prices: arguments.prices.into(), midnight_ns };
    let tables = (&tables[..], &options_of as &dyn Fn(Table) -> String);
    let status =
        arguments.write((opening, &files, ctime_ns), tables, &options, fields, &outputs)?;
    note_removed();
    Ok(status)
}

/// Refuses a date for many days that is not that of a day's name.
fn require_own_date(day: &Given, date: Option<&str>) -> anyhow::Result<()> {
    let (own, all) = (TradeDate::of_file_name(day.path()), date.map(str::parse::<TradeDate>));
    if let (Some(own), Some(Ok(date))) = (own, all) {
        ensure!(own == date, "{day}: has the date {own} in its name, and not --date {date}");
    }
    Ok(())
}

/// The name of the files of a day in a dataset.
fn name_of(input: &Given) -> anyhow::Result<String> {
    name_in_dataset(input).with_context(|| format!("{input}: a day in a dataset needs a name"))
}

/// The trade date that begins at this midnight of an exchange.
fn date_of(midnight_ns: u64) -> anyhow::Result<String> {
    const NOON_NS: u64 = 12 * 3_600_000_000_000;
    let date = TradeDate::of_time(midnight_ns.saturating_add(NOON_NS));
    Ok(date.context("the trade date is out of range")?.to_string())
}

impl ExportArguments {
    /// Whether the output is a DBN file.
    pub(crate) fn is_for_convert(&self) -> bool {
        self.format.is_none() && is_dbn(&self.output)
    }

    /// Whether this process writes one of many days.
    pub(crate) fn is_of_a_day(&self) -> bool {
        self.of_a_day
    }

    /// Whether the output is an array of numpy.
    fn is_array(&self) -> bool {
        match self.format {
            Some(format) => format == ExportFormat::Npz,
            None => self.output.extension().is_some_and(|suffix| suffix == "npz"),
        }
    }

    /// Refuses the options of tables.
    fn require_no_tables(&self, words: Words<'_>) -> anyhow::Result<()> {
        if let Some(id) = OF_TABLES.iter().find(|id| words.has(id)) {
            bail!(
                "--{} is for tables, and .npz is an array of each event: leave it out",
                id.replace('_', "-")
            );
        }
        let is_many = !self.more.is_empty() || is_folder_of_days(self.input.name().path());
        ensure!(!is_many, "arrays are written for one day at a time: give one INPUT");
        Ok(())
    }

    /// The files of stocks that may be open. If their number is known before the reading, more of
    /// them are refused.
    fn open_files(&self, symbols: &[Symbol], tables: &[Table]) -> anyhow::Result<OpenFiles> {
        let are_known = !symbols.is_empty() && !symbols.iter().any(|symbol| symbol.is_pattern());
        let stocks = if are_known { symbols.len().min(MOST_STOCKS) } else { MOST_STOCKS };
        let files = match self.partition {
            Some(Partition::Symbol) => (stocks * tables.len()) as u64,
            None => 0,
        };
        let open_files = OpenFiles::allow(files);
        if are_known {
            open_files.require(files)?;
        }
        Ok(open_files)
    }

    /// Whether broken trades are marked after the reading, instead of by a reading before it.
    /// Breaks after the span would not be seen, and bars must know them.
    fn marks_later(&self, outputs: &Outputs, tables: &[Table], kind: InputKind) -> bool {
        let has_end = self.span.moments().1.is_some();
        let is_for_trades = tables.contains(&Table::Trades) && !tables.contains(&Table::Bars);
        kind == InputKind::Day && is_for_trades && !has_end && outputs.can_be_reread()
    }

    fn write(
        &self,
        (opening, input_files, ctime_ns): (Opening, &InputFiles<'_>, Option<i128>),
        (tables, options_of): (&[Table], &dyn Fn(Table) -> String),
        options: &TableOptions,
        fields: Fields,
        outputs: &Outputs,
    ) -> anyhow::Result<Status> {
        let Self { input, .. } = self;
        let open_files = self.open_files(&options.symbols, tables)?;
        let needs_breaks = |table: &Table| matches!(table, Table::Trades | Table::Bars);
        let is_first_reading = tables.iter().any(needs_breaks) && !options.marks_later;
        let broken = if is_first_reading { breaks_of(&opening)? } else { None };
        let threads = self.threads.map_or_else(processors, |threads| threads as usize);
        let lanes = Lanes::new(threads);
        let parquet = ParquetOptions {
            group_rows: self.group_rows as usize,
            compressed: self.compression.into(),
            waiting: 2 * threads + 2,
        };
        let digest = input_files.digest();
        let mut rows = Tables::new(options);
        for &table in tables {
            let columns = table.columns(options);
            let sink = match self.partition {
                None => Files::Whole(outputs.sink(table, &columns, fields, parquet, &lanes)?),
                Some(Partition::Symbol) => {
                    let outputs = (outputs, &open_files);
                    Files::Parts(Parts::new(outputs, table, columns, (fields, parquet), &lanes))
                }
            };
            rows.add(table, sink, options, broken.as_ref());
        }
        let bounds = opening.bounds;
        let session = input.read(opening, &mut rows)?;
        rows.sinks().try_for_each(|(_, sink)| sink.require_written())?;
        for table in tables.iter().filter(|table| table.needs_orders()) {
            ensure!(
                session.engine.has_orders(),
                "{}: {table} needs orders, and the feed shows price levels only: leave it out",
                input.name()
            );
        }
        if let Some(table) = tables.iter().find(|table| !table.is_recorded(&session.report)) {
            bail!(
                "{}: the plant did not publish {table}: leave it out, or run the plant with --records \
                 all",
                input.name()
            );
        }
        let status = input.conclude(&session, &mut rows.filter)?;
        // An error of an output is kept, and returned at its end.
        let _ = rows.finish(&session, bounds);
        let unmarked = rows.unmarked().cloned();
        let to_mark = unmarked.as_ref().filter(|_| options.marks_later);
        if let Some(unmarked) = unmarked.as_ref().filter(|_| !options.marks_later) {
            report_unmarked(input.name(), unmarked);
        }
        // It can be that of other bytes than those that were read.
        let sha256 = digest.finish().filter(|_| input_files.ctime_ns() == ctime_ns);
        let is_strict = input.is_strict();
        let of_input = (sha256.clone(), ctime_ns);
        let metadata = Metadata::of(&session, options, fields, of_input, is_strict);
        let sinks = rows.into_sinks().into_iter();
        let (mut files, mut stocks) = (Vec::new(), Vec::new());
        for (table, sink) in sinks {
            stocks.push((table, sink.stocks()));
            let broken = to_mark.filter(|_| table == Table::Trades);
            let of_table =
                sink.finish(&metadata.of_table(table, options_of(table)), broken, &lanes)?;
            files.extend(of_table.into_iter().map(|file| (table, file)));
        }
        lanes.finish();
        let stated = |table| Stated {
            input: session.name.clone(),
            sha256: sha256.clone(),
            ctime_ns,
            options: options_of(table),
            is_damaged: !session.report.is_whole(),
            is_strict,
        };
        let written = outputs.complete(files, stocks, stated)?;
        for table in tables.iter().filter(|table| !written.iter().any(|(of, _)| of == *table)) {
            note(format_args!("{table}: no rows"));
        }
        for (table, file) in written {
            note(format_args!("{table}: {file}"));
        }
        Ok(status)
    }
}
