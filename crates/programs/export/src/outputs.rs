//! The files of an export: one, or one for each table in a folder.
//!
//! A file gets its name when all of them are complete.

mod agreement;

use std::{
    fmt, fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use arrow_schema::SchemaRef;
use clap::ValueEnum;
use nanotape_answers::{Breaks, Given, Table};
use nanotape_console::{
    output::{FileFormat, Format, Output, OutputArguments, is_file, remove_leftovers},
    rows::{Rows, TimeForm, Times},
    status::{Status, note, warn},
    values::counted_grouped,
};
use nanotape_tables::{ArrowFile, BATCH_ROWS, Batches, Fields, Lanes, ParquetFile, ParquetOptions};
use nanotape_types::{
    MatchNumber, Symbol,
    rows::{Cell, Column, Sink},
};

use crate::{
    complete::{Completed, complete_all, selects},
    paths::{self, file_name, is_folder, partition, stocks_in},
    stated::Stated,
};

/// `--format`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Apache Parquet
    Parquet,
    /// Arrow IPC (Feather 2), not compressed: readers map it
    Arrow,
    /// Comma-separated values with a header line
    Csv,
    /// An array of numpy for hftbacktest, order by order, for each stock
    Npz,
}

impl ExportFormat {
    /// Whether it is one of tables, and which.
    pub(crate) fn of_table(self) -> Option<TableFormat> {
        match self {
            Self::Parquet => Some(TableFormat::Parquet),
            Self::Arrow => Some(TableFormat::Arrow),
            Self::Csv => Some(TableFormat::Csv),
            Self::Npz => None,
        }
    }
}

/// The format of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TableFormat {
    /// Apache Parquet
    Parquet,
    /// Arrow IPC (Feather 2), not compressed: readers map it
    Arrow,
    /// Comma-separated values with a header line
    Csv,
}

impl FileFormat for TableFormat {
    const SUFFIXES: &str = ".parquet, .arrow, .csv or .npz";

    fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "parquet" | "pq" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::Arrow),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// How the line about a day begins whose files exist.
pub(crate) const EXISTS: &str = "its files exist";

/// Where tables are written.
#[derive(Debug)]
pub(crate) struct Outputs {
    path: PathBuf,
    is_folder: bool,
    format: TableFormat,
    force: bool,
    /// The trade date and the name of a day in a dataset.
    day: Option<(String, String)>,
    /// The selection of a day that has a file for each stock.
    by_symbol: Option<Vec<Symbol>>,
    /// Whether files of the day that exist are of an input that lacked a part.
    is_damaged: bool,
    /// Whether all of those that exist were written with `--strict`.
    is_strict: bool,
    /// Whether a dataset has all files of the day.
    pub(crate) is_written: bool,
}

/// The folder of a dataset that has what is complete.
const COMPLETE: &str = ".complete";

impl Outputs {
    /// The files of these tables.
    pub(crate) fn of(
        path: &Path,
        format: Option<TableFormat>,
        force: bool,
        tables: &[Table],
    ) -> anyhow::Result<Self> {
        let name = path.display();
        if is_folder(path) {
            let format = format.unwrap_or(TableFormat::Parquet);
            return Ok(Self::new(path, true, format, force));
        }
        if tables.len() > 1 {
            bail!("{name}: a file has one table; several need a folder, as in -o {name}/");
        }
        let arguments = OutputArguments { output: Some(path.to_owned()), force, format };
        let format = match (format, path == Path::new("-")) {
            (Some(format), _) => format,
            (None, true) => bail!("-o - needs --format {}", names()),
            (None, false) => arguments.format_or(TableFormat::Parquet)?,
        };
        let is_packed = path.extension().is_some_and(|suffix| suffix == "gz" || suffix == "zst");
        if is_packed && format != TableFormat::Csv {
            bail!("{name}: a Parquet or Arrow file is read in parts: leave out .gz and .zst");
        }
        Ok(Self::new(path, false, format, force))
    }

    /// The folder of a dataset, which has many days.
    pub(crate) fn of_dataset(path: &Path, format: Option<TableFormat>, force: bool) -> Self {
        Self::new(path, true, format.unwrap_or(TableFormat::Parquet), force)
    }

    fn new(path: &Path, is_folder: bool, format: TableFormat, force: bool) -> Self {
        let (path, by_symbol, is_written) = (path.to_owned(), None, false);
        let (day, is_damaged, is_strict) = (None, false, true);
        Self { path, is_folder, format, force, day, by_symbol, is_damaged, is_strict, is_written }
    }

    /// The files of each stock of a day in folders of their own. If a day is not complete, an
    /// earlier run may have been interrupted, and the files that it has are written again.
    pub(crate) fn by_symbol(
        mut self,
        symbols: &[Symbol],
        tables: &[Table],
    ) -> anyhow::Result<Self> {
        let mut of_tables = Vec::new();
        for &table in tables {
            of_tables.push((table, Completed::read(&self.completed(table))?));
        }
        // A symbol that no stock has is an error, which the reading finds.
        let is_known = |symbol: &Symbol| of_tables.iter().any(|(_, of)| of.knows(*symbol));
        self.is_written = !self.force && symbols.iter().all(is_known);
        for (table, completed) in &of_tables {
            let is_good = |stock| completed.has_good(stock, &self.part(*table, stock), *table);
            let stocks: Vec<_> = completed.stocks_of(symbols).collect();
            let mut parts = self.existing_parts(*table)?.into_iter().map(|(stock, _)| stock);
            let is_listed = |stock: String| !selects(symbols, &stock) || stocks.contains(&&*stock);
            self.is_written = self.is_written
                && completed.has(symbols)
                && stocks.iter().copied().all(is_good)
                && parts.all(is_listed);
        }
        self.force |= !self.is_written;
        self.by_symbol = Some(symbols.to_vec());
        Ok(self)
    }

    /// The file with the complete stocks of a table.
    fn completed(&self, table: Table) -> PathBuf {
        let (date, name) = self.day.as_ref().map_or(("", ""), |(date, name)| (date, name));
        partition(&self.path.join(COMPLETE), table, date).join(name)
    }

    /// Gives the files of tables their names: all of them or none. `stocks`: those with files.
    pub(crate) fn complete(
        &self,
        files: Vec<(Table, TableFile)>,
        stocks: Vec<(Table, Vec<String>)>,
        stated: impl Fn(Table) -> Stated,
    ) -> anyhow::Result<Vec<(Table, Written)>> {
        let (mut completed, mut others) = (Vec::new(), Vec::new());
        if let Some(symbols) = &self.by_symbol {
            for (table, stocks) in stocks {
                let path = self.completed(table);
                let before = Completed::read(&path)?;
                let parts = self.existing_parts(table)?.into_iter();
                let is_old = |stock: &String| selects(symbols, stock) && !stocks.contains(stock);
                others.extend(parts.filter(|(stock, _)| is_old(stock)).map(|(_, path)| path));
                completed.push((before.with(symbols, stocks, stated(table)), path.clone()));
                // Until all have their names, the files of a day can be of two exports.
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(error)
                            .with_context(|| format!("cannot replace {}", path.display()));
                    }
                    _ => {}
                }
            }
        }
        let files = files.into_iter().map(|(table, file)| (file.path.clone(), (table, file)));
        let complete = |(table, file): (Table, TableFile)| Ok((table, file.complete()?));
        let written = complete_all(files.collect(), complete)?;
        for path in others {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            // It can have files of other names.
            let _ = path.parent().map(fs::remove_dir);
        }
        completed.iter().try_for_each(|(completed, path)| completed.write(path))?;
        Ok(written)
    }

    /// The files of stocks of the day, and the stocks.
    fn existing_parts(&self, table: Table) -> anyhow::Result<Vec<(String, PathBuf)>> {
        let mut parts = self.parts(table)?;
        parts.retain(|(_, path)| path.is_file());
        Ok(parts)
    }

    /// Those of stocks that are not selected.
    fn parts_of_others(
        &self,
        table: Table,
        symbols: &[Symbol],
    ) -> anyhow::Result<Vec<(String, PathBuf)>> {
        let mut parts = self.existing_parts(table)?;
        parts.retain(|(stock, _)| !selects(symbols, stock));
        Ok(parts)
    }

    /// The stocks that have a folder on this day, and the file that each has there or could have.
    fn parts(&self, table: Table) -> anyhow::Result<Vec<(String, PathBuf)>> {
        let whole = self.path_of(table);
        let day = whole.parent().unwrap_or(&self.path);
        let stocks = stocks_in(day).with_context(|| format!("cannot read {}", day.display()))?;
        let name = whole.file_name().unwrap_or_default();
        Ok(stocks.into_iter().map(|(stock, folder)| (stock, folder.join(name))).collect())
    }

    /// Removes the unfinished files of the day that killed processes left: readers of the folders
    /// of a dataset would take them for its own. Returns their number.
    pub(crate) fn remove_leftovers(&self, tables: &[Table]) -> anyhow::Result<usize> {
        let mut removed = 0;
        for &table in tables {
            let parts = self.parts(table)?.into_iter().map(|(_, path)| path);
            for path in parts.chain([self.path_of(table), self.completed(table)]) {
                let cannot = || format!("cannot remove unfinished files of {}", path.display());
                removed += remove_leftovers(&path).with_context(cannot)?;
            }
        }
        Ok(removed)
    }

    /// The file of a stock, whose name becomes a part of a path.
    pub(crate) fn part(&self, table: Table, stock: &str) -> PathBuf {
        let whole = self.path_of(table);
        let folder = format!("symbol={}", file_name(stock));
        let name = whole.file_name().map(ToOwned::to_owned).unwrap_or_default();
        whole.with_file_name(folder).join(name)
    }

    /// The files of a day in a dataset. If it has some of them, an earlier run was interrupted, and
    /// they are written again.
    pub(crate) fn of_day(mut self, date: &str, name: &str, tables: &[Table]) -> Self {
        self.day = Some((date.to_owned(), name.to_owned()));
        let there = tables.iter().filter(|table| self.path_of(**table).exists()).count();
        self.is_written = !self.force && there == tables.len();
        self.force |= there > 0;
        self
    }

    /// Opens the file of a table, and begins it.
    pub(crate) fn sink(
        &self,
        table: Table,
        columns: &[Column],
        fields: Fields,
        parquet: ParquetOptions,
        lanes: &Lanes,
    ) -> anyhow::Result<TableSink> {
        self.sink_at(self.path_of(table), columns, fields, (parquet, BATCH_ROWS), lanes)
    }

    /// The same at a path, with this number of rows of a batch.
    pub(crate) fn sink_at(
        &self,
        path: PathBuf,
        columns: &[Column],
        fields: Fields,
        (parquet, batch_rows): (ParquetOptions, usize),
        lanes: &Lanes,
    ) -> anyhow::Result<TableSink> {
        if self.is_folder {
            let cannot = || format!("cannot create {}", self.path.display());
            fs::create_dir_all(path.parent().unwrap_or(&self.path)).with_context(cannot)?;
        }
        let arguments = OutputArguments {
            output: Some(path.clone()),
            force: self.force,
            format: Some(self.format),
        };
        let output = arguments.open()?;
        let schema = fields.schema(columns, &[]);
        let again = Again { arguments, columns: columns.to_vec(), schema: schema.clone(), parquet };
        let to = match self.format {
            TableFormat::Csv => {
                let times = Times { form: TimeForm::Utc, midnight_ns: fields.midnight_ns };
                To::Csv(Rows::with_times(output, Format::Csv, columns.to_vec(), times), 0)
            }
            TableFormat::Parquet => {
                let file = ParquetFile::new(output, columns, schema.clone(), parquet, lanes)?;
                To::Parquet(Batches::new(file, columns, (fields, schema), batch_rows))
            }
            TableFormat::Arrow => {
                let file = ArrowFile::new(output, schema.clone())?;
                To::Arrow(Batches::new(file, columns, (fields, schema), batch_rows))
            }
        };
        Ok(TableSink { path, to, again })
    }

    /// Whether a file can be read again before it has its name.
    pub(crate) fn can_be_reread(&self) -> bool {
        let has_names = self.is_folder || is_file(&self.path);
        self.format == TableFormat::Parquet && has_names && self.by_symbol.is_none()
    }

    /// Refuses a file of a table that is the input itself.
    pub(crate) fn require_another(&self, table: Table, input: &Given) -> anyhow::Result<()> {
        paths::require_another(&self.path_of(table), input)
    }

    /// Writes files again that exist and could be others with `--strict`, which refuses a day.
    pub(crate) fn require_strict(&mut self) {
        if self.is_written && !self.is_strict {
            (self.is_written, self.force) = (false, true);
        }
    }

    /// The status of a day whose files exist: bad, with a line, if its input lacked a part.
    pub(crate) fn conclude_written(&self) -> Status {
        if !self.is_damaged {
            note(format_args!("{EXISTS}"));
            return Status::Good;
        }
        warn(format_args!("{EXISTS}: a part of its input was missing or damaged"));
        Status::Bad
    }

    fn path_of(&self, table: Table) -> PathBuf {
        let suffix = match self.format {
            TableFormat::Parquet => "parquet",
            TableFormat::Arrow => "arrow",
            TableFormat::Csv => "csv",
        };
        match &self.day {
            Some((date, name)) => {
                partition(&self.path, table, date).join(format!("{name}.{suffix}"))
            }
            None if self.is_folder => self.path.join(format!("{table}.{suffix}")),
            None => self.path.clone(),
        }
    }
}

fn names() -> &'static str {
    "parquet, arrow or csv"
}

/// The file of a table, which takes its rows.
#[derive(Debug)]
pub(crate) struct TableSink {
    path: PathBuf,
    to: To,
    again: Again,
}

/// What a file needs that is written again.
#[derive(Debug)]
struct Again {
    arguments: OutputArguments<TableFormat>,
    columns: Vec<Column>,
    schema: SchemaRef,
    parquet: ParquetOptions,
}

#[expect(clippy::large_enum_variant, reason = "there is one for each table")]
#[derive(Debug)]
enum To {
    Parquet(Batches<ParquetFile<Output>>),
    Arrow(Batches<ArrowFile<Output>>),
    /// With the number of rows.
    Csv(Rows, u64),
}

impl Sink for TableSink {
    #[inline]
    fn row(&mut self, cells: &[Cell<'_>]) -> ControlFlow<()> {
        match &mut self.to {
            To::Parquet(batches) => batches.row(cells),
            To::Arrow(batches) => batches.row(cells),
            To::Csv(rows, count) => {
                *count += 1;
                rows.row(cells)
            }
        }
    }
}

impl TableSink {
    /// Returns the error that stopped the rows, if there is one.
    pub(crate) fn require_written(&mut self) -> anyhow::Result<()> {
        let error = match &mut self.to {
            To::Parquet(batches) => batches.take_error(),
            To::Arrow(batches) => batches.take_error(),
            To::Csv(rows, _) => return Ok(rows.require_written()?),
        };
        error.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Writes everything, and not yet the name. `broken`: trades to mark, whose rows were written
    /// before their breaks were read; only for a file that can be [read
    /// again](Outputs::can_be_reread).
    pub(crate) fn finish(
        self,
        metadata: &[(String, String)],
        broken: Option<&Breaks>,
        lanes: &Lanes,
    ) -> anyhow::Result<TableFile> {
        let Self { path, to, again } = self;
        let (rows, last) = match to {
            To::Parquet(batches) => {
                let rows = batches.rows();
                let mut output = batches.finish()?.finish(metadata)?;
                if let Some(broken) = broken.filter(|broken| !broken.is_empty()) {
                    output = again.marked(output, broken, metadata, lanes)?;
                }
                (rows, Last::Output(output))
            }
            To::Arrow(batches) => {
                let rows = batches.rows();
                (rows, Last::Output(batches.finish()?.finish(metadata)?))
            }
            To::Csv(rows, count) => (count, Last::Rows(rows)),
        };
        Ok(TableFile { path, rows, last })
    }
}

impl Again {
    /// The table of an output once more, with its broken trades.
    fn marked(
        self,
        mut output: Output,
        broken: &Breaks,
        metadata: &[(String, String)],
        lanes: &Lanes,
    ) -> anyhow::Result<Output> {
        let Self { arguments, columns, schema, parquet } = self;
        let from = output.reread()?.context("the file of trades cannot be read again")?;
        let to = ParquetFile::new(arguments.open()?, &columns, schema, parquet, lanes)?;
        let is_broken = |number| broken.contains(MatchNumber::new(number));
        let to = nanotape_tables::marked(from, to, ("broken", "match_number"), is_broken)?;
        Ok(to.finish(metadata)?)
    }
}

/// A file that is complete, and has no name yet.
#[derive(Debug)]
pub(crate) struct TableFile {
    path: PathBuf,
    rows: u64,
    last: Last,
}

#[derive(Debug)]
enum Last {
    Output(Output),
    Rows(Rows),
}

/// What was written.
pub(crate) struct Written {
    path: PathBuf,
    rows: u64,
    bytes: u64,
}

impl TableFile {
    /// Gives the file its name.
    fn complete(self) -> io::Result<Written> {
        let Self { path, rows, last } = self;
        let bytes = match last {
            Last::Output(output) => {
                let bytes = output.written();
                output.finish()?;
                bytes
            }
            Last::Rows(rows) => {
                let bytes = rows.written();
                rows.finish()?;
                bytes
            }
        };
        Ok(Written { path, rows, bytes })
    }
}

/// `7,514,335 rows, 130.4 MB in day/bbo.parquet`.
impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, rows, bytes } = self;
        let megabytes = *bytes as f64 / 1e6;
        write!(f, "{}, {megabytes:.1} MB in {}", counted_grouped(*rows, "row"), path.display())
    }
}
