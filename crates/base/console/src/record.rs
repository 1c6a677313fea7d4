//! One object with named values, in the three formats. A whole number above 2^53 is a string in
//! JSON, in lists and objects inside too: most readers of JSON would round it.

use std::{
    borrow::Cow,
    fmt,
    io::{self, Write},
};

use serde_json::Value;

use crate::{output::Format, printable::printable};

/// The greatest whole number that a 64-bit float, and so most readers of JSON, holds exactly with
/// all smaller ones.
pub const MOST_EXACT: u64 = 1 << 53;

/// The value with strings for whole numbers above [`MOST_EXACT`].
pub fn exact(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            if size.is_some_and(|size| size > MOST_EXACT) {
                return Value::String(number.to_string());
            }
            Value::Number(number)
        }
        Value::Array(values) => Value::Array(values.into_iter().map(exact).collect()),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, exact(value))).collect())
        }
        other => other,
    }
}

/// A whole number as a member of JSON: a string above [`MOST_EXACT`].
#[derive(Clone, Copy, Debug)]
pub struct Whole(pub u64);

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0 > MOST_EXACT { "\"" } else { "" };
        write!(f, "{quote}{}{quote}", self.0)
    }
}

/// Names and values, in output order.
#[derive(Clone, Debug, Default)]
pub struct Record(Vec<(Cow<'static, str>, Value)>);

impl Record {
    /// Adds a value; None is `null` in JSON and an empty cell in CSV.
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        self.0.push((name.into(), value.into()));
        self
    }

    /// Appends the values of another record.
    pub fn joined(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Writes the record; calls `text` only for text. `first`: CSV begins with the names.
    pub fn write(
        &self,
        output: &mut impl Write,
        format: Format,
        first: bool,
        text: impl FnOnce() -> String,
    ) -> io::Result<()> {
        let text = if format == Format::Text { text() } else { String::new() };
        self.write_as(output, format, first, &text)
    }

    fn write_as(
        &self,
        output: &mut dyn Write,
        format: Format,
        first: bool,
        text: &str,
    ) -> io::Result<()> {
        match format {
            // Names of files in it cannot control a terminal.
            Format::Text => output.write_all(printable(text, &['\n', '\t']).as_bytes())?,
            Format::Json => {
                let member = |(name, value): &(Cow<'_, str>, Value)| {
                    format!("\"{name}\":{}", exact(value.clone()))
                };
                let members: Vec<String> = self.0.iter().map(member).collect();
                writeln!(output, "{{{}}}", members.join(","))?;
            }
            Format::Csv => {
                if first {
                    let names: Vec<&str> = self.0.iter().map(|(name, _)| &**name).collect();
                    writeln!(output, "{}", names.join(","))?;
                }
                let cells: Vec<String> = self.0.iter().map(|(_, value)| cell(value)).collect();
                writeln!(output, "{}", cells.join(","))?;
            }
        }
        output.flush()
    }
}

/// An object of JSON.
impl From<Record> for Value {
    fn from(record: Record) -> Self {
        let members = record.0.into_iter().map(|(name, value)| (name.into_owned(), value));
        Self::Object(members.collect())
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        other => quoted(&other.to_string()),
    }
}

/// A cell in quotes if it needs them, as a list of objects does.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}
