//! `-o FILE.npz`: an array of numpy for hftbacktest, for each stock, with the name `data`.
//!
//! numpy's header has the number of rows, so the events of a stock wait in memory, 64 bytes each.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, Write as _},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use nanotape_answers::{
    BacktestEvent, BacktestEvents, Given, OrderSteps, Span, StepAt, symbol_or_locate,
};
use nanotape_arguments::InputArguments;
use nanotape_console::{
    output::{Output, is_file},
    status::{Status, note, warn},
    values::counted_grouped,
};
use nanotape_types::{
    Symbol,
    rows::{Cell, Kind},
};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    complete::complete_all,
    metadata::require_date,
    paths::{file_name, is_folder, require_another},
};

const EVENT_BYTES: usize = 64;

/// What is written, and where.
pub(crate) struct ArrayRequest<'a> {
    pub(crate) input: &'a InputArguments,
    pub(crate) span: Span,
    pub(crate) symbols: Vec<Symbol>,
    /// In ns; `None` if it is not given.
    pub(crate) latency: Option<u64>,
    /// A file, or a folder that gets one for each stock.
    pub(crate) output: &'a Path,
    /// Whether files that exist are overwritten.
    pub(crate) force: bool,
}

pub(crate) fn run(request: ArrayRequest<'_>) -> anyhow::Result<Status> {
    let ArrayRequest { input, span, symbols, latency, output, force } = request;
    ensure!(!symbols.is_empty(), "an array has the events of one stock: choose it with --symbols");
    ensure!(
        output != Path::new("-"),
        "-o -: an array is a file that numpy reads in parts: use -o FILE.npz"
    );
    let files = Files { output, folder: is_folder(output).then_some(output), force };
    let known = |symbol: &&Symbol| files.folder.is_none() || !symbol.is_pattern();
    for symbol in symbols.iter().filter(known) {
        files.require_free(&symbol.to_string())?;
    }
    let opening = input.open(span, &symbols)?;
    let midnight_ns = require_date(&opening, input.name(), "arrays need")?;
    let mut arrays = BTreeMap::<u16, StockArray>::new();
    let event = |at: &StepAt<'_>, event: &BacktestEvent| {
        let array = arrays.entry(at.stock_locate.get()).or_insert_with(|| StockArray {
            stock: symbol_or_locate(at.engine.directory(), at.stock_locate).to_string(),
            bytes: Vec::new(),
        });
        array.push(event);
        ControlFlow::Continue(())
    };
    let events = BacktestEvents::new(midnight_ns, latency.unwrap_or(0), event);
    let mut steps = OrderSteps::new(&symbols, events);
    let from_ns = opening.bounds.0;
    let session = input.read(opening, &mut steps)?;
    steps.finish(&session.engine, from_ns);
    let name = input.name();
    ensure!(
        session.engine.has_orders(),
        "{name}: a backtest needs orders, and the feed shows price levels only: use --records depth"
    );
    let status = input.conclude(&session, &mut steps.filter)?;
    let (doubtful, times) = (steps.doubtful, steps.visitor.times);
    ensure!(!arrays.is_empty(), "{name}: has no message of these stocks in the span");
    require_one_of_a_name(name, &arrays)?;
    if doubtful > 0 {
        let messages = counted_grouped(doubtful, "message");
        warn(format_args!(
            "{name}: {messages} about books that may be wrong, after a gap or a message that did not fit"
        ));
    }
    for line in times.lines(latency.is_some(), "--latency 20us") {
        warn(format_args!("{name}: {line}"));
    }
    files.write(arrays.into_values().collect(), name)?;
    Ok(status)
}

/// Refuses two stocks of one name: an array of hftbacktest has the orders of one instrument.
fn require_one_of_a_name(input: &Given, arrays: &BTreeMap<u16, StockArray>) -> anyhow::Result<()> {
    let mut names = HashMap::new();
    for (locate, StockArray { stock, .. }) in arrays {
        if let Some(other) = names.insert(stock, locate) {
            bail!(
                "{input}: the stock locates {other} and {locate} are both {stock}, and an array is of one \
                 instrument: use a table, as in --records mbo -o FILE.parquet"
            );
        }
    }
    Ok(())
}

/// Where arrays are written: a file, or a folder with a file for each stock.
struct Files<'a> {
    output: &'a Path,
    folder: Option<&'a Path>,
    force: bool,
}

impl Files<'_> {
    fn path(&self, stock: &str) -> PathBuf {
        match self.folder {
            Some(folder) => folder.join(file_name(stock) + ".npz"),
            None => self.output.to_owned(),
        }
    }

    /// Refuses a file that exists, before the input is read.
    fn require_free(&self, stock: &str) -> anyhow::Result<()> {
        let path = self.path(stock);
        let is_there = !self.force && is_file(&path) && path.exists();
        ensure!(!is_there, "{} exists; use --force to overwrite it", path.display());
        Ok(())
    }

    /// Writes all files, and then gives them their names.
    fn write(&self, arrays: Vec<StockArray>, input: &Given) -> anyhow::Result<()> {
        let Self { output, folder, force } = self;
        ensure!(
            folder.is_some() || arrays.len() == 1,
            "{}: a file has the array of one stock, and {} are selected; a folder has a file for each, \
             as in -o {}/",
            output.display(),
            arrays.len(),
            output.with_extension("").display()
        );
        if let Some(folder) = folder {
            let cannot = || format!("cannot create {}", folder.display());
            fs::create_dir_all(folder).with_context(cannot)?;
        }
        let mut files = Vec::new();
        for array in arrays {
            let path = self.path(&array.stock);
            let events = counted_grouped((array.bytes.len() / EVENT_BYTES) as u64, "event");
            require_another(&path, input)?;
            let output = Output::create(&path, *force)?;
            let output =
                array.write(output).with_context(|| format!("cannot write {}", path.display()))?;
            files.push((path.clone(), (path, events, output)));
        }
        let complete = |(path, events, output): (PathBuf, String, Output)| {
            let megabytes = output.written() as f64 / 1e6;
            output.finish()?;
            Ok(format!("{events}, {megabytes:.1} MB in {}", path.display()))
        };
        complete_all(files, complete)?.iter().for_each(note);
        Ok(())
    }
}

/// The events of a stock.
struct StockArray {
    stock: String,
    bytes: Vec<u8>,
}

impl StockArray {
    fn push(&mut self, event: &BacktestEvent) {
        for cell in event.cells() {
            let word = match cell {
                Cell::I64(value) => value.cast_unsigned(),
                Cell::F64(value) => value.to_bits(),
                Cell::U64(value) => value,
                _ => 0,
            };
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Writes the file of numpy: a ZIP archive of the array `data`.
    fn write(self, output: Output) -> io::Result<Output> {
        let mut file = ZipWriter::new_stream(output);
        let is_large = self.bytes.len() >= u32::MAX as usize / 2;
        let options = SimpleFileOptions::default().compression_level(Some(1)).large_file(is_large);
        file.start_file("data.npy", options)?;
        file.write_all(&header(self.bytes.len() / EVENT_BYTES))?;
        file.write_all(&self.bytes)?;
        Ok(file.finish()?.into_inner())
    }
}

/// The header of numpy's format 1.0: its length is a multiple of 64 bytes.
fn header(events: usize) -> Vec<u8> {
    let dtype = BacktestEvent::columns().into_iter().map(|column| {
        let kind = match column.kind {
            Kind::I64 => "<i8",
            Kind::F64 => "<f8",
            _ => "<u8",
        };
        format!("('{}', '{kind}')", column.name)
    });
    let dtype = dtype.collect::<Vec<_>>().join(", ");
    let fields = format!("{{'descr': [{dtype}], 'fortran_order': False, 'shape': ({events},), }}");
    let length = (10 + fields.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(length as u16).to_le_bytes());
    bytes.extend_from_slice(format!("{fields:<width$}\n", width = length - 1).as_bytes());
    bytes
}
