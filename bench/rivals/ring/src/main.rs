//! One run of one rival of the ring in one mode: prints one line of JSON.
//!
//! `rivals-ring RIVAL MODE [--messages N] [--readers R] [--rate PER_SECOND] [--cpus A,B]`, where
//! MODE is `throughput`, `latency` or `ping-pong`; `rivals-ring list` names the rivals that were
//! compiled in. `bench/rivals/run ring` runs all programs of the comparison and prints the table.
//!
//! ```text
//! writer thread or process, CPU A  ->  queue of the rival  ->  readers, CPU B and the others
//! ping-pong:                       <-  a second queue      <-
//! ```
//!
//! Exit status: 0 good, 1 a message arrived out of order or damaged, 2 usage or environment.
#![forbid(unsafe_code)]
// These rivals together use everything that the rivals share.
#![cfg_attr(
    not(all(feature = "ringfire", feature = "rtrb", feature = "unix-socket")),
    allow(dead_code, unused_imports, reason = "shared code of rivals that were not compiled in")
)]

mod broadcast;
mod options;
mod processes;
mod report;
mod rivals;
mod threads;
mod work;

use std::process::ExitCode;

use clap::Parser;
use options::Options;
use rivals_measure::{Failure, finish};

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
        format!("no such rival; compiled in: {}", known.join(", "))
    })?;
    options.check_readers(rival.most_readers)?;
    // A reader's process has sent its result to the process that started it.
    Ok((rival.run)(options)?.map(|run| report::line(rival, options, &run)))
}
