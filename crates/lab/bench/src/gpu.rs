//! `nanotape lab bench gpu`: what GPUs do with windows of two feeds, and what a launch, a copy and
//! a reduction cost alone.

use std::num::NonZeroUsize;

use anyhow::anyhow;
use clap::Args;
use nanotape_console::{
    records::{Columns, RecordArguments},
    status::{BadData, Status},
};
use nanotape_delay::{GpuError, GpuRow, GpuRows};
use nanotape_lab::{Pin, Placement, environment, record::RunContext, text};

use crate::engine::{Figure, columns, figure::record, figures};

/// What a GPU does with windows of two feeds.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab bench gpu                       the first device
  nanotape lab bench gpu --device 1 -o 1.json  another one, as one JSON list
  nanotape lab bench gpu --millis 200          longer readings

`launch` is a launch that does nothing, one of many; `launch/waited` is alone, and waited for.
`copy` moves a batch to the device, or half of a large buffer to the other half. `reduce` searches
the peaks of correlations of 16,384 points. `resident` begins with changes that are on the device:
`circular` has 16,384 points, `smoothed` has zeros beside them; `cache` has batches that fit into
the second-level cache, `memory` has large ones. `end-to-end/N` begins with changes in host memory
and ends with estimates, on N threads of the host.

`share` is the rate of a row by that of `copy/on-device`. Its bytes are those of one pass for each
transform; a library that needs two has more. Answers are compared with those of the processor.

Exit status: 0 success; 1 an answer is wrong; 2 there is no GPU, or it failed.")]
pub(crate) struct Gpu {
    /// The device, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: usize,

    /// Threads of the host for the last row [default: as many as it has, at most 8]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Milliseconds of each reading
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    millis: u64,

    #[command(flatten)]
    output: RecordArguments,
}

const COLUMNS: Columns = columns! {
    "name", "unit", "nanos", "bytes", "gb_per_second", "share",
};

/// Format: docs/formats/lab-bench-gpu.md.
pub(crate) const FIGURES: &[&[Figure<Measured, RunContext>]] = &[figures! {
    /// `launch`, `copy/to-device`, `copy/on-device`, `reduce`, `launch/waited`,
    /// `resident/circular/cache`, `resident/circular/memory`, `resident/smoothed/cache`,
    /// `resident/smoothed/memory`, `end-to-end/1`, or `end-to-end/N` with N threads of the host
    "name": "text" = |row, _| row.row.name;
    /// Number and name of the GPU
    "device": "text" = |row, _| row.device;
    /// What is counted: `launch`, `copy` or `window`
    "unit": "text" = |row, _| row.row.unit;
    /// Nanoseconds of one: the median of seven readings
    "nanos": "number" = |row, _| row.row.nanos;
    /// Bytes that one moves through the memory of the device, or over the bus, if each transform is
    /// one pass
    "bytes": "number or null" = |row, _| row.rate.map(|_| row.row.bytes);
    /// `bytes` by `nanos`
    "gb_per_second": "number or null" = |row, _| row.rate;
    /// `gb_per_second` by that of `copy/on-device`
    "share": "number or null" = |row, _| row.share;
    /// The machine, as in [lab-record.md](lab-record.md)
    "environment": "object" = |_, context| {
        environment::to_json(&context.environment, &context.noise)
    };
}];

/// A row beside the copies on its device.
pub(crate) struct Measured {
    device: String,
    row: GpuRow,
    rate: Option<f64>,
    share: Option<f64>,
}

/// The row that others are compared with.
const COPY: &str = "copy/on-device";

/// Measures and prints the rows.
pub(crate) fn run(arguments: &Gpu) -> anyhow::Result<Status> {
    let mut output = arguments.output.records(COLUMNS)?.in_one_list();
    // The threads of the last row have the processors of this one.
    let placement = Placement::on(Pin::Free, None);
    let context = RunContext::capture(&placement);
    let start = context.clock.stamp();
    let now = || context.clock.nanos_between(start, context.clock.stamp());
    let threads = arguments.threads.or_else(|| std::thread::available_parallelism().ok());
    let threads = threads.map_or(1, NonZeroUsize::get).min(8);
    let measured = GpuRows::measure(arguments.device, threads, arguments.millis * 1_000_000, now);
    let rows = measured.map_err(|error| match error {
        GpuError::Differs { .. } => BadData(error.to_string()).into(),
        _ => anyhow!(error),
    })?;
    output.heading(&text::context(&context))?;
    output.heading(&format!("\n{}\n{HEADER}\n", rows.device))?;
    let copy = rows.rows.iter().find(|row| row.name == COPY).map(GpuRow::rate);
    for row in rows.rows {
        let rate = (row.bytes > 0.0).then(|| row.rate());
        let share = rate.zip(copy).map(|(rate, copy)| rate / copy);
        let line = line(&row, rate, share);
        let measured = Measured { device: rows.device.clone(), row, rate, share };
        output.result(&line, record(FIGURES, &measured, &context))?;
    }
    output.finish()?;
    Ok(Status::Good)
}

const HEADER: &str =
    "row                                  ns each  unit        a second    GB/s  share";

fn line(row: &GpuRow, rate: Option<f64>, share: Option<f64>) -> String {
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    format!(
        "{:30} {:13.1}  {:7} {:12.0} {:>7} {:>6}\n",
        row.name,
        row.nanos,
        row.unit,
        1e9 / row.nanos,
        number(rate, 1),
        number(share, 2),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line_below_its_header() {
        let row = GpuRow { name: COPY.into(), unit: "copy", nanos: 2_000.0, bytes: 4e6 };
        let written = line(&row, Some(row.rate()), Some(1.0));
        let expected =
            "copy/on-device                        2000.0  copy          500000  2000.0   1.00\n";
        assert_eq!(written, expected);
        assert_eq!(written.trim_end().len(), HEADER.len());
        let launch = GpuRow { name: "launch".into(), unit: "launch", nanos: 1.0, bytes: 0.0 };
        assert!(line(&launch, None, None).ends_with("      -      -\n"));
    }
}
