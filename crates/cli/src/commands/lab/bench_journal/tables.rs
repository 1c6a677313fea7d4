//! What was found out, in tables for people; the records go along.

use core::fmt::Write as _;

use nanotape_bench::{
    Spread,
    journal::{Bound, Goal, LINE, Measured, Of, Ratio, Reading, Section, Settings, Times, goals},
};

use super::{super::bench_ring::tables::whole, Results};
use nanotape_console::{records::Records, values::grouped};

/// Writes everything.
pub(super) fn write(results: &Results, output: &mut Records) -> anyhow::Result<()> {
    output.heading(&heading(results))?;
    let mut last = None;
    for measured in &results.measured {
        let section = measured.row.section;
        if last != Some(section) {
            last = Some(section);
            output.heading(&title(section, &results.settings))?;
        }
        output.result(&row(measured, results), results.record(measured))?;
    }
    output.heading(&reached(results))?;
    output.heading(&footing(results))
}

fn heading(results: &Results) -> String {
    let settings = &results.settings;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "\nsegments of {} bytes, {} brought in ahead, {} pages; {} {} of {} messages, {} s or {} syncs; \
         appender on processor {}, tailer on processor {}",
        grouped(settings.segment_bytes),
        grouped(settings.ahead_bytes),
        if settings.large_pages { "large" } else { "small" },
        results.rounds,
        if results.rounds == 1 { "round" } else { "rounds" },
        grouped(settings.messages),
        settings.seconds,
        grouped(settings.syncs.into()),
        settings.cpus.writer,
        settings.cpus.readers[0],
    );
    let (folder, disk) = (settings.folder.display(), settings.disk.display());
    let _ = writeln!(text, "journals in {folder}, those that wait for the disk in {disk}");
    for note in &results.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn title(section: Section, settings: &Settings) -> String {
    let (folder, disk) = (settings.folder.display(), settings.disk.display());
    let title = match section {
        Section::Append => "Append: million messages a second, by appender and tailer".to_owned(),
        Section::Call => "Append call: ns of each, and of those that rolled".to_owned(),
        Section::WriteToRead => format!(
            "Write to read: ns from the stamp before the append to after it is copied out; due: from when \
             it was due; call: of the append; line: half a round trip of {LINE}"
        ),
        Section::Sync => {
            format!("Sync: ns of an append, or a batch, until it is on the disk of {disk}")
        }
        Section::Limits => format!(
            "Limits: million messages a second, copied into a file of {folder} or into memory by one processor"
        ),
        Section::LimitTimes => format!(
            "Limits: ns of a copy, of a cache line there and back, of a write and fdatasync on the disk \
             of {disk}"
        ),
    };
    let mut text = format!("\n{title}\n  {:<28}", "");
    if matches!(section, Section::Append | Section::Limits) {
        for name in ["writer", "lowest", "highest"] {
            let _ = write!(text, " {name:>8}");
        }
        if section == Section::Append {
            for name in ["reader", "lowest", "highest"] {
                let _ = write!(text, " {name:>8}");
            }
        }
    } else {
        for name in ["p50", "p90", "p99", "p99.9", "p99.99", "max", ">100us"] {
            let _ = write!(text, " {name:>9}");
        }
        match section {
            Section::Call => text.push_str("   rolls   roll p50   roll max"),
            Section::WriteToRead => {
                text.push_str(
                    "   due p50   due p99  call p50  call p99   rolls   roll p50   roll max",
                );
            }
            _ => {}
        }
    }
    text.push_str("  others  ratio\n");
    text
}

fn row(measured: &Measured, results: &Results) -> String {
    let mut text = format!("  {:<28}", measured.row.name);
    match measured.row.is_timed() {
        true => times(&mut text, measured),
        false => rates(&mut text, measured),
    }
    let others = measured.noise().foreign;
    let others = others.map_or("-".to_owned(), |share| format!("{:.0}%", 100.0 * share));
    let ratio = measured.ratio(&results.measured).map_or("-".to_owned(), in_words);
    let _ = writeln!(text, " {others:>7}  {ratio}");
    text
}

fn times(text: &mut String, measured: &Measured) {
    let times = |time: fn(&Times) -> Option<u64>| measured.time_ns(time);
    let median = |time| times(time).map(|spread: Spread| spread.median);
    for nanos in [
        median(|times| Some(times.p50_ns)),
        median(|times| Some(times.p90_ns)),
        median(|times| Some(times.p99_ns)),
        median(|times| Some(times.p999_ns)),
        median(|times| Some(times.p9999_ns)),
        times(|times| Some(times.max_ns)).map(|spread| spread.highest),
    ] {
        let _ = write!(text, " {:>9}", whole(nanos));
    }
    let all = |which: fn(&Reading) -> Option<&Times>| measured.readings.iter().filter_map(which);
    let preempted: u64 = all(|reading| reading.times.as_ref()).map(|times| times.over_100us).sum();
    let _ = write!(text, " {:>9}", grouped(preempted));
    let section = measured.row.section;
    if section == Section::WriteToRead {
        let call = |time: fn(&Times) -> Option<u64>| {
            measured.time_ns_of(|reading| reading.calls.as_ref(), time).map(|spread| spread.median)
        };
        for nanos in [
            median(|times| times.due_p50_ns),
            median(|times| times.due_p99_ns),
            call(|times| Some(times.p50_ns)),
            call(|times| Some(times.p99_ns)),
        ] {
            let _ = write!(text, " {:>9}", whole(nanos));
        }
    }
    if matches!(section, Section::WriteToRead | Section::Call) {
        let rolls = |time: fn(&Times) -> Option<u64>| {
            measured.time_ns_of(|reading| reading.rolls.as_ref(), time)
        };
        let count: u64 = all(|reading| reading.rolls.as_ref()).map(|times| times.count).sum();
        let p50 = rolls(|times| Some(times.p50_ns)).map(|spread| spread.median);
        let max = rolls(|times| Some(times.max_ns)).map(|spread| spread.highest);
        let _ = write!(text, " {:>7} {:>10} {:>10}", grouped(count), whole(p50), whole(max));
    }
}

fn rates(text: &mut String, measured: &Measured) {
    let mut three = |rate: Option<Spread>| {
        let millions = |rate: f64| format!("{:.2}", rate / 1e6);
        for part in [rate.map(|r| r.median), rate.map(|r| r.lowest), rate.map(|r| r.highest)] {
            let _ = write!(text, " {:>8}", part.map_or("-".to_owned(), millions));
        }
    };
    three(measured.written_per_second());
    if measured.row.section == Section::Append {
        three(measured.read_per_second());
    }
}

/// `1.31 x line`.
fn in_words(ratio: Ratio) -> String {
    let name = ratio.to.rsplit('/').next().unwrap_or(ratio.to);
    format!("{:.2} x {name}", ratio.value)
}

/// Which goals were reached, and how far it is to the others.
fn reached(results: &Results) -> String {
    let all = &results.measured;
    let goals: Vec<Goal> = all.iter().flat_map(|measured| goals(measured, all)).collect();
    let mut text = String::new();
    if goals.is_empty() {
        return text;
    }
    let met = goals.iter().filter(|goal| goal.is_met()).count();
    let _ = writeln!(text, "\nGoals: {met} of {} met", goals.len());
    for goal in &goals {
        let (number, unit) = match goal.of {
            Of::PerSecond => (1e-6, "million messages a second"),
            Of::P50 => (1.0, "ns p50"),
            Of::P99 => (1.0, "ns p99"),
            Of::Ratio => (1.0, "times fdatasync"),
        };
        let digits = if unit.starts_with("ns") { 0 } else { 2 };
        let bound = match goal.bound {
            Bound::AtLeast(_) => "at least",
            Bound::AtMost(_) => "at most",
        };
        let judged = if goal.is_met() { "met" } else { "missed" };
        let _ = writeln!(
            text,
            "  {:<28} {judged:<6} {bound} {:.digits$} {unit}: {:.digits$}, by {:.0}%",
            goal.row,
            number * goal.bound.number(),
            number * goal.value,
            100.0 * goal.distance(),
        );
    }
    text
}

/// What disturbed the run: behind the rows that it is about.
fn footing(results: &Results) -> String {
    let mut text = String::new();
    let noises = || results.measured.iter().map(|measured| (measured.noise(), measured.row.name));
    let noisy = noises().filter(|(noise, _)| !noise.sentences.is_empty()).count();
    let worst = noises().filter_map(|(noise, name)| Some((noise.foreign?, name)));
    if noisy > 0 {
        let worst = worst.max_by(|one, other| one.0.total_cmp(&other.0));
        let worst = worst.map_or(String::new(), |(share, name)| {
            format!(", up to {:.0}% of a processor ({name})", 100.0 * share)
        });
        let _ = writeln!(
            text,
            "\nnoise: others used the processors during {noisy} of {} rows{worst}",
            results.measured.len()
        );
    }
    text
}
