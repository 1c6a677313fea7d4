//! The `nanotape-export` command: days as tables of columns. `nanotape` runs it for `export`.
//!
//! It is a program of its own because Arrow and Parquet take as long to compile as all of nanotape.
#![forbid(unsafe_code)]

mod arrays;
mod complete;
mod export;
mod input_files;
mod many;
mod metadata;
mod open_files;
mod outputs;
mod parts;
mod paths;
mod stated;
mod words;

use std::{
    env,
    os::unix::process::CommandExt as _,
    process::{self, ExitCode},
};

use anyhow::Context as _;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use nanotape_console::{
    companion::{self, Started},
    help, interrupt,
    status::{Status, conclude},
    verbosity::VerbosityArguments,
};
use nanotape_feed::SourceError;

use crate::{export::ExportArguments, words::Words};

const VERSION: &str = env!("NANOTAPE_VERSION");

/// The command of `nanotape` that this program runs, in its place there.
#[derive(Parser, Debug)]
#[command(name = "nanotape", version = VERSION, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    verbosity: VerbosityArguments,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Write days as Parquet, Arrow or CSV tables: best prices, trades, orders, depth, bars
    Export(Box<ExportArguments>),
}

fn main() -> ExitCode {
    if let Err(error) = interrupt::catch_file_limit() {
        return concluded(Err(error), "");
    }
    let command = Arguments::command();
    let mut words = match companion::started("nanotape-export", VERSION) {
        Started::Directly(mut words) => {
            if words != ["--version"] {
                words.insert(0, "export".into());
            }
            words
        }
        Started::ByNanotape(words) => words,
        Started::ToDescribe => return concluded(companion::describe(&command), ""),
        Started::ByAnother => return Status::Usage.into(),
    };
    words.insert(0, "nanotape".into());
    let command = help::unwrapped(command);
    let matches = command.clone().get_matches_from(&words);
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let Command::Export(export) = arguments.command;
    // The lines of a day are not printed: they tell the result.
    let quiet = arguments.verbosity.quiet && !export.is_of_a_day();
    VerbosityArguments { quiet, ..arguments.verbosity }.apply();
    let (Some(command), Some(matches)) = (command.find_subcommand("export"), export_of(&matches))
    else {
        return Status::Usage.into();
    };
    let words = Words { command, matches };
    if export.is_for_convert() {
        return concluded(convert(words, arguments.verbosity), "convert");
    }
    concluded(export::run(&export, words), "export")
}

fn export_of(matches: &ArgMatches) -> Option<&ArgMatches> {
    matches.subcommand().map(|(_, matches)| matches)
}

/// Runs the command line as `nanotape convert`, which writes DBN files with options of the same
/// names. Returns only if that fails.
fn convert(words: Words<'_>, verbosity: VerbosityArguments) -> anyhow::Result<Status> {
    let own = env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join("nanotape")));
    let program = beside.filter(|program| program.is_file()).unwrap_or("nanotape".into());
    let words = words.of("convert", verbosity);
    let error = process::Command::new(&program).args(words).exec();
    Err(error)
        .with_context(|| format!("cannot run {} convert, which writes DBN", program.display()))
}

/// The exit status, after the line of an error.
fn concluded(result: anyhow::Result<Status>, command: &str) -> ExitCode {
    conclude(result, SourceError::is_bad_data, |error| {
        let is_for_pipe = match error.downcast_ref() {
            Some(SourceError::NotADay { kind, .. }) => kind.command.is_some(),
            _ => false,
        };
        if is_for_pipe { format!(" | nanotape {command} -") } else { String::new() }
    })
}
