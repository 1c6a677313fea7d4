//! The `nanotape` command: parses the arguments, runs one sub-command, returns its exit status.
#![forbid(unsafe_code)]

mod aeron;
mod arguments;
mod book_rows;
mod capture_file;
mod commands;
mod companions;
mod day_protocol;
mod framing;
mod gaps;
mod journals;
mod lines;
mod memory;
mod sending;
mod sides;
mod value_rows;
mod value_schemas;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
pub(crate) use nanotape_console::{
    help, hexdump, interrupt, log, output, printable, printing, progress, record, rows, status,
    taken, verbosity,
};
use nanotape_feed::SourceError;

use crate::{
    arguments::{Arguments, Command},
    status::{Status, conclude},
};

fn main() -> ExitCode {
    if let Err(error) = interrupt::catch_file_limit() {
        return concluded(Err(error), "");
    }
    if let Some(result) = companions::run(&companions::words()) {
        return concluded(result, "");
    }
    let matches = help::unwrapped(Arguments::command()).get_matches();
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    arguments.verbosity.apply();
    concluded(run(arguments), matches.subcommand_name().unwrap_or_default())
}

/// The exit status, after the line of an error.
fn concluded(result: anyhow::Result<Status>, command: &str) -> ExitCode {
    conclude(result, SourceError::is_bad_data, |error| pipe_of(error, command))
}

/// The rest of a command line that begins with the program that an error advises.
fn pipe_of(error: &anyhow::Error, command: &str) -> String {
    let Some(SourceError::NotADay { kind, .. }) = error.downcast_ref() else {
        return String::new();
    };
    match command {
        _ if kind.command.is_none() => String::new(),
        "run" => " | nanotape run --input -".to_owned(),
        command => format!(" | nanotape {command} -"),
    }
}

fn run(arguments: Arguments) -> anyhow::Result<Status> {
    match arguments.command {
        None => commands::demo::run(&commands::demo::DemoArguments::default()),
        Some(Command::Demo(arguments)) => commands::demo::run(&arguments),
        Some(Command::Synth(arguments)) => commands::synth::run(&arguments),
        Some(Command::Inspect(arguments)) => commands::inspect::run(&arguments),
        Some(Command::Check(arguments)) => commands::check::run(&arguments),
        Some(Command::Capture(arguments)) => commands::capture::run(&arguments),
        Some(Command::Certificates(arguments)) => commands::certificates::run(&arguments),
        Some(Command::Inside(arguments)) => commands::inside::run(&arguments),
        Some(Command::Book(arguments)) => commands::book::run(&arguments),
        Some(Command::Depth(arguments)) => commands::depth::run(&arguments),
        Some(Command::Diff(arguments)) => commands::diff::run(&arguments),
        Some(Command::Convert(arguments)) => commands::tap::convert::run(&arguments),
        Some(Command::Stats(arguments)) => commands::stats::run(&arguments),
        Some(Command::Trades(arguments)) => commands::trades::run(&arguments),
        Some(Command::Exchange(arguments)) => commands::exchange::run(&arguments),
        Some(Command::Replay(arguments)) => commands::replay::run(&arguments),
        Some(Command::Run(arguments)) => commands::run::run(&arguments),
        Some(Command::Audit(arguments)) => commands::audit::run(&arguments),
        Some(Command::Stat(arguments)) => commands::stat::run(&arguments),
        Some(Command::Tap(arguments)) => commands::tap::run(&arguments),
        Some(Command::Trace(arguments)) => commands::trace::run(&arguments),
        Some(Command::Ring(arguments)) => commands::ring::run(&arguments),
        Some(Command::Journal(arguments)) => commands::journal::run(&arguments),
        Some(Command::Latest(arguments)) => commands::latest::run(&arguments),
        Some(Command::Export) => companions::run_export(),
        Some(Command::Explain | Command::Delay | Command::Lab) => companions::run_lab(),
        Some(Command::Completions(arguments)) => commands::completions::run(&arguments),
        Some(Command::Man(arguments)) => commands::man::run(&arguments),
    }
}
