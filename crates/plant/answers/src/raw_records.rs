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

/// Records of the kind with another length, which an array of the kind cannot have.
#[derive(Default)]
struct LeftOut {
    count: u64,
    /// The number and the length of the first one.
    first: Option<(u64, usize)>,
}

impl LeftOut {
    #[cold]
    fn add(&mut self, sequence: u64, length: usize) {
        self.count += 1;
        self.first.get_or_insert((sequence, length));
    }

    /// One line for all of them: a journal of another version can have millions.
    fn line(&self, kind: RecordKind) -> Option<String> {
        let (sequence, length) = self.first?;
        let (count, expected) = (self.count, kind.length());
        Some(format!(
            "left out {count} {kind} records that do not have {expected} bytes; the first is \
             record {sequence} with {length} bytes"
        ))
    }
}

impl RawRecords {
    fn of_journal(
        &mut self,
        tailer: Tailer,
        next: u64,
        kind: RecordKind,
        goes_on: impl FnMut() -> ControlFlow<()>,
    ) {
        let mut left_out = LeftOut::default();
        self.read_journal(tailer, next, kind, &mut left_out, goes_on);
        self.lines.extend(left_out.line(kind));
    }

    fn read_journal(
        &mut self,
        mut tailer: Tailer,
        next: u64,
        kind: RecordKind,
        left_out: &mut LeftOut,
        mut goes_on: impl FnMut() -> ControlFlow<()>,
    ) {
        let (type_id, length) = (kind.type_id(), kind.length());
        while goes_on().is_continue() {
            for _ in 0..RECORDS {
                match tailer.next() {
                    Ok(Tail::Excerpt(excerpt)) if excerpt.sequence() >= next => return,
                    Ok(Tail::Excerpt(excerpt)) if excerpt.type_id() != type_id => {}
                    Ok(Tail::Excerpt(excerpt)) if excerpt.len() != length => {
                        left_out.add(excerpt.sequence(), excerpt.len());
                    }
                    Ok(Tail::Excerpt(excerpt)) => {
                        let at = self.bytes.len();
                        self.bytes.resize(at + length, 0);
                        excerpt.copy_to(&mut self.bytes[at..]);
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
        stream: DbnStream,
        kind: RecordKind,
        goes_on: impl FnMut() -> ControlFlow<()>,
    ) {
        let mut left_out = LeftOut::default();
        self.read_dbn(stream, kind, &mut left_out, goes_on);
        self.lines.extend(left_out.line(kind));
    }

    fn read_dbn(
        &mut self,
        mut stream: DbnStream,
        kind: RecordKind,
        left_out: &mut LeftOut,
        mut goes_on: impl FnMut() -> ControlFlow<()>,
    ) {
        while goes_on().is_continue() {
            let Self { bytes, lines } = self;
            let progress = stream.poll(|entry| {
                match entry {
                    Entry::Item(Item::Message(message)) if message.type_id == kind.type_id() => {
                        match message.payload.len() == kind.length() {
                            true => bytes.extend_from_slice(message.payload),
                            false => left_out.add(message.sequence, message.payload.len()),
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

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;
    use nanotape_journal::{Appender, AppenderOptions};

    use super::*;

    #[test]
    fn records_of_another_length_are_one_line_with_their_count() {
        let kind = RecordKind::Mbo;
        let scratch = Scratch::new("raw_records_lengths");
        let mut appender = Appender::open(scratch.path(), &AppenderOptions::default()).unwrap();
        for length in [kind.length(), 12, kind.length(), kind.length() + 8, 0] {
            appender.append(kind.type_id(), 0, &vec![7; length]).unwrap();
        }
        // Records of other kinds have any length.
        appender.append(RecordKind::Trades.type_id(), 0, &[7]).unwrap();
        appender.close().unwrap();
        let mut records = RawRecords::default();
        let mut tailer = Tailer::open(scratch.path(), Start::Oldest).unwrap();
        tailer.set_stops_at_end(true);
        records.of_journal(tailer, u64::MAX, kind, || ControlFlow::Continue(()));
        assert_eq!(records.bytes, vec![7; 2 * kind.length()]);
        let line = "left out 3 mbo records that do not have 56 bytes; the first is record 2 with \
                    12 bytes";
        assert_eq!(records.lines, [line]);
    }
}
