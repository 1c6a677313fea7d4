//! Many days as one dataset: a process for each day, some of them at a time.
//!
//! Protocol: each day is an export of its own, by this program. A day that is damaged or that
//! nothing can be read of does not end the others. Files get their names when the tables of their
//! day are complete, so a run that was interrupted goes on with the days that lack some.

use std::{
    env,
    ffi::OsString,
    io::IsTerminal as _,
    path::Path,
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::Context as _;
use nanotape_answers::{Given, Table};
use nanotape_clock::Clock;
use nanotape_console::{
    output::{Format, OutputArguments},
    rows::{Column, Kind, Rows},
    status::{Status, note},
    values::counted,
};
use nanotape_types::rows::{Cell, Sink as _};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::outputs::EXISTS;

/// The hidden option with which a process writes one day into a dataset.
pub(crate) const OF_A_DAY: &str = "--of-a-day";

/// What became of a day.
struct Outcome {
    result: &'static str,
    seconds: f64,
    /// Its first line about something missing, or its error.
    detail: String,
}

/// Exports each day with the words of this command line but for the inputs.
pub(crate) fn run(days: &[Given], given: &[&Given], jobs: usize) -> anyhow::Result<Status> {
    let program = env::current_exe().context("cannot find this program")?;
    let words = words_without(given);
    let (next, outcomes) = (Mutex::new(0), Mutex::new(Vec::new()));
    let of_a_thread = || {
        loop {
            let number = {
                let mut next = lock(&next);
                *next += 1;
                *next - 1
            };
            let Some(day) = days.get(number) else { return };
            let outcome = export(&program, &words, day);
            note(format_args!("{day}: {} in {:.1} s", outcome.result, outcome.seconds));
            lock(&outcomes).push((number, outcome));
        }
    };
    thread::scope(|scope| (0..jobs.min(days.len())).for_each(|_| drop(scope.spawn(of_a_thread))));
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|(number, _)| *number);
    print(days, &outcomes)
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The words of this process without the names of inputs, each of which is given once.
fn words_without(given: &[&Given]) -> Vec<OsString> {
    let mut words: Vec<OsString> = env::args_os().skip(1).collect();
    let is_kept =
        |word: &OsString| word != "--" && !word.as_encoded_bytes().starts_with(b"--for-nanotape=");
    words.retain(is_kept);
    for name in given {
        let named: &std::ffi::OsStr = name.as_ref();
        if let Some(place) = words.iter().rposition(|word| word == named) {
            words.remove(place);
        }
    }
    if words.first().is_some_and(|word| word == "export") {
        words.remove(0);
    }
    words
}

/// Makes the kernel end the process of a day when the one that waits for it is killed.
pub(crate) fn end_with_parent() -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM)).context("cannot ask for a signal")
}

fn export(program: &Path, words: &[OsString], day: &Given) -> Outcome {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let mut command = Command::new(program);
    command.args(words).arg(OF_A_DAY).arg("--").arg(day).stdin(Stdio::null());
    let output = command.stdout(Stdio::null()).output();
    let seconds = clock.nanos_between(began, clock.stamp()) as f64 / 1e9;
    let (status, text) = match &output {
        Ok(output) => (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => (None, format!("nanotape: cannot run {}: {error}", program.display())),
    };
    let lines = text.lines().map(|line| line.trim_start_matches("nanotape: "));
    let own: Vec<&str> = lines.clone().filter(|line| !is_of_a_table(line)).collect();
    let wrote = text.lines().count() > own.len();
    let exists = own.iter().any(|line| line.starts_with(EXISTS));
    let result = match status {
        Some(0) if wrote => "written",
        Some(0) if exists => "exists",
        Some(1) if wrote => "damaged, written",
        Some(1) if exists => "damaged, exists",
        _ => "failed",
    };
    let detail = match result {
        "written" | "exists" => String::new(),
        "failed" => why_failed(&own).unwrap_or("ended by a signal").to_owned(),
        _ => own.first().map(ToString::to_string).unwrap_or_default(),
    };
    Outcome { result, seconds, detail }
}

/// The line of an error: that of wrong words has others behind it, and so has that of a panic.
fn why_failed<'l>(lines: &[&'l str]) -> Option<&'l str> {
    let of_words = lines.iter().find(|line| line.starts_with("error: "));
    let last = || lines.iter().rfind(|line| !line.starts_with("note: "));
    of_words.or_else(last).copied()
}

/// Whether a line reports a table that was written.
fn is_of_a_table(line: &str) -> bool {
    Table::ALL
        .iter()
        .any(|table| line.strip_prefix(table.name()).is_some_and(|rest| rest.starts_with(": ")))
}

fn print(days: &[Given], outcomes: &[(usize, Outcome)]) -> anyhow::Result<Status> {
    let width = days.iter().map(|day| day.len()).max().unwrap_or_default();
    let columns = vec![
        Column::new("input", Kind::Text, width, "The day."),
        Column::new("result", Kind::Text, 16, "What became of it."),
        Column::new("seconds", Kind::F64, 8, "How long it took."),
        Column::new("detail", Kind::Text, 0, "Why it is not whole."),
    ];
    let format = if std::io::stdout().is_terminal() { Format::Text } else { Format::Csv };
    let mut rows = Rows::new(OutputArguments::<Format>::default().open()?, format, columns);
    for (number, outcome) in outcomes {
        let detail = Some(outcome.detail.as_str()).filter(|detail| !detail.is_empty());
        let _ = rows.row(&[
            Cell::Text(&days[*number]),
            Cell::Text(outcome.result),
            Cell::F64(outcome.seconds),
            detail.map_or(Cell::Absent, Cell::Text),
        ]);
    }
    rows.finish()?;
    let bad = outcomes.iter().filter(|(_, outcome)| !outcome.detail.is_empty()).count();
    if bad > 0 {
        note(format_args!("{} of {} not whole", bad, counted(days.len() as u64, "day")));
    }
    Ok(if bad > 0 { Status::Bad } else { Status::Good })
}
