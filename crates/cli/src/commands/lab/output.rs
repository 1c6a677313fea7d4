//! Where results of measurements go: like those of other commands, and as pages besides.

use std::{io::Write as _, path::PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};
use nanotape_lab::pages;
use serde_json::Value;

use crate::{
    output::{Format, Output, OutputArguments},
    rows::{Column, Rows},
};

#[derive(Args, Debug)]
pub(super) struct LabOutputArguments {
    /// Write to FILE instead of standard output; the suffix chooses the format
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,

    /// Output format [default: by the suffix of FILE, else text]
    #[arg(long, value_enum)]
    format: Option<LabFormat>,
}

/// How measurements are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum LabFormat {
    /// Lines for people
    Text,
    /// The main numbers, comma-separated, with a header line
    Csv,
    /// Everything: one JSON object a line, see docs/formats/lab-record.md
    Json,
    /// One page of plots, which needs no network to be read
    Html,
}

/// An open output: text and records arrive one by one, a page is written in the end.
pub(super) struct LabOutput {
    format: LabFormat,
    output: Output,
    columns: Columns,
    records: Vec<Value>,
    /// Whether JSON is one list, written in the end.
    is_list: bool,
}

/// What stands in a row of CSV: the column's name, and where in the record its value is.
pub(super) type Columns = &'static [(&'static str, &'static str)];

impl LabOutputArguments {
    /// Opens the output of a command that has no page, as text unless something else was asked for.
    pub(super) fn open(&self, columns: Columns) -> anyhow::Result<LabOutput> {
        let output = self.open_or(LabFormat::Text, columns)?;
        if output.format == LabFormat::Html {
            bail!("this command has no page; use .csv, .json or .txt");
        }
        Ok(output)
    }

    /// Opens the output, in `default` format unless something else was asked for.
    pub(super) fn open_or(
        &self,
        default: LabFormat,
        columns: Columns,
    ) -> anyhow::Result<LabOutput> {
        let file = self.output.as_deref().filter(|path| path.as_os_str() != "-");
        let suffix = file.and_then(|path| path.extension()).and_then(|suffix| suffix.to_str());
        let format = match (self.format, file, suffix) {
            (Some(format), ..) => format,
            (None, _, Some("csv")) => LabFormat::Csv,
            (None, _, Some("json" | "jsonl")) => LabFormat::Json,
            (None, _, Some("html")) => LabFormat::Html,
            (None, _, Some("txt")) => LabFormat::Text,
            (None, None, _) => default,
            (None, Some(path), _) => bail!(
                "{}: the suffix does not tell the format; use .csv, .json, .html or .txt, or --format",
                path.display()
            ),
        };
        let output = OutputArguments::<Format> {
            output: self.output.clone(),
            force: self.force,
            format: None,
        };
        let (output, records) = (output.open()?, Vec::new());
        Ok(LabOutput { format, output, columns, records, is_list: false })
    }
}

impl LabOutput {
    /// Writes JSON as one list instead of line by line.
    pub(super) fn in_one_list(mut self) -> Self {
        self.is_list = true;
        self
    }

    /// Lines that are no result of their own.
    pub(super) fn heading(&mut self, text: &str) -> anyhow::Result<()> {
        if self.format == LabFormat::Text {
            self.output.write_all(text.as_bytes())?;
            self.output.flush()?;
        }
        Ok(())
    }

    /// One result, in both its forms.
    pub(super) fn result(&mut self, text: &str, record: Value) -> anyhow::Result<()> {
        match self.format {
            LabFormat::Text => self.output.write_all(text.as_bytes())?,
            LabFormat::Json if !self.is_list => writeln!(self.output, "{record}")?,
            LabFormat::Json | LabFormat::Csv | LabFormat::Html => {}
        }
        self.output.flush()?;
        self.records.push(record);
        Ok(())
    }

    /// Completes the output; gives the records.
    pub(super) fn finish(self) -> anyhow::Result<Vec<Value>> {
        let page = pages::results;
        self.finish_with(page)
    }

    /// The same, with `page` for the page.
    pub(super) fn finish_with(
        mut self,
        page: impl FnOnce(&[Value]) -> String,
    ) -> anyhow::Result<Vec<Value>> {
        match self.format {
            LabFormat::Html => self.output.write_all(page(&self.records).as_bytes())?,
            LabFormat::Csv => {
                let columns = self.columns.iter().map(|(name, _)| Column::word(*name, 0)).collect();
                let mut rows = Rows::new(self.output, Format::Csv, columns);
                for record in &self.records {
                    for (_, place) in self.columns {
                        match record.pointer(place) {
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
            LabFormat::Json if self.is_list => {
                writeln!(self.output, "{:#}", Value::from(self.records.clone()))?;
            }
            LabFormat::Text | LabFormat::Json => {}
        }
        self.output.finish()?;
        Ok(self.records)
    }
}
