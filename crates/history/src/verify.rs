//! Checks what is beside the segments of a journal: its runs and its snapshots.
//!
//! Cost: each snapshot is read once. With `rebuilds`, all records from the oldest are read, and the
//! books of each snapshot are rebuilt and compared byte for byte.

use std::{
    fmt,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nanotape_journal::{Start, Tail, Tailer, TailerSource};
use nanotape_records::RecordBuffer;
use nanotape_tape::{Progress, Source as _, Tape as _};

use crate::{
    Runs, RunsError, SnapshotFile, Snapshots, SnapshotterError,
    rebuild::Rebuild,
    snapshot::{Listed, encoded},
};

/// A file beside the segments that is wrong, or that no reader can use.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HistoryFinding {
    /// The file.
    pub path: PathBuf,
    /// The offset of the problem.
    pub offset: u64,
    /// The problem, and what to do.
    pub what: String,
}

impl fmt::Display for HistoryFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: offset {}: {}", self.path.display(), self.offset, self.what)
    }
}

/// Checks the runs and the snapshots of a journal. `progress` gets the records that were read, and
/// how many there are.
pub fn verify(
    journal: &Path,
    rebuilds: bool,
    progress: impl FnMut(u64, u64),
) -> Result<Vec<HistoryFinding>, SnapshotterError> {
    let mut findings = Vec::new();
    match Runs::read(journal) {
        Ok(_) => {}
        Err(RunsError::Line { path, line }) => {
            let what = format!("line {line} is not a run or a stock with its checksum");
            findings.push(HistoryFinding { path, offset: 0, what });
        }
        Err(error) => return Err(error.into()),
    }
    let snapshots = Snapshots::list(journal)?;
    let mut tailer = Tailer::open(journal, Start::Oldest)?;
    let oldest = match tailer.next()? {
        Tail::Excerpt(excerpt) => excerpt.sequence(),
        _ => tailer.next_sequence(),
    };
    let mut good = Vec::new();
    for listed in snapshots.iter() {
        match check(journal, listed, oldest) {
            Ok(()) => good.push(listed.clone()),
            Err(finding) => findings.push(finding),
        }
    }
    if rebuilds && !good.is_empty() {
        compare(journal, &good, &mut findings, progress)?;
    }
    Ok(findings)
}

/// Checks one snapshot: all of its bytes, and its excerpt in the journal.
fn check(journal: &Path, listed: &Listed, oldest: u64) -> Result<(), HistoryFinding> {
    let finding = |offset, what: String| HistoryFinding { path: listed.path.clone(), offset, what };
    let of_error = |error: crate::SnapshotError| match error {
        crate::SnapshotError::Damaged { offset, what, .. } => {
            finding(offset, format!("{what}; remove the file, it can be made again"))
        }
        error => finding(0, error.to_string()),
    };
    let file = SnapshotFile::open(&listed.path).map_err(of_error)?;
    // The orders of each stock, and that no reference is in two of them.
    file.state().map_err(of_error)?;
    if listed.sequence < oldest {
        let what = format!(
            "record {} is no longer in the journal, which begins with {oldest}; remove the file",
            listed.sequence
        );
        return Err(finding(0, what));
    }
    if !file.is_of(journal) {
        let what = format!(
            "record {} of the journal is another one, or is missing; remove the file",
            listed.sequence
        );
        return Err(finding(0, what));
    }
    Ok(())
}

/// Rebuilds the books of each snapshot from the records, and compares.
fn compare(
    journal: &Path,
    good: &[Listed],
    findings: &mut Vec<HistoryFinding>,
    mut progress: impl FnMut(u64, u64),
) -> Result<(), SnapshotterError> {
    let mut source = TailerSource::new(Tailer::open(journal, Start::Oldest)?);
    let (mut rebuild, mut buffer) = (Rebuild::new(journal), RecordBuffer::default());
    let (first, end) = (source.next_sequence(), source.end()?);
    let mut expected = good.iter().peekable();
    while expected.peek().is_some() {
        let mut bad = None;
        let polled = source.poll(|item| {
            let message = match rebuild.next(&item, &mut buffer) {
                Ok(Some((message, record))) => {
                    rebuild.take(&message, record.as_ref());
                    message
                }
                Ok(None) => return ControlFlow::Continue(()),
                Err(error) => {
                    bad = Some(error);
                    return ControlFlow::Break(());
                }
            };
            let due = expected.next_if(|listed| listed.sequence == message.sequence);
            if let (Some(listed), Some(state)) = (due, rebuild.state()) {
                let bytes = SnapshotFile::open(&listed.path).and_then(|file| file.to_bytes());
                let bytes = bytes.unwrap_or_default();
                let ours = encoded(state, rebuild.mark());
                if let Some(offset) = first_difference(&bytes, &ours) {
                    findings.push(HistoryFinding {
                        path: listed.path.clone(),
                        offset,
                        what:
                            "the books differ from those of the records; remove the file, it can \
                               be made again"
                                .to_owned(),
                    });
                }
            }
            ControlFlow::Continue(())
        });
        if let Some(bad) = bad {
            return Err(bad);
        }
        progress(source.next_sequence() - first, end - first);
        if polled? == Progress::Nothing {
            break;
        }
    }
    Ok(())
}

fn first_difference(left: &[u8], right: &[u8]) -> Option<u64> {
    let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    (same < left.len().max(right.len())).then_some(same as u64)
}
