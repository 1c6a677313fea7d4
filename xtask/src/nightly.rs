//! `cargo xtask nightly`: every check that `.ci/run` does not run, each with a bound.
//!
//! A check that nothing runs stops to work without notice. So each row of the table of kinds in
//! docs/TESTING.md is run by `.ci/run` or is a row here; `cargo xtask tidy` compares them. Each run
//! appends a line a row to a record that is committed, which shows when a row last passed.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};
use serde_json::json;

/// Where the runs are recorded.
pub(crate) const RECORD: &str = "bench/record/nightly.jsonl";

/// A check: its name, its command for a shell at the root, and the minutes until it is killed.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) command: &'static str,
    pub(crate) minutes: u64,
}

const fn row(name: &'static str, command: &'static str, minutes: u64) -> Row {
    Row { name, command, minutes }
}

pub(crate) const ROWS: [Row; 16] = [
    row("miri", "cargo xtask miri", 90),
    row("aarch64", "cargo xtask aarch64 run", 60),
    row(
        "rivals",
        "cd bench/rivals && python3 -B -m unittest discover -s tests -t . && python3 -B test_run.py",
        20,
    ),
    row("fuzz", "cargo xtask fuzz all 60", 90),
    row("loom", "LOOM_MAX_PREEMPTIONS=3 cargo xtask loom", 240),
    row("day-proof", "scripts/day-proof/prove", 240),
    row(
        "pages",
        "cargo build --release --locked -p nanotape-cli -p nanotape-lab-cli -p nanotape-export && scripts/pages",
        40,
    ),
    row(
        "live-judge",
        "cargo build --release --locked -p nanotape-cli && scripts/live-judge/judge --seeds 1..200 --keep-going",
        60,
    ),
    row("aeron", "scripts/aeron", 60),
    row("environments", "scripts/hostile-environments", 240),
    row(
        "agreement",
        "NANOTAPE_AGREEMENT_OPERATIONS=10000000 cargo test --release --locked -p nanotape-book --test \
         agreement",
        90,
    ),
    row(
        "structures",
        "NANOTAPE_AGREEMENT_OPERATIONS=10000000 cargo test --release --locked -p nanotape-tap --test \
         suite structures_agree::",
        90,
    ),
    row(
        "damage",
        "NANOTAPE_CAMPAIGN=10 cargo test --release --locked -p nanotape-tap --test suite damage_campaign::",
        120,
    ),
    row(
        "sessions",
        "NANOTAPE_CAMPAIGN=10 cargo test --release --locked -p nanotape-feed -p nanotape-exchange --test \
         suite campaign::",
        60,
    ),
    row(
        "journal-simulated",
        "NANOTAPE_CAMPAIGN=20 cargo test --release --locked -p nanotape-journal --test suite simulated::",
        240,
    ),
    row(
        "journal-killed",
        "NANOTAPE_CAMPAIGN=20 cargo test --release --locked -p nanotape-journal --test suite processes::",
        240,
    ),
];

/// The exit status of [`bounded`] after its minutes.
pub(crate) const TIMED_OUT: i32 = 124;

/// A command that is killed, with everything that it started, after so many minutes.
pub(crate) fn bounded(program: &str, minutes: u64) -> Command {
    let mut command = Command::new("timeout");
    command.arg("--kill-after=10").arg(format!("{minutes}m")).arg(program);
    command
}

/// Runs the rows of these names, or all. Exit status 1 if one fails; a row that cannot be run here
/// (status 2 or 3) is recorded as skipped.
pub(crate) fn run(root: &Path, names: &[&str]) -> Result<ExitCode> {
    for name in names {
        let known = ROWS.iter().any(|row| row.name == *name);
        ensure!(known, "unknown row {name}; cargo xtask nightly --list lists the rows");
    }
    let mut is_good = true;
    for row in ROWS.iter().filter(|row| names.is_empty() || names.contains(&row.name)) {
        println!("\n== {}: {} (at most {} minutes)", row.name, row.command, row.minutes);
        let (status, seconds) = time(root, row)?;
        println!("== {}: {status} after {seconds} s", row.name);
        record(root, row, status, seconds)?;
        is_good &= ["passed", "skipped"].contains(&status);
    }
    Ok(ExitCode::from(u8::from(!is_good)))
}

pub(crate) fn list() -> ExitCode {
    for Row { name, command, minutes } in &ROWS {
        println!("{name:20} {minutes:4} min  {command}");
    }
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_methods, reason = "seconds of a program, not a measurement")]
fn time(root: &Path, row: &Row) -> Result<(&'static str, u64)> {
    let start = std::time::Instant::now();
    let status = bounded("bash", row.minutes)
        .args(["-c", row.command])
        .env("NANOTAPE_TEST_MINUTES", row.minutes.to_string())
        .current_dir(root)
        .status()
        .context("timeout (coreutils)")?;
    Ok((outcome(status.code()), start.elapsed().as_secs()))
}

fn outcome(code: Option<i32>) -> &'static str {
    match code {
        Some(0) => "passed",
        Some(2 | 3) => "skipped",
        Some(TIMED_OUT) => "timed out",
        _ => "failed",
    }
}

fn record(root: &Path, row: &Row, status: &str, seconds: u64) -> Result<()> {
    let said = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).current_dir(root).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = said("git", &["status", "--porcelain", "--", ".", &format!(":!{RECORD}")])?;
    let line = json!({
        "date": said("date", &["--utc", "+%Y-%m-%dT%H:%M:%SZ"])?,
        "commit": said("git", &["rev-parse", "--short=12", "HEAD"])?,
        "is_changed": !changed.is_empty(),
        "row": row.name,
        "command": row.command,
        "outcome": status,
        "seconds": seconds,
    });
    let mut file = OpenOptions::new().create(true).append(true).open(root.join(RECORD))?;
    writeln!(file, "{line}").context(RECORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_a_row_ends_with_one_of_four_outcomes() {
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
        let of = |command| time(Path::new("/"), &row("a test", command, 1)).unwrap().0;
        assert_eq!(of("exit 0"), "passed");
        assert_eq!(of("exit 1"), "failed");
        assert_eq!(of("exit 2"), "skipped");
        assert_eq!(of("kill -9 $$"), "failed");
        assert_eq!(outcome(Some(TIMED_OUT)), "timed out");
    }

    #[test]
    fn a_command_that_does_not_end_is_killed() {
        let mut command = bounded("sh", 0);
        command.args(["-c", "sleep 0"]);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words[..3], ["--kill-after=10", "0m", "sh"]);
        let status = Command::new("timeout").args(["0.05", "sleep", "86400"]).status().unwrap();
        assert_eq!(outcome(status.code()), "timed out");
    }

    #[test]
    fn a_run_appends_a_line_with_date_commit_and_seconds() {
        let folder = nanotape_harness::Scratch::folder("nightly");
        std::fs::create_dir_all(folder.join("bench/record")).unwrap();
        for seconds in [7, 8] {
            record(folder.path(), &row("a", "b", 1), "passed", seconds).unwrap();
        }
        let text = std::fs::read_to_string(folder.join(RECORD)).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[1]["seconds"], &lines[1]["row"]), (&8.into(), &"a".into()));
        assert!(lines[0]["date"].as_str().unwrap().ends_with('Z'), "{text}");
    }
}
