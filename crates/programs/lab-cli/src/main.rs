//! The `nanotape-lab` command: what measures, and what needs a laboratory. `nanotape` runs it for
//! `lab`, `delay`, `explain`, `ring prove`, `journal prove` and `latest prove`.
#![forbid(unsafe_code)]

mod arguments;
mod delay;
mod explain;
mod lab;

use std::{
    ffi::OsString,
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _};
use nanotape_console::{
    described, help, interrupt,
    status::{Status, conclude, warn},
};
use nanotape_feed::SourceError;

use crate::arguments::{Arguments, Command, JournalCommand, LatestCommand, RingCommand};

const VERSION: &str = env!("NANOTAPE_VERSION");

/// The first argument that `nanotape` passes, with its version. Its own arguments follow.
const FOR_NANOTAPE: &str = "--for-nanotape=";

/// The argument after it with which `nanotape` gets the commands of this program.
const DESCRIBE: &str = "describe";

fn main() -> ExitCode {
    if let Err(error) = interrupt::catch_file_limit() {
        return concluded(Err(error), "");
    }
    // Worker processes of measurements and proofs run the same program.
    if let Some(code) = nanotape_bench::worker().or_else(nanotape_machine::doctor::guardian) {
        return code;
    }
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let of_nanotape = words.first().and_then(|first| {
        let version = first.as_encoded_bytes().strip_prefix(FOR_NANOTAPE.as_bytes())?;
        Some(String::from_utf8_lossy(version).into_owned())
    });
    let mut command = Arguments::command();
    match of_nanotape {
        Some(version) if version != VERSION => {
            warn(format_args!(
                "nanotape-lab is {VERSION}, nanotape is {version}: install both from one commit, \
                 see docs/install.md"
            ));
            return Status::Usage.into();
        }
        Some(_) => drop(words.remove(0)),
        None => {
            words = arguments::as_of_nanotape(words);
            command = arguments::called_directly(command);
        }
    }
    if words == [DESCRIBE] {
        return concluded(describe(&command), "");
    }
    words.insert(0, "nanotape".into());
    let matches = help::unwrapped(command).get_matches_from(words);
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    arguments.verbosity.apply();
    let name = matches.subcommand_name().unwrap_or_default();
    concluded(run(arguments.command), name)
}

/// The exit status, after the line of an error.
fn concluded(result: anyhow::Result<Status>, command: &str) -> ExitCode {
    conclude(result, SourceError::is_bad_data, |error| {
        // The measurements read a file more than once: they cannot read a pipe.
        let is_for_pipe = match error.downcast_ref() {
            Some(SourceError::NotADay { kind, .. }) => command == "delay" && kind.command.is_some(),
            _ => false,
        };
        if is_for_pipe { " | nanotape delay -".to_owned() } else { String::new() }
    })
}

/// Prints the commands, for completions and manual pages.
fn describe(command: &clap::Command) -> anyhow::Result<Status> {
    writeln!(io::stdout(), "{}", described::description(command))?;
    Ok(Status::Good)
}

fn run(command: Command) -> anyhow::Result<Status> {
    if matches!(command, Command::Ring(_) | Command::Journal(_) | Command::Latest(_)) {
        // The handler turns access to a truncated region or segment into an error.
        nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    }
    match command {
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Delay(arguments) => delay::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Ring(RingCommand::Prove(command)) => command.run(),
        Command::Journal(JournalCommand::Prove(command)) => command.run(),
        Command::Latest(LatestCommand::Prove(command)) => command.run(),
    }
}
