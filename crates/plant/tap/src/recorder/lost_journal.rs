//! A journal that was removed, replaced or renamed while it was recorded.
//!
//! Protocol: the pretoucher of the journal's appender checks the journal ten times a second; the
//! recorder loads two words a poll. At its end it checks once more.
//! Failure: what was recorded and is not in the folder any more counts as lost, in the summary and
//! in the region of the recorder.

use nanotape_board::RecorderState;
use nanotape_journal::{Appender, ErrorKind, JournalError, Tailer};
use nanotape_ring::Start;

use super::{Recorder, RecorderError};

impl Recorder {
    /// Checks the journal at the end of a recording. Returns the outcome of the recording, or
    /// the loss of the journal, which other errors follow from.
    pub(super) fn account_for_journal(
        &mut self,
        outcome: Result<(), RecorderError>,
    ) -> Result<(), RecorderError> {
        let keeper = &mut self.keeper;
        let placed = keeper.appender().check_place().map_err(RecorderError::from);
        let placed = placed.and_then(|()| Ok(keeper.check()?));
        let is_lost = placed.as_ref().is_err_and(RecorderError::is_of_lost_journal);
        if !is_lost {
            return outcome;
        }
        let (lost, placed) = match placed {
            Err(RecorderError::Journal(gone)) => match missing(keeper.appender()) {
                Ok(missing) => (missing, Err(gone.into())),
                Err(why) => (u64::MAX, Err(RecorderError::Unreadable { gone, why })),
            },
            // It is whole under another name.
            moved => (0, moved),
        };
        if let Ok(progress) = &mut self.progress {
            progress.unrecorded(keeper.appender().next_sequence(), lost);
            progress.set_state(RecorderState::JournalGone);
        }
        keeper.count_as_lost(lost);
        placed
    }
}

/// Recorded messages that are not in the folder of the journal any more; `u64::MAX` for all. The
/// error is the reason why that cannot be known.
fn missing(appender: &Appender) -> Result<u64, JournalError> {
    match Tailer::open(&appender.path(), Start::Newest) {
        Ok(left) => Ok(appender.next_sequence().saturating_sub(left.next_sequence().max(1))),
        Err(error) if *error.kind() == ErrorKind::NotFound => Ok(u64::MAX),
        Err(error) => Err(error),
    }
}
