//! Where the records of a tap go: rows, or a DBN file.

use std::io::{self, BufWriter};

use nanotape_plant::{DbnFile, Event, Subscriber};
use nanotape_types::Symbol;

use super::{
    TapFormat,
    row::Row,
    rows::{Rows, Style},
};
use crate::output::Output;

/// Bytes of a DBN file that are gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;

pub(super) enum Printer {
    Rows { rows: Rows, detail: String },
    Dbn { file: DbnFile<BufWriter<Output>>, is_flushed: bool },
}

impl Printer {
    pub(super) fn new(output: Output, format: TapFormat, symbols: &[Symbol]) -> Self {
        let style = match format {
            TapFormat::Text => Style::Text,
            TapFormat::Csv => Style::Csv,
            TapFormat::Json => Style::Json,
            TapFormat::Dbn => {
                let output = BufWriter::with_capacity(BUFFER_BYTES, output);
                let file = DbnFile::new(output, symbols);
                return Self::Dbn { file, is_flushed: true };
            }
        };
        Self::Rows { rows: Rows::new(output, style), detail: String::new() }
    }

    /// Prints a record, or a loss.
    #[inline]
    pub(super) fn print(&mut self, event: &Event<'_>, midnight_ns: Option<u64>) -> io::Result<()> {
        match self {
            Self::Rows { rows, detail } => rows.print(&Row::of(event, midnight_ns, detail)),
            Self::Dbn { file, is_flushed } => {
                file.add(event);
                *is_flushed = false;
                Ok(())
            }
        }
    }

    /// Writes what needs the subscriber's names: to be called between polls.
    #[inline]
    pub(super) fn write(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        match self {
            Self::Rows { .. } => Ok(()),
            Self::Dbn { file, .. } => file.write(subscriber),
        }
    }

    /// Lets others see what is written so far.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Rows { rows, .. } => rows.flush(),
            Self::Dbn { is_flushed: true, .. } => Ok(()),
            Self::Dbn { file, is_flushed } => {
                *is_flushed = true;
                file.flush()
            }
        }
    }

    /// Completes the output.
    pub(super) fn finish(self, subscriber: &Subscriber) -> io::Result<()> {
        match self {
            Self::Rows { rows, .. } => rows.finish(),
            Self::Dbn { file, .. } => {
                let output = file.finish(subscriber)?.into_inner();
                output.map_err(io::IntoInnerError::into_error)?.finish()
            }
        }
    }
}
