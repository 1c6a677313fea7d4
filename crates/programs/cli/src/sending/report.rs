//! What was sent on the lines, and how faithful that was to the schedule.

use std::{fmt::Write as _, io, net::SocketAddrV4};

use nanotape_exchange::{
    LineCounts,
    server::{ExchangeSummary, Faithfulness, LineSummary},
};

use crate::{
    record::Record,
    status::warn,
    values::{counted, grouped, nanos_text},
};

/// The counts of faults of a line: name, what happened to a packet, and the count.
type FaultCount = (&'static str, &'static str, fn(&LineCounts) -> u64);

const FAULTS: [FaultCount; 13] = [
    ("dropped", "dropped", |counts| counts.dropped),
    ("dropped_in_bursts", "dropped in bursts", |counts| counts.dropped_in_bursts),
    ("dropped_on_both", "dropped on both lines", |counts| counts.dropped_on_both),
    ("silenced", "in silences", |counts| counts.silenced),
    ("before_start", "before the start of the line", |counts| counts.before_start),
    ("duplicated", "duplicated", |counts| counts.duplicated),
    ("reordered", "reordered", |counts| counts.reordered),
    ("delayed", "delayed", |counts| counts.delayed),
    ("truncated", "truncated", |counts| counts.truncated),
    ("corrupted", "corrupted", |counts| counts.corrupted),
    ("flipped", "with a flipped bit", |counts| counts.flipped),
    ("other_session", "of another session", |counts| counts.other_session),
    ("idle_packets", "without messages", |counts| counts.idle_packets),
];

/// What was sent of a day, without servers.
pub(crate) fn day_record(summary: &ExchangeSummary) -> Record {
    let mut record = Record::default()
        .with("messages", summary.messages)
        .with("skipped", summary.skipped)
        .with("recorded_ns", summary.recorded_ns)
        .joined(Schedule(summary.sending_ns, &summary.faithfulness).record());
    for (line, LineSummary { counts, send_errors, .. }) in ["a", "b"].iter().zip(&summary.lines) {
        record = record
            .with(format!("{line}_packets"), counts.packets)
            .with(format!("{line}_messages"), counts.messages)
            .with(format!("{line}_sent"), counts.sent)
            .with(format!("{line}_sent_bytes"), counts.sent_bytes)
            .with(format!("{line}_send_errors"), *send_errors);
        for (name, _, count) in FAULTS {
            record = record.with(format!("{line}_{name}"), count(counts));
        }
    }
    record
}

/// The same for people. `sent`: what happened to the packets.
pub(crate) fn day_text(summary: &ExchangeSummary, sent: &str) -> String {
    let mut text = format!(
        "{} in {}",
        counted(summary.messages - summary.skipped, "message"),
        nanos_text(summary.sending_ns)
    );
    // Writing to a string cannot fail.
    let _ = write!(text, " ({} recorded)", nanos_text(summary.recorded_ns));
    if summary.skipped > 0 {
        let _ =
            write!(text, ", after {} not {sent} on the lines", counted(summary.skipped, "message"));
    }
    text.push('\n');
    for (line, LineSummary { counts, .. }) in ["A", "B"].iter().zip(&summary.lines) {
        if counts.sent + counts.idle_packets == 0 {
            continue;
        }
        let _ = write!(
            text,
            "line {line}: {} {sent} ({}), of {} with {}",
            counted(counts.sent, "packet"),
            counted(counts.sent_bytes, "byte"),
            grouped(counts.packets),
            counted(counts.messages, "message"),
        );
        for (_, title, count) in FAULTS.iter().filter(|(.., count)| count(counts) > 0) {
            let _ = write!(text, "; {} {title}", grouped(count(counts)));
        }
        text.push('\n');
    }
    text + &Schedule(summary.sending_ns, &summary.faithfulness).text()
}

/// How long the sending took, and how faithful it was to its schedule.
#[derive(Debug)]
pub(crate) struct Schedule<'a>(pub(crate) u64, pub(crate) &'a Faithfulness);

impl Schedule<'_> {
    pub(crate) fn record(&self) -> Record {
        let Self(sending_ns, faithfulness) = *self;
        Record::default()
            .with("sending_ns", sending_ns)
            .with("scheduled_packets", faithfulness.packets())
            .with("late_packets", faithfulness.late_packets())
            .with("late_ns_p50", faithfulness.late_ns(0.5))
            .with("late_ns_p99", faithfulness.late_ns(0.99))
            .with("late_ns_max", faithfulness.late_ns_max())
            .with("drift_ns", faithfulness.drift_ns())
    }

    /// A line; nothing without a schedule.
    pub(crate) fn text(&self) -> String {
        let late = self.1;
        let times = [late.late_ns(0.5), late.late_ns(0.99), late.late_ns_max()];
        let ([Some(p50), Some(p99), Some(max)], Some(drift)) = (times, late.drift_ns()) else {
            return String::new();
        };
        let sign = if drift < 0 { "-" } else { "" };
        format!(
            "schedule: packets late by {} (median), {} (99%), {} (maximum); {} late by more than \
             1 ms; drift {sign}{}\n",
            nanos_text(p50),
            nanos_text(p99),
            nanos_text(max),
            counted(late.late_packets(), "packet"),
            nanos_text(drift.unsigned_abs()),
        )
    }
}

/// Reports packets of lines that the system did not send; returns whether there are none.
pub(crate) fn require_sent(targets: [Option<SocketAddrV4>; 2], lines: &[LineSummary; 2]) -> bool {
    for (line, target) in lines.iter().zip(targets) {
        let target = target.map_or_else(String::new, |target| target.to_string());
        report_errors(&target, line.send_errors, line.first_error);
    }
    lines.iter().all(|line| line.send_errors == 0)
}

/// Reports packets that the system did not send.
pub(crate) fn report_errors(target: &str, send_errors: u64, first_error: Option<i32>) {
    if send_errors > 0 {
        let packets = counted(send_errors, "packet");
        let cause = first_error.map(io::Error::from_raw_os_error);
        let cause = cause.map_or_else(String::new, |error| format!(": {error}"));
        warn(format_args!("{target}: {packets} could not be sent{cause}"));
    }
}
