//! Rows as the bytes of one structured array: a row after the other, with a field for each column.
//!
//! An absent number is 0, an absent price the largest int64 (as in DBN), an absent time NaT, an
//! absent text empty, and an absent truth value 255.

use std::ops::ControlFlow;

use nanotape_tables::field_name;
use nanotape_types::rows::{Cell, Column, Kind, Sink};

/// Bytes of a text field, until a longer text comes.
const TEXT_BYTES: usize = 8;

/// Units of 1e-9 in one of 1e-4.
const NANOS: i64 = 100_000;

/// A price that a row lacks.
const UNDEF_PRICE: i64 = i64::MAX;

/// numpy's time that is none.
const NOT_A_TIME: i64 = i64::MIN;

/// An absent truth value.
const UNKNOWN: u8 = u8::MAX;

/// Collects rows.
#[derive(Debug)]
pub(crate) struct Structured {
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// Rows so far.
    rows: usize,
    midnight_ns: u64,
    text: String,
}

/// A field of a row.
#[derive(Debug)]
struct Field {
    name: String,
    kind: Kind,
    bytes: usize,
}

impl Structured {
    pub(crate) fn new(columns: &[Column], midnight_ns: u64) -> Self {
        let fields = columns.iter().map(|column| {
            let bytes = match column.kind {
                Kind::Text => TEXT_BYTES,
                Kind::Flag => 1,
                _ => 8,
            };
            Field { name: field_name(column).to_owned(), kind: column.kind, bytes }
        });
        let fields = fields.collect();
        Self { bytes: Vec::new(), fields, rows: 0, midnight_ns, text: String::new() }
    }

    /// The bytes of all rows, and name and type of each field.
    pub(crate) fn into_array(self) -> (Vec<u8>, Vec<(String, String)>) {
        let fields = self.fields.into_iter().map(|field| {
            let kind = match field.kind {
                Kind::U64 => "<u8".to_owned(),
                Kind::I64 | Kind::Price | Kind::Price9 => "<i8".to_owned(),
                Kind::F64 => "<f8".to_owned(),
                Kind::Time | Kind::UnixTime => "<M8[ns]".to_owned(),
                Kind::Text => format!("S{}", field.bytes),
                Kind::Flag => "u1".to_owned(),
            };
            (field.name, kind)
        });
        (self.bytes, fields.collect())
    }

    /// Appends the text of a field, with zeros after it.
    #[inline]
    fn text(&mut self, field: usize, text: &[u8]) {
        if text.len() > self.fields[field].bytes {
            self.widen(field, text.len().next_power_of_two());
        }
        let end = self.bytes.len() + self.fields[field].bytes;
        self.bytes.extend_from_slice(text);
        self.bytes.resize(end, 0);
    }

    /// Gives the field more bytes, in the rows so far and in the one that is written.
    #[cold]
    fn widen(&mut self, field: usize, bytes: usize) {
        let before: usize = self.fields[..field].iter().map(|field| field.bytes).sum();
        let row: usize = self.fields.iter().map(|field| field.bytes).sum();
        let old = std::mem::replace(&mut self.fields[field].bytes, bytes);
        let more = bytes - old;
        let mut wide = Vec::with_capacity(self.bytes.len() + self.rows * more);
        let (whole, begun) = self.bytes.split_at(self.rows * row);
        for row in whole.chunks_exact(row) {
            wide.extend_from_slice(&row[..before + old]);
            wide.resize(wide.len() + more, 0);
            wide.extend_from_slice(&row[before + old..]);
        }
        wide.extend_from_slice(begun);
        self.bytes = wide;
    }

    #[inline]
    fn cell(&mut self, field: usize, cell: Cell<'_>) {
        let word = match (self.fields[field].kind, cell) {
            (_, Cell::U64(value)) => value,
            (_, Cell::I64(value) | Cell::Price9(value)) => value.cast_unsigned(),
            (_, Cell::F64(value)) => value.to_bits(),
            (_, Cell::Price(units)) => (units.cast_signed() * NANOS).cast_unsigned(),
            (_, Cell::Time(nanos)) => self.midnight_ns + nanos,
            (_, Cell::UnixTime(nanos)) => nanos,
            (_, Cell::Flag(flag)) => return self.bytes.push(flag.into()),
            (_, Cell::Text(text)) => return self.text(field, text.as_bytes()),
            (_, Cell::Letter(letter)) => return self.text(field, &[letter]),
            (_, Cell::Stock(stock)) => {
                use std::fmt::Write as _;
                let mut text = std::mem::take(&mut self.text);
                text.clear();
                // Writing to a string cannot fail.
                let _ = write!(text, "{stock}");
                self.text(field, text.as_bytes());
                self.text = text;
                return;
            }
            (Kind::Price | Kind::Price9, Cell::Absent | Cell::Skipped) => {
                UNDEF_PRICE.cast_unsigned()
            }
            (Kind::Time | Kind::UnixTime, Cell::Absent | Cell::Skipped) => {
                NOT_A_TIME.cast_unsigned()
            }
            (Kind::F64, Cell::Absent | Cell::Skipped) => f64::NAN.to_bits(),
            (Kind::U64 | Kind::I64, Cell::Absent | Cell::Skipped) => 0,
            (Kind::Text, Cell::Absent | Cell::Skipped) => return self.text(field, b""),
            (Kind::Flag, Cell::Absent | Cell::Skipped) => return self.bytes.push(UNKNOWN),
        };
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }
}

impl Sink for Structured {
    #[inline]
    fn row(&mut self, cells: &[Cell<'_>]) -> ControlFlow<()> {
        for (place, cell) in cells.iter().enumerate() {
            self.cell(place, *cell);
        }
        self.rows += 1;
        ControlFlow::Continue(())
    }
}
