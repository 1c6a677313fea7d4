//! Rows of named cells in the three formats. Built for one row per message: a cell is a few bytes
//! appended to one buffer, which is written when it is full.
//!
//! A whole number above 2^53 is a string in JSON, here as in a [`Record`](crate::record::Record):
//! most readers of JSON would round it.

use std::{
    fmt::{self, Write as _},
    io::{self, Write as _},
    ops::ControlFlow,
};

use nanotape_clock::UtcNanos;
pub use nanotape_types::rows::{Column, Kind};
use nanotape_types::{
    NanosSinceMidnight,
    rows::{Cell, Sink, printable_letter, write_price9},
    write_price4,
};

use crate::{
    line::{LINE_BYTES, Line, MAX_CELLS, PlainSymbol},
    output::{Format, Output},
    record::MOST_EXACT,
};

/// Bytes to collect before a write.
const BUFFER_BYTES: usize = 64 << 10;

/// A form of the exchange's times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum TimeForm {
    /// Column ts_ns: nanoseconds since the exchange's midnight
    #[default]
    Ns,
    /// Column ts_event: UTC, as in 2019-12-30T14:30:00.000000001Z
    Utc,
    /// Column time: the exchange's time of day, as in 09:30:00.000000001
    Exchange,
}

/// The name of the column that has the time of a row; the form of times gives it another.
const TIME: &str = "ts_ns";

/// How times are written, with the exchange's midnight in ns since the UNIX epoch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// The form.
    pub form: TimeForm,
    /// 0 if the form needs no date.
    pub midnight_ns: u64,
}

impl Times {
    /// The name of a column of times, its width in text, and whether it is aligned left.
    fn header(self) -> (&'static str, usize, bool) {
        match self.form {
            TimeForm::Ns => (TIME, 14, false),
            TimeForm::Utc => ("ts_event", 30, true),
            TimeForm::Exchange => ("time", 18, true),
        }
    }
}

/// A column as it is written.
#[derive(Debug)]
struct Written {
    name: Box<str>,
    width: usize,
    align_left: bool,
}

impl Written {
    fn new(column: Column, times: Times) -> Self {
        let (name, width, align_left) = match column.kind {
            Kind::Time => {
                let (name, width, align_left) = times.header();
                let is_of_row = column.name == TIME;
                (if is_of_row { name.into() } else { column.name }, width, align_left)
            }
            kind => (column.name, column.width, matches!(kind, Kind::Text | Kind::Flag)),
        };
        Self { width: width.max(name.len()), name: name.into(), align_left }
    }
}

/// A table that is written row by row, each row cell by cell in the order of the columns.
pub struct Rows {
    /// `None` after the end.
    output: Option<Output>,
    format: Format,
    columns: Vec<Written>,
    times: Times,
    next: usize,
    /// Whether the row has a cell that was not skipped.
    is_begun: bool,
    buffer: Vec<u8>,
    /// The text and the digits of one cell; members to reuse their memory.
    word: String,
    digits: Vec<u8>,
    /// The error that stopped [`Rows::end_row_or_stop`].
    error: Option<io::Error>,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("output", &self.output).finish_non_exhaustive()
    }
}

impl Rows {
    /// Begins a table: CSV and text have a header line, unless there are no columns.
    pub fn new(output: Output, format: Format, columns: Vec<Column>) -> Self {
        Self::with_times(output, format, columns, Times::default())
    }

    /// The same with a form of times.
    pub fn with_times(output: Output, format: Format, columns: Vec<Column>, times: Times) -> Self {
        let buffer = Vec::with_capacity(BUFFER_BYTES + 4096);
        let columns = columns.into_iter().map(|column| Written::new(column, times)).collect();
        let (next, is_begun, word, digits, error) = (0, false, String::new(), Vec::new(), None);
        let mut rows = Self {
            output: Some(output),
            format,
            columns,
            times,
            next,
            is_begun,
            buffer,
            word,
            digits,
            error,
        };
        rows.header();
        rows
    }

    fn header(&mut self) {
        if self.format == Format::Json || self.columns.is_empty() {
            return;
        }
        for index in 0..self.columns.len() {
            let name = std::mem::take(&mut self.columns[index].name);
            self.cell(name.as_bytes(), false);
            self.columns[index].name = name;
        }
        self.buffer.push(b'\n');
        (self.next, self.is_begun) = (0, false);
    }

    /// Bytes of the table so far.
    pub fn written(&self) -> u64 {
        self.output.as_ref().map_or(0, Output::written) + self.buffer.len() as u64
    }

    /// Appends a whole number.
    pub fn integer(&mut self, value: u64) {
        self.cell(itoa::Buffer::new().format(value).as_bytes(), value > MOST_EXACT);
    }

    /// Appends a whole number that can be negative.
    pub fn signed(&mut self, value: i64) {
        let is_text = value.unsigned_abs() > MOST_EXACT;
        self.cell(itoa::Buffer::new().format(value).as_bytes(), is_text);
    }

    /// Appends a number with two decimals.
    pub fn decimal(&mut self, value: f64) {
        self.cell(format!("{value:.2}").as_bytes(), false);
    }

    /// Appends a text.
    pub fn text(&mut self, text: impl fmt::Display) {
        let mut word = std::mem::take(&mut self.word);
        word.clear();
        // Writing to a string cannot fail.
        let _ = write!(word, "{text}");
        self.cell(word.as_bytes(), true);
        self.word = word;
    }

    /// Appends a word that is already bytes.
    pub fn word(&mut self, word: &[u8]) {
        self.cell(word, true);
    }

    /// Appends a number that is already digits.
    pub fn digits(&mut self, digits: &[u8]) {
        self.cell(digits, false);
    }

    /// Appends the cells of a row of CSV as whole words, some cells at a time. Returns `false`, and
    /// appends nothing, if a cell needs more.
    #[inline(always)]
    fn line(&mut self, cells: &[Cell<'_>]) -> bool {
        if self.format != Format::Csv {
            return false;
        }
        let is_whole = match cells.len() {
            0 => false,
            1..=MAX_CELLS => self.words(cells),
            _ => self.long_line(cells),
        };
        if is_whole {
            (self.next, self.is_begun) = (cells.len(), true);
        }
        is_whole
    }

    fn long_line(&mut self, cells: &[Cell<'_>]) -> bool {
        let is_short = |cell: &Cell<'_>| !matches!(cell, Cell::Text(_) | Cell::Skipped);
        if !cells.iter().all(is_short) {
            return false;
        }
        let start = self.buffer.len();
        for cells in cells.chunks(MAX_CELLS) {
            if self.buffer.len() > start {
                self.buffer.push(b',');
            }
            if !self.words(cells) {
                self.buffer.truncate(start);
                return false;
            }
        }
        true
    }

    /// Appends some cells; nothing if one needs more.
    #[inline(always)]
    fn words(&mut self, cells: &[Cell<'_>]) -> bool {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; LINE_BYTES]);
        let Some((_, place)) = self.buffer.split_last_chunk_mut() else { return false };
        let mut line = Line::new(place);
        let is_whole = cells.iter().all(|cell| line_cell(&mut line, *cell, self.times.form));
        let length = if is_whole { line.length() } else { 0 };
        self.buffer.truncate(start + length);
        is_whole
    }

    /// Appends the cell of a column.
    pub fn put(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Absent => self.absent(),
            Cell::Skipped => self.skip(),
            Cell::U64(value) => self.integer(value),
            Cell::I64(value) => self.signed(value),
            Cell::F64(value) => self.decimal(value),
            Cell::Price(units) => {
                self.cell(write_price4(units, &mut [0; 12]).as_bytes(), false);
            }
            Cell::Price9(units) => {
                let mut digits = std::mem::take(&mut self.digits);
                digits.clear();
                write_price9(&mut digits, units);
                self.cell(&digits, false);
                self.digits = digits;
            }
            Cell::Time(nanos) => match self.times.form {
                TimeForm::Ns => self.integer(nanos),
                TimeForm::Utc => {
                    self.text(UtcNanos::of_unix_ns(self.times.midnight_ns.saturating_add(nanos)));
                }
                TimeForm::Exchange => {
                    self.text(NanosSinceMidnight::new(nanos).unwrap_or(NanosSinceMidnight::MAX));
                }
            },
            // A string in JSON: readers of JSON round numbers of this size.
            Cell::UnixTime(nanos) => self.word(itoa::Buffer::new().format(nanos).as_bytes()),
            Cell::Text(text) => self.word(text.as_bytes()),
            Cell::Letter(letter) => self.word(&[printable_letter(letter)]),
            Cell::Stock(stock) => self.text(stock),
            Cell::Flag(flag) => self.digits(if flag { b"true" } else { b"false" }),
        }
    }

    /// Skips a column that the row lacks: no member in JSON, else an empty cell.
    pub fn skip(&mut self) {
        match self.format {
            Format::Json => self.next += 1,
            _ => self.cell(b"", false),
        }
    }

    /// Appends a member that has no column, after the other cells of a row of JSON.
    pub fn member(&mut self, name: &str, cell: Cell<'_>) {
        debug_assert!(self.format == Format::Json && self.is_begun);
        self.columns.push(Written { name: name.into(), width: 0, align_left: false });
        self.next = self.columns.len() - 1;
        self.put(cell);
        self.columns.pop();
        self.next = self.columns.len();
    }

    /// The buffer after the cells of the row so far, for rows of text without columns.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Appends an absent cell: `null` in JSON, else empty.
    pub fn absent(&mut self) {
        let nothing: &[u8] = if self.format == Format::Json { b"null" } else { b"" };
        self.cell(nothing, false);
    }

    /// Appends a whole number, or an absent cell for None.
    pub fn integer_or_absent(&mut self, value: Option<u64>) {
        match value {
            Some(value) => self.integer(value),
            None => self.absent(),
        }
    }

    /// Ends the row.
    pub fn end_row(&mut self) -> io::Result<()> {
        debug_assert_eq!(self.next, self.columns.len(), "a cell for every column");
        (self.next, self.is_begun) = (0, false);
        self.buffer.extend_from_slice(if self.format == Format::Json { b"}\n" } else { b"\n" });
        if self.buffer.len() >= BUFFER_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some(output) = &mut self.output {
            output.write_all(&self.buffer)?;
        }
        self.buffer.clear();
        Ok(())
    }

    /// Makes all rows so far visible to readers of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write()?;
        self.output.as_mut().map_or(Ok(()), |output| output.flush())
    }

    /// Ends the row in a caller that an error can only stop. [`Rows::finish`] then returns the
    /// error.
    pub fn end_row_or_stop(&mut self) -> ControlFlow<()> {
        match self.end_row() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// Returns the error that stopped [`Rows::end_row_or_stop`], if there is one. What follows from
    /// the input is unknown then: it was not read to its end.
    pub fn require_written(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Writes the buffered rows and completes the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.require_written()?;
        self.write()?;
        self.output.take().map_or(Ok(()), Output::finish)
    }

    fn cell(&mut self, value: &[u8], is_text: bool) {
        let first = !std::mem::replace(&mut self.is_begun, true);
        let column = &self.columns[self.next];
        let last = self.next + 1 == self.columns.len();
        self.next += 1;
        match self.format {
            Format::Csv => {
                if !first {
                    self.buffer.push(b',');
                }
                if is_text && value.iter().any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r')) {
                    quote_csv(&mut self.buffer, value);
                } else {
                    self.buffer.extend_from_slice(value);
                }
            }
            Format::Json => {
                self.buffer.extend_from_slice(if first { b"{\"" } else { b",\"" });
                self.buffer.extend_from_slice(column.name.as_bytes());
                self.buffer.extend_from_slice(b"\":");
                if is_text {
                    quote_json(&mut self.buffer, value);
                } else {
                    self.buffer.extend_from_slice(value);
                }
            }
            Format::Text => {
                if !first {
                    self.buffer.extend_from_slice(b"  ");
                }
                let padding = column.width.saturating_sub(value.len());
                if !column.align_left {
                    self.buffer.extend(std::iter::repeat_n(b' ', padding));
                }
                self.buffer.extend_from_slice(value);
                if column.align_left && !last {
                    self.buffer.extend(std::iter::repeat_n(b' ', padding));
                }
            }
        }
    }
}

/// A command that fails after its last row drops its rows. A file is removed then. A stream that
/// has some of the rows gets the others too: it has all of them or none.
impl Drop for Rows {
    fn drop(&mut self) {
        let is_stream = self.output.as_ref().is_some_and(|output| !output.is_partial());
        let is_begun = self.output.as_ref().is_some_and(|output| output.written() > 0);
        if is_stream && is_begun && self.error.is_none() {
            // The command fails anyway.
            let _ = self.flush();
        }
    }
}

impl Sink for Rows {
    #[inline]
    fn row(&mut self, cells: &[Cell<'_>]) -> ControlFlow<()> {
        if !self.line(cells) {
            cells.iter().for_each(|cell| self.put(*cell));
        }
        self.end_row_or_stop()
    }
}

/// Appends a cell to a line; `false` if it needs quotes or another form.
#[inline(always)]
fn line_cell(line: &mut Line<'_>, cell: Cell<'_>, times: TimeForm) -> bool {
    match cell {
        Cell::Absent => line.absent(),
        Cell::U64(value) => line.integer(value),
        Cell::Price(price) => line.price(price),
        Cell::Time(nanos) if times == TimeForm::Ns => line.integer(nanos),
        Cell::Stock(stock) => match stock.symbol().and_then(PlainSymbol::of) {
            Some(symbol) => line.symbol(symbol),
            None => return false,
        },
        _ => return false,
    }
    true
}

/// Appends a cell of CSV in quotes.
fn quote_csv(buffer: &mut Vec<u8>, value: &[u8]) {
    buffer.push(b'"');
    for &byte in value {
        if byte == b'"' {
            buffer.push(b'"');
        }
        buffer.push(byte);
    }
    buffer.push(b'"');
}

/// Appends a JSON string. The text is printable ASCII: only quotes and backslashes are escaped.
fn quote_json(buffer: &mut Vec<u8>, value: &[u8]) {
    buffer.push(b'"');
    for &byte in value {
        if matches!(byte, b'"' | b'\\') {
            buffer.push(b'\\');
        }
        buffer.push(byte);
    }
    buffer.push(b'"');
}
