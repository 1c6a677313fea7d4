//! Where the records of a tap go: rows, or DBN files.

use std::io;

use nanotape_plant::{Event, Subscriber};

use super::{
    TapArguments, TapFormat,
    dbn_files::DbnFiles,
    row::Row,
    rows::{Rows, Style},
};
use crate::output::Output;

pub(super) enum Printer {
    Rows { rows: Rows, detail: String },
    Dbn { files: DbnFiles, is_flushed: bool },
}

impl Printer {
    pub(super) fn new(output: Output, format: TapFormat, command: &TapArguments) -> Self {
        let style = match format {
            TapFormat::Text => Style::Text,
            TapFormat::Csv => Style::Csv,
            TapFormat::Json => Style::Json,
            TapFormat::Dbn => {
                let files = DbnFiles::new(output, command);
                return Self::Dbn { files, is_flushed: true };
            }
        };
        Self::Rows { rows: Rows::new(output, style), detail: String::new() }
    }

    /// Prints a record, or a loss.
    #[inline]
    pub(super) fn print(&mut self, event: &Event<'_>, midnight_ns: Option<u64>) -> io::Result<()> {
        match self {
            Self::Rows { rows, detail } => rows.print(&Row::of(event, midnight_ns, detail)),
            Self::Dbn { files, is_flushed } => {
                *is_flushed = false;
                files.add(event)
            }
        }
    }

    /// Writes what needs the subscriber's names: to be called between polls.
    #[inline]
    pub(super) fn write(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        match self {
            Self::Rows { .. } => Ok(()),
            Self::Dbn { files, .. } => files.write(subscriber),
        }
    }

    /// Lets others see what is written so far.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Rows { rows, .. } => rows.flush(),
            Self::Dbn { is_flushed: true, .. } => Ok(()),
            Self::Dbn { files, is_flushed } => {
                *is_flushed = true;
                files.flush()
            }
        }
    }

    /// Completes the output.
    pub(super) fn finish(self, subscriber: &Subscriber) -> io::Result<()> {
        match self {
            Self::Rows { rows, .. } => rows.finish(),
            Self::Dbn { files, .. } => files.finish(subscriber),
        }
    }
}
