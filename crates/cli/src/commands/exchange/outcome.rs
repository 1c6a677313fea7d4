//! The output of `nanotape exchange` when its sockets are ready, and at the end.

use std::fmt::Write as _;

use nanotape_exchange::{
    Faults, LineCounts, ServerFaults,
    server::{Addresses, ConnectionCounts, ExchangeSummary, LineSummary},
};

use super::ExchangeArguments;
use crate::{
    output::{Format, Output},
    record::Record,
    status::tell,
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

/// What the exchange does, and where.
pub(super) struct Ready {
    record: Record,
    text: String,
}

pub(super) fn ready(arguments: &ExchangeArguments, addresses: Addresses) -> Ready {
    let text_of = |faults: &Option<Faults>| faults.as_ref().map(ToString::to_string);
    let server_text = |faults: Option<ServerFaults>| faults.map(|faults| faults.to_string());
    let parts = [
        ("line_a", "line A", arguments.line_a.map(|address| address.to_string())),
        ("line_b", "line B", arguments.line_b.map(|address| address.to_string())),
        ("rerequest", "re-requests", addresses.rerequests.map(|address| address.to_string())),
        ("soup", "SoupBinTCP", addresses.soup.map(|address| address.to_string())),
        ("glimpse", "GLIMPSE", addresses.glimpse.map(|address| address.to_string())),
        ("faults_a", "faults of A", text_of(&arguments.faults_a)),
        ("faults_b", "faults of B", text_of(&arguments.faults_b)),
        ("faults_both", "faults of both", text_of(&arguments.faults_both)),
        ("rerequest_faults", "faults of re-requests", server_text(arguments.rerequest_faults)),
        ("soup_faults", "faults of SoupBinTCP", server_text(arguments.soup_faults)),
        ("glimpse_faults", "faults of GLIMPSE", server_text(arguments.glimpse_faults)),
    ];
    let mut record = Record::default()
        .with("session", arguments.session.to_string())
        .with("pace", arguments.pace.to_string())
        .with("seed", arguments.seed);
    let mut text =
        format!("session {}: pace {}, seed {}", arguments.session, arguments.pace, arguments.seed);
    for (name, title, value) in parts {
        if let Some(value) = &value {
            // Writing to a string cannot fail.
            let _ = write!(text, "; {title} {value}");
        }
        record = record.with(name, value);
    }
    text.push('\n');
    Ready { record, text }
}

/// Prints where the servers are. A CSV table has one row, written at the end.
pub(super) fn write_ready(
    ready: &Ready,
    format: Format,
    output: &mut Output,
) -> anyhow::Result<()> {
    if format == Format::Csv {
        return Ok(());
    }
    let record = Record::default().with("event", "ready").joined(ready.record.clone());
    record.write(output, format, true, || ready.text.clone())?;
    Ok(())
}

/// Prints what was sent, with the counts of each line and server.
pub(super) fn write_summary(
    ready: Ready,
    summary: &ExchangeSummary,
    format: Format,
    output: &mut Output,
) -> anyhow::Result<()> {
    let record = match format {
        Format::Csv => ready.record,
        _ => Record::default().with("event", "stop"),
    };
    record.joined(record_of(summary)).write(output, format, true, || text_of(summary))?;
    Ok(())
}

fn record_of(summary: &ExchangeSummary) -> Record {
    let faithfulness = &summary.faithfulness;
    let mut record = Record::default()
        .with("messages", summary.messages)
        .with("skipped", summary.skipped)
        .with("sending_ns", summary.sending_ns)
        .with("scheduled_packets", faithfulness.packets())
        .with("late_ns_p50", faithfulness.late_ns(0.5))
        .with("late_ns_p99", faithfulness.late_ns(0.99))
        .with("late_ns_max", faithfulness.late_ns_max())
        .with("drift_ns", faithfulness.drift_ns());
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
    let served = &summary.rerequests;
    record = record
        .with("rerequest_requests", served.counts.requests)
        .with("rerequest_answered", served.counts.answered)
        .with("rerequest_messages", served.counts.messages)
        .with("rerequest_malformed", served.counts.malformed)
        .with("rerequest_other_session", served.counts.other_session)
        .with("rerequest_out_of_range", served.counts.out_of_range)
        .with("rerequest_dropped", served.counts.dropped + served.overflowed)
        .with("rerequest_send_errors", served.send_errors);
    for (name, counts) in [("soup", &summary.soup), ("glimpse", &summary.glimpse)] {
        record = record
            .with(format!("{name}_connections"), counts.connections)
            .with(format!("{name}_refused"), counts.refused)
            .with(format!("{name}_dropped"), counts.dropped)
            .with(format!("{name}_logins"), counts.logins)
            .with(format!("{name}_rejected"), counts.rejected)
            .with(format!("{name}_messages"), counts.messages)
            .with(format!("{name}_slow"), counts.slow)
            .with(format!("{name}_lost"), counts.lost)
            .with(format!("{name}_violations"), counts.violations);
    }
    record
}

fn text_of(summary: &ExchangeSummary) -> String {
    let mut text = format!(
        "{} in {}",
        counted(summary.messages - summary.skipped, "message"),
        nanos_text(summary.sending_ns)
    );
    if summary.skipped > 0 {
        let _ =
            write!(text, ", after {} not sent on the lines", counted(summary.skipped, "message"));
    }
    text.push('\n');
    for (line, LineSummary { counts, .. }) in ["A", "B"].iter().zip(&summary.lines) {
        if counts.sent + counts.idle_packets == 0 {
            continue;
        }
        let _ = write!(
            text,
            "line {line}: {} sent, of {} with {}",
            counted(counts.sent, "packet"),
            grouped(counts.packets),
            counted(counts.messages, "message"),
        );
        for (_, title, count) in FAULTS.iter().filter(|(.., count)| count(counts) > 0) {
            let _ = write!(text, "; {} {title}", grouped(count(counts)));
        }
        text.push('\n');
    }
    let faithfulness = &summary.faithfulness;
    let times = [faithfulness.late_ns(0.5), faithfulness.late_ns(0.99), faithfulness.late_ns_max()];
    if let ([Some(p50), Some(p99), Some(max)], Some(drift)) = (times, faithfulness.drift_ns()) {
        let sign = if drift < 0 { "-" } else { "" };
        let _ = writeln!(
            text,
            "schedule: packets late by {} (median), {} (99%), {} (maximum); drift {sign}{}",
            nanos_text(p50),
            nanos_text(p99),
            nanos_text(max),
            nanos_text(drift.unsigned_abs()),
        );
    }
    let requests = summary.rerequests.counts;
    if requests.requests > 0 {
        let _ = writeln!(
            text,
            "re-requests: {}, {} answered with {}",
            counted(requests.requests, "request"),
            grouped(requests.answered),
            counted(requests.messages, "message"),
        );
    }
    for (name, counts) in [("SoupBinTCP", &summary.soup), ("GLIMPSE", &summary.glimpse)] {
        write_connections(&mut text, name, counts);
    }
    text
}

fn write_connections(text: &mut String, name: &str, counts: &ConnectionCounts) {
    if counts.connections + counts.refused + counts.dropped == 0 {
        return;
    }
    let _ = write!(
        text,
        "{name}: {}, {}, {}",
        counted(counts.connections, "connection"),
        counted(counts.logins, "login"),
        counted(counts.messages, "message"),
    );
    for (title, count) in [
        ("refused", counts.refused),
        ("closed by a fault", counts.dropped),
        ("rejected", counts.rejected),
        ("too slow", counts.slow),
        ("lost", counts.lost),
        ("broke the protocol", counts.violations),
    ] {
        if count > 0 {
            let _ = write!(text, "; {} {title}", grouped(count));
        }
    }
    text.push('\n');
}

/// Reports packets that the system did not send; returns whether there are none.
pub(super) fn require_sent(arguments: &ExchangeArguments, summary: &ExchangeSummary) -> bool {
    let targets = [arguments.line_a, arguments.line_b];
    for (line, target) in summary.lines.iter().zip(targets) {
        if let (Some(target), 1..) = (target, line.send_errors) {
            let packets = counted(line.send_errors, "packet");
            let cause = line.first_error.map(std::io::Error::from_raw_os_error);
            let cause = cause.map_or_else(String::new, |error| format!(": {error}"));
            tell(format_args!("{target}: {packets} could not be sent{cause}"));
        }
    }
    summary.lines.iter().all(|line| line.send_errors == 0)
}
