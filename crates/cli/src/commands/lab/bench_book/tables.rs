//! What was found out, in tables for people; the records go along.

use core::fmt::Write as _;

use nanotape_bench::day_file::{Kind, Measured, Profile, QUANTILES, table_bytes};

use super::Results;
use nanotape_console::{records::Records, values::grouped};

/// Writes everything.
pub(super) fn write(results: &Results, output: &mut Records) -> anyhow::Result<()> {
    output.heading(&heading(results))?;
    let mut kind = None;
    for measured in &results.measured {
        if kind != Some(measured.variant.kind) {
            kind = Some(measured.variant.kind);
            output.heading(&section(measured.variant.kind, results))?;
        }
        output.result(&row(measured, results), results.record(measured))?;
    }
    output.heading(&latencies(&results.measured))?;
    if let Some(profile) = &results.profile {
        output.heading(&profiled(profile))?;
    }
    Ok(())
}

fn heading(results: &Results) -> String {
    let (survey, settings) = (&results.survey, &results.settings);
    let mut text = String::new();
    let times = match settings.repeat {
        1 => String::new(),
        repeat => format!(", {repeat} times through the same books"),
    };
    let _ = writeln!(
        text,
        "\n{}: {} messages, {:.1} MB{times}; room for {} live orders; {} {}",
        survey.path.display(),
        grouped(survey.messages),
        survey.bytes as f64 / 1e6,
        grouped(settings.orders as u64),
        results.rounds,
        if results.rounds == 1 { "round" } else { "rounds" },
    );
    for note in results.notes.iter().chain(&results.circumstances.noise.sentences) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn section(kind: Kind, results: &Results) -> String {
    let mut text = String::new();
    let title = match kind {
        // A plant is in no table of books.
        Kind::Books | Kind::Plant => "Books: processor time for a message, in ns".to_owned(),
        Kind::Limit => "Limits: the same file without books, ns a message".to_owned(),
        Kind::Memory => format!(
            "Limits of memory: random loads from a table of {:.0} MB, ns a load",
            table_bytes(results.settings.orders) as f64 / 1e6
        ),
    };
    let _ = writeln!(text, "\n{title}");
    let _ = write!(text, "  {:<28} {:>8} {:>8} {:>8}", "", "median", "lowest", "highest");
    if kind != Kind::Memory {
        let _ = write!(text, " {:>8} {:>8}", "wall", "ratio");
    }
    if kind == Kind::Books {
        let _ = write!(text, " {:>9} {:>10} {:>9}", "peak", "anonymous", "start-up");
    }
    text.push('\n');
    text
}

fn row(measured: &Measured, results: &Results) -> String {
    let mut text = String::new();
    let kind = measured.variant.kind;
    let _ = write!(text, "  {:<28}", measured.variant.name);
    if let Some(time) = measured.processor_ns() {
        let _ = write!(text, " {:>8.2} {:>8.2} {:>8.2}", time.median, time.lowest, time.highest);
    }
    if kind != Kind::Memory {
        let wall = measured.wall_ns().map_or(f64::NAN, |wall| wall.median);
        let ratio = results.default().and_then(|base| measured.ratio_to(base));
        let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
        let _ = write!(text, " {wall:>8.2} {ratio:>8}");
    }
    if kind == Kind::Books {
        let megabytes = |bytes: Option<u64>| {
            bytes.map_or("-".to_owned(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6))
        };
        let startup = measured.startup_ms().map_or(f64::NAN, |startup| startup.median);
        let _ = write!(
            text,
            " {:>9} {:>10} {startup:>6.1} ms",
            megabytes(measured.peak_memory_bytes()),
            megabytes(measured.peak_anonymous_bytes()),
        );
    }
    text.push('\n');
    text
}

/// Nothing where nothing was asked for.
pub(in crate::commands::lab) fn latencies(measured: &[Measured]) -> String {
    let mut text = String::new();
    for one in measured {
        let Some(latency) = &one.latency else { continue };
        if text.is_empty() {
            let _ = writeln!(
                text,
                "\nSingle messages, one at a time, nothing loaded ahead: ns, {:.0} of each the clock's \
                 own ({})",
                latency.clock_ns, latency.clock
            );
            let _ = write!(text, "  {:<28}", "");
            for (name, _) in QUANTILES {
                let _ = write!(text, " {name:>8}");
            }
            let _ = writeln!(text, " {:>10}", "max");
        }
        let _ = write!(text, "  {:<28}", one.variant.name);
        for nanos in latency.quantiles_ns {
            let _ = write!(text, " {:>8}", grouped(nanos as u64));
        }
        let _ = writeln!(text, " {:>10}", grouped(latency.max_ns));
    }
    text
}

fn profiled(profile: &Profile) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "\nProfile of the default, by message type: one at a time, ns, {:.0} of each the clock's own",
        profile.clock_ns
    );
    let _ = writeln!(
        text,
        "  {:<6} {:>14} {:>9} {:>9} {:>9} {:>9}",
        "type", "messages", "share", "p50", "p99", "of time"
    );
    let messages: u64 = profile.types.iter().map(|one| one.count).sum();
    let nanos: u64 = profile.types.iter().map(|one| one.total_ns).sum();
    let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
    for one in &profile.types {
        let _ = writeln!(
            text,
            "  {:<6} {:>14} {:>8.2}% {:>9} {:>9} {:>8.2}%",
            one.name(),
            grouped(one.count),
            percent(one.count, messages),
            grouped(one.p50_ns),
            grouped(one.p99_ns),
            percent(one.total_ns, nanos),
        );
    }
    let _ = match &profile.instructions {
        Ok(count) => writeln!(
            text,
            "instructions for a message, by valgrind over the first {}: {count:.1}",
            grouped(profile.instructions_messages)
        ),
        Err(reason) => writeln!(text, "instructions: none; {reason}"),
    };
    match &profile.counters {
        Ok(counters) => {
            let counted = counters.as_object().into_iter().flatten().filter_map(|(name, value)| {
                let value = value.as_f64().filter(|&value| value >= 0.0005)?;
                Some(format!("{} {value:.3}", name.replace('_', " ")))
            });
            let counted: Vec<String> = counted.collect();
            let _ = writeln!(text, "hardware counters, for a message: {}", counted.join(", "));
        }
        Err(reason) => {
            let _ = writeln!(text, "hardware counters: none; {reason}");
        }
    }
    text
}
