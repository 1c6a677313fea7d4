//! The output of a day in another protocol, when its sockets are ready and at the end.

use std::fmt::Write as _;

use nanotape_exchange::feeds::{FeedAddresses, FeedSummary};
use nanotape_synth::FeedProtocol;

use super::super::{
    ExchangeArguments,
    outcome::{Ready, connections_record, write_connections},
};
use crate::{
    record::Record,
    sending::{day_record, day_text},
    values::{counted, grouped},
};

pub(super) fn ready(
    arguments: &ExchangeArguments,
    (protocol, streams): (FeedProtocol, u8),
    addresses: &FeedAddresses,
) -> Ready {
    let (lines, feed) = (&arguments.lines, &arguments.feed);
    let spins = addresses.spins.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let text_of = |value: Option<&dyn ToString>| value.map(ToString::to_string);
    macro_rules! text {
        ($value:expr) => {
            text_of($value.as_ref().map(|value| value as &dyn ToString))
        };
    }
    let parts = [
        ("line_a", "line A", text!(lines.line_a)),
        ("line_b", "line B", text!(lines.line_b)),
        ("gap_server", "gap server", text!(addresses.gap)),
        ("gap_answers", "its answers", text!(feed.gap_answers)),
        ("spin_servers", "spin servers", Some(spins).filter(|spins| !spins.is_empty())),
        ("faults_a", "faults of A", text!(lines.faults_a)),
        ("faults_b", "faults of B", text!(lines.faults_b)),
        ("faults_both", "faults of both", text!(lines.faults_both)),
        ("gap_server_faults", "faults of the gap server", text!(feed.gap_server_faults)),
        ("gap_answers_faults", "faults of its answers", text!(feed.gap_answers_faults)),
        ("spin_server_faults", "faults of the spin servers", text!(feed.spin_server_faults)),
    ];
    let record = Record::default()
        .with("protocol", protocol.to_string())
        .with("units", u64::from(streams))
        .with("pace", arguments.pace.to_string())
        .with("seed", lines.seed);
    let text = format!(
        "{protocol}, {}: pace {}, seed {}",
        counted(streams.into(), "unit"),
        arguments.pace,
        lines.seed
    );
    Ready::new(record, text, parts)
}

/// The counts of each line, unit and server.
pub(super) fn record_of(summary: &FeedSummary) -> Record {
    let (gap, spin, answers) =
        (&summary.gap.requests, &summary.spin.requests, &summary.gap.answers);
    let mut record = day_record(&summary.sent);
    for (number, unit) in (1..).zip(&summary.units) {
        record = record.with(format!("unit_{number}_last"), unit.last);
        for (line, of) in ["a", "b"].iter().zip(&unit.lines) {
            let counts = of.counts;
            let lost = counts.dropped
                + counts.dropped_in_bursts
                + counts.dropped_on_both
                + counts.silenced
                + counts.before_start;
            record = record
                .with(format!("unit_{number}_{line}_packets"), counts.packets)
                .with(format!("unit_{number}_{line}_sent"), counts.sent)
                .with(format!("unit_{number}_{line}_lost"), lost);
        }
    }
    record = record
        .with("gap_requests", gap.requests)
        .with("gap_accepted", gap.accepted)
        .with("gap_messages", gap.messages)
        .with("gap_out_of_range", gap.out_of_range)
        .with("gap_count_limit", gap.count_limit)
        .with("gap_second_limit", gap.second_limit)
        .with("gap_minute_limit", gap.minute_limit)
        .with("gap_day_limit", gap.day_limit)
        .with("gap_invalid_unit", gap.invalid_unit)
        .with("gap_unavailable", gap.unavailable)
        .with("gap_answer_packets", answers.packets)
        .with("gap_answer_sent", answers.sent)
        .with("gap_answer_dropped", answers.dropped + answers.dropped_in_bursts)
        .with("gap_answer_send_errors", summary.gap.send_errors);
    record = connections_record(record, "gap_server", &summary.gap.connections);
    record = record
        .with("spin_requests", spin.requests)
        .with("spin_accepted", spin.accepted)
        .with("spin_out_of_range", spin.out_of_range)
        .with("spin_in_progress", spin.in_progress)
        .with("spin_orders", spin.orders)
        .with("spin_finished", spin.finished);
    connections_record(record, "spin_server", &summary.spin.connections)
}

pub(super) fn text_of(summary: &FeedSummary) -> String {
    let mut text = day_text(&summary.sent, "sent");
    let (gap, spin) = (&summary.gap.requests, &summary.spin.requests);
    // Writing to a string cannot fail.
    if gap.requests > 0 {
        let _ = writeln!(
            text,
            "gap requests: {}, {} accepted with {}; {} sent",
            counted(gap.requests, "request"),
            grouped(gap.accepted),
            counted(gap.messages, "message"),
            counted(summary.gap.answers.sent, "packet"),
        );
    }
    write_connections(&mut text, "gap server", &summary.gap.connections);
    if spin.requests > 0 {
        let _ = writeln!(
            text,
            "images: {}, {} accepted with {}",
            counted(spin.requests, "request"),
            grouped(spin.accepted),
            counted(spin.orders, "order"),
        );
    }
    write_connections(&mut text, "spin servers", &summary.spin.connections);
    text
}
