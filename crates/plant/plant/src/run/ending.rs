//! How a run ended, from what its source reports.

use nanotape_engine::DayReport;
use nanotape_feed::DayEnd;

use crate::records::{Gap, GapKind, StopReason};

/// The reason of the stop, and the part of the input that is missing at its end. `stopped` is the
/// publisher's reason, if it ended the run.
pub(super) fn how_it_ended(
    report: &DayReport,
    stopped: Option<StopReason>,
) -> (StopReason, Option<Gap>) {
    let reason = match report.summary.end {
        _ if report.summary.fault.is_some() => StopReason::Fault,
        DayEnd::EndOfFile => StopReason::EndOfInput,
        DayEnd::EndOfSession { .. } => StopReason::EndOfSession,
        DayEnd::Cut { .. } => StopReason::Cut,
        DayEnd::Stopped => stopped.unwrap_or(StopReason::Requested),
    };
    let gap = |offset, lost_bytes| {
        let after_message = report.summary.records;
        Some(Gap { ts_recv: 0, kind: GapKind::Cut, offset, lost_bytes, after_message })
    };
    let cut = match report.summary.end {
        DayEnd::Cut { offset, present_bytes, .. } => gap(offset, present_bytes),
        // The rest is missing, at least after the last whole record.
        _ if report.summary.fault.is_some() => gap(report.summary.bytes, 0),
        _ => None,
    };
    (reason, cut)
}
