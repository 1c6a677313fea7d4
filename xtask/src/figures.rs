//! `cargo xtask figures`: measures the numbers that the README states, keeps them, and writes the
//! table of the README from what is kept.
//!
//! Protocol: each benchmark prints its list as JSON, with the row it is compared with in the same
//! run. One line of [`RECORD`] has the numbers of one run, with commit, machine and date. The table
//! has the newest line of each model of processor. `cargo xtask gen --check` fails if it is stale.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

const RECORD: &str = "bench/record/figures.jsonl";
const README: &str = "README.md";

/// The lines around the table.
const BEGIN: &str = "<!-- figures: written by `cargo xtask figures` -->\n";
const END: &str = "<!-- figures end -->";

/// A number of the README.
struct Figure {
    /// What it is a number of.
    what: &'static str,
    /// The benchmark, and the row of its list.
    bench: &'static str,
    row: &'static str,
    /// JSON pointers of the numbers, in ns.
    ns: &'static [&'static str],
    /// The pointer of the ratio, and what the number is divided by.
    ratio: Option<(&'static str, &'static str)>,
}

const FIGURES: [Figure; 7] = [
    Figure {
        what: "a message of a day file, to the books and the inside of all stocks",
        bench: "book",
        row: "default",
        ns: &["/ns_per_message"],
        ratio: None,
    },
    Figure {
        what: "the same with the sorted map of the standard library for levels",
        bench: "book",
        row: "levels/sorted-map",
        ns: &["/ns_per_message"],
        ratio: Some(("/ratio_to_default", "the line above")),
    },
    Figure {
        what: "a message of a day file, to the records on the ring",
        bench: "plant",
        row: "plant",
        ns: &["/ns_per_message"],
        ratio: Some(("/ratio_to_backbone", "the books alone")),
    },
    Figure {
        what: "a message that arrives alone, to the records on the ring",
        bench: "plant",
        row: "plant",
        ns: &["/latency/p50_ns", "/latency/p99_ns"],
        ratio: None,
    },
    Figure {
        what: "from a process to another, through the ring",
        bench: "ring",
        row: "stream/latency",
        ns: &["/latency/p50_ns", "/latency/p99_ns"],
        ratio: Some(("/ratio", "half a round trip of one cache line")),
    },
    Figure {
        what: "an append of 73 bytes to a journal",
        bench: "journal",
        row: "append/73/call",
        ns: &["/latency/p50_ns", "/latency/p99_ns"],
        ratio: Some(("/ratio", "a copy into mapped memory")),
    },
    Figure {
        what: "from an append to its tailer in another process",
        bench: "journal",
        row: "tail/73/100000",
        ns: &["/latency/p50_ns", "/latency/p99_ns"],
        ratio: Some(("/ratio", "half a round trip of one cache line")),
    },
];

/// Benchmarks with their arguments; `DAY` is a synthetic day of 5 million messages.
const BENCHES: [(&str, &[&str]); 4] = [
    ("book", &["DAY", "--only", "default,levels/sorted-map"]),
    ("plant", &["DAY", "--only", "backbone,plant"]),
    ("ring", &["--only", "stream/latency,limit/line"]),
    ("journal", &["--only", "append/73/call,tail/73/100000,limit/73/mapped-call,limit/line"]),
];

/// Measures all figures on this machine, and writes them to the record and to the README.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--locked"])
        .args(["--package", "nanotape-cli", "--package", "nanotape-lab-cli"])
        .current_dir(root)
        .status()
        .context("cargo build")?;
    ensure!(built.success(), "the release build failed");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let program = root.join(target).join("release/nanotape");
    let day = std::env::temp_dir().join(format!("nanotape-figures-{}.itch50", std::process::id()));
    let measured = measure(&program, &day);
    let _ = fs::remove_file(&day);
    let line = line_of(&measured?, &said(root, "git", &["rev-parse", "--short=12", "HEAD"])?)?;
    let mut file = OpenOptions::new().create(true).append(true).open(root.join(RECORD))?;
    writeln!(file, "{line}").context(RECORD)?;
    let readme = root.join(README);
    let text = fs::read_to_string(&readme).context(README)?;
    fs::write(&readme, with_table(&text, &fs::read_to_string(root.join(RECORD))?)?)?;
    println!("wrote {RECORD} and the table of {README}");
    Ok(ExitCode::SUCCESS)
}

/// The README with the table of the record, for `cargo xtask gen`.
pub(crate) fn fresh_readme(root: &Path) -> Result<Option<(&'static str, String)>> {
    let Ok(record) = fs::read_to_string(root.join(RECORD)) else { return Ok(None) };
    let text = fs::read_to_string(root.join(README)).context(README)?;
    Ok(Some((README, with_table(&text, &record)?)))
}

fn said(root: &Path, program: &str, words: &[&str]) -> Result<String> {
    let output = Command::new(program).args(words).current_dir(root).output();
    let output = output.with_context(|| program.to_owned())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The rows of each benchmark.
fn measure(program: &Path, day: &Path) -> Result<BTreeMap<&'static str, Vec<Value>>> {
    let ran = |words: &[&str]| -> Result<Vec<u8>> {
        println!("nanotape {}", words.join(" "));
        let output = Command::new(program).args(words).output().context("nanotape")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(output.stdout)
    };
    let day = day.to_str().context("a temporary folder whose name is UTF-8")?;
    ran(&["synth", "--messages", "5000000", "-o", day])?;
    let mut lists = BTreeMap::new();
    for (bench, arguments) in BENCHES {
        let arguments = arguments.iter().map(|&word| if word == "DAY" { day } else { word });
        let words: Vec<&str> =
            ["lab", "bench", bench, "--format", "json"].into_iter().chain(arguments).collect();
        lists.insert(bench, serde_json::from_slice(&ran(&words)?).context(bench)?);
    }
    Ok(lists)
}

/// A line of the record.
fn line_of(lists: &BTreeMap<&str, Vec<Value>>, commit: &str) -> Result<Value> {
    let mut figures = Vec::new();
    let mut environment = Value::Null;
    for Figure { what, bench, row, ns, ratio } in &FIGURES {
        let found = lists.get(bench).and_then(|rows| rows.iter().find(|one| one["name"] == *row));
        let found = found.with_context(|| format!("{bench} printed no row {row}"))?;
        let number = |pointer: &str| {
            let number = found.pointer(pointer).and_then(Value::as_f64);
            number.with_context(|| format!("{bench}, {row} has no {pointer}"))
        };
        let ns = ns.iter().map(|pointer| number(pointer)).collect::<Result<Vec<f64>>>()?;
        let ratio = ratio.map(|(pointer, _)| number(pointer)).transpose()?;
        figures.push(json!({ "what": what, "ns": ns, "ratio": ratio }));
        environment = found["environment"].clone();
    }
    Ok(json!({
        "date": said(Path::new("."), "date", &["--utc", "+%Y-%m-%d"])?,
        "commit": commit,
        "cpu": environment["cpu"],
        "cpus": environment["cpus"],
        "hypervisor": environment["hypervisor"],
        "compiler": environment["compiler"],
        "figures": figures,
    }))
}

/// The text of the README with the table between its two lines.
fn with_table(readme: &str, record: &str) -> Result<String> {
    let (before, rest) = readme.split_once(BEGIN).context("README.md has no line for figures")?;
    let (_, after) = rest.split_once(END).context("README.md has no end of the figures")?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", table(record)?))
}

fn table(record: &str) -> Result<String> {
    // The newest line of each model of processor.
    let mut newest: BTreeMap<String, Value> = BTreeMap::new();
    for line in record.lines() {
        let line: Value = serde_json::from_str(line).context(RECORD)?;
        newest.insert(line["cpu"].as_str().unwrap_or("unknown processor").to_owned(), line);
    }
    let mut text = String::from("| ns; p50 / p99 where two numbers are given |");
    newest.keys().try_for_each(|cpu| write!(text, " {cpu} |"))?;
    text.push_str(" ratio to |\n|---|");
    newest.keys().try_for_each(|_| write!(text, "---|"))?;
    text.push_str("---|\n");
    for Figure { what, ratio, .. } in &FIGURES {
        write!(text, "| {what} |")?;
        for line in newest.values() {
            let figures = line["figures"].as_array().map_or(&[][..], Vec::as_slice);
            match figures.iter().find(|figure| figure["what"] == *what) {
                Some(figure) => write!(text, " {} |", cell(figure))?,
                None => text.push_str(" |"),
            }
        }
        writeln!(text, " {} |", ratio.map_or("", |(_, to)| to))?;
    }
    text.push('\n');
    for (cpu, line) in &newest {
        let known = |field: &str| line[field].as_str().unwrap_or("unknown").to_owned();
        writeln!(
            text,
            "{cpu}: {} processors, hypervisor {}, {}, commit {}, {}, `cargo xtask figures`.",
            line["cpus"],
            known("hypervisor"),
            known("compiler").split(" (").next().unwrap_or_default(),
            known("commit"),
            known("date"),
        )?;
    }
    text.push_str(
        "Compare ratios of one machine, never times of two. \
         [docs/BENCHMARKING.md](docs/BENCHMARKING.md) has the figures\nof every structure, of the \
         limits of the machine, and of [other programs](bench/rivals/README.md).\n",
    );
    Ok(text)
}

/// The numbers of a figure, and its ratio.
fn cell(figure: &Value) -> String {
    let numbers = figure["ns"].as_array().map_or(&[][..], Vec::as_slice);
    let numbers: Vec<String> =
        numbers.iter().filter_map(Value::as_f64).map(|ns| format!("{ns:.0}")).collect();
    let ratio = figure["ratio"].as_f64().map(|ratio| format!(", {ratio:.2} x"));
    format!("{}{}", numbers.join(" / "), ratio.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cpu: &str, commit: &str, ns: f64) -> String {
        let figures: Vec<Value> = FIGURES
            .iter()
            .map(|figure| json!({ "what": figure.what, "ns": [ns, 2.0 * ns], "ratio": 1.5 }))
            .collect();
        json!({
            "date": "2026-11-27", "commit": commit, "cpu": cpu, "cpus": 2, "hypervisor": "KVM",
            "compiler": "rustc 1.95.0 (abc)", "figures": figures,
        })
        .to_string()
    }

    #[test]
    fn the_table_has_the_newest_run_of_each_processor() {
        let record = [line("A", "old", 9.0), line("B", "other", 30.0), line("A", "new", 7.0)];
        let readme = format!("before\n{BEGIN}stale\n{END}\nafter\n");
        let fresh = with_table(&readme, &record.join("\n")).unwrap();
        assert!(fresh.starts_with("before\n") && fresh.ends_with("\nafter\n"), "{fresh}");
        assert!(fresh.contains(" | 7 / 14, 1.50 x | 30 / 60, 1.50 x | "), "{fresh}");
        assert!(fresh.contains("A: 2 processors, hypervisor KVM, rustc 1.95.0, commit new, 2026"));
        assert!(!fresh.contains("stale") && !fresh.contains("old"), "{fresh}");
        assert_eq!(with_table(&fresh, &record.join("\n")).unwrap(), fresh);
        assert!(with_table("no lines", "").is_err());
    }

    #[test]
    fn a_row_that_a_benchmark_lacks_is_named() {
        let error = line_of(&BTreeMap::new(), "abc").unwrap_err().to_string();
        assert_eq!(error, "book printed no row default");
    }
}
