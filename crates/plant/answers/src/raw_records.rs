//! The records of one kind as bytes, one after the other, as journals and DBN files have them.
//!
//! Cost: of a journal, a record is verified in place, and copied once if it is of the kind.

use std::{ops::ControlFlow, path::Path};

use nanotape_history::{DbnStream, Entry, JournalRunError, RecordStream as _};
use nanotape_journal::{Start, Tail, Tailer};
use nanotape_plant::records::RecordKind;
use nanotape_shm::reserve_in_huge_pages;
use nanotape_tape::{Item, Progress};

use crate::{Input, InputError, RecordSpan, input::Source};

/// Records between two calls of the caller's function.
const RECORDS: usize = 1 << 14;

/// The most memory that is reserved before it is needed, in bytes; more is found on the way.
const MOST_RESERVED: usize = 8 << 30;

/// The number after the last record of a journal, if its end can be read.
fn end_of(journal: &Path) -> Option<u64> {
    Tailer::open(journal, Start::Newest).ok().map(|newest| newest.next_sequence())
}

/// The records of a kind.
#[derive(Clone, Default, Debug)]
pub struct RawRecords {
    /// As DBN defines them: [`RecordKind::length`] bytes each.
    pub bytes: Vec<u8>,
    /// What was missing or damaged.
    pub lines: Vec<String>,
}

impl Input {
    /// Reads the records of a kind: of a journal, those of the chosen run; of a DBN file, all that
    /// are behind the start of the chosen run, or in the file. `goes_on` is called from time to
    /// time; `Break` ends the reading.
    pub fn raw_records(
        self,
        kind: RecordKind,
        goes_on: impl FnMut() -> ControlFlow<()>,
    ) -> Result<RawRecords, InputError> {
        let run = self.run_of_records(RecordSpan::default())?;
        let mut records = RawRecords::default();
        match self.source {
            Source::Journal(path) => {
                let (first, next) = match &run {
                    Some((run, next)) => (Start::Sequence(run.first_sequence), *next),
                    None => (Start::Oldest, None),
                };
                let mut tailer = Tailer::open(&path, first).map_err(JournalRunError::from)?;
                tailer.set_stops_at_end(true);
                let end = next.or_else(|| end_of(&path));
                let count = end.unwrap_or(0).saturating_sub(tailer.next_sequence());
                let bytes = usize::try_from(count).unwrap_or(0).saturating_mul(kind.length());
                reserve_in_huge_pages(&mut records.bytes, bytes.min(MOST_RESERVED));
                records.of_journal(tailer, next.unwrap_or(u64::MAX), kind, goes_on);
            }
            Source::Dbn(stream) => records.of_dbn(*stream, kind, goes_on),
            Source::Day(..) | Source::Ring => {
                return Err(InputError::NoRecords { name: self.name.to_string() });
            }
        }
        if records.bytes.is_empty() {
            records.lines.push(format!("has no {kind} records"));
        }
        Ok(records)
    }
}

impl RawRecords {
    fn of_journal(
        &mut self,
        mut tailer: Tailer,
        next: u64,
        kind: RecordKind,
        mut goes_on: impl FnMut() -> ControlFlow<()>,
    ) {
        let (type_id, length) = (kind.type_id(), kind.length());
        while goes_on().is_continue() {
            for _ in 0..RECORDS {
                match tailer.next() {
                    Ok(Tail::Excerpt(excerpt)) if excerpt.sequence() >= next => return,
                    Ok(Tail::Excerpt(excerpt)) => {
                        if excerpt.type_id() == type_id && excerpt.len() == length {
                            let at = self.bytes.len();
                            self.bytes.resize(at + length, 0);
                            excerpt.copy_to(&mut self.bytes[at..]);
                        }
                    }
                    Ok(Tail::Gap(gap)) => {
                        self.lines.push(format!("records {} to {} are missing", gap.from, gap.to));
                    }
                    Ok(Tail::Reused(_)) => self.lines.push("a recorder began again".to_owned()),
                    Ok(Tail::Nothing) => return,
                    Err(error) => return self.lines.push(error.to_string()),
                }
            }
        }
    }

    fn of_dbn(
        &mut self,
        mut stream: DbnStream,
        kind: RecordKind,
        mut goes_on: impl FnMut() -> ControlFlow<()>,
    ) {
        while goes_on().is_continue() {
            let Self { bytes, lines } = self;
            let progress = stream.poll(|entry| {
                match entry {
                    Entry::Item(Item::Message(message)) => {
                        let is_of_kind = message.type_id == kind.type_id();
                        if is_of_kind && message.payload.len() == kind.length() {
                            bytes.extend_from_slice(message.payload);
                        }
                    }
                    Entry::Loss { sequence, text } => {
                        lines.push(format!("record {sequence}: {text}"));
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            });
            match progress {
                Ok(Progress::Nothing) => return,
                Ok(_) => {}
                Err(error) => return lines.push(error.to_string()),
            }
        }
    }
}
