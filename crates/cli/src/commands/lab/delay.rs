//! `nanotape lab delay`: estimators of delay against delays that are known.

use anyhow::bail;
use clap::Args;
use nanotape_bench::delay_accuracy::{AccuracyRow, CLOSE_NS, SCENARIOS, Scenario, accuracy};
use nanotape_console::records::{Columns, RecordArguments};
use nanotape_lab::text::nanos;
use serde_json::{Value, json};

use crate::{input::Progress, status::Status};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab delay
  nanotape lab delay --windows 1000 --scenarios noisy,sparse -o accuracy.csv

A synthetic stock changes its quote in clusters, and a second feed shows it later: with jitter, without a part of
the changes, and with changes of other venues. Every method estimates the delay in every window. docs/delay.md
describes the scenarios.

error: the estimate less the true median delay of the window; its median is the bias, and 5% and 95% are the spread.
covered: intervals that contain the truth, of 95% that should. close: estimates within 25 us, of all windows.

Exit status: 0.")]
pub(super) struct DelayCommand {
    /// Windows of each scenario
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = crate::values::count::<u32>(1..=100_000))]
    windows: u32,

    /// Only these scenarios
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    scenarios: Vec<String>,

    /// Seed of the feeds
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    output: RecordArguments,
}

const COLUMNS: Columns = &[
    ("scenario", "/scenario"),
    ("method", "/method"),
    ("windows", "/windows"),
    ("estimates", "/estimates"),
    ("close", "/close"),
    ("error_p05_ns", "/error_p05_ns"),
    ("bias_ns", "/bias_ns"),
    ("error_p95_ns", "/error_p95_ns"),
    ("covered", "/covered"),
    ("interval_width_ns", "/interval_width_ns"),
    ("cost_ns", "/cost_ns"),
];

pub(super) fn run(command: &DelayCommand) -> anyhow::Result<Status> {
    let chosen = chosen(&command.scenarios)?;
    let mut output = command.output.records(COLUMNS)?;
    let progress = Progress::with_steps("rows", 6 * chosen.len() as u64);
    let (mut rows, mut failed) = (0, Ok(()));
    let mut scenario = "";
    accuracy(&chosen, command.windows, command.seed, |row| {
        rows += 1;
        progress.set(rows);
        let heading = if scenario == row.scenario { String::new() } else { heading(&row) };
        scenario = row.scenario;
        let written = output.result(&(heading + &line(&row)), record(&row));
        if failed.is_ok() {
            failed = written;
        }
    })?;
    drop(progress);
    failed?;
    output.finish()?;
    Ok(Status::Good)
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<Scenario>> {
    if names.is_empty() {
        return Ok(SCENARIOS.to_vec());
    }
    let find = |name: &String| {
        let found = SCENARIOS.iter().find(|scenario| scenario.name == name).copied();
        let all: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        found.map_or_else(|| bail!("--scenarios {name}: expected some of {}", all.join(", ")), Ok)
    };
    names.iter().map(find).collect()
}

fn heading(row: &AccuracyRow) -> String {
    let Some(scenario) = SCENARIOS.iter().find(|scenario| scenario.name == row.scenario) else {
        return String::new();
    };
    let unrelated = if scenario.is_unrelated { ", of another stock" } else { "" };
    format!(
        "\n{}: {} changes a second, {} windows of {}, {}{unrelated}\n{:<20}{:>10}{:>8}{:>12}{:>12}{:>12}{:>9}{:>14}{:>10}\n",
        scenario.name,
        scenario.changes_per_s,
        row.windows,
        nanos(scenario.window_ns as f64),
        scenario.feed,
        "method",
        "estimates",
        "close",
        "error 5%",
        "bias",
        "error 95%",
        "covered",
        "interval",
        "cost",
    )
}

fn line(row: &AccuracyRow) -> String {
    let share = |part: usize, of: usize| match of {
        0 => "-".to_owned(),
        of => format!("{:.1}%", 100.0 * part as f64 / of as f64),
    };
    let time =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ns| nanos(ns).to_string());
    let known = |text: String| if row.errors_ns.is_some() { text } else { "-".to_owned() };
    format!(
        "{:<20}{:>10}{:>8}{:>12}{:>12}{:>12}{:>9}{:>14}{:>10}\n",
        row.method,
        share(row.estimates, row.windows),
        known(share(row.close, row.windows)),
        time(row.errors_ns.map(|errors| errors[0])),
        time(row.errors_ns.map(|errors| errors[1])),
        time(row.errors_ns.map(|errors| errors[2])),
        known(share(row.covered, row.estimates)),
        time(row.width_ns),
        time(row.cost_ns),
    )
}

fn record(row: &AccuracyRow) -> Value {
    json!({
        "format": "nanotape-lab",
        "version": 1,
        "kind": "delay-accuracy",
        "scenario": row.scenario,
        "method": row.method,
        "windows": row.windows,
        "estimates": row.estimates,
        "close": row.close,
        "close_within_ns": CLOSE_NS,
        "error_p05_ns": row.errors_ns.map(|errors| errors[0]),
        "bias_ns": row.errors_ns.map(|errors| errors[1]),
        "error_p95_ns": row.errors_ns.map(|errors| errors[2]),
        "covered": row.covered,
        "interval_width_ns": row.width_ns,
        "cost_ns": row.cost_ns,
    })
}
