//! Reads a whole journal and reports every invalid part.
//!
//! Protocol: nothing is written or locked. Meanwhile an appender may append and roll, and segments
//! may be compressed, unpacked and pruned. The segments listed at the beginning are read, up to the
//! first one that has not ended. What was pruned since is not missing, and a file whose unused end
//! was freed since is read again.
//! Bounds: all of the journal is read once, and after damage a part of it once more. A limited
//! number of findings is kept, and the others are counted.
//! Failure: what a journal holds is a finding and never an error. A file that is truncated while it
//! is read raises a signal without [`nanotape_shm::guard_against_truncation`].

pub(crate) mod check;
mod finding;

use std::{fs, path::Path};

use check::{Checker, Context};
pub use finding::{Finding, Found, Severity};

use crate::{
    Damage, JournalError, Problem,
    catalog::{Catalog, Listed},
    disk::{Disk, Folder},
    named::list_folder,
    names::{self, QUARANTINE},
    stored::{self, Stored},
};

/// How often a segment is read again whose file was cut while it was read. An appender does that
/// once.
const READS: usize = 3;

/// Findings that are kept of each severity.
const KEPT: u64 = 10_000;

/// What a journal holds, and what of it is not as it must be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Verified {
    /// Segments with excerpts.
    pub segments: u64,
    /// Of those, compressed ones.
    pub segments_packed: u64,
    /// Excerpts that check.
    pub excerpts: u64,
    /// Bytes of those in the journal, with what is in front of their payloads.
    pub bytes: u64,
    /// The first sequence number; 0 where there is none.
    pub first_sequence: u64,
    /// The next one to be written, as far as is known; 0 in a journal that has none yet.
    pub next_sequence: u64,
    /// Sequence numbers between those that no excerpt has.
    pub missing: u64,
    /// Things that stop readers, or hide excerpts from them.
    pub faults: u64,
    /// Things that are wrong and that readers do without.
    pub hints: u64,
    /// Things that are worth knowing.
    pub notes: u64,
    /// In the order of the journal: ten thousand of each severity at the most.
    pub findings: Vec<Finding>,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.faults == 0 && self.hints == 0
    }

    /// All of it but the findings.
    fn counts(&self) -> Self {
        Self { findings: Vec::new(), ..*self }
    }

    /// Takes back what came after this was counted, and so many findings were kept.
    fn take_back(&mut self, counts: &Self, findings: usize) {
        let mut kept = std::mem::take(&mut self.findings);
        kept.truncate(findings);
        *self = Self { findings: kept, ..*counts };
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        let count = match finding.severity() {
            Severity::Note => &mut self.notes,
            Severity::Hint => &mut self.hints,
            Severity::Fault => &mut self.faults,
        };
        *count += 1;
        if *count <= KEPT {
            self.findings.push(finding);
        }
    }
}

/// Verifies a journal, also while somebody appends to it. `progress` is told bytes that are done,
/// of how many.
pub fn verify(path: &Path, progress: impl FnMut(u64, u64)) -> Result<Verified, JournalError> {
    let mut verified = verify_on(&Folder::new(path, 0), progress)?;
    for path in list_folder(&path.join(QUARANTINE))? {
        let bytes = fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
        verified.add(Finding { path, offset: 0, found: Found::Quarantined { bytes } });
    }
    Ok(verified)
}

/// The same on another disk, but for what is in the folder of what was taken out.
pub fn verify_on<D: Disk>(
    disk: &D,
    mut progress: impl FnMut(u64, u64),
) -> Result<Verified, JournalError> {
    let catalog = Catalog::read(disk)?;
    let total = catalog.listed.iter().map(|listed| listed.kept.bytes).sum();
    let last_active = catalog.last_active();
    let (mut verified, mut checker) = (Verified::default(), Checker::default());
    let mut done = 0;
    for (index, listed) in catalog.listed.iter().enumerate() {
        let number = listed.kept.number;
        let path = disk.path(&listed.kept.name());
        let is_followed = || last_active > Some(index) || is_active(disk, number + 1);
        let (before, kept, checked) = (verified.counts(), verified.findings.len(), checker);
        for read in 1..=READS {
            let stored = match open(disk, listed)? {
                Ok(Some(stored)) => stored,
                Err(found) => {
                    verified.add(Finding { path, offset: 0, found });
                    break;
                }
                // Pruned since the journal was listed, like everything before it.
                Ok(None) => {
                    checker.is_removed = true;
                    break;
                }
            };
            let is_packed = matches!(stored, Stored::Unpacked(_));
            let context = Context {
                path: &path,
                number,
                journal: catalog.journal,
                is_followed: &is_followed,
                is_last: last_active <= Some(index),
                is_packed,
            };
            checker.segment(&context, stored.words(), &mut verified, &mut |bytes| {
                progress((done + bytes).min(total), total);
            });
            verified.segments_packed += u64::from(is_packed && verified.segments > before.segments);
            if !stored.is_lost() {
                break;
            }
            if read == READS {
                let found = Found::Damage(Damage::Truncated);
                verified.add(Finding { path, offset: 0, found });
                break;
            }
            verified.take_back(&before, kept);
            checker = checked;
        }
        done += listed.kept.bytes;
        progress(done, total);
    }
    verified.next_sequence = checker.least.max(checker.next.unwrap_or(0));
    note_files(disk, &catalog, &mut verified);
    Ok(verified)
}

/// What is in the folder beside the segments.
fn note_files<D: Disk>(disk: &D, catalog: &Catalog, verified: &mut Verified) {
    let files = &catalog.files;
    let mut note = |name: &str, found| {
        verified.add(Finding { path: disk.path(name), offset: 0, found });
    };
    files.twice.iter().for_each(|&number| note(&names::packed(number), Found::Twice));
    files.parts.iter().chain(&files.packed_parts).for_each(|name| note(name, Found::Part));
    files.foreign.iter().for_each(|name| note(name, Found::Foreign));
}

/// A segment, or what is wrong with its file; nothing if it is gone.
type Opened<F> = Result<Option<Stored<F>>, Found>;

fn open<D: Disk>(disk: &D, listed: &Listed) -> Result<Opened<D::Readable>, JournalError> {
    let opened = match stored::open_kept(disk, &listed.kept) {
        // Compressed meanwhile, or removed.
        Err(error) if error.problem().is_of_no_file() => stored::open(disk, listed.kept.number),
        opened => opened.map(Some),
    };
    match opened {
        Ok(stored) => Ok(Ok(stored)),
        Err(error) => match *error.problem() {
            Problem::Packed { cause } => Ok(Err(Found::Unpackable(cause))),
            Problem::Damaged { damage, .. } => Ok(Err(Found::Damage(damage))),
            Problem::System { cause, .. } if cause.is_of_contents() => {
                Ok(Err(Found::Unreadable(cause)))
            }
            _ => Err(error),
        },
    }
}

/// Whether a segment is active by now.
fn is_active<D: Disk>(disk: &D, number: u64) -> bool {
    use crate::{disk::ReadableFile as _, segment::view::View};

    let view = disk.view(&names::segment(number));
    view.is_ok_and(|file| matches!(View::new(file.words()), Ok(Some(_))))
}
