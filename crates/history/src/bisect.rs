//! Finds the first record at which two recorded runs differ.
//!
//! Protocol: digests are chained, so runs with the same digests at a position are the same up to
//! there. The search starts after the last pair of snapshots at the same position that have the
//! same digest, and compares the records after it one by one, without `ts_recv`.
//! Cost: the records after that pair are read twice; without snapshots, all of them.

use std::path::Path;

use nanotape_journal::{JournalError, Start, Tail, Tailer};
use nanotape_records::{is_covered, is_same_record};

use crate::{JournalRunError, Run, Runs, SnapshotFile, Snapshots};

/// A run in a journal.
#[derive(Clone, Copy, Debug)]
pub struct RunIn<'a> {
    /// The folder of the journal.
    pub journal: &'a Path,
    /// Its runs.
    pub runs: &'a Runs,
    /// The run.
    pub run: &'a Run,
}

/// A record that was compared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Its sequence number.
    pub sequence: u64,
    /// Its type.
    pub type_id: u16,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// The result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// Records before the first one that was read, which have the same digests.
    pub skipped: u64,
    /// Records that were read and are the same.
    pub same: u64,
    /// The first record of each run that differs; `None` for the end of the run. Runs that do not
    /// differ have none.
    pub difference: Option<[Option<Compared>; 2]>,
}

/// Compares two runs. `progress` gets how many records were compared.
pub fn bisect(
    left: RunIn<'_>,
    right: RunIn<'_>,
    mut progress: impl FnMut(u64),
) -> Result<Comparison, JournalRunError> {
    let skipped = same_until(left, right)?;
    let mut sides = [Side::open(left, skipped)?, Side::open(right, skipped)?];
    let mut comparison = Comparison { skipped, same: 0, difference: None };
    loop {
        let [first, second] = &mut sides;
        let (first, second) = (first.next()?, second.next()?);
        let is_same = match (first, second) {
            (None, None) => return Ok(comparison),
            (Some(first), Some(second)) => {
                first.type_id == second.type_id
                    && is_same_record(first.type_id, &first.payload, &second.payload)
            }
            _ => false,
        };
        if !is_same {
            comparison.difference = Some([first.cloned(), second.cloned()]);
            return Ok(comparison);
        }
        comparison.same += 1;
        if comparison.same.is_multiple_of(1 << 16) {
            progress(comparison.same);
        }
    }
}

/// The number of records of both runs up to the last snapshots at the same position that have the
/// same digests.
fn same_until(left: RunIn<'_>, right: RunIn<'_>) -> Result<u64, JournalRunError> {
    let [left, right] = [Positions::of(left)?, Positions::of(right)?];
    let is_same = |position: &u64| {
        let files = left.open(*position).zip(right.open(*position));
        files.is_some_and(|(left, right)| left.digest() == right.digest())
    };
    let mut positions: Vec<u64> = left.0.iter().map(|(position, _)| *position).collect();
    positions.retain(|position| right.0.iter().any(|(other, _)| other == position));
    Ok(positions.into_iter().rev().find(is_same).unwrap_or(0))
}

/// The snapshots of a run, by the number of records that they include.
struct Positions<'a>(Vec<(u64, crate::snapshot::Listed)>, &'a Path);

impl<'a> Positions<'a> {
    fn of(side: RunIn<'a>) -> Result<Self, JournalRunError> {
        let first = side.run.first_sequence;
        let end = side.runs.after(side.run).unwrap_or(u64::MAX);
        let snapshots = Snapshots::list(side.journal)?;
        let of_run = snapshots.iter().filter(|listed| (first..end).contains(&listed.sequence));
        let positions = of_run.map(|listed| (listed.sequence + 1 - first, listed.clone()));
        Ok(Self(positions.collect(), side.journal))
    }

    fn open(&self, position: u64) -> Option<SnapshotFile> {
        let (_, listed) = self.0.iter().find(|(other, _)| *other == position)?;
        let file = SnapshotFile::open(&listed.path).ok()?;
        // What was lost before is not in the digest.
        (file.is_of(self.1) && file.moment().losses == 0).then_some(file)
    }
}

/// The covered records of a run.
struct Side {
    tailer: Tailer,
    /// The sequence number after the run.
    end: u64,
    current: Compared,
}

impl Side {
    /// Reads from the record after `skipped` records.
    fn open(side: RunIn<'_>, skipped: u64) -> Result<Self, JournalError> {
        let first = Start::Sequence(side.run.first_sequence + skipped);
        let end = side.runs.after(side.run).unwrap_or(u64::MAX);
        Ok(Self { tailer: Tailer::open(side.journal, first)?, end, current: Compared::default() })
    }

    /// The next covered record; `None` at the end of the run.
    fn next(&mut self) -> Result<Option<&Compared>, JournalError> {
        loop {
            match self.tailer.next()? {
                Tail::Excerpt(excerpt) if excerpt.sequence() >= self.end => return Ok(None),
                Tail::Excerpt(excerpt) if is_covered(excerpt.type_id()) => {
                    let Compared { sequence, type_id, payload } = &mut self.current;
                    (*sequence, *type_id) = (excerpt.sequence(), excerpt.type_id());
                    payload.resize(excerpt.len(), 0);
                    excerpt.copy_to(payload);
                    break;
                }
                Tail::Excerpt(_) | Tail::Reused(_) | Tail::Gap(_) => {}
                Tail::Nothing => return Ok(None),
            }
        }
        Ok(Some(&self.current))
    }
}
