//! The ring that a journal was recorded from: the file `recorded-from` in the journal's folder.
//!
//! Two rings of one name both number their messages from 1. A journal continued with the other ring
//! would hold two histories under one sequence of numbers, without a gap between them. So a
//! recorder stores the identity of the ring before its first excerpt, and continues only with that
//! ring.
//! Protocol: a ring is identified by the creation time of its region, which its writers never
//! change. If an earlier version created the ring or recorded the journal, this time is unknown.
//! Then the last excerpt of the journal must be the message of that number in the ring.
//! Layout: `docs/formats/journal.md`.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use nanotape_clock::UtcNanos;
use nanotape_journal::{Folder, JournalError, RECORDED_FROM, Tail, Tailer, read_beside};
use nanotape_ring::{AnyReader, RingError, RingSource, Start, StartError, Subscribe as _};
use nanotape_tape::{Item, Source as _};

use super::{OriginMismatch, RecorderError};

/// The first line of the file.
pub(super) const TITLE: &str = "nanotape recording 1";

/// A journal and the ring to record into it.
pub(super) struct Origin<'a> {
    pub(super) journal: &'a Path,
    /// The permission bits of the journal's files.
    pub(super) mode: u32,
    pub(super) ring: &'a Path,
    pub(super) reader: &'a AnyReader,
}

/// The contents of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mark {
    /// Creation time of the ring, in ns since the UNIX epoch; 0 if unknown.
    created_ns: u64,
    /// The path of the ring, for information only.
    ring: String,
}

impl Origin<'_> {
    /// Checks that a journal whose next excerpt is `next` continues with the ring, and stores the
    /// identity of the ring.
    pub(super) fn check(&self, next: u64) -> Result<(), RecorderError> {
        let created_ns = self.reader.region().created_ns();
        let here = Mark { created_ns, ring: self.ring.display().to_string() };
        let path = self.journal.join(RECORDED_FROM);
        let mark = Mark::read(&path)?;
        match &mark {
            // An empty journal accepts any ring.
            _ if next == 1 => {}
            Some(mark) if mark.created_ns != 0 && created_ns != 0 => {
                return mark.mismatch(created_ns).map_or(Ok(()), |why| Err(self.refuse(why)));
            }
            _ => self.compare(next)?,
        }
        if mark.as_ref() == Some(&here) {
            return Ok(());
        }
        let failed = |error| RecorderError::File { operation: "write", path, error };
        here.write(self.journal, self.mode).map_err(failed)
    }

    /// Checks that the journal's last excerpt is a message of the ring.
    fn compare(&self, journal_next: u64) -> Result<(), RecorderError> {
        let Some((sequence, type_id, payload)) = last_excerpt(self.journal)? else {
            return Err(self.refuse(OriginMismatch::NoExcerpt));
        };
        let mut source = RingSource::new(self.reader.clone());
        source.seek(Start::Sequence(sequence)).map_err(|error| match error {
            RingError::Start(StartError::NotYet { next: ring_next, .. }) => {
                self.refuse(OriginMismatch::Behind { ring_next, journal_next })
            }
            error => RecorderError::of_ring(self.ring, error),
        })?;
        let mut mismatch = Some(OriginMismatch::NotPublished { sequence });
        let polled = source.poll_one(|item| {
            mismatch = match item {
                Item::Message(message) => {
                    let is_same = message.type_id == type_id && message.payload == payload;
                    (!is_same).then_some(OriginMismatch::Different { sequence })
                }
                Item::Gap(_) | Item::Reused(_) => Some(OriginMismatch::Overwritten { sequence }),
            };
        });
        let _ = polled.map_err(|error| RecorderError::of_ring(self.ring, error))?;
        mismatch.map_or(Ok(()), |why| Err(self.refuse(why)))
    }

    fn refuse(&self, why: OriginMismatch) -> RecorderError {
        let (ring, journal) = (self.ring.to_owned(), self.journal.to_owned());
        RecorderError::OtherRing { ring, journal, why }
    }
}

/// Checks that a journal is not that of another ring, as far as that is known.
pub(crate) fn check_origin(
    journal: &Path,
    ring: &Path,
    created_ns: u64,
) -> Result<(), RecorderError> {
    let mark = Mark::read(&journal.join(RECORDED_FROM))?;
    match mark.and_then(|mark| mark.mismatch(created_ns)) {
        Some(why) => {
            let (ring, journal) = (ring.to_owned(), journal.to_owned());
            Err(RecorderError::OtherRing { ring, journal, why })
        }
        None => Ok(()),
    }
}

/// The creation time of the ring that a journal was recorded from, if the journal has it; 0 if it
/// is unknown.
pub(crate) fn recorded_ring(journal: &Path) -> Result<Option<u64>, RecorderError> {
    let mark = Mark::read(&journal.join(RECORDED_FROM))?;
    Ok(mark.map(|mark| mark.created_ns))
}

/// Number, type and payload of the last excerpt; `None` for an empty journal.
fn last_excerpt(journal: &Path) -> Result<Option<(u64, u16, Vec<u8>)>, JournalError> {
    let mut tailer = Tailer::open(journal, Start::Newest)?;
    loop {
        match tailer.previous()? {
            Tail::Excerpt(last) => {
                return Ok(Some((last.sequence(), last.type_id(), last.to_vec())));
            }
            Tail::Gap(_) | Tail::Reused(_) => {}
            Tail::Nothing => return Ok(None),
        }
    }
}

impl Mark {
    /// Reads the file; `None` if it does not exist.
    fn read(path: &Path) -> Result<Option<Self>, RecorderError> {
        let path = path.to_owned();
        let bytes = match read_beside(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(RecorderError::File { operation: "read", path, error }),
        };
        let mark = Self::parse(&String::from_utf8_lossy(&bytes));
        mark.map(Some).ok_or(RecorderError::Mark { path })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.next().filter(|line| *line == TITLE)?;
        let created_ns = lines.next()?.strip_prefix("created_ns ")?.parse().ok()?;
        let ring = lines.next()?.strip_prefix("ring ")?.to_owned();
        Some(Self { created_ns, ring })
    }

    /// The evidence that the ring is another one, if both creation times are known.
    fn mismatch(&self, created_ns: u64) -> Option<OriginMismatch> {
        let is_known = self.created_ns != 0 && created_ns != 0;
        (is_known && self.created_ns != created_ns).then(|| OriginMismatch::Created {
            ring: self.ring.clone(),
            then: UtcNanos::of_unix_ns(self.created_ns),
            now: UtcNanos::of_unix_ns(created_ns),
        })
    }

    /// Writes the whole file; it is synced and has its name before the first excerpt is written.
    fn write(&self, journal: &Path, mode: u32) -> io::Result<()> {
        let name = format!("{RECORDED_FROM}.new");
        let mut file = Folder::new(journal, mode).new_file(&name)?;
        file.write_all(self.to_string().as_bytes())?;
        file.sync_all()?;
        fs::rename(journal.join(name), journal.join(RECORDED_FROM))?;
        File::open(journal)?.sync_all()
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A path with a line feed is truncated there, so that it does not form another line.
        let ring = self.ring.lines().next().unwrap_or_default();
        writeln!(f, "{TITLE}\ncreated_ns {}\nring {ring}", self.created_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_as_it_was_written_and_nothing_else_does() {
        let mark = Mark { created_ns: 1_763_800_000_000_000_001, ring: "/dev/shm/a b".to_owned() };
        let text = mark.to_string();
        assert_eq!(Mark::parse(&text), Some(mark));
        for cut in 0..text.len() - "/dev/shm/a b\n".len() {
            assert_eq!(Mark::parse(&text[..cut]), None, "{:?}", &text[..cut]);
        }
        for other in ["", "nanotape recording 2\ncreated_ns 1\nring x\n", "\u{fffd}"] {
            assert_eq!(Mark::parse(other), None, "{other:?}");
        }
        let broken = Mark { created_ns: 1, ring: "a\ncreated_ns 2".to_owned() };
        assert_eq!(broken.to_string(), "nanotape recording 1\ncreated_ns 1\nring a\n");
    }
}
