//! A run as a table in text, and as one record per row.

use core::fmt::Write as _;

use nanotape_console::{records::Records, values::grouped};
use nanotape_lab::environment;
use serde_json::{Value, json};

use super::{Benchmark, Measured, Reading, Run, Spread, Times, measured::Ratio};

/// A column: its name, its width, and the cell of a row. A last column without a width is printed
/// only if it has content.
pub(crate) struct Column<B: Benchmark> {
    name: &'static str,
    width: usize,
    cell: fn(&Measured<B>, &Run<B>) -> String,
}

impl<B: Benchmark> core::fmt::Debug for Column<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

impl<B: Benchmark> Column<B> {
    pub(crate) const fn new(
        name: &'static str,
        width: usize,
        cell: fn(&Measured<B>, &Run<B>) -> String,
    ) -> Self {
        Self { name, width, cell }
    }

    /// Quantiles of single messages: each is a median over rounds.
    pub(crate) const QUANTILES: [Self; 4] = [
        Self::new("p50", 9, |row, _| time(row, |times| Some(times.p50_ns))),
        Self::new("p90", 9, |row, _| time(row, |times| Some(times.p90_ns))),
        Self::new("p99", 9, |row, _| time(row, |times| Some(times.p99_ns))),
        Self::new("p99.9", 9, |row, _| time(row, |times| Some(times.p999_ns))),
    ];

    /// The longest time over rounds, and the number of preempted samples.
    pub(crate) const LONGEST: [Self; 2] = [
        Self::new("max", 9, |row, _| {
            whole(row.time_ns(|times| Some(times.max_ns)).map(|one| one.highest))
        }),
        Self::new(">100us", 9, |row, _| {
            grouped(row.sum(|reading| reading.times.as_ref(), |times| times.over_100us))
        }),
    ];

    /// Times since a message was due.
    pub(crate) const DUE: [Self; 2] = [
        Self::new("due p50", 9, |row, _| time(row, |times| times.due_p50_ns)),
        Self::new("due p99", 9, |row, _| time(row, |times| times.due_p99_ns)),
    ];

    /// Millions per second of the writer.
    pub(crate) const WRITER: [Self; 3] = [
        Self::new("writer", 8, |row, _| millions(row.written_per_second(), |rate| rate.median)),
        Self::new("lowest", 8, |row, _| millions(row.written_per_second(), |rate| rate.lowest)),
        Self::new("highest", 8, |row, _| millions(row.written_per_second(), |rate| rate.highest)),
    ];

    /// Millions per second of the slowest reader.
    pub(crate) const READER: [Self; 3] = [
        Self::new("reader", 8, |row, _| millions(row.read_per_second(), |rate| rate.median)),
        Self::new("lowest", 8, |row, _| millions(row.read_per_second(), |rate| rate.lowest)),
        Self::new("highest", 8, |row, _| millions(row.read_per_second(), |rate| rate.highest)),
    ];

    /// The number by which a row is judged, in ns.
    pub(crate) const NANOS: [Self; 3] = [
        Self::new("median", 8, |row, _| nanos(number(row).map(|one| one.median))),
        Self::new("lowest", 8, |row, _| nanos(number(row).map(|one| one.lowest))),
        Self::new("highest", 8, |row, _| nanos(number(row).map(|one| one.highest))),
    ];

    /// Share of its processors that other processes took.
    pub(crate) const OTHERS: Self = Self::new("others", 7, |row, _| {
        let share = row.noise().foreign.filter(|_| B::readers(row.row) < 2);
        share.map_or("-".to_owned(), |share| format!("{:.0}%", 100.0 * share))
    });

    /// The ratio of a row to its base.
    pub(crate) const RATIO: Self =
        Self::new(" ratio", 0, |row, run| format!(" {}", ratio_text(row.ratio(run))));
}

/// The spread of the number by which a row is judged.
pub(crate) fn number<B: Benchmark>(row: &Measured<B>) -> Option<Spread> {
    Spread::of(&row.by_round())
}

/// A time: the median over rounds.
pub(crate) fn time<B: Benchmark>(
    row: &Measured<B>,
    time: impl Fn(&Times) -> Option<u64>,
) -> String {
    whole(row.time_ns(time).map(|one| one.median))
}

/// A ratio as text: `1.31 x line`.
pub(crate) fn ratio_text(ratio: Option<Ratio>) -> String {
    ratio.map_or("-".to_owned(), |Ratio { value, to }| {
        format!("{value:.2} x {}", to.row.rsplit('/').next().unwrap_or(to.row))
    })
}

/// A time in ns without decimals.
pub(crate) fn whole(nanos: Option<f64>) -> String {
    nanos.map_or("-".to_owned(), |nanos| grouped(nanos.round() as u64))
}

/// A time in ns with two decimals.
pub(crate) fn nanos(number: Option<f64>) -> String {
    number.map_or("-".to_owned(), |number| format!("{number:.2}"))
}

/// One number of a rate, in millions.
pub(crate) fn millions(rate: Option<Spread>, of: fn(Spread) -> f64) -> String {
    nanos(rate.map(|rate| of(rate) / 1e6))
}

/// The number of rounds as text: `3 rounds`.
pub(crate) fn rounds<B: Benchmark>(run: &Run<B>) -> String {
    format!("{} {}", run.rounds, if run.rounds == 1 { "round" } else { "rounds" })
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
        let title = (section.title)(run);
        if last.as_ref() != Some(&title) {
            let columns = section.columns.iter().copied().flatten();
            let names = columns.map(|column| (column.name.to_owned(), column.width));
            output.heading(&format!("\n{title}\n{}", line::<B>("", names)))?;
            last = Some(title);
        }
        let columns = section.columns.iter().copied().flatten();
        let cells = columns.map(|column| ((column.cell)(measured, run), column.width));
        output.result(&line::<B>(measured.row.name, cells), record(measured, run))?;
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

/// All members of a row.
fn record<B: Benchmark>(measured: &Measured<B>, run: &Run<B>) -> Value {
    let own_noise = B::IS_PAIR.then(|| measured.noise());
    let noise = own_noise.as_ref().unwrap_or(&run.context.noise);
    let mut record = json!({
        "name": measured.row.name,
        "rounds": run.rounds,
        "environment": environment::to_json(&run.context.environment, noise),
        "noise": noise.sentences,
        "notes": run.notes,
    });
    if B::IS_PAIR {
        extend(&mut record, pair_record(measured, run));
    }
    extend(&mut record, B::record(measured, run));
    record
}

/// Members of a row with writers and readers.
fn pair_record<B: Benchmark>(measured: &Measured<B>, run: &Run<B>) -> Value {
    let section = measured.row.section;
    let ratio = measured.ratio(run);
    let (written, read) = (measured.written_per_second(), measured.read_per_second());
    json!({
        "section": section.name,
        "unit": if section.is_timed { "ns" } else { "messages/s" },
        "by_round": measured.by_round(),
        "written_per_second": median(written),
        "written_per_second_low": written.map(|spread| spread.lowest),
        "written_per_second_high": written.map(|spread| spread.highest),
        "read_per_second": median(read),
        "read_per_second_low": read.map(|spread| spread.lowest),
        "read_per_second_high": read.map(|spread| spread.highest),
        "ratio": ratio.map(|ratio| ratio.value),
        "ratio_to": ratio.map(|ratio| ratio.to.row),
        "ratio_to_half": ratio.map(|ratio| ratio.to.is_half),
        "clock": {
            "source": run.context.clock.source().to_string(),
            "offset_ns": run.offset.map(|offset| {
                // The offset is relative to the processor with the smaller number.
                let is_of_reader = offset.cpu == run.cpus.readers[0] as usize;
                if is_of_reader { offset.offset_nanos } else { -offset.offset_nanos }
            }),
            "offset_bound_ns": run.offset.map(|offset| offset.bound_nanos),
        },
    })
}

/// Adds the members of a JSON object to another.
pub(crate) fn extend(record: &mut Value, more: Value) {
    if let (Value::Object(record), Value::Object(more)) = (record, more) {
        record.extend(more);
    }
}

/// The median of a spread, if there is one.
pub(crate) fn median(spread: Option<Spread>) -> Option<f64> {
    spread.map(|spread| spread.median)
}

/// Times of a row as JSON; null if there are none.
pub(crate) fn latency<B: Benchmark>(
    measured: &Measured<B>,
    which: impl Fn(&Reading) -> Option<&Times> + Copy,
) -> Value {
    let times: Vec<_> = measured.readings.iter().filter_map(which).collect();
    if times.is_empty() {
        return Value::Null;
    }
    let of = |time: fn(&Times) -> Option<u64>| median(measured.time_ns_of(which, time));
    json!({
        "count": measured.sum(which, |times| times.count),
        "p50_ns": of(|times| Some(times.p50_ns)),
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
    })
}
