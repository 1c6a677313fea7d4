//! Repairs what is beside the segments of a journal: the file `runs`, and the snapshots.
//!
//! Protocol: after the segments were repaired, and while no appender runs. Faulty snapshots move to
//! the folder `cut`: they can be made again. The file `runs` moves there too, and is written again
//! from its good lines and the start records of the journal.
//! Failure: names of stocks are only in the file and in definition records. What cannot be found is
//! not guessed: the check after a repair reports it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use nanotape_journal::{Folder, QUARANTINE, RUNS, check_idle, exclusive, read_beside};
use nanotape_types::LocateTable;

use crate::{
    HistoryFinding, Run, Runs, RunsError, SnapshotError, SnapshotterError, runs,
    verify::{self, Records},
};

/// A file beside the segments that a repair moved, or would move.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HistoryAction {
    /// Why, and where.
    pub finding: HistoryFinding,
    /// The file in the folder `cut`; `None` in a dry run.
    pub to: Option<PathBuf>,
    /// Whether the file was made again.
    pub is_made_again: bool,
    /// In a dry run, the faults that the file would have then.
    pub remains: Vec<HistoryFinding>,
}

/// Sets faulty snapshots aside, and makes the file `runs` again if it is faulty. `progress` gets
/// the records that were read, and how many there are.
pub fn repair(
    journal: &Path,
    is_dry_run: bool,
    progress: impl FnMut(u64, u64),
) -> Result<Vec<HistoryAction>, SnapshotterError> {
    let _lock = match is_dry_run {
        true => check_idle(journal).map(|()| None)?,
        false => Some(exclusive(journal)?),
    };
    let findings = verify::verify(journal, true, progress)?;
    let runs = journal.join(RUNS);
    let mut actions: Vec<HistoryAction> = Vec::new();
    for finding in findings.into_iter().filter(HistoryFinding::is_fault) {
        let is_known = actions.iter().any(|action| action.finding.path == finding.path);
        // Nothing can be moved for a journal without segments.
        if is_known || finding.path == journal || finding.is_undecided {
            continue;
        }
        let is_runs = finding.path == runs;
        let new = if is_runs { list_again(journal)? } else { None };
        if is_runs && new.is_none() {
            // All that can be found is there.
            continue;
        }
        let mut remains = Vec::new();
        let to = match new {
            Some(new) if is_dry_run => {
                new.records.compare(journal, &new.runs, &mut remains);
                remains.retain(HistoryFinding::is_fault);
                None
            }
            Some(new) => Some(replace_runs(journal, &runs::good_lines(&new.runs))?),
            None if is_dry_run => None,
            None => Some(set_aside(journal, &finding.path)?),
        };
        actions.push(HistoryAction { finding, to, is_made_again: is_runs, remains });
    }
    Ok(actions)
}

/// The runs of a journal with all that can be found, and its records.
struct ListedAgain {
    runs: Runs,
    records: Records,
}

/// The runs with all that can be found; `None` if the file has that.
fn list_again(journal: &Path) -> Result<Option<ListedAgain>, SnapshotterError> {
    let path = journal.join(RUNS);
    let records = Records::read(journal)?;
    let bytes = read_beside(&path).map_err(system("read", &path))?;
    let known = runs::salvaged(&bytes);
    let runs = merged(&known, &records);
    let is_new = runs::good_lines(&runs) != bytes;
    Ok(is_new.then_some(ListedAgain { runs, records }))
}

/// Writes the file of runs again. Returns where the old one is.
fn replace_runs(journal: &Path, new: &[u8]) -> Result<PathBuf, SnapshotterError> {
    let path = journal.join(RUNS);
    let to = set_aside(journal, &path)?;
    let files = files_like(journal, &to);
    let temporary = format!("{QUARANTINE}/{RUNS}.new");
    let write = || {
        let mut file = files.new_file(&temporary)?;
        file.write_all(new)?;
        file.sync_all()?;
        fs::rename(journal.join(&temporary), &path)?;
        File::open(journal)?.sync_all()
    };
    write().map_err(system("write", &path))?;
    Ok(to)
}

/// The runs of the file and those of the records, in their order.
fn merged(known: &Runs, records: &Records) -> Runs {
    let mut all: Vec<Run> = Vec::new();
    let started: Vec<&Run> = records.runs.iter().filter_map(|run| run.start.as_ref()).collect();
    let oldest = started.first().map_or(u64::MAX, |run| run.first_sequence);
    // Runs before the first start record: their records were pruned, or recorded from the middle.
    all.extend(known.iter().filter(|run| run.first_sequence < oldest).cloned());
    for of in &records.runs {
        let Some(start) = &of.start else { continue };
        let mut run = start.clone();
        let listed = known.iter().find(|run| {
            (run.first_sequence, run.started_ns) == (start.first_sequence, start.started_ns)
        });
        run.names = listed.map(|listed| listed.names.clone()).unwrap_or_default();
        let mut is_named = LocateTable::filled(false);
        run.names.iter().for_each(|(locate, _)| is_named[*locate] = true);
        // Definition records have the names of lines that were lost.
        run.names.extend(of.names.iter().filter(|(locate, _)| !is_named[*locate]));
        let mut last = LocateTable::filled(None);
        run.names.retain_mut(|(locate, name)| {
            *name = of.contradicts(*locate, *name).unwrap_or(*name);
            last[*locate].replace(*name) != Some(*name)
        });
        all.push(run);
    }
    // The names of a run that was not listed are those of the run before it, after its own. A
    // second name of a stock belongs to one of the two, and which one is not known.
    for at in 0..all.len().saturating_sub(1) {
        let next = all[at + 1].first_sequence;
        if known.iter().any(|run| run.first_sequence == next) {
            continue;
        }
        let first = all[at].first_sequence;
        let of = records
            .runs
            .iter()
            .find(|run| run.start.as_ref().is_some_and(|start| start.first_sequence == first));
        let mut is_free = LocateTable::filled(of.is_none());
        of.iter().flat_map(|of| &of.stocks).for_each(|(locate, _)| is_free[*locate] = true);
        all[at].names.retain(|(locate, _)| std::mem::replace(&mut is_free[*locate], false));
    }
    all.into_iter().collect()
}

/// Moves a file to the first free name in the folder `cut`.
pub(crate) fn set_aside(journal: &Path, path: &Path) -> Result<PathBuf, SnapshotError> {
    runs::set_aside(&files_like(journal, path), path).map_err(SnapshotError::system("move", path))
}

/// The files of a journal with the permissions of one of them.
fn files_like(journal: &Path, path: &Path) -> Folder {
    let mode = fs::metadata(path).map_or(0o600, |metadata| metadata.mode() & 0o777);
    Folder::new(journal, mode)
}

fn system(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RunsError {
    let path = path.to_owned();
    move |error| RunsError::System { operation, path, error }
}
