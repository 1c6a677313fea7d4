//! Messages as CSV: a column for each field of the selected types, so that a data frame has typed
//! columns.

use std::{borrow::Cow, convert::Infallible, io};

use nanotape_answers::message_columns;
use nanotape_feed::{AnyMessage, Feed, Position, TEMPLATE_BYTES};
use nanotape_types::rows::Cell;
use nanotape_wire::render::{Describe as _, FieldVisitor, Value, set_bits};

use super::{printer::ShownMessage, types::SelectedTypes};
use crate::{
    output::{Format, Output},
    rows::{Column, Kind, Rows},
};

/// Fields that other columns have: `timestamp` is `ts_ns`.
const LEFT_OUT: [&str; 2] = ["timestamp", "symbol"];

pub(super) struct Table {
    rows: Rows,
    /// The names of the columns of fields.
    fields: Vec<Cow<'static, str>>,
}

impl Table {
    /// A table of these message types.
    pub(super) fn new(output: Output, feed: Feed, types: &SelectedTypes) -> Self {
        let mut names = Names::default();
        for tag in types.known() {
            let mut bytes = [0; TEMPLATE_BYTES];
            if let Some(message) = AnyMessage::template(feed, tag, &mut bytes) {
                let Ok(()) = message.for_each_field(&mut names);
            }
        }
        if types.has_unknown() {
            let Ok(()) = names.field("bytes", Value::Bytes(&[]));
        }
        let fields = names.0.iter().map(|column| column.name.clone()).collect();
        let columns = message_columns().into_iter().chain(names.0).collect();
        Self { rows: Rows::new(output, Format::Csv, columns), fields }
    }

    pub(super) fn print(&mut self, at: Position, shown: &ShownMessage<'_>) -> io::Result<()> {
        let Self { rows, fields } = self;
        rows.integer(at.number);
        rows.integer(at.offset);
        rows.text(shown.message.type_text());
        rows.integer_or_absent(shown.ts_ns);
        match shown.stock {
            Some(stock) => rows.text(stock),
            None => rows.absent(),
        }
        let mut cells = Cells { fields, values: vec![Value::Absent; fields.len()] };
        let Ok(()) = shown.message.for_each_field(&mut cells);
        cells.values.into_iter().for_each(|value| write_cell(rows, value));
        rows.end_row()
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.rows.finish()
    }
}

/// Collects the columns of fields, each once.
#[derive(Default)]
struct Names(Vec<Column>);

impl FieldVisitor<'_> for Names {
    type Error = Infallible;

    fn field(&mut self, name: &'static str, value: Value<'_>) -> Result<(), Infallible> {
        let (kind, unit) = match value {
            Value::Integer(_) | Value::Numbered(..) => (Kind::U64, ""),
            Value::Price4(_) => (Kind::Price, "USD"),
            Value::Price8(_) => (Kind::Text, "USD"),
            // Not of `Kind::Time`, whose columns all have one name.
            Value::NanosSinceMidnight(_) => (Kind::U64, "ns since midnight"),
            Value::SecondsSinceMidnight(_) => (Kind::U64, "s since midnight"),
            Value::NanosSinceEpoch(_) => (Kind::U64, "ns since epoch"),
            Value::SecondsSinceEpoch(_) => (Kind::U64, "s since epoch"),
            Value::Text(_) | Value::Code(..) | Value::Bytes(_) | Value::Absent => (Kind::Text, ""),
            Value::Signed(_) | Value::Decimal(_) | Value::Bits(..) => (Kind::Text, ""),
        };
        if !LEFT_OUT.contains(&name) && self.0.iter().all(|column| column.name != name) {
            let doc = "Field of the message, under its name in the specification.";
            self.0.push(Column::new(name, kind, 0, doc).of(unit));
        }
        Ok(())
    }
}

/// Collects the values of a message by column.
struct Cells<'a, 'f> {
    fields: &'f [Cow<'static, str>],
    values: Vec<Value<'a>>,
}

impl<'a> FieldVisitor<'a> for Cells<'a, '_> {
    type Error = Infallible;

    fn field(&mut self, name: &'static str, value: Value<'a>) -> Result<(), Infallible> {
        if let Some(column) = self.fields.iter().position(|field| *field == name) {
            self.values[column] = value;
        }
        Ok(())
    }
}

/// The values are those of JSON: times are numbers in their own unit, codes are single characters.
fn write_cell(rows: &mut Rows, value: Value<'_>) {
    match value {
        Value::Integer(number) => rows.integer(number),
        Value::Numbered(code, _) => rows.integer(u64::from(code)),
        Value::Price4(price) => rows.put(Cell::Price(price.get().into())),
        Value::Price8(price) => rows.text(price),
        Value::NanosSinceMidnight(time) => rows.integer(time.get()),
        Value::SecondsSinceMidnight(time) => rows.integer(u64::from(time.get())),
        Value::Text(text) => rows.text(text.trim_ascii_end().escape_ascii()),
        Value::Code(code, _) => rows.text([code].trim_ascii_end().escape_ascii()),
        Value::Bytes(bytes) => {
            rows.text(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        }
        Value::Absent => rows.absent(),
        Value::Signed(number) => rows.text(number),
        Value::Decimal(number) => rows.text(number),
        Value::NanosSinceEpoch(time) => rows.integer(time.get()),
        Value::SecondsSinceEpoch(time) => rows.integer(u64::from(time.get())),
        Value::Bits(bits, names) => {
            let text =
                |(bit, name): (u8, Option<&str>)| name.map_or(bit.to_string(), str::to_owned);
            rows.text(set_bits(bits, names).map(text).collect::<Vec<_>>().join("+"));
        }
    }
}
