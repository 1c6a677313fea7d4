//! `nanotape lab trend`: recorded results over time.

use std::path::PathBuf;

use clap::Args;
use nanotape_lab::{pages, record};
use serde_json::Value;

use nanotape_console::{
    records::{Columns, RecordArguments, RecordFormat},
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab bench --record                 record the results of this run
  nanotape lab trend -o trend.html            plot all recorded results
  nanotape lab trend old.jsonl new.jsonl > trend.html
  nanotape lab trend --format text            a line for each result

The page loads nothing from the network. Each machine has its own series, because numbers of
different machines cannot be compared.")]
pub(super) struct TrendCommand {
    /// Record files, or folders of them
    #[arg(value_name = "PATH", default_value = "bench/record")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    output: RecordArguments,
}

const COLUMNS: Columns = &[
    ("name", "/name"),
    ("time", "/time"),
    ("kind", "/kind"),
    ("host", "/environment/host"),
    ("revision", "/environment/revision"),
    ("median_ns", "/cost/median_ns"),
    ("low_ns", "/cost/low_ns"),
    ("high_ns", "/cost/high_ns"),
    ("instructions", "/instructions"),
    ("verdict", "/verdict"),
    ("ratio", "/change/ratio"),
];

pub(super) fn run(command: &TrendCommand) -> anyhow::Result<Status> {
    let mut records = Vec::new();
    for path in &command.paths {
        records.extend(record::read(path)?);
    }
    anyhow::ensure!(
        !records.is_empty(),
        "no records in {}; `nanotape lab bench --record` writes some",
        command.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    );
    // Sorted by benchmark, then by time: RFC 3339 sorts as text.
    let key = |record: &Value, place: &str| record[place].as_str().unwrap_or_default().to_owned();
    records.sort_by_cached_key(|record| (key(record, "name"), key(record, "time")));
    let mut output = command.output.records_or(RecordFormat::Html, COLUMNS)?;
    for record in records {
        output.result(&line(&record), record)?;
    }
    output.finish_with(pages::trend)?;
    Ok(Status::Good)
}

/// One result as a line.
fn line(record: &Value) -> String {
    let word = |place: &str| record.pointer(place).and_then(Value::as_str).unwrap_or("-");
    let number = |place: &str| record.pointer(place).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let revision = word("/environment/revision");
    let head = format!(
        "{:<24} {}  {:<10} {:<12}",
        word("/name"),
        word("/time"),
        revision.get(..10).unwrap_or(revision),
        word("/environment/host")
    );
    if record["kind"] == "compare" {
        let change = (number("/change/ratio") - 1.0) * 100.0;
        return format!("{head} {} {change:+.2}%\n", word("/verdict"));
    }
    let cost = number("/cost/median_ns");
    format!("{head} {cost:.2} ns [{:.2}, {:.2}]\n", number("/cost/low_ns"), number("/cost/high_ns"))
}
