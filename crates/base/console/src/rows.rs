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

use nanotape_types::Price4;

use crate::{
    line::{LINE_BYTES, Line},
    output::{Format, Output},
    record::MOST_EXACT,
};

/// Bytes to collect before a write.
const BUFFER_BYTES: usize = 64 << 10;

/// A column and the width of its cells in text.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    width: usize,
    align_left: bool,
}

impl Column {
    /// A column of numbers, aligned right.
    pub fn number(name: impl Into<String>, width: usize) -> Self {
        let name = name.into();
        Self { width: width.max(name.len()), name, align_left: false }
    }

    /// A column of words, aligned left.
    pub fn word(name: impl Into<String>, width: usize) -> Self {
        Self { align_left: true, ..Self::number(name, width) }
    }
}

/// A table that is written row by row, each row cell by cell in the order of the columns.
pub struct Rows {
    output: Output,
    format: Format,
    columns: Vec<Column>,
    next: usize,
    /// Whether the row has a cell that was not skipped.
    is_begun: bool,
    buffer: Vec<u8>,
    /// The text of one cell; it is a member to reuse its memory.
    word: String,
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
        let buffer = Vec::with_capacity(BUFFER_BYTES + 4096);
        let (next, is_begun, word, error) = (0, false, String::new(), None);
        let mut rows = Self { output, format, columns, next, is_begun, buffer, word, error };
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
        self.output.written() + self.buffer.len() as u64
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

    /// Appends a price with four decimals.
    pub fn price(&mut self, price: Price4) {
        self.cell(price.write_decimal(&mut [0; 11]).as_bytes(), false);
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

    /// Appends a price and a size; two absent cells for None.
    pub fn level(&mut self, level: Option<(Price4, u64)>) {
        match level {
            Some((price, shares)) => {
                self.price(price);
                self.integer(shares);
            }
            None => {
                self.absent();
                self.absent();
            }
        }
    }

    /// Appends all cells of a row of CSV, and returns `true`. Other formats need them one by one.
    #[inline(always)]
    pub fn line(&mut self, write: impl FnOnce(&mut Line<'_>)) -> bool {
        if self.format != Format::Csv {
            return false;
        }
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; LINE_BYTES]);
        let Some((_, place)) = self.buffer.split_last_chunk_mut() else { return false };
        let mut line = Line::new(place);
        write(&mut line);
        let length = line.length();
        self.buffer.truncate(start + length);
        (self.next, self.is_begun) = (self.columns.len(), true);
        true
    }

    /// Skips a column that the row lacks: no member in JSON, else an empty cell.
    pub fn skip(&mut self) {
        match self.format {
            Format::Json => self.next += 1,
            _ => self.cell(b"", false),
        }
    }

    /// Appends a member that has no column, after the other cells of a row of JSON: a text, or a
    /// number, a truth value or null as they are written.
    pub fn member(&mut self, name: &str, value: impl fmt::Display, is_text: bool) {
        debug_assert!(self.format == Format::Json && self.is_begun);
        // Writing to memory cannot fail.
        let _ = write!(self.buffer, ",\"{name}\":");
        match is_text {
            true => quote_json(&mut self.buffer, value.to_string().as_bytes()),
            false => _ = write!(self.buffer, "{value}"),
        }
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
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Makes all rows so far visible to readers of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write()?;
        self.output.flush()
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

    /// Whether a caller of [`Rows::end_row_or_stop`] can go on.
    #[inline]
    pub fn flow(&self) -> ControlFlow<()> {
        if self.error.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns the error that stopped [`Rows::end_row_or_stop`], if there is one. What follows from
    /// the input is unknown then: it was not read to its end.
    pub fn require_written(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Writes the buffered rows and completes the output.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.write()?;
        self.output.finish()
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
