//! The output of a tap: rows, or DBN files.

use std::io;

use nanotape_tap::{Event, Subscriber};
use nanotape_types::{StockLocate, Symbol};

use super::{
    TapArguments, TapFormat, TsRecv, dbn_files::DbnFiles, event_times::EventTimes,
    numbered::NumberedFiles, rolling::Rolling, rows::Table,
};
use crate::output::{Format, Output};

pub(super) struct Printer {
    target: Target,
    is_flushed: bool,
    /// If receive times are written as those of the exchange.
    event_times: Option<EventTimes>,
    /// When the next file begins, with `--roll`.
    rolling: Option<Rolling>,
}

enum Target {
    /// With the names of the next files.
    Rows(Table, Option<NumberedFiles>),
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
        let rows = |output, format| {
            let files = command.roll.and_then(|_| NumberedFiles::of(&command.output));
            Target::Rows(Table::new(output, format), files)
        };
        let target = match format {
            TapFormat::Text => rows(output, Format::Text),
            TapFormat::Csv => rows(output, Format::Csv),
            TapFormat::Json => rows(output, Format::Json),
            TapFormat::Dbn => Target::Dbn(DbnFiles::new(output, command, names)),
        };
        let rolling = command.roll.map(Rolling::new);
        // A header line has not been flushed yet.
        let is_flushed = matches!(target, Target::Dbn(_));
        let event_times = (command.ts_recv == TsRecv::Event).then(EventTimes::default);
        Self { is_flushed, target, event_times, rolling }
    }

    /// Prints a record, or a loss. Returns whether the output has a place for it.
    #[inline]
    pub(super) fn print(&mut self, event: &Event<'_>) -> io::Result<bool> {
        self.is_flushed = false;
        let changed = self.event_times.as_mut().and_then(|times| times.of(event));
        let event = changed.as_ref().unwrap_or(event);
        if let Some(rolling) = &mut self.rolling
            && rolling.is_before(event)
            && let Target::Rows(table, Some(files)) = &mut self.target
        {
            table.roll(files)?;
            rolling.begin();
            rolling.is_before(event);
        }
        match &mut self.target {
            Target::Rows(table, _) => table.print(event).map(|()| true),
            Target::Dbn(files) => files.add(event),
        }
    }

    /// Losses that were reported, but have no place in the output.
    pub(super) fn left_out(&self) -> u64 {
        match &self.target {
            Target::Rows(..) => 0,
            Target::Dbn(files) => files.left_out(),
        }
    }

    /// Writes records that need the subscriber's names; called between polls.
    #[inline]
    pub(super) fn write(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        if let Target::Dbn(files) = &mut self.target {
            files.write(subscriber)?;
        }
        if self.rolling.is_some() { self.roll(subscriber) } else { Ok(()) }
    }

    /// Begins the next file, if that is due.
    fn roll(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        let written = match &self.target {
            Target::Rows(table, _) => table.rows.written(),
            Target::Dbn(files) => files.written(),
        };
        let Some(rolling) = self.rolling.as_mut().filter(|rolling| rolling.is_due(written)) else {
            return Ok(());
        };
        rolling.begin();
        match &mut self.target {
            Target::Rows(table, Some(files)) => table.roll(files),
            Target::Rows(_, None) => Ok(()),
            Target::Dbn(files) => files.roll(subscriber),
        }
    }

    /// Makes the output so far visible to its readers.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            _ if std::mem::replace(&mut self.is_flushed, true) => Ok(()),
            Target::Rows(table, _) => table.rows.flush(),
            Target::Dbn(files) => files.flush(),
        }
    }

    /// Completes the output.
    pub(super) fn finish(self, subscriber: &Subscriber) -> io::Result<()> {
        let is_empty = self.rolling.is_some_and(|rolling| !rolling.has_events());
        match self.target {
            // A file after the first one that has only its header is removed.
            Target::Rows(_, Some(files)) if is_empty && !files.is_first() => Ok(()),
            Target::Rows(table, _) => table.rows.finish(),
            Target::Dbn(files) => files.finish(subscriber),
        }
    }
}
