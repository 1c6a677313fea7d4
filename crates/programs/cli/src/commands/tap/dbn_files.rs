//! The DBN files of a tap: FILE.dbn, then FILE.2.dbn and so on for records that do not fit the
//! symbols of the previous file. A tap of one kind of record writes files with a schema, which have
//! no place for losses and notices: those are lines on standard error.
//!
//! Failure: a stream has no next file and ends with an error.

use std::io::{self, BufWriter};

use nanotape_plant::records::{Notice, Record};
use nanotape_tap::{DbnFile, Event, NextFile, Subscriber};
use nanotape_types::{StockLocate, Symbol};

use super::{TapArguments, numbered::NumberedFiles, rows::line_of};
use crate::{
    output::Output,
    status::{note, warn},
    values::counted,
};

/// Events without a place in the file that get a line each.
const LEFT_OUT_LINES: u64 = 10;

/// Bytes to collect before a write.
const BUFFER_BYTES: usize = 64 << 10;

pub(super) struct DbnFiles {
    file: DbnFile<BufWriter<Output>>,
    /// `None` for a stream.
    files: Option<NumberedFiles>,
    /// Whether a next file was needed and cannot exist.
    is_over: bool,
    /// Losses that have no place in the file.
    left_out: u64,
}

impl DbnFiles {
    /// `names`: names of stocks that are known before the first record.
    pub(super) fn new(
        output: Output,
        command: &TapArguments,
        names: Vec<(StockLocate, Symbol)>,
    ) -> Self {
        let output = buffered(output);
        let file = match command.only_kind() {
            Some(kind) => DbnFile::of_kind(output, &command.symbols.list(), kind, names),
            None => DbnFile::new(output, &command.symbols.list()),
        };
        Self { file, files: NumberedFiles::of(&command.output), is_over: false, left_out: 0 }
    }

    /// Bytes of the current file.
    pub(super) fn written(&self) -> u64 {
        self.file.output().get_ref().written() + self.file.output().buffer().len() as u64
    }

    /// Completes the file and begins the next one, between two polls.
    pub(super) fn roll(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        let Some(files) = &mut self.files else { return Ok(()) };
        let (_, output) = files.next()?;
        let following = self.file.following(buffered(output));
        complete(core::mem::replace(&mut self.file, following).finish(subscriber)?)
    }

    /// Adds an event, and returns whether the file has a place for it.
    #[inline]
    pub(super) fn add(&mut self, event: &Event<'_>) -> io::Result<bool> {
        let has_room = self.file.has_room_for(event);
        if !has_room {
            self.leave_out(event);
        }
        match self.file.add(event) {
            Ok(()) => Ok(has_room),
            Err(next) => self.begin_next(next, event).map(|()| has_room),
        }
    }

    /// Reports a loss, which a file of one kind cannot have. Records of an unreliable book have a
    /// flag, so its notice is not missed.
    #[cold]
    fn leave_out(&mut self, event: &Event<'_>) {
        let is_loss = match event {
            Event::Healed(_) => false,
            Event::Lost(_) | Event::Reported { .. } => true,
            Event::Record(delivery) => {
                matches!(delivery.record, Record::Notice(Notice::Gap(_) | Notice::SessionGap(_)))
            }
        };
        if !is_loss {
            return;
        }
        self.left_out += 1;
        if self.left_out <= LEFT_OUT_LINES {
            warn(line_of(event).trim_start());
        }
    }

    /// Losses that have no place in the file.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Completes the file and begins the next one with this event.
    #[cold]
    fn begin_next(&mut self, next: NextFile, event: &Event<'_>) -> io::Result<()> {
        let Some(files) = &mut self.files else {
            self.is_over = true;
            return Err(io::Error::other(format!(
                "the instrument numbers change, so the DBN stream ended before {next}; use -o FILE.dbn \
                 to continue in FILE.2.dbn"
            )));
        };
        let (path, output) = files.next()?;
        let following = self.file.following(buffered(output));
        let file = core::mem::replace(&mut self.file, following);
        complete(file.close()?)?;
        note(format_args!("{}: starts with {next}", path.display()));
        // The event is the first one of the new file.
        self.file.add(event).map_err(io::Error::other)
    }

    pub(super) fn write(&mut self, subscriber: &Subscriber) -> io::Result<()> {
        self.file.write(subscriber)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    pub(super) fn finish(self, subscriber: &Subscriber) -> io::Result<()> {
        let Self { file, is_over, .. } = self;
        if file.late_names() > 0 {
            warn(format_args!(
                "{} named after the first record: the file has their numbers, but not their symbols",
                counted(file.late_names(), "stock")
            ));
        }
        complete(if is_over { file.close()? } else { file.finish(subscriber)? })
    }
}

fn buffered(output: Output) -> BufWriter<Output> {
    BufWriter::with_capacity(BUFFER_BYTES, output)
}

fn complete(output: BufWriter<Output>) -> io::Result<()> {
    output.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}
