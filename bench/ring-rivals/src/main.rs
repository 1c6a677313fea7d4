//! One run of one rival of the ring, in one mode: prints one line of JSON.
//!
//! `ring-rivals RIVAL MODE [--messages N] [--readers R] [--rate PER_SECOND] [--cpus A,B]`, where
//! MODE is `throughput`, `latency` or `ping-pong`; `ring-rivals list` names what was compiled in.
//! `./run` starts every program of the comparison by lot and makes the table.
//!
//! ```text
//! writer thread or process, CPU A  ->  queue of the rival  ->  readers, CPU B and the others
//! ping-pong:                       <-  a second queue      <-
//! ```
//!
//! Exit status: 0 good, 1 something arrived wrong or not at all, 2 usage or environment.

// Between them these two use everything that rivals share.
#![cfg_attr(
    not(all(feature = "rtrb", feature = "unix-socket")),
    allow(dead_code, unused_imports, reason = "rivals that are left out leave their helpers")
)]

mod clock;
mod cpus;
mod message;
mod options;
mod percentiles;
mod processes;
mod report;
mod rivals;
mod threads;
mod work;

use std::{error::Error, fmt, process::ExitCode};

/// Why a run could not finish: printed as one line.
type Failure = Box<dyn Error + Send + Sync>;

/// What arrived is not what was sent: the one failure that says something of the rival.
#[derive(Debug)]
struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Wrong {}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["list"] {
        rivals::ALL.iter().for_each(|rival| println!("{}", rival.name));
        return ExitCode::SUCCESS;
    }
    let (rival, options) = match chosen(&words) {
        Ok(chosen) => chosen,
        Err(mistake) => {
            eprintln!("ring-rivals: {mistake}");
            return ExitCode::from(2);
        }
    };
    match (rival.run)(&options) {
        Ok(Some(run)) => println!("{}", report::line(rival, &options, &run)),
        // The second process of a pair has told the first one everything.
        Ok(None) => {}
        Err(failure) => {
            eprintln!("{}: {failure}", rival.name);
            return ExitCode::from(if failure.is::<Wrong>() { 1 } else { 2 });
        }
    }
    ExitCode::SUCCESS
}

fn chosen(words: &[String]) -> Result<(&'static rivals::Rival, options::Options), String> {
    let options = options::parse(words, &cpus::allowed())?;
    let known: Vec<_> = rivals::ALL.iter().map(|rival| rival.name).collect();
    let rival = rivals::ALL.iter().find(|rival| rival.name == options.rival).ok_or_else(|| {
        format!("no rival is called {}; compiled in: {}", options.rival, known.join(", "))
    })?;
    if options.readers > rival.most_readers {
        let most = rival.most_readers;
        return Err(format!("{} has at most {most} reader(s) of one message", rival.name));
    }
    Ok((rival, options))
}
