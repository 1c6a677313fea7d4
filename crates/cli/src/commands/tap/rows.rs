//! Rows as bytes: CSV, JSON or text. Built for a row a record, so a cell is a few bytes appended to
//! one buffer, and a row takes no memory.

use std::io::{self, Write as _};

use nanotape_plant::dbn;
use nanotape_types::{NanosSinceMidnight, Price4};

use super::row::{Cell, Column, Row};
use crate::{
    output::Output,
    rows::{quote_csv, quote_json},
    symbols::StockName,
};

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// DBN's price units in one of a `Price4`.
const UNITS_OF_PRICE4: i64 = dbn::FIXED_PRICE_SCALE / Price4::SCALE as i64;

/// How a row looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    Text,
    Csv,
    Json,
}

/// Writes rows.
pub(super) struct Rows {
    output: Output,
    style: Style,
    buffer: Vec<u8>,
    /// One word, kept for its memory.
    word: Vec<u8>,
    is_flushed: bool,
}

impl Rows {
    pub(super) fn new(output: Output, style: Style) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + 4096);
        if style == Style::Csv {
            buffer.extend_from_slice(Column::NAMES.join(",").as_bytes());
            buffer.push(b'\n');
        }
        Self { output, style, buffer, word: Vec::new(), is_flushed: false }
    }

    #[inline]
    pub(super) fn print(&mut self, row: &Row<'_>) -> io::Result<()> {
        match self.style {
            Style::Csv => self.csv(row),
            Style::Json => self.json(row),
            Style::Text => self.text(row),
        }
        self.buffer.push(b'\n');
        self.is_flushed = false;
        if self.buffer.len() >= BUFFER_BYTES { self.write() } else { Ok(()) }
    }

    /// Lets others see the rows so far.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.is_flushed {
            return Ok(());
        }
        self.is_flushed = true;
        self.write()?;
        self.output.flush()
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.write()?;
        self.output.finish()
    }

    fn write(&mut self) -> io::Result<()> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn csv(&mut self, row: &Row<'_>) {
        let Self { buffer, word, .. } = self;
        for (place, (_, cell)) in row.cells().enumerate() {
            if place > 0 {
                buffer.push(b',');
            }
            if is_word(cell) {
                word.clear();
                append(word, cell);
                if word.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
                    quote_csv(buffer, word);
                } else {
                    buffer.extend_from_slice(word);
                }
            } else {
                append(buffer, cell);
            }
        }
    }

    fn json(&mut self, row: &Row<'_>) {
        let Self { buffer, word, .. } = self;
        let mut open = b'{';
        for (name, cell) in row.cells() {
            if matches!(cell, Cell::Absent) {
                continue;
            }
            buffer.push(core::mem::replace(&mut open, b','));
            buffer.push(b'"');
            buffer.extend_from_slice(name.as_bytes());
            buffer.extend_from_slice(b"\":");
            if matches!(cell, Cell::Nothing) {
                buffer.extend_from_slice(b"null");
            } else if is_word(cell) {
                word.clear();
                append(word, cell);
                quote_json(buffer, word);
            } else {
                append(buffer, cell);
            }
        }
        buffer.push(b'}');
    }

    /// Sequence number, time of day, stock, kind, and what that kind has.
    fn text(&mut self, row: &Row<'_>) {
        let buffer = &mut self.buffer;
        right(buffer, 10, row.cell(Column::Sequence));
        buffer.extend_from_slice(b"  ");
        padded(buffer, 18, |buffer| {
            if let Cell::Number(nanos) = row.cell(Column::TsNs) {
                let time = NanosSinceMidnight::new(nanos).unwrap_or(NanosSinceMidnight::MAX);
                // Writing to memory cannot fail.
                let _ = write!(buffer, "{time}");
            }
        });
        for (column, width) in [(Column::Symbol, 8), (Column::Record, 10)] {
            buffer.extend_from_slice(b"  ");
            padded(buffer, width, |buffer| append(buffer, row.cell(column)));
        }
        if let (Cell::Number(from), Cell::Number(to)) =
            (row.cell(Column::LostFrom), row.cell(Column::LostTo))
        {
            let _ = write!(buffer, "  {} records lost, {from} to {to}", to - from + 1);
            return;
        }
        if let Cell::Letter(_) = row.cell(Column::Side) {
            text_of_change(buffer, row);
        }
        if let Cell::Text(detail) = row.cell(Column::Detail) {
            buffer.extend_from_slice(b"  ");
            buffer.extend_from_slice(detail.as_bytes());
        }
    }
}

/// `B  100  189.9500`, and the order or the inside.
fn text_of_change(buffer: &mut Vec<u8>, row: &Row<'_>) {
    for column in [Column::Action, Column::Side] {
        buffer.push(b' ');
        padded(buffer, 1, |buffer| append(buffer, row.cell(column)));
    }
    right(buffer, 9, row.cell(Column::Size));
    right(buffer, 12, row.cell(Column::Price));
    if let Cell::Number(_) = row.cell(Column::OrderReferenceNumber) {
        buffer.extend_from_slice(b"  order ");
        append(buffer, row.cell(Column::OrderReferenceNumber));
    }
    if !matches!(row.cell(Column::BidPrice), Cell::Absent) {
        right(buffer, 11, row.cell(Column::BidSize));
        right(buffer, 13, row.cell(Column::BidPrice));
        buffer.extend_from_slice(b" |");
        right(buffer, 12, row.cell(Column::AskPrice));
        right(buffer, 10, row.cell(Column::AskSize));
    }
}

/// Whether a cell is text, which may have to be quoted.
#[inline]
fn is_word(cell: Cell<'_>) -> bool {
    matches!(cell, Cell::Text(_) | Cell::Stock(..) | Cell::Letter(_))
}

/// Appends a cell as it is.
#[inline]
fn append(buffer: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Absent | Cell::Nothing => {}
        Cell::Number(number) => {
            buffer.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        }
        Cell::Price(price) => write_price(buffer, price),
        Cell::Letter(letter) => {
            buffer.push(if letter.is_ascii_graphic() { letter } else { b'?' });
        }
        Cell::Text(text) => buffer.extend_from_slice(text.as_bytes()),
        Cell::Stock(symbol, locate) => {
            let _ = write!(buffer, "{}", StockName::new(symbol, locate));
        }
    }
}

fn right(buffer: &mut Vec<u8>, width: usize, cell: Cell<'_>) {
    let start = buffer.len();
    append(buffer, cell);
    let padding = width.saturating_sub(buffer.len() - start);
    buffer.extend(std::iter::repeat_n(b' ', padding));
    buffer[start..].rotate_right(padding);
}

fn padded(buffer: &mut Vec<u8>, width: usize, append: impl FnOnce(&mut Vec<u8>)) {
    let end = buffer.len() + width;
    append(buffer);
    let padding = end.saturating_sub(buffer.len());
    buffer.extend(std::iter::repeat_n(b' ', padding));
}

/// A price in units of 1e-9 as a decimal: four places as everywhere, and more only if it has them.
#[inline]
pub(super) fn write_price(buffer: &mut Vec<u8>, price: i64) {
    match u32::try_from(price / UNITS_OF_PRICE4) {
        Ok(units) if price % UNITS_OF_PRICE4 == 0 => {
            buffer.extend_from_slice(Price4::new(units).write_decimal(&mut [0; 11]).as_bytes());
        }
        _ => write_long_price(buffer, price),
    }
}

#[cold]
fn write_long_price(buffer: &mut Vec<u8>, price: i64) {
    let sign = if price < 0 { "-" } else { "" };
    let scale = dbn::FIXED_PRICE_SCALE.unsigned_abs();
    let (whole, fraction) = (price.unsigned_abs() / scale, price.unsigned_abs() % scale);
    let _ = write!(buffer, "{sign}{whole}.{fraction:09}");
    let zeros = buffer.iter().rev().take(5).take_while(|&&digit| digit == b'0').count();
    buffer.truncate(buffer.len() - zeros);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_four_places_or_as_many_as_they_need() {
        for (price, text) in [
            (0, "0.0000"),
            (189_950_000_000, "189.9500"),
            (100_000, "0.0001"),
            (1, "0.000000001"),
            (123_456_780, "0.12345678"),
            (-1_500_000_000, "-1.5000"),
            (429_496_729_500_000, "429496.7295"),
            (429_496_729_600_000, "429496.7296"),
            (i64::MIN, "-9223372036.854775808"),
        ] {
            let mut buffer = b"x".to_vec();
            write_price(&mut buffer, price);
            assert_eq!(String::from_utf8(buffer).unwrap(), format!("x{text}"));
        }
    }

    #[test]
    fn cells_are_padded_on_either_side_and_never_cut() {
        let mut buffer = b"|".to_vec();
        right(&mut buffer, 4, Cell::Number(12));
        padded(&mut buffer, 4, |buffer| append(buffer, Cell::Letter(b'A')));
        right(&mut buffer, 1, Cell::Number(345));
        right(&mut buffer, 2, Cell::Nothing);
        assert_eq!(buffer, b"|  12A   345  ");
    }
}
