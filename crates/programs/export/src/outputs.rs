//! The files of an export: one, or one for each table in a folder.
//!
//! A file gets its name when all of them are complete.

use std::{
    fmt,
    fs::{self, File},
    io,
    ops::ControlFlow,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use arrow_schema::SchemaRef;
use clap::ValueEnum;
use nanotape_answers::{Breaks, Given, Table};
use nanotape_console::{
    output::{FileFormat, Format, Output, OutputArguments, is_file},
    rows::{Rows, TimeForm, Times},
    status::{Status, warn},
    values::counted_grouped,
};
use nanotape_tables::{ArrowFile, BATCH_ROWS, Batches, Fields, Lanes, ParquetFile, ParquetOptions};
use nanotape_types::{
    MatchNumber, Symbol,
    rows::{Cell, Column, Sink},
};

use crate::complete::complete_all;

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

/// The entry of the metadata that tells whether the input was whole.
pub(crate) const IS_WHOLE: &str = "nanotape.is_whole";

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
    /// Whether a day has a file for each stock.
    by_symbol: bool,
    /// A file of the day: what it says of the input holds for all.
    one_path: Option<PathBuf>,
    /// Whether a dataset has all files of the day.
    pub(crate) is_written: bool,
}

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
        let (path, by_symbol, is_written) = (path.to_owned(), false, false);
        let (day, one_path) = (None, None);
        Self { path, is_folder, format, force, day, by_symbol, one_path, is_written }
    }

    /// The files of each stock of a day in folders of their own.
    pub(crate) fn by_symbol(mut self, symbols: &[Symbol], tables: &[Table]) -> Self {
        self.by_symbol = true;
        let paths = || {
            let names = symbols.iter().map(ToString::to_string);
            names.flat_map(|name| tables.iter().map(move |table| (*table, name.clone())))
        };
        let is_there = |(table, name): &(Table, String)| self.part(*table, name).exists();
        let there = paths().filter(is_there).count();
        // Without symbols, or with patterns, it is unknown which stocks the day has.
        let are_known = !symbols.is_empty() && !symbols.iter().any(|symbol| symbol.is_pattern());
        self.is_written = !self.force && are_known && there == paths().count();
        self.one_path = paths().next().map(|(table, name)| self.part(table, &name));
        self.force |= there > 0;
        self
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
        self.one_path = tables.first().map(|table| self.path_of(*table));
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
        self.format == TableFormat::Parquet && has_names && !self.by_symbol
    }

    /// Refuses a file of a table that is the input itself.
    pub(crate) fn require_another(&self, table: Table, input: &Given) -> anyhow::Result<()> {
        require_another(&self.path_of(table), input)
    }

    /// Gives the files of tables their names: all of them or none.
    pub(crate) fn complete(
        &self,
        files: Vec<(Table, TableFile)>,
    ) -> anyhow::Result<Vec<(Table, Written)>> {
        let files = files.into_iter().map(|(table, file)| (file.path.clone(), (table, file)));
        let complete = |(table, file): (Table, TableFile)| Ok((table, file.complete()?));
        Ok(complete_all(files.collect(), self.force, complete)?)
    }

    /// The status of a day whose files exist: bad, with a line, if its input lacked a part.
    pub(crate) fn conclude_written(&self) -> anyhow::Result<Status> {
        let parquet = self.one_path.as_deref().filter(|_| self.format == TableFormat::Parquet);
        let Some(path) = parquet else { return Ok(Status::Good) };
        let cannot = || format!("cannot read {}", path.display());
        let file = File::open(path).with_context(cannot)?;
        let is_whole = nanotape_tables::metadata_of(file, IS_WHOLE).with_context(cannot)?;
        if is_whole.as_deref() != Some("false") {
            return Ok(Status::Good);
        }
        warn(format_args!("{EXISTS}: a part of its input was missing or damaged"));
        Ok(Status::Bad)
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

/// The name of a stock as a part of a path: other letters are in percent encoding, as in the paths
/// of Hive, so that each stock has a name of its own.
pub(crate) fn file_name(stock: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-+.^#$@!~".contains(&byte);
    let mut name = String::new();
    for byte in stock.bytes() {
        match is_plain(byte) {
            true => name.push(byte.into()),
            false => name += &format!("%{byte:02X}"),
        }
    }
    name
}

/// Whether the output is a folder, which can be a new one.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Refuses a file that is the input itself: with --force it would be replaced.
pub(crate) fn require_another(path: &Path, input: &Given) -> anyhow::Result<()> {
    let identity = |path: &Path| path.metadata().map(|file| (file.dev(), file.ino()));
    if let (Ok(own), Ok(other)) = (identity(path), identity(input.path()))
        && own == other
        && is_file(path)
    {
        bail!("{}: is the input; choose another output", path.display());
    }
    Ok(())
}

/// Whether the suffix is that of a DBN file, which `nanotape convert` writes.
pub(crate) fn is_dbn(path: &Path) -> bool {
    let name = path.file_name().map_or(&b""[..], |name| name.as_encoded_bytes());
    name.ends_with(b".dbn") || name.ends_with(b".dbn.zst")
}

fn names() -> &'static str {
    "parquet, arrow or csv"
}

/// The folder of a table of a day in a dataset, as Hive and its readers name partitions.
fn partition(dataset: &Path, table: Table, date: &str) -> PathBuf {
    dataset.join(table.name()).join(format!("date={date}"))
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
