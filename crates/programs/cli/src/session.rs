//! The report of a live session: its lines, the race between them, and its gaps.

use nanotape_board::{LineStat, LiveStat};
use serde_json::{Value, json};

use crate::{record::Record, values::nanos_text};

/// The reported quantiles of leads.
const LEADS: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

/// Rows of a report: a name, and text.
pub(crate) fn report(stat: &LiveStat) -> Vec<(String, String)> {
    let mut rows = vec![("session".to_owned(), position_text(stat))];
    for (place, line) in stat.lines.iter().enumerate() {
        let name = letter(place);
        rows.push((format!("  line {name}"), format!("{}: {}", line.address, line_text(line))));
        rows.push((format!("  {name} ahead"), race_text(line, stat)));
    }
    if stat.answers.packets > 0 {
        let answers = &stat.answers;
        let (packets, messages) = (answers.packets, answers.first_messages);
        let text = format!("{packets} packets, {messages} messages that no line had brought");
        rows.push(("  re-requests".to_owned(), text));
    }
    rows.push(("  gaps".to_owned(), gaps_text(stat)));
    if stat.lines.len() > 1 {
        rows.push(("  arbitration".to_owned(), arbitration_text(stat)));
    }
    rows
}

/// The same as values of an object; all are null without a session.
pub(crate) fn with_session(record: Record, stat: Option<&LiveStat>) -> Record {
    let lines = |stat: &LiveStat| -> Value {
        stat.lines.iter().map(|line| line_value(line, stat)).collect::<Vec<_>>().into()
    };
    let position = stat.map(|stat| stat.position);
    let gaps = stat.map(|stat| stat.gaps);
    let fills = gaps.map(|gaps| gaps.fills);
    record
        .with("session_next_message", position.map(|at| at.expected))
        .with("session_missing", position.map(|at| at.missing))
        .with("session_kept", position.map(|at| at.kept))
        .with("session_suspect", position.map(|at| at.is_suspect))
        .with("gaps", gaps.map(|gaps| gaps.declared))
        .with("gaps_open", gaps.map(|gaps| gaps.declared.saturating_sub(gaps.closed)))
        .with("gap_longest_ns", gaps.map(|gaps| gaps.longest_ns))
        .with("gap_messages_from_lines", fills.map(|fills| fold(&fills.lines)))
        .with("gap_messages_retransmitted", fills.map(|fills| fills.retransmitted))
        .with("gap_messages_in_snapshot", fills.map(|fills| fills.snapshot))
        .with("gap_messages_lost", fills.map(|fills| fills.lost))
        .with("messages_in_time_from_other_line", stat.map(|stat| stat.overtaken))
        .with("rerequest_packets", stat.map(|stat| stat.answers.packets))
        .with("lines", stat.map(lines).unwrap_or_default())
}

fn position_text(stat: &LiveStat) -> String {
    let at = &stat.position;
    let state = match (at.has_ended, at.is_holding, at.is_suspect) {
        (true, _, _) => ", ended",
        (_, true, _) => ", holding messages until a snapshot comes",
        (_, _, true) => ", books unreliable since a loss",
        _ => "",
    };
    format!("next message {}, {} missing, {} kept{state}", at.expected, at.missing, at.kept)
}

fn line_text(line: &LineStat) -> String {
    let counts = &line.counts;
    let malformed = fold(&counts.malformed);
    format!(
        "{} packets, {} messages; {} missing, {} overtaken, {} duplicates, {malformed} malformed \
         packets, {} dropped by the kernel, {} silences",
        counts.packets,
        counts.messages,
        counts.missing,
        counts.overtaken,
        counts.duplicates,
        line.kernel_drops,
        counts.silences
    )
}

fn race_text(line: &LineStat, stat: &LiveStat) -> String {
    let share = share_of_races(line, stat);
    let leads: Vec<_> = leads(line)
        .filter_map(|(name, lead)| lead.map(|ns| format!("{name} {}", nanos_text(ns))))
        .collect();
    let by = if leads.is_empty() { String::new() } else { format!(", by {}", leads.join(", ")) };
    let first = line.counts.first_messages;
    format!("{first} messages taken from it; earlier in {share:.1} percent of races{by}")
}

fn gaps_text(stat: &LiveStat) -> String {
    let gaps = &stat.gaps;
    if gaps.declared == 0 {
        return format!("none; {} messages came from the other line in time", stat.overtaken);
    }
    let fills = &gaps.fills;
    format!(
        "{}, {} open, longest {}: {} messages late from lines, {} retransmitted, {} in a snapshot, {} \
         lost; {} came in time",
        gaps.declared,
        gaps.declared.saturating_sub(gaps.closed),
        nanos_text(gaps.longest_ns),
        fold(&fills.lines),
        fills.retransmitted,
        fills.snapshot,
        fills.lost,
        stat.overtaken
    )
}

/// What each line alone would lack, and what all of them together lacked.
fn arbitration_text(stat: &LiveStat) -> String {
    let alone = stat.lines.iter().enumerate();
    let alone = alone.map(|(place, line)| {
        format!("line {} alone lacks {} messages", letter(place), line.counts.missing)
    });
    let from_lines = fold(&stat.gaps.fills.lines);
    let together = stat.gaps.fills.total().saturating_sub(from_lines);
    format!("{}; together they lack {together}", alone.collect::<Vec<_>>().join(", "))
}

fn line_value(line: &LineStat, stat: &LiveStat) -> Value {
    let counts = &line.counts;
    let mut value = json!({
        "address": line.address.to_string(),
        "packets": counts.packets,
        "bytes": counts.bytes,
        "heartbeats": counts.heartbeats,
        "messages": counts.messages,
        "first_messages": counts.first_messages,
        "missing": counts.missing,
        "overtaken": counts.overtaken,
        "duplicates": counts.duplicates,
        "other_session": counts.other_session,
        "far_ahead": counts.far_ahead,
        "malformed": fold(&counts.malformed),
        "kernel_drops": line.kernel_drops,
        "silences": counts.silences,
        "races_won": line.leads.count(),
        "races_won_percent": (share_of_races(line, stat) * 10.0).round() / 10.0,
    });
    for (name, lead) in leads(line) {
        value[format!("ahead_ns_{name}")] = lead.into();
    }
    value
}

fn leads(line: &LineStat) -> impl Iterator<Item = (&'static str, Option<u64>)> + '_ {
    LEADS.into_iter().map(|(name, quantile)| (name, line.leads.quantile(quantile)))
}

/// The share of the packets that several lines brought in which this one was earlier.
fn share_of_races(line: &LineStat, stat: &LiveStat) -> f64 {
    let all: u64 =
        stat.lines.iter().fold(0, |sum: u64, line| sum.saturating_add(line.leads.count()));
    if all == 0 { 0.0 } else { line.leads.count() as f64 * 100.0 / all as f64 }
}

/// A sum of counts of a board, which may be any numbers.
fn fold(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum: u64, &more| sum.saturating_add(more))
}

fn letter(line: usize) -> char {
    u8::try_from(line).map_or('?', |line| char::from(b'A'.saturating_add(line)))
}
