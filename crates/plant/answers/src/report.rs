//! What an input lacks, by its kind.

use std::path::Path;

use nanotape_engine::DayReport;
use nanotape_feed::{DayEnd, SessionSummary};
use nanotape_history::{DbnError, JournalRun, JournalRunError, RecordedError, RecordedSummary};

use crate::InputError;

/// The report of a reading.
#[derive(Debug)]
pub enum InputReport {
    /// Of the exchange's own messages.
    Day(DayReport),
    /// Of records.
    Records(Recorded),
}

/// The report of records.
#[derive(Debug)]
pub struct Recorded {
    /// The run, its losses and its end.
    pub summary: RecordedSummary,
    /// Why the reading ended early.
    pub fault: Option<String>,
    /// What stores them, for messages.
    pub noun: &'static str,
    /// Whether the first run was read because a stream cannot be searched for the last one.
    pub is_only_first: bool,
}

impl InputReport {
    /// Whether everything requested was there and could be read.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Day(report) => is_whole(report),
            Self::Records(recorded) => {
                let Recorded { summary, fault, is_only_first, .. } = recorded;
                let is_first_of_several = *is_only_first && summary.next_run.is_some();
                summary.is_good() && fault.is_none() && !is_first_of_several
            }
        }
    }

    pub(crate) fn of_journal(
        name: &str,
        stream: &JournalRun,
        (summary, fault): (RecordedSummary, Option<RecordedError<JournalRunError>>),
    ) -> Result<Self, InputError> {
        let fault = match fault {
            // What comes before damage is the answer, as in a file that ends early.
            Some(RecordedError::Stream(error)) if error.is_bad_data() => Some(error.to_string()),
            Some(RecordedError::Stream(error)) => return Err(error.into()),
            fault => fault_of(name, fault)?,
        };
        let unlisted = summary.next_run.filter(|start| !stream.knows(*start));
        let fault = fault.or(unlisted.map(|start| unlisted_run(stream.journal(), start)));
        Ok(Self::Records(Recorded { summary, fault, noun: "journal", is_only_first: false }))
    }

    pub(crate) fn of_dbn(
        name: &str,
        (summary, fault): (RecordedSummary, Option<RecordedError<DbnError>>),
        is_only_first: bool,
    ) -> Result<Self, InputError> {
        let fault = match fault {
            // It has the name.
            Some(RecordedError::Stream(DbnError::Source(error))) => Some(error.to_string()),
            fault => fault_of(name, fault)?,
        };
        Ok(Self::Records(Recorded { summary, fault, noun: "file", is_only_first }))
    }
}

/// Whether a day file or a capture was read to its end, and has all that was requested.
pub fn is_whole(report: &DayReport) -> bool {
    let session = match &report.summary.session {
        // What a reading that stopped early did not come to is unknown.
        Some(session) if report.summary.end != DayEnd::Stopped => session,
        _ => return report.is_good(),
    };
    report.is_good()
        && session.absent.is_empty()
        && session.absent_session.is_none()
        && session.unread.is_empty()
        && !is_without_session(session)
}

/// Whether a capture has packets, and none of a session.
pub fn is_without_session(session: &SessionSummary) -> bool {
    session.session.is_none() && session.packets > 0
}

/// The line about a run that the list of runs lacks.
pub fn unlisted_run(journal: &Path, start: u64) -> String {
    let journal = journal.display();
    format!(
        "{journal}/runs: lacks the run that begins with record {start}; `nanotape journal repair \
         {journal}` adds it"
    )
}

/// The line about a run that ended early; an error if books do not follow from it.
fn fault_of<E: std::fmt::Display>(
    name: &str,
    fault: Option<RecordedError<E>>,
) -> Result<Option<String>, InputError> {
    let name = name.to_owned();
    let error = match fault {
        None => return Ok(None),
        Some(RecordedError::NoOrders { sequence, kinds }) => {
            RecordedError::NoOrders { sequence, kinds }
        }
        Some(RecordedError::OnlyOthers { messages }) => RecordedError::OnlyOthers { messages },
        Some(fault) => return Ok(Some(format!("{name}: {fault}"))),
    };
    Err(InputError::NoOrders { name, error })
}
