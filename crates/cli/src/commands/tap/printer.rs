//! The output of a tap: rows, or DBN files.

use std::io;

use nanotape_plant::{Event, Subscriber};
use nanotape_types::{StockLocate, Symbol};

use super::{
    TapArguments, TapFormat, TsRecv, dbn_files::DbnFiles, event_times::EventTimes, rows::Table,
};
use crate::output::{Format, Output};

pub(super) struct Printer {
    target: Target,
    is_flushed: bool,
    /// If receive times are written as those of the exchange.
    event_times: Option<EventTimes>,
}

enum Target {
    Rows(Table),
    Dbn(DbnFiles),
}

impl Printer {
    /// `names`: names of stocks that are known before the first record.
    pub(super) fn new(
        output: Output,
        format: TapFormat,
        command: &TapArguments,
        names: Vec<(StockLocate, Symbol)>,
    ) -> Self {
        let target = match format {
            TapFormat::Text => Target::Rows(Table::new(output, Format::Text)),
            TapFormat::Csv => Target::Rows(Table::new(output, Format::Csv)),
            TapFormat::Json => Target::Rows(Table::new(output, Format::Json)),
            TapFormat::Dbn => Target::Dbn(DbnFiles::new(output, command, names)),
        };
        // A header line has not been flushed yet.
        let is_flushed = matches!(target, Target::Dbn(_));
        let event_times = (command.ts_recv == TsRecv::Event).then(EventTimes::default);
        Self { is_flushed, target, event_times }
    }

    /// Prints a record, or a loss. Returns whether the output has a place for it.
    #[inline]
    pub(super) fn print(&mut self, event: &Event<'_>) -> io::Result<bool> {
        self.is_flushed = false;
        let changed = self.event_times.as_mut().and_then(|times| times.of(event));
        let event = changed.as_ref().unwrap_or(event);
        match &mut self.target {
            Target::Rows(table) => table.print(event).map(|()| true),
            Target::Dbn(files) => files.add(event),
        }
    }

    /// Losses that were reported, but have no place in the output.
    pub(super) fn left_out(&self) -> u64 {
        match &self.target {
            Target::Rows(_) => 0,
            Target::Dbn(files) => files.left_out(),
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
