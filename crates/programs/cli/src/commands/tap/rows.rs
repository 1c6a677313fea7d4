//! The rows of a tap: CSV and JSON have a cell per column; text has its own layout. Printing a row
//! allocates nothing.

use std::io::{self, Write as _};

use nanotape_answers::{RecordColumn, RecordRow, members};
use nanotape_tap::Event;
use nanotape_types::{
    NanosSinceMidnight,
    rows::{Cell, printable_letter, write_price9},
};

use super::numbered::NumberedFiles;
use crate::{
    output::{Format, Output},
    rows::Rows,
};

pub(super) struct Table {
    pub(super) rows: Rows,
    format: Format,
    /// The text of a record; a member, to reuse its memory.
    detail: String,
}

impl Table {
    pub(super) fn new(output: Output, format: Format) -> Self {
        let columns = if format == Format::Text { Vec::new() } else { RecordRow::columns() };
        Self { rows: Rows::new(output, format, columns), format, detail: String::new() }
    }

    /// A table of records of several sources.
    pub(super) fn of_sources(output: Output, format: Format) -> Self {
        let mut columns = RecordRow::source_columns();
        columns.extend(RecordRow::columns());
        let columns = if format == Format::Text { Vec::new() } else { columns };
        Self { rows: Rows::new(output, format, columns), format, detail: String::new() }
    }

    /// Prints a record, or a loss, of a source.
    pub(super) fn print_of(&mut self, source: &RowSource<'_>, event: &Event<'_>) -> io::Result<()> {
        if self.format == Format::Text {
            let buffer = self.rows.buffer();
            padded(buffer, source.width, |buffer| {
                buffer.extend_from_slice(source.name.as_bytes());
            });
            buffer.extend_from_slice(b"  ");
        } else {
            self.rows.put(Cell::Text(source.name));
            match source.publisher_id {
                0 => self.rows.absent(),
                publisher_id => self.rows.integer(publisher_id.into()),
            }
            self.rows.put(source.dataset.map_or(Cell::Absent, Cell::Text));
        }
        self.print(event)
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
        let Self { rows, format, detail } = self;
        let row = RecordRow::of(event, detail);
        if *format == Format::Text {
            write_text(rows.buffer(), &row);
            return rows.end_row();
        }
        row.cells().iter().for_each(|cell| rows.put(*cell));
        if *format == Format::Json
            && let Event::Record(delivery) = event
        {
            members(&delivery.record, |name, cell| rows.member(name, cell));
        }
        rows.end_row()
    }
}

/// The source of a row.
pub(super) struct RowSource<'a> {
    /// Its name, as it was given.
    pub(super) name: &'a str,
    /// The width of the names of all sources, in text.
    pub(super) width: usize,
    /// DBN's number of the publisher of the record; 0 if it is unknown.
    pub(super) publisher_id: u16,
    /// The data set of the publisher.
    pub(super) dataset: Option<&'static str>,
}

/// An event as one line of text.
pub(in crate::commands) fn line_of(event: &Event<'_>) -> String {
    let (mut buffer, mut detail) = (Vec::new(), String::new());
    write_text(&mut buffer, &RecordRow::of(event, &mut detail));
    String::from_utf8_lossy(&buffer).into_owned()
}

/// Sequence number, time of day, stock, kind, and the values of that kind.
fn write_text(buffer: &mut Vec<u8>, row: &RecordRow<'_>) {
    right(buffer, 10, row.cell(RecordColumn::Sequence));
    buffer.extend_from_slice(b"  ");
    padded(buffer, 18, |buffer| {
        if let Cell::Time(nanos) = row.cell(RecordColumn::TsNs) {
            let time = NanosSinceMidnight::new(nanos).unwrap_or(NanosSinceMidnight::MAX);
            // Writing to memory cannot fail.
            let _ = write!(buffer, "{time}");
        }
    });
    for (column, width) in [(RecordColumn::Symbol, 8), (RecordColumn::Record, 10)] {
        buffer.extend_from_slice(b"  ");
        padded(buffer, width, |buffer| append(buffer, row.cell(column)));
    }
    if let (Cell::U64(from), Cell::U64(to)) =
        (row.cell(RecordColumn::LostFrom), row.cell(RecordColumn::LostTo))
    {
        let _ = write!(buffer, "  {} records lost, {from} to {to}", to - from + 1);
        return;
    }
    if let Cell::Letter(_) = row.cell(RecordColumn::Side) {
        text_of_change(buffer, row);
    }
    if let Cell::Text(detail) = row.cell(RecordColumn::Detail) {
        buffer.extend_from_slice(b"  ");
        buffer.extend_from_slice(detail.as_bytes());
    }
}

/// `B  100  189.9500`, then the order or the inside.
fn text_of_change(buffer: &mut Vec<u8>, row: &RecordRow<'_>) {
    for column in [RecordColumn::Action, RecordColumn::Side] {
        buffer.push(b' ');
        padded(buffer, 1, |buffer| append(buffer, row.cell(column)));
    }
    right(buffer, 9, row.cell(RecordColumn::Size));
    right(buffer, 12, row.cell(RecordColumn::Price));
    if let Cell::U64(_) = row.cell(RecordColumn::OrderReferenceNumber) {
        buffer.extend_from_slice(b"  order ");
        append(buffer, row.cell(RecordColumn::OrderReferenceNumber));
    }
    if !matches!(row.cell(RecordColumn::BidPrice), Cell::Skipped) {
        right(buffer, 11, row.cell(RecordColumn::BidSize));
        right(buffer, 13, row.cell(RecordColumn::BidPrice));
        buffer.extend_from_slice(b" |");
        right(buffer, 12, row.cell(RecordColumn::OfferPrice));
        right(buffer, 10, row.cell(RecordColumn::OfferSize));
    }
}

/// Appends a cell without padding.
#[inline]
fn append(buffer: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::U64(number) => {
            buffer.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        }
        Cell::Price9(price) => write_price9(buffer, price),
        Cell::Letter(letter) => buffer.push(printable_letter(letter)),
        Cell::Text(text) => buffer.extend_from_slice(text.as_bytes()),
        Cell::Stock(stock) => {
            // Writing to memory cannot fail.
            let _ = write!(buffer, "{stock}");
        }
        _ => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_padded_on_either_side_and_never_cut() {
        let mut buffer = b"|".to_vec();
        right(&mut buffer, 4, Cell::U64(12));
        padded(&mut buffer, 4, |buffer| append(buffer, Cell::Letter(b'A')));
        right(&mut buffer, 1, Cell::U64(345));
        right(&mut buffer, 2, Cell::Absent);
        assert_eq!(buffer, b"|  12A   345  ");
    }
}
