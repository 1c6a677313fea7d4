//! Results of measurements: each has a text and a JSON record. CSV and a page of plots are made
//! from the records.

use std::{fmt, io::Write as _};

use anyhow::bail;
use clap::ValueEnum;
use serde_json::Value;

use crate::{
    output::{FileFormat, Format, Output, OutputArguments},
    rows::{Column, Kind, Rows},
};

/// How measurements are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RecordFormat {
    /// Human-readable lines
    Text,
    /// The main numbers, comma-separated, with a header line
    Csv,
    /// All numbers: one JSON object per line, see docs/formats/lab-record.md
    Json,
    /// One page of plots, which loads nothing from the network
    Html,
}

impl FileFormat for RecordFormat {
    const SUFFIXES: &str = ".csv, .json, .html or .txt";

    fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "csv" => Some(Self::Csv),
            "json" | "jsonl" => Some(Self::Json),
            "html" => Some(Self::Html),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

/// `-o`, `--force` and `--format` of a command that measures.
pub type RecordArguments = OutputArguments<RecordFormat>;

/// The columns of CSV: a name, and the JSON pointer to the value in a record.
pub type Columns = &'static [(&'static str, &'static str)];

/// An open output. Text and records are written one by one, a page at the end.
pub struct Records {
    format: RecordFormat,
    output: Output,
    columns: Columns,
    records: Vec<Value>,
    /// Whether JSON is one list, written at the end.
    is_list: bool,
}

impl OutputArguments<RecordFormat> {
    /// Opens the output of a command that has no page, as text by default.
    pub fn records(&self, columns: Columns) -> anyhow::Result<Records> {
        if self.format_or(RecordFormat::Text)? == RecordFormat::Html {
            bail!("this command has no HTML page; use .csv, .json or .txt");
        }
        self.records_or(RecordFormat::Text, columns)
    }

    /// Opens the output, in the format `default` if no other is requested.
    pub fn records_or(&self, default: RecordFormat, columns: Columns) -> anyhow::Result<Records> {
        let format = self.format_or(default)?;
        Ok(Records { format, output: self.open()?, columns, records: Vec::new(), is_list: false })
    }
}

impl Records {
    /// Writes JSON as one list instead of line by line.
    pub fn in_one_list(mut self) -> Self {
        self.is_list = true;
        self
    }

    /// Writes lines of text that belong to no result.
    pub fn heading(&mut self, text: &str) -> anyhow::Result<()> {
        if self.format == RecordFormat::Text {
            self.output.write_all(text.as_bytes())?;
            self.output.flush()?;
        }
        Ok(())
    }

    /// Writes one result in the selected form.
    pub fn result(&mut self, text: &str, record: Value) -> anyhow::Result<()> {
        match self.format {
            RecordFormat::Text => self.output.write_all(text.as_bytes())?,
            RecordFormat::Json if !self.is_list => writeln!(self.output, "{record}")?,
            RecordFormat::Json | RecordFormat::Csv | RecordFormat::Html => {}
        }
        self.output.flush()?;
        self.records.push(record);
        Ok(())
    }

    /// Writes one result of an output without an end, which keeps no record: as text, or as a line
    /// of JSON. A page and CSV do not get it.
    pub fn passing(&mut self, text: &str, record: &Value) -> anyhow::Result<()> {
        match self.format {
            RecordFormat::Text => self.output.write_all(text.as_bytes())?,
            RecordFormat::Json => writeln!(self.output, "{record}")?,
            RecordFormat::Csv | RecordFormat::Html => {}
        }
        self.output.flush()?;
        Ok(())
    }

    /// Completes the output of a command that has no page.
    pub fn finish(self) -> anyhow::Result<Vec<Value>> {
        self.finish_with(|_| String::new())
    }

    /// Completes the output; `page` makes the page of all records. Returns the records.
    pub fn finish_with(
        mut self,
        page: impl FnOnce(&[Value]) -> String,
    ) -> anyhow::Result<Vec<Value>> {
        match self.format {
            RecordFormat::Html => self.output.write_all(page(&self.records).as_bytes())?,
            RecordFormat::Csv => {
                // Values as they are in the records, whose pages in docs/formats have the meanings.
                let column = |(name, _): &(&'static str, _)| Column::new(*name, Kind::Text, 0, "");
                let columns = self.columns.iter().map(column).collect();
                let mut rows = Rows::new(self.output, Format::Csv, columns);
                for record in &self.records {
                    for (_, pointer) in self.columns {
                        match record.pointer(pointer) {
                            None | Some(Value::Null) => rows.absent(),
                            Some(Value::String(text)) => rows.text(text),
                            Some(value) => rows.text(value),
                        }
                    }
                    rows.end_row()?;
                }
                rows.finish()?;
                return Ok(self.records);
            }
            RecordFormat::Json if self.is_list => {
                writeln!(self.output, "{:#}", Value::from(self.records.clone()))?;
            }
            RecordFormat::Text | RecordFormat::Json => {}
        }
        self.output.finish()?;
        Ok(self.records)
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("format", &self.format).finish_non_exhaustive()
    }
}
