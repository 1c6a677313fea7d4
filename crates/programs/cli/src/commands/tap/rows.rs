//! The rows of a tap: CSV and JSON have a cell per column; text has its own layout. Printing a row
//! allocates nothing.

use std::io::{self, Write as _};

use nanotape_answers::StockName;
use nanotape_plant::dbn;
use nanotape_tap::Event;
use nanotape_types::{NanosSinceMidnight, Price4};

use super::{
    details,
    numbered::NumberedFiles,
    row::{Cell, Column, Row},
};
use crate::{
    output::{Format, Output},
    rows,
    rows::Rows,
};

/// DBN price units per unit of a `Price4`.
const UNITS_OF_PRICE4: i64 = dbn::FIXED_PRICE_SCALE / Price4::SCALE as i64;

pub(super) struct Table {
    pub(super) rows: Rows,
    format: Format,
    /// A price and the text of a record; members, to reuse their memory.
    price: Vec<u8>,
    detail: String,
}

impl Table {
    pub(super) fn new(output: Output, format: Format) -> Self {
        let names = if format == Format::Text { &[][..] } else { &Column::NAMES };
        let columns = names.iter().map(|name| rows::Column::number(*name, 0)).collect();
        let rows = Rows::new(output, format, columns);
        Self { rows, format, price: Vec::new(), detail: String::new() }
    }

    /// Completes the file and begins the next one.
    pub(super) fn roll(&mut self, files: &mut NumberedFiles) -> io::Result<()> {
        let (_, output) = files.next()?;
        let next = Self::new(output, self.format);
        std::mem::replace(self, next).rows.finish()
    }

    /// Prints a record, or a loss.
    #[inline]
    pub(super) fn print(&mut self, event: &Event<'_>) -> io::Result<()> {
        let Self { rows, format, price, detail } = self;
        let row = Row::of(event, detail);
        if *format == Format::Text {
            write_text(rows.buffer(), &row);
            return rows.end_row();
        }
        for (column, cell) in row.cells().enumerate() {
            match cell {
                Cell::Number(number) if is_unix_time(column) => {
                    // A string in JSON: readers of JSON round numbers of this size.
                    rows.word(itoa::Buffer::new().format(number).as_bytes());
                }
                Cell::Absent => rows.skip(),
                Cell::Nothing => rows.absent(),
                Cell::Number(number) => rows.integer(number),
                Cell::Price(units) => {
                    price.clear();
                    write_price(price, units);
                    rows.digits(price);
                }
                Cell::Letter(letter) => rows.word(&[printable(letter)]),
                Cell::Text(text) => rows.word(text.as_bytes()),
                Cell::Stock(symbol, locate) => rows.text(StockName::new(symbol, locate)),
            }
        }
        if *format == Format::Json
            && let Event::Record(delivery) = event
        {
            details::write_members(rows, &delivery.record);
        }
        rows.end_row()
    }
}

fn is_unix_time(column: usize) -> bool {
    column == Column::TsEvent as usize || column == Column::TsRecv as usize
}

/// An event as one line of text.
pub(in crate::commands) fn line_of(event: &Event<'_>) -> String {
    let (mut buffer, mut detail) = (Vec::new(), String::new());
    write_text(&mut buffer, &Row::of(event, &mut detail));
    String::from_utf8_lossy(&buffer).into_owned()
}

/// Sequence number, time of day, stock, kind, and the values of that kind.
fn write_text(buffer: &mut Vec<u8>, row: &Row<'_>) {
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

/// `B  100  189.9500`, then the order or the inside.
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

/// Bytes come from shared memory: a byte that could control a terminal becomes a question mark.
fn printable(letter: u8) -> u8 {
    if letter.is_ascii_graphic() { letter } else { b'?' }
}

/// Appends a cell without padding.
#[inline]
fn append(buffer: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Absent | Cell::Nothing => {}
        Cell::Number(number) => {
            buffer.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        }
        Cell::Price(price) => write_price(buffer, price),
        Cell::Letter(letter) => buffer.push(printable(letter)),
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

/// A price in units of 1e-9 as a decimal, with four places, or more if it needs them.
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
