//! Which ring a journal was recorded from: the file `recorded-from` in the journal's folder.
//!
//! Two rings of one name both number their messages from 1. A journal that went on with the other ring would
//! hold two histories under one sequence of numbers, without a gap between them. So a recorder notes the ring
//! before its first excerpt, and goes on only with that ring.
//! Protocol: a ring is known by the creation time of its region, which its writers leave as it is. Where either
//! is not known, because an earlier version made the ring or recorded the journal, the last excerpt of the
//! journal must be the message of that number in the ring.
//! Layout: `docs/formats/journal.md`.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use jiff::Timestamp;
use nanotape_journal::{RECORDED_FROM, Tail, Tailer};
use nanotape_ring::{AnyReader, Read, RingError, Start, StartError, Subscribe as _};

use crate::{
    journals::of_journal,
    regions::{of_read, of_ring},
    status::BadData,
};

/// Its first line.
const TITLE: &str = "nanotape recording 1";

/// A journal and the ring that is to be recorded into it.
pub(super) struct Origin<'a> {
    pub(super) journal: &'a Path,
    /// The permission bits of the journal's files.
    pub(super) mode: u32,
    pub(super) ring: &'a Path,
    pub(super) reader: &'a AnyReader,
}

/// What the file says.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mark {
    /// When the ring was created, in ns since the UNIX epoch; 0: not known.
    created_ns: u64,
    /// The path that it had, for people.
    ring: String,
}

impl Origin<'_> {
    /// An error unless a journal whose next excerpt is `next` goes on with the ring; notes the ring.
    pub(super) fn check(&self, next: u64) -> anyhow::Result<()> {
        let created_ns = self.reader.region().created_ns();
        let here = Mark { created_ns, ring: self.ring.display().to_string() };
        let path = self.journal.join(RECORDED_FROM);
        let mark = Mark::read(&path)?;
        match &mark {
            // An empty journal goes on with any ring.
            _ if next == 1 => {}
            Some(mark) if mark.created_ns != 0 && created_ns != 0 => {
                if mark.created_ns == created_ns {
                    return Ok(());
                }
                let (then, now) = (time_text(mark.created_ns), time_text(created_ns));
                return Err(self.refuse(format_args!(
                    "that was {}, created at {then}, but this ring was created at {now}",
                    mark.ring
                )));
            }
            _ => self.compare(next)?,
        }
        if mark.as_ref() == Some(&here) {
            return Ok(());
        }
        let cannot = || format!("cannot write {}", path.display());
        here.write(self.journal, self.mode).with_context(cannot)
    }

    /// Whether the journal's last excerpt is a message of the ring.
    fn compare(&self, next: u64) -> anyhow::Result<()> {
        let Some((sequence, type_id, payload)) = last_excerpt(self.journal)? else {
            return Err(self.refuse(format_args!(
                "the journal does not name its ring, and holds no excerpt to compare"
            )));
        };
        let mut reader = self.reader.clone();
        match reader.seek(Start::Sequence(sequence)) {
            Ok(()) => {}
            Err(RingError::Start(StartError::NotYet { next: ring_next, .. })) => {
                return Err(self.refuse(format_args!(
                    "the next message of the ring is {ring_next}, but the next excerpt of the journal is \
                     {next}"
                )));
            }
            Err(error) => return Err(of_ring(self.ring, &error)),
        }
        let mut buffer = vec![0; payload.len()];
        match reader.try_read(&mut buffer) {
            Ok(Read::Message(received))
                if received.type_id == type_id
                    && received.length as usize == payload.len()
                    && buffer == payload =>
            {
                Ok(())
            }
            Ok(Read::Message(_)) | Err(nanotape_ring::ReadError::BufferTooSmall { .. }) => {
                Err(self.refuse(format_args!(
                    "message {sequence} of the ring differs from excerpt {sequence} of the journal"
                )))
            }
            Ok(Read::Lapped(_)) => Err(self.refuse(format_args!(
                "the journal does not name its ring, and the ring no longer holds message {sequence} \
                 to compare"
            ))),
            Ok(Read::Empty) => Err(self.refuse(format_args!(
                "the ring has not published message {sequence}, the last excerpt of the journal"
            ))),
            Err(error) => Err(of_read(self.ring, &error)),
        }
    }

    /// The error for a ring whose numbers must not come into the journal, and what to do.
    pub(super) fn refuse(&self, why: impl fmt::Display) -> anyhow::Error {
        let (ring, journal) = (self.ring.display(), self.journal.display());
        anyhow::anyhow!(
            "{ring}: not the ring that {journal} was recorded from: {why}; record it into a new journal"
        )
    }
}

/// Number, type and payload of the last excerpt; `None` for an empty journal.
fn last_excerpt(journal: &Path) -> anyhow::Result<Option<(u64, u16, Vec<u8>)>> {
    let mut tailer = Tailer::open(journal, Start::Newest).map_err(of_journal)?;
    loop {
        match tailer.previous().map_err(of_journal)? {
            Tail::Excerpt(last) => {
                return Ok(Some((last.sequence(), last.type_id(), last.to_vec())));
            }
            Tail::Gap(_) | Tail::Reused(_) => {}
            Tail::Nothing => return Ok(None),
        }
    }
}

/// A time in ns since the UNIX epoch, for people.
fn time_text(ns: u64) -> String {
    let time = Timestamp::from_nanosecond(ns.into());
    time.map_or_else(|_| format!("{ns} ns"), |time| time.to_string())
}

impl Mark {
    /// Reads the file; `None` if it does not exist.
    fn read(path: &Path) -> anyhow::Result<Option<Self>> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let mark = Self::parse(&String::from_utf8_lossy(&bytes));
        mark.map(Some).ok_or_else(|| {
            let path = path.display();
            BadData(format!(
                "{path}: does not name the ring that the journal was recorded from: expected a line \
                 \"{TITLE}\", then created_ns and ring; remove the file to compare the journal with \
                 the ring instead"
            ))
            .into()
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.next().filter(|line| *line == TITLE)?;
        let created_ns = lines.next()?.strip_prefix("created_ns ")?.parse().ok()?;
        let ring = lines.next()?.strip_prefix("ring ")?.to_owned();
        Some(Self { created_ns, ring })
    }

    /// Writes the file whole: it is on the disk, under its name, before the first excerpt is there.
    fn write(&self, journal: &Path, mode: u32) -> io::Result<()> {
        let temporary: PathBuf = journal.join(format!("{RECORDED_FROM}.new"));
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(mode);
        let mut file = options.open(&temporary)?;
        file.write_all(self.to_string().as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, journal.join(RECORDED_FROM))?;
        File::open(journal)?.sync_all()
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A path with a line feed is cut, not taken for another line.
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
