//! One way to record a span, measured: prints one line of JSON.
//!
//! `rivals-trace PROGRAM [--spans N] [--cpus A,B]`; `rivals-trace list` names the programs that
//! were compiled in. `bench/rivals/run trace` runs all of them and prints the table.
//!
//! ```text
//! pair:  a run of turns of the work alone  |  a run of turns of the work in a span     (by lot)
//! turn:  begin a span with a name and a number; 16 multiplications; end it
//! ```
//!
//! Exit status: 0 good, 1 a span is missing or wrong when they are read, 2 usage or environment.
#![forbid(unsafe_code)]

mod loops;
mod rivals;

use std::process::ExitCode;

use clap::Parser;
use rivals_measure::{Cpus, Failure, Wrong, finish};
use serde_json::json;

use crate::rivals::ALL;

/// One way to record a span: prints one line of JSON.
#[derive(Debug, Parser)]
#[command(name = "rivals-trace")]
struct Options {
    /// The name of the program; `list` prints those that were compiled in.
    program: String,
    /// Spans to record, rounded up to whole runs.
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    spans: u64,
    #[command(flatten)]
    cpus: Cpus,
}

fn main() -> ExitCode {
    if std::env::args().skip(1).eq(["list"]) {
        ALL.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let options = Options::parse();
    finish(&options.program, run(&options).map(Some))
}

fn run(options: &Options) -> Result<String, Failure> {
    let program = ALL.iter().find(|(name, _)| *name == options.program);
    let (name, make) = program.ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|(name, _)| *name).collect();
        format!("no such program; compiled in: {}", known.join(", "))
    })?;
    // Before it is pinned: threads that the program starts may run on the other processors.
    let mut program = make()?;
    options.cpus.pin_writer()?;
    let measured = loops::measure(program.as_mut(), options.spans)?;
    let found = program.read()?;
    let numbers = program.has_numbers();
    measured.check(program.is_on(), numbers, &found).map_err(|what| Failure::from(Wrong(what)))?;
    Ok(json!({
        "name": name,
        "version": program.version(),
        "mode": "span",
        "ns": measured.own_ns,
        "work_ns": measured.work_ns,
        "adds_ns": measured.adds_ns,
        "pairs": measured.pairs,
        "spans": measured.spans,
        "read": found.spans,
    })
    .to_string())
}
