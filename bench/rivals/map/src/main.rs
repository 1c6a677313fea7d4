//! One run of one map in one mode: prints one line of JSON.
//!
//! `rivals-map MAP MODE [--entries N] [--updates N] [--sides 1|2] [--rate PER_SECOND] [--kills N]
//! [--cpus A,B] [--folder FOLDER]`, where MODE is `throughput`, `latency` or `kill`; `rivals-map
//! list` names the maps that were compiled in. `bench/rivals/run map` runs all programs of the
//! comparison and prints the table.
//!
//! ```text
//! side 1, CPU A  ->  map, in memory or in FOLDER  <-  side 2, CPU B: thread or process
//! ```
//!
//! Exit status: 0 good, 1 a value is missing or wrong, 2 usage or environment.
#![deny(unsafe_code)]
// These maps together use everything that the maps share.
#![cfg_attr(
    not(all(feature = "dashmap", feature = "nanotape")),
    allow(dead_code, unused_imports, reason = "shared code of maps that were not compiled in")
)]

mod kill;
mod options;
mod processes;
mod rivals;
mod threads;
mod work;

use std::process::ExitCode;

use clap::Parser;
use options::{Mode, Options};
use rivals_measure::{Failure, finish};
use serde_json::{Value, json};

fn main() -> ExitCode {
    if std::env::args().skip(1).eq(["list"]) {
        rivals::ALL.iter().for_each(|rival| println!("{}", rival.name));
        return ExitCode::SUCCESS;
    }
    let options = Options::parse();
    finish(&options.rival, run(&options))
}

fn run(options: &Options) -> Result<Option<String>, Failure> {
    let rival = rivals::ALL.iter().find(|rival| rival.name == options.rival).ok_or_else(|| {
        let known: Vec<_> = rivals::ALL.iter().map(|rival| rival.name).collect();
        format!("no such map; compiled in: {}", known.join(", "))
    })?;
    if options.mode == Mode::Kill && rival.scope == "threads" {
        return Err("kill: no other process shares this map".into());
    }
    // Another process has sent its result to the process that started it.
    let Some(measured) = (rival.run)(options)? else { return Ok(None) };
    let mut line = json!({
        "name": rival.name,
        "version": rival.version(),
        "scope": rival.scope,
        "mode": options.mode.name(),
        "entries": options.entries,
        "sides": options.sides,
        "cpus": options.cpus.cpus,
    });
    if let (Value::Object(line), Value::Object(measured)) = (&mut line, measured) {
        line.extend(measured);
    }
    Ok(Some(line.to_string()))
}
