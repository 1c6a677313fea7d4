//! Reads a whole journal and reports every invalid part.
//!
//! Protocol: writes nothing and locks nothing. Meanwhile an appender can append and roll, and
//! segments can be compressed, unpacked and pruned. It reads the segments listed at the beginning,
//! up to the first one that has not ended. Segments that were pruned meanwhile do not count as
//! missing, and a file whose unused end was freed meanwhile is read again.
//! Bounds: the whole journal is read once, and after damage a part of it once more. A limited
//! number of findings is kept, and the others are counted.
//! Failure: damage of the journal is a finding and never an error. A file that is truncated while
//! it is read raises a signal without [`nanotape_shm::guard_against_truncation`].

pub(crate) mod check;
mod finding;

use std::{collections::BTreeSet, fs, ops::Range, path::Path};

use check::{Checker, Context};
pub use finding::{Finding, Found, Severity};

use crate::{
    Corruption, ErrorKind, JournalError,
    catalog::{Catalog, Listed},
    companion::QUARANTINE,
    disk::{Disk, Folder},
    named::{self, list_folder},
    names, quarantine,
    stored::{self, Stored},
};

/// Attempts to read a segment whose file is truncated meanwhile. An appender does that once.
const READS: usize = 3;

/// The most findings of each severity to keep.
const KEPT: u64 = 10_000;

/// The contents of a journal, and its findings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Verified {
    /// Segments with excerpts.
    pub segments: u64,
    /// Compressed ones among those.
    pub segments_packed: u64,
    /// Valid excerpts.
    pub excerpts: u64,
    /// Bytes of those in the journal, including their headers.
    pub bytes: u64,
    /// The first sequence number; 0 if there is none.
    pub first_sequence: u64,
    /// The next number to be written, as far as it is known; 0 in a journal without excerpts.
    pub next_sequence: u64,
    /// Missing sequence numbers between those.
    pub missing: u64,
    /// Findings that stop readers, or hide excerpts from them.
    pub faults: u64,
    /// Errors that readers can ignore.
    pub hints: u64,
    /// Other findings.
    pub notes: u64,
    /// In the order of the journal: at most ten thousand of each severity.
    pub findings: Vec<Finding>,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.faults == 0 && self.hints == 0
    }

    /// Everything except the findings.
    fn counts(&self) -> Self {
        Self { findings: Vec::new(), ..*self }
    }

    /// Restores earlier counts, and drops the findings after the first `findings`.
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

/// Verifies a journal, which can have an appender. `progress` receives the completed and the total
/// bytes.
pub fn verify(path: &Path, progress: impl FnMut(u64, u64)) -> Result<Verified, JournalError> {
    let folder = Folder::new(path, 0);
    // Before the folders in it, whose names say nothing about a path that is no journal.
    names::Files::list(&folder)?;
    let quarantined = list_folder(&path.join(QUARANTINE))?;
    let moved = quarantined.iter().filter_map(|path| quarantine::whole_segment(path)).collect();
    let mut verified = verify_with(&folder, Some(&moved), progress)?;
    for path in quarantined {
        let bytes = fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
        verified.add(Finding { path, offset: 0, found: Found::Quarantined { bytes } });
    }
    for tailer in named::tailers(path)? {
        if let Some(refusal) = tailer.refusal.filter(|_| tailer.is_lost()) {
            let (path, found) = (tailer.path, Found::Tailer(refusal));
            verified.add(Finding { path, offset: 0, found });
        }
    }
    Ok(verified)
}

/// The same on another disk, without the files of the quarantine: a segment without a file might be
/// there, so only the gap is reported.
pub fn verify_on<D: Disk>(
    disk: &D,
    progress: impl FnMut(u64, u64),
) -> Result<Verified, JournalError> {
    verify_with(disk, None, progress)
}

/// The same with the numbers of the segments that a repair moved out, if they are known.
fn verify_with<D: Disk>(
    disk: &D,
    moved: Option<&BTreeSet<u64>>,
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
        if let Some(before) = index.checked_sub(1).filter(|_| last_active >= Some(index)) {
            let before = catalog.listed[before].kept.number;
            let missing = moved.map(|moved| ranges_without(before + 1..number, moved));
            for range in missing.into_iter().flatten().filter(|_| !checker.is_removed) {
                let (from, to) = (range.start, range.end - 1);
                let (path, found) = (disk.path(&names::segment(from)), Found::Missing { from, to });
                verified.add(Finding { path, offset: 0, found });
            }
        }
        let is_followed = || last_active > Some(index) || is_active(disk, number + 1);
        let (before, kept, checked) = (verified.counts(), verified.findings.len(), checker);
        for read in 1..=READS {
            let stored = match open(disk, listed)? {
                Ok(Some(stored)) => stored,
                Err(found) => {
                    verified.add(Finding { path, offset: 0, found });
                    break;
                }
                // Pruned since the journal was listed, with everything before it.
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
                let found = Found::Corruption(Corruption::Truncated);
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

/// The parts of a range between these numbers.
fn ranges_without(range: Range<u64>, numbers: &BTreeSet<u64>) -> Vec<Range<u64>> {
    let (mut from, mut parts) = (range.start, Vec::new());
    for &number in numbers.range(range.clone()).chain([&range.end]) {
        if from < number {
            parts.push(from..number);
        }
        from = number + 1;
    }
    parts
}

/// Reports the files of the folder that are not segments.
fn note_files<D: Disk>(disk: &D, catalog: &Catalog, verified: &mut Verified) {
    let files = &catalog.files;
    let mut note = |name: &str, found| {
        verified.add(Finding { path: disk.path(name), offset: 0, found });
    };
    files.twice.iter().for_each(|&number| note(&names::packed(number), Found::Twice));
    files.parts.iter().chain(&files.packed_parts).for_each(|name| note(name, Found::Part));
    files.foreign.iter().for_each(|name| note(name, Found::Foreign));
}

/// A segment, or the error of its file; `None` if it is gone.
type Opened<F> = Result<Option<Stored<F>>, Found>;

fn open<D: Disk>(disk: &D, listed: &Listed) -> Result<Opened<D::Readable>, JournalError> {
    let opened = match stored::open_kept(disk, &listed.kept) {
        // Compressed or removed meanwhile.
        Err(error) if error.kind().is_of_no_file() => stored::open(disk, listed.kept.number),
        opened => opened.map(Some),
    };
    match opened {
        Ok(stored) => Ok(Ok(stored)),
        Err(error) => match *error.kind() {
            ErrorKind::Packed { cause } => Ok(Err(Found::Unpackable(cause))),
            ErrorKind::Damaged { damage, .. } => Ok(Err(Found::Corruption(damage))),
            ErrorKind::System { cause, .. } if cause.is_of_contents() => {
                Ok(Err(Found::Unreadable(cause)))
            }
            _ => Err(error),
        },
    }
}

/// Whether a segment is active now.
fn is_active<D: Disk>(disk: &D, number: u64) -> bool {
    use crate::{disk::ReadableFile as _, segment::view::View};

    let view = disk.view(&names::segment(number));
    view.is_ok_and(|file| matches!(View::new(file.words()), Ok(Some(_))))
}
