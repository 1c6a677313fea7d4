//! Checks what is beside the segments of a journal: its runs and its snapshots.
//!
//! Cost: all records are read once, without their checksums, and each snapshot once. With
//! `rebuilds`, the books of each snapshot are rebuilt from the records and compared byte for byte.

mod books;
mod listed_runs;

pub(crate) use listed_runs::Records;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use nanotape_journal::{RUNS, Severity, Start, Tail, Tailer};

use crate::{
    Runs, RunsError, SnapshotFile, Snapshots, SnapshotterError, snapshot::Listed,
    verify::books::Books,
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
    /// A fault is wrong. A note is not: the file cannot be checked, or is not needed.
    pub severity: Severity,
    /// Whether another file may be the wrong one: a repair leaves both.
    pub is_undecided: bool,
}

impl HistoryFinding {
    fn fault(path: &Path, what: impl Into<String>) -> Self {
        let (path, what) = (path.to_owned(), what.into());
        Self { path, offset: 0, what, severity: Severity::Fault, is_undecided: false }
    }

    fn note(path: &Path, what: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::fault(path, what) }
    }

    /// Whether it is a fault.
    pub fn is_fault(&self) -> bool {
        self.severity == Severity::Fault
    }
}

impl fmt::Display for HistoryFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: offset {}: {}", self.path.display(), self.offset, self.what)
    }
}

/// The text about a snapshot whose records are not in the journal any more.
const PRUNED: &str = "cannot be checked: its records were pruned";

/// The text about a snapshot with what the journal lacks now.
const LOST: &str = "cannot be checked: records that it was made with are damaged or missing";

/// What the journal has at its beginning.
struct Oldest {
    /// The first record; the next one to be written if there is none.
    sequence: u64,
    /// Whether earlier segments were removed.
    is_pruned: bool,
}

/// Checks the runs and the snapshots of a journal whose segments are good. `progress` gets the
/// records that were read, and how many there are.
pub fn verify(
    journal: &Path,
    rebuilds: bool,
    progress: impl FnMut(u64, u64),
) -> Result<Vec<HistoryFinding>, SnapshotterError> {
    let mut findings = Vec::new();
    let snapshots = Snapshots::list(journal)?;
    let mut tailer = Tailer::open(journal, Start::Oldest)?;
    let mut lost_from = None;
    let oldest = loop {
        match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                let sequence = lost_from.unwrap_or(excerpt.sequence());
                break Oldest { sequence, is_pruned: excerpt.segment() > 1 };
            }
            // The beginning of the oldest segment is damaged, or a repair ended it there.
            Tail::Gap(gap) => lost_from = lost_from.or(Some(gap.from)),
            Tail::Reused(_) => {}
            Tail::Nothing => {
                if let Some(finding) = without_records(journal, &tailer, &snapshots)? {
                    return Ok(vec![finding]);
                }
                break Oldest { sequence: tailer.next_sequence(), is_pruned: false };
            }
        }
    };
    drop(tailer);
    let records = listed_runs::Records::read(journal)?;
    // After the records: a recorder stores each line before the first record that needs it.
    match Runs::read(journal) {
        Ok(runs) => {
            records.compare(journal, &runs, &mut findings);
            findings.extend(without_beginning(journal, &runs, &oldest));
        }
        Err(RunsError::Line { path, line }) => {
            let what = format!(
                "line {line} is not a run or a stock with its checksum; `nanotape journal repair` \
                 makes the file again"
            );
            findings.push(HistoryFinding::fault(&path, what));
        }
        Err(error) => return Err(error.into()),
    }
    let mut good = Vec::new();
    for listed in snapshots.iter() {
        match check(journal, listed, &oldest) {
            Ok(()) => good.push(listed.clone()),
            Err(finding) => findings.push(finding),
        }
    }
    if rebuilds && !good.is_empty() {
        Books::new(journal, oldest, &mut findings).compare(&good, progress)?;
    }
    Ok(findings)
}

/// The oldest run of a journal that was pruned, or lost segments, in the middle of a run.
fn without_beginning(journal: &Path, runs: &Runs, oldest: &Oldest) -> Option<HistoryFinding> {
    let first = runs.of_sequence(oldest.sequence)?.first_sequence;
    let what = format!(
        "the run that begins with record {first} is there from record {} on: what is before was pruned, \
         or its segments were removed",
        oldest.sequence
    );
    (oldest.is_pruned && first < oldest.sequence).then(|| HistoryFinding::note(journal, what))
}

/// A journal without an excerpt has no runs with stocks, and no snapshots.
fn without_records(
    journal: &Path,
    tailer: &Tailer,
    snapshots: &Snapshots,
) -> Result<Option<HistoryFinding>, SnapshotterError> {
    let runs = Runs::read_good(journal)?;
    let has_segment = !nanotape_journal::stat(journal)?.segments.is_empty();
    let is_new = snapshots.is_empty()
        && (runs.is_empty()
            || has_segment && runs.iter().all(|run| run.first_sequence >= tailer.next_sequence()));
    if is_new {
        return Ok(None);
    }
    let (runs, snapshots) = (runs.len(), snapshots.len());
    let what = format!(
        "the journal has no excerpt, but {runs} runs and {snapshots} snapshots: its segments are \
         missing, or have lost their excerpts"
    );
    Ok(Some(HistoryFinding::fault(journal, what)))
}

/// Checks one snapshot: all of its bytes, and its excerpt in the journal.
fn check(journal: &Path, listed: &Listed, oldest: &Oldest) -> Result<(), HistoryFinding> {
    let fault = |what: String| HistoryFinding::fault(&listed.path, what);
    let of_error = |error: crate::SnapshotError| match error {
        crate::SnapshotError::Damaged { offset, what, .. } => HistoryFinding {
            offset,
            ..fault(format!("{what}; remove the file, it can be made again"))
        },
        error => fault(error.to_string()),
    };
    let file = SnapshotFile::open(&listed.path).map_err(of_error)?;
    let moment = file.moment();
    if (moment.sequence, moment.ts_event) != (listed.sequence, listed.ts_event) {
        let what = "is named after another record than the one that it was made after";
        return Err(fault(format!("{what}, {}; remove the file", moment.sequence)));
    }
    // The orders of each stock, and that no reference is in two of them.
    file.state().map_err(of_error)?;
    if listed.sequence < oldest.sequence && oldest.is_pruned {
        return Err(HistoryFinding::note(&listed.path, PRUNED));
    }
    if listed.sequence < oldest.sequence {
        return Err(fault(format!(
            "record {} is not in the journal, which begins with {}; remove the file",
            listed.sequence, oldest.sequence
        )));
    }
    if !file.is_of(journal) {
        return Err(fault(format!(
            "record {} of the journal is another one, or is missing; remove the file",
            listed.sequence
        )));
    }
    Ok(())
}

/// Whether the journal has the file of its runs.
fn has_runs(journal: &Path) -> bool {
    fs::exists(journal.join(RUNS)).unwrap_or(false)
}
