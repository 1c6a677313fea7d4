//! The result of `nanotape lab jitter` as text.

use core::fmt::Write as _;

use nanotape_clock::Clock;
use nanotape_console::values::{counted, counted_grouped, grouped, nanos_text};
use nanotape_lab::{record::RunContext, text};
use nanotape_machine::{
    ProcessorGaps, Rung, Total,
    jitter::summary::{Summary, Where},
    kernel_trace::Losses,
    periods::{Period, fold},
};
use serde_json::Value;

use super::JitterCommand;

/// Quantiles of the table.
const SHOWN: [&str; 8] = ["p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p100", "p0"];

/// Most causes of a side or processor.
const MOST_CAUSES: usize = 8;

pub(super) fn heading(context: &RunContext, command: &JitterCommand) -> String {
    let mut text = text::context(context);
    let _ = writeln!(
        text,
        "interruptions from {} (in round trips {}), {} of {} ms for each variant",
        nanos_text(command.threshold),
        nanos_text(command.round_trip_threshold_ns()),
        counted(command.turns.into(), "turn"),
        command.turn
    );
    text
}

pub(super) fn variants_head() -> String {
    let mut text = String::from("\nRound trips between two threads over two rings\n");
    let _ = write!(text, "  {:<36}", "");
    for name in SHOWN {
        let label = match name {
            "p100" => "longest",
            "p0" => "shortest",
            name => name,
        };
        let _ = write!(text, "{label:>10}");
    }
    text.push('\n');
    text
}

pub(super) fn variant(summary: &Summary) -> String {
    let mut text = format!("  {:<36}", summary.variant.to_string());
    for name in SHOWN {
        let _ =
            write!(text, "{:>10}", summary.quantile_ns(name).map_or("-".to_owned(), nanos_text));
    }
    let _ = write!(text, "\n    {} round trips", grouped(summary.count()));
    if let Some((low, high)) = summary.interval_ns("p50") {
        let (low, high) = (nanos_text(low as u64), nanos_text(high as u64));
        let _ = write!(text, "; median of a turn {low} to {high}");
    }
    text.push('\n');
    let slow: u64 = summary.slow_by_side.iter().sum();
    if slow > 0 {
        let by_side = Where::ALL.iter().zip(summary.slow_by_side);
        let parts: Vec<String> = by_side
            .filter(|(_, count)| *count > 0)
            .map(|((_, name), count)| format!("{name} {:.0}%", percent(count, slow)))
            .collect();
        let _ = writeln!(
            text,
            "    {} slow: interrupted at {}",
            counted_grouped(slow, "round trip"),
            parts.join(", ")
        );
    }
    for (name, side) in ["pinger", "ponger"].iter().zip(&summary.sides) {
        let seconds = side.watched_ns as f64 / 1e9;
        let _ = writeln!(
            text,
            "    {name}: {:.0} interruptions a second, {:.3}% of its time",
            side.count as f64 / seconds.max(1e-9),
            percent(side.lost_ns, side.watched_ns)
        );
        causes(&mut text, &side.tally.totals(), side.lost_ns);
    }
    if let Some(Ok(rates)) = &summary.counters
        && let Some(share) = rates.bad_speculation
    {
        let _ = writeln!(text, "    bad speculation: {:.1}% of the pinger's slots", 100.0 * share);
    }
    for sentence in &summary.refused {
        let _ = writeln!(text, "    {sentence}");
    }
    text
}

pub(super) fn processors_head(priority: Option<u8>) -> String {
    let class = match priority {
        Some(priority) => format!("the real-time class, priority {priority}"),
        None => "the normal class".to_owned(),
    };
    format!("\nEach processor with a thread that does nothing else, in {class}\n")
}

pub(super) fn processor(clock: &Clock, processor: &ProcessorGaps, record: &Value) -> String {
    let (lost, watched) = (processor.lost_ns(clock), processor.watched_ns(clock));
    let sorted = processor.sorted_ns(clock);
    let count = sorted.len() as u64;
    let seconds = watched as f64 / 1e9;
    let at = |name: &str| record["quantiles"][name].as_u64().map_or("-".to_owned(), nanos_text);
    let mut text = format!(
        "  processor {}: {:.0} interruptions a second, {:.3}% of its time; p50 {}, p99 {}, longest {}\n",
        processor.cpu,
        count as f64 / seconds.max(1e-9),
        percent(lost, watched),
        at("p50"),
        at("p99"),
        at("p100"),
    );
    if !processor.is_pinned {
        text += "    the thread could not be pinned, so it may have run on other processors\n";
    }
    if processor.watched.not_kept > 0 {
        let not_kept = counted_grouped(processor.watched.not_kept, "interruption");
        let _ =
            writeln!(text, "    {not_kept} more did not fit into memory; use a larger --threshold");
    }
    causes(&mut text, &totals(record), lost);
    if let Some(unmatched) = processor.unmatched() {
        let _ = writeln!(
            text,
            "    {} more than interrupts of this kernel",
            counted_grouped(unmatched, "interruption")
        );
    }
    for period in fold(&processor.unexplained_at_ns(clock)).iter().filter(|one| one.is_found) {
        let _ = writeln!(
            text,
            "    the unexplained ones recur every {}: a timer outside of this kernel",
            period_text(period)
        );
    }
    if let Some(count) = processor.system_management {
        let _ =
            writeln!(text, "    {} counted", counted_grouped(count, "system management interrupt"));
    }
    let steps = processor.speed.steps.len();
    if steps > 0 {
        let _ = writeln!(
            text,
            "    the speed of the loop changed {}: frequency, or a neighbour on the same core",
            if steps == 1 { "once".to_owned() } else { format!("{steps} times") }
        );
    }
    for period in processor.speed.periods.iter().filter(|one| one.is_found) {
        let _ = writeln!(
            text,
            "    its changes recur every {}: turbo that is switched on and off, or that neighbour",
            period_text(period)
        );
    }
    for sentence in &processor.refused {
        let _ = writeln!(text, "    {sentence}");
    }
    text
}

/// What could not be used, how slow round trips were explained, and what was lost of the events of
/// the kernel.
pub(super) fn footing(
    context: &RunContext,
    rungs: &[Rung],
    summaries: &[Summary],
    events: Option<Losses>,
) -> String {
    let mut text = String::new();
    let own = summaries.first().map_or(&[][..], |summary| &summary.rungs);
    let unused: Vec<String> = own
        .iter()
        .chain(rungs)
        .filter_map(|rung| Some(format!("  {}: {}", rung.name, rung.unused.as_ref()?)))
        .collect();
    if !unused.is_empty() {
        let _ = writeln!(text, "\nNot used to find causes:\n{}", unused.join("\n"));
    }
    if let Some(events) = events {
        let _ = writeln!(text, "{events}");
    }
    for sentence in &context.noise.sentences {
        let _ = writeln!(text, "note: {sentence}");
    }
    text
}

fn causes(text: &mut String, totals: &[Total], lost_ns: u64) {
    for total in totals.iter().take(MOST_CAUSES) {
        let _ = writeln!(
            text,
            "      {:<44} {:>9} times {:>5.1}% of the lost time, p50 {:>9}, longest {:>9}",
            total.cause,
            grouped(total.count),
            percent(total.sum_ns, lost_ns),
            nanos_text(total.p50_ns),
            nanos_text(total.max_ns),
        );
    }
    if let Some(more) = totals.len().checked_sub(MOST_CAUSES).filter(|more| *more > 0) {
        let _ = writeln!(text, "      and {}", counted(more as u64, "more cause"));
    }
}

/// The causes of a record, as it has them.
fn totals(record: &Value) -> Vec<Total> {
    let causes = record["causes"].as_array().map_or(&[][..], Vec::as_slice);
    causes
        .iter()
        .filter_map(|cause| {
            Some(Total {
                cause: cause["cause"].as_str()?.to_owned(),
                count: cause["count"].as_u64()?,
                sum_ns: cause["ns"].as_u64()?,
                p50_ns: cause["p50_ns"].as_u64()?,
                max_ns: cause["max_ns"].as_u64()?,
            })
        })
        .collect()
}

fn period_text(period: &Period) -> String {
    format!(
        "{} (strength {:.2} of 1, {} of them)",
        nanos_text(period.period_ns as u64),
        period.strength,
        grouped(period.count as u64),
    )
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
