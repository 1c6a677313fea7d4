//! The `nanotape` command: parses the arguments, runs one sub-command, returns its exit status.
#![forbid(unsafe_code)]

mod arguments;
mod book_rows;
mod commands;
mod figures;
mod framing;

mod help;

mod journals;
mod lines;
mod placement;

mod sending;
mod session;

mod values;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
pub(crate) use nanotape_console::{
    hexdump, interrupt, output, printable, progress, record, rows, status, taken, verbosity,
};
use nanotape_feed::SourceError;

use crate::{
    arguments::{Arguments, Command},
    status::{Status, is_broken_pipe, tell},
};

fn main() -> ExitCode {
    if let Err(error) = interrupt::catch_file_limit() {
        tell(line_of(&error));
        return Status::of_error(&error, SourceError::is_bad_data).into();
    }
    // Worker processes of measurements and proofs run the same program.
    if let Some(code) = nanotape_bench::worker().or_else(nanotape_machine::doctor::guardian) {
        return code;
    }
    let matches = help::unwrapped(Arguments::command()).get_matches();
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    arguments.verbosity.apply();
    match run(arguments) {
        Ok(status) => status.into(),
        // The reader of the output has exited, as in `nanotape inspect day | head`.
        Err(error) if is_broken_pipe(&error) => Status::Good.into(),
        Err(error) => {
            let pipe = pipe_of(&error, matches.subcommand_name().unwrap_or_default());
            tell(format_args!("{}{pipe}", line_of(&error)));
            Status::of_error(&error, SourceError::is_bad_data).into()
        }
    }
}

/// An error and its causes. A cause that is part of the previous text is not repeated.
fn line_of(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |line, cause| match line.as_str() {
        "" => cause,
        told if told.ends_with(&cause) => line,
        told => format!("{told}: {cause}"),
    })
}

/// The rest of a command line that begins with the program that an error advises.
fn pipe_of(error: &anyhow::Error, command: &str) -> String {
    let Some(SourceError::NotADay { kind, .. }) = error.downcast_ref() else {
        return String::new();
    };
    match command {
        // The measurements read a file more than once.
        "lab" => String::new(),
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
        Some(Command::Explain(arguments)) => commands::explain::run(&arguments),
        Some(Command::Delay(arguments)) => commands::delay::run(&arguments),
        Some(Command::Ring(arguments)) => commands::ring::run(&arguments),
        Some(Command::Journal(arguments)) => commands::journal::run(&arguments),
        Some(Command::Lab(arguments)) => commands::lab::run(&arguments),
        Some(Command::Completions(arguments)) => commands::completions::run(&arguments),
        Some(Command::Man(arguments)) => commands::man::run(&arguments),
    }
}
