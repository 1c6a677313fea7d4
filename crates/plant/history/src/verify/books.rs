//! Compares snapshots with the books of the records, byte for byte.
//!
//! Meaning: the books of a run follow from all of its records. If the first ones were pruned, or
//! records were lost since a snapshot was made with them, the next snapshot cannot be checked: it
//! knows more than the records do. Its books, continued with the records after it, must be those of
//! the later snapshots.

use std::{ops::ControlFlow, path::Path};

use nanotape_journal::{Start, Tailer, TailerSource};
use nanotape_records::RecordBuffer;
use nanotape_tape::{Progress, Source as _, Tape as _};

use super::{HistoryFinding, LOST, Oldest, PRUNED};
use crate::{
    SnapshotFile, SnapshotterError,
    rebuild::Rebuild,
    snapshot::{Listed, encoded},
};

/// A comparison of the snapshots of a journal.
pub(super) struct Books<'a> {
    journal: &'a Path,
    oldest: Oldest,
    findings: &'a mut Vec<HistoryFinding>,
    rebuild: Rebuild,
    /// The last snapshot that could not be checked, from which its run is continued, and the run.
    base: Option<(u64, u64)>,
}

impl<'a> Books<'a> {
    pub(super) fn new(
        journal: &'a Path,
        oldest: Oldest,
        findings: &'a mut Vec<HistoryFinding>,
    ) -> Self {
        Self { journal, oldest, findings, rebuild: Rebuild::new(journal), base: None }
    }

    /// Rebuilds the books at each of these snapshots.
    pub(super) fn compare(
        mut self,
        good: &[Listed],
        mut progress: impl FnMut(u64, u64),
    ) -> Result<(), SnapshotterError> {
        let mut tailer = Tailer::open(self.journal, Start::Oldest)?;
        tailer.set_stops_at_end(true);
        let mut source = TailerSource::new(tailer);
        let mut buffer = RecordBuffer::default();
        let (first, end) = (source.next_sequence(), source.end()?);
        let mut expected = good.iter().peekable();
        while expected.peek().is_some() {
            let mut bad = None;
            let polled = source.poll(|item| {
                let sequence = match self.rebuild.next(&item, &mut buffer) {
                    Ok(Some((message, record))) => {
                        self.rebuild.take(&message, record.as_ref());
                        message.sequence
                    }
                    Ok(None) => return ControlFlow::Continue(()),
                    Err(error) => {
                        bad = Some(error);
                        return ControlFlow::Break(());
                    }
                };
                if let Some(listed) = expected.next_if(|listed| listed.sequence == sequence)
                    && let Err(error) = self.check(listed)
                {
                    bad = Some(error);
                    return ControlFlow::Break(());
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

    /// Compares a snapshot with the books after its record.
    fn check(&mut self, listed: &Listed) -> Result<(), SnapshotterError> {
        let Some(state) = self.rebuild.state() else { return Ok(()) };
        let run = state.moment.first_sequence;
        let is_whole = !self.oldest.is_pruned || run >= self.oldest.sequence;
        let base = self.base.filter(|(_, of)| *of == run).map(|(base, _)| base);
        let file = SnapshotFile::open(&listed.path)?;
        let stored = file.moment();
        let has_more = stored.first_sequence == run && stored.losses < state.moment.losses;
        let uncheckable = match base {
            None if !is_whole => Some(PRUNED),
            _ if has_more => Some(LOST),
            _ => None,
        };
        if let Some(why) = uncheckable {
            self.findings.push(HistoryFinding::note(&listed.path, why));
            self.rebuild.start_at(file.state()?);
            self.base = Some((listed.sequence, run));
            return Ok(());
        }
        let bytes = file.to_bytes()?;
        let Some(offset) = first_difference(&bytes, &encoded(state, self.rebuild.mark())) else {
            return Ok(());
        };
        let is_undecided = base.is_some();
        let what = match base {
            None => "the books differ from those of the records; remove the file, it can be made \
                     again"
                .to_owned(),
            Some(base) => format!(
                "the books differ from those of the snapshot of record {base}, continued with the \
                 records: one of the two is wrong, and records before them are missing"
            ),
        };
        let fault = HistoryFinding::fault(&listed.path, what);
        self.findings.push(HistoryFinding { offset, is_undecided, ..fault });
        Ok(())
    }
}

fn first_difference(left: &[u8], right: &[u8]) -> Option<u64> {
    let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    (same < left.len().max(right.len())).then_some(same as u64)
}
