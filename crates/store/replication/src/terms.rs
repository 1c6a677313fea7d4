//! The leaders that a journal has had: the file `epochs` in its folder.
//!
//! Layout: `docs/formats/replication.md`, Epochs.
//! Protocol: a leader adds a line when it is promoted, a follower before it appends the first
//! excerpt of a leader. The file is replaced as a whole.

use std::{fmt::Write as _, io, path::PathBuf};

use nanotape_clock::UtcNanos;
use nanotape_journal::{Disk, EPOCHS};
use nanotape_link::random;

use crate::Term;

const FIRST_LINE: &str = "nanotape epochs 1";

/// The file that becomes the next one.
const NEXT: &str = "epochs.next";

/// Epochs that are kept: the newest.
const MOST_EPOCHS: usize = 256;

/// A leader of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TermEntry {
    /// Its epoch.
    pub term: Term,
    /// The number of the first excerpt that it can have appended.
    pub from_sequence: u64,
    /// When this machine added the line.
    pub ts: UtcNanos,
    /// The name of the leader.
    pub name: String,
}

/// The leaders of a journal, the oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Terms(Vec<TermEntry>);

/// Why the leaders of a journal are not known, or cannot be stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TermsError {
    /// The file cannot be read or written.
    #[error("{}: cannot {operation} it: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What failed.
        operation: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// The file has something else.
    #[error(
        "{}, line {line}: expected {expected}; restore the file from another copy of the journal",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What the line should have.
        expected: &'static str,
    },
}

impl Terms {
    /// Reads the leaders of a journal; none without a file.
    pub fn read<D: Disk>(disk: &D) -> Result<Self, TermsError> {
        let path = disk.path(EPOCHS);
        let bytes = match disk.read(EPOCHS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(TermsError::File { path, operation: "read", source }),
            Ok(bytes) => bytes,
        };
        let wrong = |line: usize, expected| TermsError::Line { path: path.clone(), line, expected };
        let text = String::from_utf8(bytes).map_err(|_| wrong(1, "text"))?;
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) || !text.ends_with('\n') {
            return Err(wrong(1, "`nanotape epochs 1`, and an end of line after the last line"));
        }
        let mut terms = Self::default();
        for (line, number) in lines.zip(2..) {
            let entry = parse(line)
                .ok_or_else(|| wrong(number, "an epoch, a leader, a number, a time and a name"))?;
            if terms.0.last().is_some_and(|last| last.term.epoch >= entry.term.epoch) {
                return Err(wrong(number, "a later epoch than in the line before"));
            }
            terms.0.push(entry);
        }
        Ok(terms)
    }

    /// All of them, the oldest first.
    pub fn entries(&self) -> &[TermEntry] {
        &self.0
    }

    /// The term of the last leader; epoch 0 if there was none.
    pub fn current(&self) -> Term {
        self.0.last().map_or(Term::default(), |last| last.term)
    }

    /// The term after this one, with a random number of its own.
    pub fn next(&self) -> Term {
        Term { epoch: self.current().epoch.saturating_add(1), leader: random() | 1 }
    }

    /// Adds a leader, and waits until that is on disk.
    pub fn add<D: Disk>(&mut self, disk: &D, entry: TermEntry) -> Result<(), TermsError> {
        self.0.push(entry);
        let first = self.0.len().saturating_sub(MOST_EPOCHS);
        let mut text = format!("{FIRST_LINE}\n");
        for TermEntry { term, from_sequence, ts, name } in &self.0[first..] {
            let (epoch, leader, ts) = (term.epoch, term.leader, ts.unix_ns());
            let _ = writeln!(text, "{epoch} {leader:016x} {from_sequence} {ts} {name}");
        }
        let failed = |operation| {
            let path = disk.path(EPOCHS);
            move |source| TermsError::File { path, operation, source }
        };
        match disk.remove(NEXT) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("replace")(error));
            }
            _ => {}
        }
        disk.write(NEXT, text.as_bytes()).map_err(failed("write"))?;
        disk.rename(NEXT, EPOCHS).map_err(failed("rename"))?;
        disk.sync_names().map_err(failed("sync"))
    }
}

fn parse(line: &str) -> Option<TermEntry> {
    let mut words = line.splitn(5, ' ');
    let epoch = words.next()?.parse().ok().filter(|epoch| *epoch > 0)?;
    let leader = u64::from_str_radix(words.next()?, 16).ok()?;
    let from_sequence = words.next()?.parse().ok()?;
    let ts = UtcNanos::of_unix_ns(words.next()?.parse().ok()?);
    let name = words.next().filter(|name| !name.is_empty())?.to_owned();
    Some(TermEntry { term: Term { epoch, leader }, from_sequence, ts, name })
}
