//! The output of `nanotape exchange` when its sockets are ready, and at the end.

use std::fmt::Write as _;

use nanotape_exchange::{
    Faults, ServerFaults,
    server::{Addresses, ConnectionCounts, ExchangeSummary},
};

use super::ExchangeArguments;
use crate::{
    output::{Format, Output},
    record::Record,
    sending::{day_record, day_text},
    values::{counted, grouped},
};

/// What the exchange does, and where.
pub(super) struct Ready {
    record: Record,
    text: String,
}

impl Ready {
    /// What is always known, then the parts that have a value: name, title and value.
    pub(super) fn new<const N: usize>(
        mut record: Record,
        mut text: String,
        parts: [(&'static str, &str, Option<String>); N],
    ) -> Self {
        for (name, title, value) in parts {
            if let Some(value) = &value {
                // Writing to a string cannot fail.
                let _ = write!(text, "; {title} {value}");
            }
            record = record.with(name, value);
        }
        text.push('\n');
        Self { record, text }
    }
}

pub(super) fn ready(arguments: &ExchangeArguments, addresses: Addresses) -> Ready {
    let lines = &arguments.lines;
    let text_of = |faults: &Option<Faults>| faults.as_ref().map(ToString::to_string);
    let server_text = |faults: Option<ServerFaults>| faults.map(|faults| faults.to_string());
    let parts = [
        ("line_a", "line A", lines.line_a.map(|address| address.to_string())),
        ("line_b", "line B", lines.line_b.map(|address| address.to_string())),
        ("rerequest", "re-requests", addresses.rerequests.map(|address| address.to_string())),
        ("soup", "SoupBinTCP", addresses.soup.map(|address| address.to_string())),
        ("glimpse", "GLIMPSE", addresses.glimpse.map(|address| address.to_string())),
        ("faults_a", "faults of A", text_of(&lines.faults_a)),
        ("faults_b", "faults of B", text_of(&lines.faults_b)),
        ("faults_both", "faults of both", text_of(&lines.faults_both)),
        ("rerequest_faults", "faults of re-requests", server_text(arguments.rerequest_faults)),
        ("soup_faults", "faults of SoupBinTCP", server_text(arguments.soup_faults)),
        ("glimpse_faults", "faults of GLIMPSE", server_text(arguments.glimpse_faults)),
    ];
    let record = Record::default()
        .with("session", lines.session.to_string())
        .with("pace", arguments.pace.to_string())
        .with("seed", lines.seed);
    let text = format!("session {}: pace {}, seed {}", lines.session, arguments.pace, lines.seed);
    Ready::new(record, text, parts)
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

/// Prints what was sent, with its counts, and their text for people.
pub(super) fn write_summary(
    ready: Ready,
    counts: Record,
    text: impl FnOnce() -> String,
    format: Format,
    output: &mut Output,
) -> anyhow::Result<()> {
    let record = match format {
        Format::Csv => ready.record,
        _ => Record::default().with("event", "stop"),
    };
    record.joined(counts).write(output, format, true, text)?;
    Ok(())
}

/// The counts of each line and server.
pub(super) fn record_of(summary: &ExchangeSummary) -> Record {
    let served = &summary.rerequests;
    let mut record = day_record(summary)
        .with("rerequest_requests", served.counts.requests)
        .with("rerequest_answered", served.counts.answered)
        .with("rerequest_messages", served.counts.messages)
        .with("rerequest_malformed", served.counts.malformed)
        .with("rerequest_other_session", served.counts.other_session)
        .with("rerequest_out_of_range", served.counts.out_of_range)
        .with("rerequest_dropped", served.counts.dropped + served.overflowed)
        .with("rerequest_send_errors", served.send_errors);
    for (name, counts) in [("soup", &summary.soup), ("glimpse", &summary.glimpse)] {
        record = connections_record(record, name, counts);
    }
    record
}

/// Adds the counts of a server of connections to a record.
pub(super) fn connections_record(record: Record, name: &str, counts: &ConnectionCounts) -> Record {
    record
        .with(format!("{name}_connections"), counts.connections)
        .with(format!("{name}_refused"), counts.refused)
        .with(format!("{name}_dropped"), counts.dropped)
        .with(format!("{name}_logins"), counts.logins)
        .with(format!("{name}_rejected"), counts.rejected)
        .with(format!("{name}_messages"), counts.messages)
        .with(format!("{name}_slow"), counts.slow)
        .with(format!("{name}_lost"), counts.lost)
        .with(format!("{name}_violations"), counts.violations)
}

pub(super) fn text_of(summary: &ExchangeSummary) -> String {
    let mut text = day_text(summary, "sent");
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

pub(super) fn write_connections(text: &mut String, name: &str, counts: &ConnectionCounts) {
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
