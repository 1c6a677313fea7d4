//! A run as a table in text, and as one record per row.

use core::fmt::Write as _;

use nanotape_console::{records::Records, values::grouped};
use serde_json::{Value, json};

use super::{
    Benchmark, Measured, Reading, Run, Spread, Times,
    figure::{Shown, record},
    measured::Ratio,
};

/// The spread of the number by which a row is judged.
pub(crate) fn number<B: Benchmark>(row: &Measured<B>) -> Option<Spread> {
    Spread::of(&row.by_round())
}

/// A ratio as text: `1.31 x line`.
pub(crate) fn ratio_text(ratio: Option<Ratio>) -> String {
    ratio.map_or("-".to_owned(), |Ratio { value, to }| {
        format!("{value:.2} x {}", to.row.rsplit('/').next().unwrap_or(to.row))
    })
}

/// The number of rounds as text: `3 rounds`.
pub(crate) fn rounds<B: Benchmark>(run: &Run<B>) -> String {
    format!("{} {}", run.rounds, if run.rounds == 1 { "round" } else { "rounds" })
}

/// The line above a table whose readings have a duration and two processors.
pub(crate) fn heading<B: Benchmark>(run: &Run<B>, seconds: u32) -> String {
    let (first, second) = (run.cpus.writer, run.cpus.readers[0]);
    format!("{} of {seconds} s each; processors {first} and {second}", rounds(run))
}

/// Writes the whole run in the selected format.
pub(crate) fn write<B: Benchmark>(run: &Run<B>, output: &mut Records) -> anyhow::Result<()> {
    output.heading(&format!("\n{}\n", B::heading(run)))?;
    let of_all = run.context.noise.sentences.iter().filter(|_| !B::IS_PAIR);
    for note in run.notes.iter().chain(of_all) {
        output.heading(&format!("note: {note}\n"))?;
    }
    let mut last = None;
    for measured in &run.measured {
        let section = measured.row.section;
        let columns: Vec<Shown<B>> =
            section.columns.iter().copied().flatten().flat_map(|path| Shown::of(path)).collect();
        let title = (section.title)(run);
        if last.as_ref() != Some(&title) {
            let heads = columns.iter().map(|column| (column.head.to_owned(), column.width));
            output.heading(&format!("\n{title}\n{}", line::<B>("", heads)))?;
            last = Some(title);
        }
        let record = record(B::FIGURES, measured, run);
        let cells = columns.iter().map(|one| (one.cell(measured, run, &record), one.width));
        output.result(&line::<B>(measured.row.name, cells), record)?;
    }
    output.heading(&B::footing(run))?;
    if B::IS_PAIR {
        output.heading(&noise(run))?;
    }
    Ok(())
}

fn line<B: Benchmark>(name: &str, cells: impl Iterator<Item = (String, usize)>) -> String {
    let mut text = format!("  {name:<width$}", width = B::NAME_WIDTH);
    for (cell, width) in cells.filter(|(cell, width)| *width > 0 || !cell.is_empty()) {
        let _ = write!(text, " {cell:>width$}");
    }
    text.push('\n');
    text
}

/// Disturbances of the run, printed after the rows.
fn noise<B: Benchmark>(run: &Run<B>) -> String {
    let mut text = String::new();
    let noises: Vec<_> = run.measured.iter().map(|row| (row.noise(), row.row.name)).collect();
    let noisy = || noises.iter().filter(|(noise, _)| !noise.sentences.is_empty());
    if noisy().count() > 0 {
        let worst = noisy().filter_map(|(noise, name)| Some((noise.foreign?, name)));
        let worst = worst.max_by(|one, other| one.0.total_cmp(&other.0));
        let worst = worst.map_or(String::new(), |(share, name)| {
            format!(", up to {:.0}% of a processor ({name})", 100.0 * share)
        });
        let (noisy, all) = (noisy().count(), noises.len());
        let _ = writeln!(
            text,
            "\nnoise: others used the processors during {noisy} of {all} rows{worst}"
        );
    }
    let reversed = |row: &Measured<B>| row.sum(|one| one.times.as_ref(), |times| times.reversed);
    let reversed: u64 = run.measured.iter().map(reversed).sum();
    if reversed > 0 {
        let _ = writeln!(
            text,
            "note: {} messages arrived before they were sent, by the clocks of their processors, \
             and count as 0 ns",
            grouped(reversed)
        );
    }
    text
}

/// Adds the members of a JSON object to another.
pub(crate) fn extend(record: &mut Value, more: Value) {
    if let (Value::Object(record), Value::Object(more)) = (record, more) {
        record.extend(more);
    }
}

impl<B: Benchmark> Run<B> {
    /// The clock of the stamps, as JSON.
    pub(super) fn clock(&self) -> Value {
        json!({
            "source": self.context.clock.source().to_string(),
            "offset_ns": self.offset.map(|offset| {
                // The offset is relative to the processor with the smaller number.
                let is_of_reader = offset.cpu == self.cpus.readers[0];
                if is_of_reader { offset.offset_nanos } else { -offset.offset_nanos }
            }),
            "offset_bound_ns": self.offset.map(|offset| offset.bound_nanos),
        })
    }
}

/// The median of a spread, if there is one.
pub(crate) fn median(spread: Option<Spread>) -> Option<f64> {
    spread.map(|spread| spread.median)
}

/// The times of a row, with the members that the table declares for `latency`; null without times.
pub(crate) fn latency<B: Benchmark>(
    measured: &Measured<B>,
    which: impl Fn(&Reading) -> Option<&Times> + Copy,
) -> Value {
    let times: Vec<_> = measured.readings.iter().filter_map(which).collect();
    if times.is_empty() {
        return Value::Null;
    }
    let of = |time: fn(&Times) -> Option<u64>| median(measured.time_ns(which, time));
    let p50_ns = of(|times| Some(times.p50_ns));
    let is_one_way = B::base(measured.row).is_some_and(|base| base.is_half);
    let mut latency = json!({
        "count": measured.sum(which, |times| times.count),
        "p50_ns": p50_ns,
        "half_p50_ns": p50_ns.filter(|_| !is_one_way).map(|nanos| nanos / 2.0),
        "p90_ns": of(|times| Some(times.p90_ns)),
        "p99_ns": of(|times| Some(times.p99_ns)),
        "p99.9_ns": of(|times| Some(times.p999_ns)),
        "p99.99_ns": of(|times| Some(times.p9999_ns)),
        "max_ns": times.iter().map(|times| times.max_ns).max(),
        "over_100us": measured.sum(which, |times| times.over_100us),
        "reversed": measured.sum(which, |times| times.reversed),
        "from_due_p50_ns": of(|times| times.due_p50_ns),
        "from_due_p99_ns": of(|times| times.due_p99_ns),
        "clock_ns": times.iter().map(|times| times.clock_ns).reduce(f64::max),
    });
    if let Value::Object(members) = &mut latency {
        let declared = || B::FIGURES.iter().copied().flatten();
        let is_declared = |name: &str| {
            declared().any(|figure| figure.path.strip_prefix("latency/") == Some(name))
        };
        members.retain(|name, _| is_declared(name));
    }
    latency
}
