//! Shared parts of all comparisons: processors, messages, percentiles, the exit status.
#![forbid(unsafe_code)]

mod cpus;
pub mod message;
mod percentiles;
pub mod scratch;

use std::{error::Error, fmt, process::ExitCode};

pub use crate::{cpus::Cpus, percentiles::Percentiles};

/// Why a run failed: printed as one line.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A rival delivered or stored a message that was not sent.
#[derive(Debug)]
pub struct Wrong(pub String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Wrong {}

/// The version of a package in the committed lock file. The last one of several is the newest: a
/// rival of another comparison might use an older one.
pub fn locked_version(package: &str) -> Option<&'static str> {
    let named = format!("name = \"{package}\"\nversion = \"");
    let (_, rest) = include_str!("../../Cargo.lock").rsplit_once(&named)?;
    rest.split_once('"').map(|(version, _)| version)
}

/// Prints the line of a run, or its failure after `name`. The status is 0 if the run is good, 1 if
/// it failed with [`Wrong`], and 2 for wrong usage or environment.
pub fn finish(name: &str, line: Result<Option<String>, Failure>) -> ExitCode {
    match line {
        Ok(line) => {
            line.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::from(if failure.is::<Wrong>() { 1 } else { 2 })
        }
    }
}
