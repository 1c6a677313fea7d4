//! The `nanotape-schema` command: schemas from XML descriptions, and what differs from them.
#![forbid(unsafe_code)]

mod arguments;
mod check;
mod files;
mod import;

use std::{io, process::ExitCode};

use clap::{CommandFactory as _, FromArgMatches as _};
use nanotape_console::{
    help, interrupt,
    status::{Status, conclude},
};

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    if let Err(error) = interrupt::catch_file_limit() {
        return concluded(Err(error));
    }
    let matches = help::unwrapped(Arguments::command()).get_matches();
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    arguments.verbosity.apply();
    concluded(match arguments.command {
        Command::Import(arguments) => import::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
    })
}

/// The exit status, after the line of an error.
fn concluded(result: anyhow::Result<Status>) -> ExitCode {
    conclude(result, |_: &io::Error| false, |_| String::new())
}
