//! The output of a tap: rows, or DBN files.

use std::io;

use nanotape_plant::{Event, Subscriber};

use super::{TapArguments, TapFormat, dbn_files::DbnFiles, rows::Table};
use crate::output::{Format, Output};

pub(super) struct Printer {
    target: Target,
    is_flushed: bool,
}

enum Target {
    Rows(Table),
    Dbn(DbnFiles),
}

impl Printer {
    pub(super) fn new(output: Output, format: TapFormat, command: &TapArguments) -> Self {
        let target = match format {
            TapFormat::Text => Target::Rows(Table::new(output, Format::Text)),
            TapFormat::Csv => Target::Rows(Table::new(output, Format::Csv)),
            TapFormat::Json => Target::Rows(Table::new(output, Format::Json)),
            TapFormat::Dbn => Target::Dbn(DbnFiles::new(output, command)),
        };
        // A header line has not been flushed yet.
        Self { is_flushed: matches!(target, Target::Dbn(_)), target }
    }

    /// Prints a record, or a loss.
    #[inline]
    pub(super) fn print(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.is_flushed = false;
        match &mut self.target {
            Target::Rows(table) => table.print(event),
            Target::Dbn(files) => files.add(event),
        }
    }

    /// Writes records that need the subscriber's names; called between polls.
    #[inline]
    pub(super) fn write(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        match &mut self.target {
            Target::Rows(_) => Ok(()),
            Target::Dbn(files) => files.write(subscriber),
        }
    }

    /// Makes the output so far visible to its readers.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            _ if std::mem::replace(&mut self.is_flushed, true) => Ok(()),
            Target::Rows(table) => table.rows.flush(),
            Target::Dbn(files) => files.flush(),
        }
    }

    /// Completes the output.
    pub(super) fn finish(self, subscriber: &Subscriber) -> io::Result<()> {
        match self.target {
            Target::Rows(table) => table.rows.finish(),
            Target::Dbn(files) => files.finish(subscriber),
        }
    }
}
