//! Rebuilds the state of runs from the records of a journal, one by one.
//!
//! Where: the snapshotter, the check of snapshots, and the search for differences.

use std::path::{Path, PathBuf};

use nanotape_records::{Notice, Record, RecordBuffer, RecordKinds, UNSTATED_PUBLISHER_ID};
use nanotape_tape::{Gap, Item, Message};

use crate::{Run, RunState, Runs, SnapshotterError, snapshot::ExcerptMark};

/// The state after each record.
#[derive(Debug)]
pub(crate) struct Rebuild {
    /// The folder of the journal, for runs whose start it lacks.
    journal: PathBuf,
    /// `None` before the first record.
    state: Option<RunState>,
    /// Time and type of the last record, and its bytes.
    last: (u64, u16),
    payload: Vec<u8>,
}

impl Rebuild {
    /// Before the first record of the journal.
    pub(crate) fn new(journal: &Path) -> Self {
        Self { journal: journal.to_owned(), state: None, last: (0, 0), payload: Vec::new() }
    }

    /// Continues from a state.
    pub(crate) fn start_at(&mut self, state: RunState) {
        self.state = Some(state);
    }

    /// The state after the last record.
    pub(crate) fn state(&self) -> Option<&RunState> {
        self.state.as_ref()
    }

    /// The mark of the last record.
    pub(crate) fn mark(&self) -> ExcerptMark {
        let (ts_ns, type_id) = self.last;
        ExcerptMark::of(ts_ns, type_id, &self.payload)
    }

    /// The message of an item and its record, for [`take`](Self::take). A loss is taken at once and
    /// returns `None`.
    #[inline]
    pub(crate) fn next<'a>(
        &mut self,
        item: &Item<'a>,
        buffer: &'a mut RecordBuffer,
    ) -> Result<Option<(Message<'a>, Option<Record<'a>>)>, SnapshotterError> {
        let message = match *item {
            Item::Message(message) => message,
            Item::Gap(gap) => {
                self.lose(&gap);
                return Ok(None);
            }
            Item::Reused(reused) => {
                // The books are those of records that no longer exist.
                self.lose(&Gap { from: reused.from, to: reused.to });
                return Ok(None);
            }
        };
        let Message { sequence, type_id, payload, .. } = message;
        let record = buffer
            .decode(sequence, type_id, payload)
            .map_err(|error| SnapshotterError::Record { journal: self.journal.clone(), error })?;
        Ok(Some((message, record)))
    }

    /// The next message; `record` is `None` if its type is not known.
    #[inline]
    pub(crate) fn take(&mut self, message: &Message<'_>, record: Option<&Record<'_>>) {
        let Message { sequence, type_id, payload, ts } = *message;
        if let Some(Record::Notice(Notice::Start(start))) = record {
            self.state = Some(RunState::before(&Run::of(sequence, start)));
        }
        let state = match &mut self.state {
            Some(state) => state,
            none => none.insert(joined(&self.journal, sequence)),
        };
        match record {
            Some(record) => state.take(sequence, type_id, payload, record),
            None => state.moment.sequence = sequence,
        }
        self.last = (ts.map_or(0, |ts| ts.unix_ns()), type_id);
        self.payload.clear();
        self.payload.extend_from_slice(payload);
    }

    /// Records are missing, and maybe the start of another run with them.
    #[cold]
    fn lose(&mut self, gap: &Gap) {
        let Some(state) = &mut self.state else { return };
        state.lose(gap);
        let after = joined(&self.journal, gap.to + 1);
        if after.moment.first_sequence > state.moment.first_sequence {
            *state = after;
        }
    }
}

/// The state before a record of a run whose start the journal lacks.
#[cold]
fn joined(journal: &Path, sequence: u64) -> RunState {
    // Without the file, nothing is known of the run.
    let runs = Runs::read_good(journal).unwrap_or_default();
    let unknown = Run {
        first_sequence: 0,
        started_ns: 0,
        midnight_ns: 0,
        date: 0,
        publisher_id: UNSTATED_PUBLISHER_ID,
        kinds: RecordKinds::NONE,
        names: Vec::new(),
    };
    let mut state = RunState::before(runs.of_sequence(sequence).unwrap_or(&unknown));
    let from = state.moment.first_sequence.max(1);
    state.lose(&Gap { from, to: sequence - 1 });
    state
}
