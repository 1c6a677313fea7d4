//! The rows and totals of `nanotape explain` as text.

use std::{collections::BTreeMap, fmt::Write as _};

use nanotape_clock::UtcNanos;
use nanotape_machine::{
    Cause,
    explain::{Found, Row, Seen, Share, Total, largest_first},
    kernel_trace::Losses,
};

use nanotape_console::values::{counted_grouped, grouped, nanos_text};

/// Causes that are listed in a row.
const MOST_CAUSES: usize = 3;

/// Earlier messages that are listed below one of the slowest.
const MOST_EARLIER: usize = 5;

pub(super) fn head(name: &str, above_ns: u64) -> String {
    let above = nanos_text(above_ns);
    format!(
        "{name}: messages that took more than {above}\n{:>12}  {:<30}{:>10}{:>10}{:>10}{:>12}{:>12}{:>11}  most of it\n",
        "message",
        "arrival",
        "total",
        "waited",
        "usual",
        "interrupted",
        "unexplained",
        "not traced",
    )
}

/// One line: the parts of a message.
pub(super) fn row(row: &Row, arrival_ns: u64) -> String {
    let mut text = format!(
        "{:>12}  {:<30}{:>10}{:>10}{:>10}{:>12}{:>12}{:>11}  {}",
        grouped(row.number),
        UtcNanos::of_unix_ns(arrival_ns).to_string(),
        nanos_text(row.total_ns),
        nanos_text(row.waited_ns),
        nanos_text(row.usual_ns),
        nanos_text(row.interrupted_ns()),
        signed_text(row.unexplained_ns),
        nanos_text(row.not_traced_ns),
        row.main().text(),
    );
    // A time without a cause is shown if the events that may have had it were lost.
    let is_shown =
        |share: &&Share| share.nanos > 0 || matches!(share.cause, Cause::EventsLost { .. });
    let mut causes: Vec<_> = row.interruptions.iter().filter(is_shown).collect();
    causes.sort_by_key(|share| std::cmp::Reverse(share.nanos));
    for share in causes.iter().take(MOST_CAUSES) {
        let of = match share.number == row.number {
            true => String::new(),
            false => format!(" in message {}", grouped(share.number)),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "; {} {}{of}", share.cause, nanos_text(share.nanos));
    }
    if causes.len() > MOST_CAUSES {
        let _ = write!(text, "; and {} more", causes.len() - MOST_CAUSES);
    }
    text.push('\n');
    text
}

/// The totals, and the slowest messages.
pub(super) fn end(found: &Found, seen: Seen, events: Option<Losses>, left: u64) -> String {
    let mut text = String::new();
    if left > 0 {
        let _ = writeln!(text, "... and {} more (--rows)", counted_grouped(left, "row"));
    }
    let _ = writeln!(
        text,
        "\n{} of {} were slow; together {}. The kernel was queried after {}. Largest residual of a row: {} ns",
        grouped(found.rows),
        counted_grouped(seen.messages, "message"),
        nanos_text(found.total_ns),
        grouped(seen.queried),
        found.largest_residual_ns,
    );
    if seen.lost_spans > 0 {
        let _ = writeln!(
            text,
            "{} were overwritten before they were read",
            counted_grouped(seen.lost_spans, "span")
        );
    }
    if let Some(events) = events {
        let _ = writeln!(text, "{events}");
    }
    totals(&mut text, "most of a message's time", &found.by_main);
    totals(&mut text, "part of the time", &found.by_part);
    for row in found.worst() {
        worst(&mut text, row);
    }
    text
}

fn totals(text: &mut String, head: &str, totals: &BTreeMap<String, Total>) {
    if totals.is_empty() {
        return;
    }
    let all = largest_first(totals);
    let sum = all.iter().map(|(_, total)| total.nanos).sum::<u64>().max(1) as f64;
    let _ = writeln!(text, "\n  {head:<44}{:>12}{:>12}{:>8}", "messages", "time", "share");
    for (name, total) in all {
        let share = 100.0 * total.nanos as f64 / sum;
        let (rows, time) = (grouped(total.rows), nanos_text(total.nanos));
        let _ = writeln!(text, "  {name:<44}{rows:>12}{time:>12}{share:>7.1}%");
    }
}

/// One of the slowest messages, with its stages and those that it waited for.
fn worst(text: &mut String, row: &Row) {
    let (number, total) = (grouped(row.number), nanos_text(row.total_ns));
    let _ = writeln!(text, "\nmessage {number}: {total}, most of it {}", row.main().text());
    let mut earlier = BTreeMap::<u64, u64>::new();
    for span in row.spans.iter().filter(|span| span.number != row.number) {
        let from = span.gap.from.max(row.gap.from).ticks();
        let ticks = span.gap.to.min(row.gap.to).ticks().saturating_sub(from);
        *earlier.entry(span.number).or_default() += ticks;
    }
    let mut longest: Vec<(u64, u64)> = earlier.into_iter().collect();
    longest.sort_by_key(|&(number, ticks)| (std::cmp::Reverse(ticks), number));
    let all = (row.gap.to.ticks() - row.gap.from.ticks()).max(1) as f64;
    for &(number, ticks) in longest.iter().take(MOST_EARLIER) {
        let nanos = (ticks as f64 / all * row.total_ns as f64).round() as u64;
        let _ = writeln!(text, "  behind message {:<22}{:>12}", grouped(number), nanos_text(nanos));
    }
    if longest.len() > MOST_EARLIER {
        let _ = writeln!(text, "  and {} more", longest.len() - MOST_EARLIER);
    }
    for stage in &row.stages {
        let (took, usual) = (nanos_text(stage.nanos), nanos_text(stage.usual_ns));
        let _ = writeln!(text, "  {:<37}{took:>12}   usually {usual}", stage.site);
    }
}

fn signed_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    format!("{sign}{}", nanos_text(nanos.unsigned_abs()))
}
