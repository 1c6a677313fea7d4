//! An input: a day file, a capture, a journal or a DBN file.

use std::{ops::ControlFlow, sync::atomic::Ordering};

use nanotape_answers::{
    BarBy, Given, Input as Opened, InputOptions, Part, RunChoice, Span, Table, TableOptions,
};
use nanotape_feed::CaptureChoice;
use nanotape_plant::{Moment, TradeDate, records::RecordKind};
use nanotape_types::Symbol;
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    errors::ReadError,
    reading::{Recipe, Request},
    rows::{Rows, on_thread, prices_of},
};

/// An input that can be read any number of times.
#[pyclass(frozen, subclass, module = "nanotape._core")]
pub(crate) struct Input {
    name: Given,
    options: InputOptions,
    kind: &'static str,
    is_strict: bool,
}

/// Parses a text with an error that names the argument.
pub(crate) fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    argument: &str,
    text: &str,
) -> PyResult<T> {
    text.parse().map_err(|error| PyValueError::new_err(format!("{argument}={text:?}: {error}")))
}

pub(crate) fn symbols_of(symbols: &[String]) -> PyResult<Vec<Symbol>> {
    symbols.iter().map(|symbol| parsed("symbols", symbol)).collect()
}

#[pymethods]
impl Input {
    #[expect(clippy::too_many_arguments, reason = "each is an argument in Python")]
    #[new]
    #[pyo3(signature = (path, date, run, groups, session, pieces, strict))]
    fn new(
        py: Python<'_>,
        path: std::ffi::OsString,
        date: Option<&str>,
        run: Option<&str>,
        groups: Vec<String>,
        session: Option<&str>,
        pieces: Vec<std::path::PathBuf>,
        strict: bool,
    ) -> PyResult<Self> {
        let groups = groups.iter().map(|group| parsed("groups", group));
        let capture = CaptureChoice {
            groups: groups.collect::<PyResult<_>>()?,
            session: session.map(|name| parsed("session", name)).transpose()?,
            pieces,
        };
        let options = InputOptions {
            run: run.map(|run| parsed::<RunChoice>("run", run)).transpose()?,
            date: date.map(|date| parsed::<TradeDate>("date", date)).transpose()?,
            capture,
            rings: false,
            lenient: false,
        };
        let name = Given::from(path);
        if name.is_standard() {
            let line = "-: standard input is read only once: save it to a file, or use the command";
            return Err(ReadError::Choice(line.to_owned()).into());
        }
        if nanotape_answers::is_folder_of_days(name.path()) {
            let line = "is a folder without a journal: open a file in it, or use nanotape.many()";
            return Err(ReadError::Choice(format!("{name}: {line}")).into());
        }
        let open = || Ok(Opened::open(name.clone(), options.clone())?.kind().name());
        let kind = py
            .detach(open)
            .map_err(|error: nanotape_answers::InputError| PyErr::from(ReadError::from(error)))?;
        Ok(Self { name, options, kind, is_strict: strict })
    }

    /// The rows of a table.
    #[expect(clippy::too_many_arguments, reason = "each is an argument in Python")]
    #[pyo3(signature = (table, symbols, start, end, prices, every_ns, levels, bars))]
    fn _table(
        &self,
        table: &str,
        symbols: Vec<String>,
        start: Option<&str>,
        end: Option<&str>,
        prices: &str,
        every_ns: Option<u64>,
        levels: u32,
        bars: (&str, u64),
    ) -> PyResult<Rows> {
        let bars = match bars {
            ("trades", count) => BarBy::Trades(count),
            ("shares", shares) => BarBy::Volume(shares),
            (_, nanos) => BarBy::Time(nanos),
        };
        let symbols = symbols_of(&symbols)?;
        let table_options =
            TableOptions { symbols, levels, every_ns, bars, ..TableOptions::default() };
        let request = Request::Table(parsed::<Table>("table", table)?);
        self.rows(request, table_options, span_of(start, end)?, prices)
    }

    /// The figures of each stock.
    #[pyo3(signature = (symbols, start, end, prices))]
    fn _stats(
        &self,
        symbols: Vec<String>,
        start: Option<&str>,
        end: Option<&str>,
        prices: &str,
    ) -> PyResult<Rows> {
        let table_options =
            TableOptions { symbols: symbols_of(&symbols)?, ..TableOptions::default() };
        self.rows(Request::Stats, table_options, span_of(start, end)?, prices)
    }

    /// The levels or the orders of books at a moment.
    #[pyo3(signature = (symbols, at, levels, orders, prices))]
    fn _book(
        &self,
        symbols: Vec<String>,
        at: Option<&str>,
        levels: Option<usize>,
        orders: bool,
        prices: &str,
    ) -> PyResult<Rows> {
        let table_options =
            TableOptions { symbols: symbols_of(&symbols)?, ..TableOptions::default() };
        let part = if orders { Part::Orders } else { Part::Levels };
        let at = at.map(|at| parsed::<Moment>("at", at)).transpose()?;
        let request = Request::Book(part, levels.unwrap_or(usize::MAX));
        self.rows(request, table_options, Span::up_to(at), prices)
    }

    /// The events of one stock for a backtest.
    #[pyo3(signature = (symbols, start, end, latency_ns))]
    fn _backtest(
        &self,
        symbols: Vec<String>,
        start: Option<&str>,
        end: Option<&str>,
        latency_ns: Option<u64>,
    ) -> PyResult<Rows> {
        let table_options =
            TableOptions { symbols: symbols_of(&symbols)?, ..TableOptions::default() };
        self.rows(Request::Backtest(latency_ns), table_options, span_of(start, end)?, "fixed")
    }

    /// The bytes of all records of a kind, and what was missing.
    fn _records<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
    ) -> PyResult<(Bound<'py, numpy::PyArray1<u8>>, Vec<String>)> {
        let kind = RecordKind::ALL.into_iter().find(|of| of.name() == kind);
        let kind = kind.ok_or_else(|| PyValueError::new_err("no such kind of records"))?;
        let (name, options) = (self.name.clone(), self.options.clone());
        let records = on_thread(py, move |is_wanted| {
            Ok(Opened::open(name, options)?.raw_records(kind, || {
                match is_wanted.load(Ordering::Relaxed) {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?)
        })?;
        if self.is_strict && !records.lines.is_empty() {
            let line = format!("{}: {}", self.name, records.lines.join("; "));
            return Err(ReadError::Incomplete(line).into());
        }
        Ok((numpy::PyArray1::from_vec(py, records.bytes), records.lines))
    }

    /// The name as it was given, as text: a letter that is not UTF-8 is a replacement character.
    #[getter]
    fn name(&self) -> String {
        self.name.to_string()
    }

    /// The path with all of its bytes.
    #[getter]
    fn _path(&self) -> std::ffi::OsString {
        self.name.path().as_os_str().to_owned()
    }

    /// Whether a run was chosen.
    #[getter]
    fn _has_run(&self) -> bool {
        self.options.run.is_some()
    }

    /// What the input is: a day, a journal or a DBN file.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind
    }
}

impl Input {
    fn rows(
        &self,
        request: Request,
        table_options: TableOptions,
        span: Span,
        prices: &str,
    ) -> PyResult<Rows> {
        let recipe = Recipe {
            name: self.name.clone(),
            options: self.options.clone(),
            span,
            table_options,
            request,
            is_strict: self.is_strict,
        };
        Ok(Rows::new(recipe, prices_of(prices)?))
    }
}

fn span_of(start: Option<&str>, end: Option<&str>) -> PyResult<Span> {
    let moment = |argument: &str, text: Option<&str>| {
        text.map(|text| parsed::<Moment>(argument, text)).transpose()
    };
    Ok(Span::new(moment("start", start)?, moment("end", end)?))
}
