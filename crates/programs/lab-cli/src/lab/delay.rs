//! `nanotape lab delay`: estimators of delay against delays that are known.

mod flow;

use std::path::Path;

use anyhow::bail;
use clap::Args;
use nanotape_bench::delay_accuracy::{
    AccuracyRow, CLOSE_NS, Flow, METHODS, Scenario, accuracy, scenarios, scenarios_of_day,
};
use nanotape_console::{
    progress::Progress,
    records::{Columns, RecordArguments},
    status::Status,
};
use nanotape_lab::text::nanos;
use serde_json::{Value, json};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab delay
  nanotape lab delay --windows 1000 --scenarios noisy,sparse -o accuracy.csv
  nanotape lab delay --methods match-value,xcorr
  nanotape lab delay --flow day.itch50 --scenarios day-lognormal

A stock changes its quote, and a second feed shows it later: with jitter, without a part of the changes, and with
changes of other venues. Every method estimates the delay in every window. docs/delay.md describes the scenarios.

error: the estimate less the true median delay of the window; its median is the bias, and 5% and 95% are the spread.
covered: intervals that contain the truth, of 95% that should, with the standard error of that share.
combined: the same of the delays of runs, each combined from the windows of one draw of the feed.
close: estimates within 25 us, of all windows.

Exit status: 0.")]
pub(super) struct DelayCommand {
    /// Windows of each scenario
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = nanotape_console::values::count::<u32>(1..=100_000))]
    windows: u32,

    /// Only these scenarios
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    scenarios: Vec<String>,

    /// Only these methods [possible values: match-sequence, match-value, xcorr, xcorr of levels,
    /// lead-lag]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = METHODS, hide_possible_values = true)]
    methods: Vec<String>,

    /// Add scenarios with the quotes of the busiest stock of this day file, under the name of the
    /// file: NAME-lognormal, NAME-exponential and NAME-long
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    flow: Vec<String>,

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
    ("runs", "/runs"),
    ("runs_covered", "/runs_covered"),
    ("interval_width_ns", "/interval_width_ns"),
    ("cost_ns", "/cost_ns"),
];

pub(super) fn run(command: &DelayCommand) -> anyhow::Result<Status> {
    let chosen = chosen(command)?;
    let mut output = command.output.records(COLUMNS)?;
    let methods: Vec<&str> = match command.methods.is_empty() {
        true => METHODS.to_vec(),
        false => command.methods.iter().map(String::as_str).collect(),
    };
    let progress = Progress::with_steps("rows", (methods.len() * chosen.len()) as u64);
    let (mut rows, mut failed) = (0, Ok(()));
    let mut scenario = String::new();
    accuracy(&chosen, &methods, command.windows, command.seed, |row| {
        rows += 1;
        progress.set(rows);
        let heading = match scenario == row.scenario {
            true => String::new(),
            false => heading(&row, &chosen),
        };
        scenario.clone_from(&row.scenario);
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

fn chosen(command: &DelayCommand) -> anyhow::Result<Vec<Scenario>> {
    let mut all = scenarios();
    for file in &command.flow {
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        all.extend(scenarios_of_day(name, flow::quotes_of(file)?));
    }
    if command.scenarios.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        let found = all.iter().find(|scenario| scenario.name == *name).cloned();
        let all: Vec<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
        found.map_or_else(|| bail!("--scenarios {name}: expected some of {}", all.join(", ")), Ok)
    };
    command.scenarios.iter().map(find).collect()
}

fn heading(row: &AccuracyRow, scenarios: &[Scenario]) -> String {
    let found = scenarios.iter().find(|scenario| scenario.name == row.scenario);
    let Some(scenario) = found else { return String::new() };
    let flow = match &scenario.flow {
        Flow::Clusters { changes_per_s } => format!("{changes_per_s} changes a second"),
        Flow::Bursts { updates_per_s } => format!("{updates_per_s} updates a second in bursts"),
        Flow::Given(updates) => format!("{} updates of a day", updates.len()),
    };
    let unrelated = if scenario.is_unrelated { ", of another stock" } else { "" };
    format!(
        "\n{}: {flow}, windows of {}, {}{unrelated}\n{:<16}{:>9}{:>10}{:>8}{:>12}{:>12}{:>12}{:>15}{:>15}{:>14}{:>10}\n",
        scenario.name,
        nanos(scenario.window_ns as f64),
        scenario.feed,
        "method",
        "windows",
        "estimates",
        "close",
        "error 5%",
        "bias",
        "error 95%",
        "covered",
        "combined",
        "interval",
        "cost",
    )
}

fn line(row: &AccuracyRow) -> String {
    let share = |part: usize, of: usize| match of {
        0 => "-".to_owned(),
        of => format!("{:.1}%", 100.0 * part as f64 / of as f64),
    };
    // With the standard error of a binomial share.
    let with_error = |part: usize, of: usize| {
        let exact = part as f64 / of as f64;
        let error = (exact * (1.0 - exact) / of as f64).sqrt();
        if of == 0 { "-".to_owned() } else { format!("{} +-{:.1}", share(part, of), 100.0 * error) }
    };
    let time =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ns| nanos(ns).to_string());
    let known = |text: String| if row.errors_ns.is_some() { text } else { "-".to_owned() };
    format!(
        "{:<16}{:>9}{:>10}{:>8}{:>12}{:>12}{:>12}{:>15}{:>15}{:>14}{:>10}\n",
        row.method,
        row.windows,
        share(row.estimates, row.windows),
        known(share(row.close, row.windows)),
        time(row.errors_ns.map(|errors| errors[0])),
        time(row.errors_ns.map(|errors| errors[1])),
        time(row.errors_ns.map(|errors| errors[2])),
        known(with_error(row.covered, row.estimates)),
        known(with_error(row.runs_covered, row.runs)),
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
        "runs": row.runs,
        "runs_covered": row.runs_covered,
        "interval_width_ns": row.width_ns,
        "cost_ns": row.cost_ns,
    })
}
