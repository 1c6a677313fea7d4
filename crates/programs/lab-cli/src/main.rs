//! The `nanotape-lab` command: what measures, and what needs a laboratory. `nanotape` runs it for
//! `lab`, `delay`, `explain`, `ring prove`, `journal prove` and `latest prove`.
#![forbid(unsafe_code)]

mod arguments;
mod delay;
mod explain;
mod lab;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _};
use nanotape_console::{
    companion::{self, Started},
    help, interrupt,
    status::{Status, conclude},
};
use nanotape_feed::SourceError;

use crate::arguments::{Arguments, Command, JournalCommand, LatestCommand, RingCommand};

const VERSION: &str = env!("NANOTAPE_VERSION");

fn main() -> ExitCode {
    if let Err(error) = interrupt::catch_file_limit() {
        return concluded(Err(error), "");
    }
    // Worker processes of measurements and proofs run the same program.
    if let Some(code) = nanotape_bench::worker().or_else(nanotape_machine::doctor::guardian) {
        return code;
    }
    let mut command = Arguments::command();
    let mut words = match companion::started("nanotape-lab", VERSION) {
        Started::Directly(words) => {
            command = arguments::called_directly(command);
            arguments::as_of_nanotape(words)
        }
        Started::ByNanotape(words) => words,
        Started::ToDescribe => return concluded(companion::describe(&command), ""),
        Started::ByAnother => return Status::Usage.into(),
    };
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
