//! The second program, `nanotape-lab`: which commands it has, where it is, and how it gets a
//! command line.
//!
//! It replaces this process, so that signals, the terminal and the exit status are its own.

use std::{
    env,
    ffi::OsString,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process,
};

use anyhow::{Context as _, bail};
use clap::Command;
use nanotape_console::{described, verbosity::VerbosityArguments};

use crate::status::Status;

const PROGRAM: &str = "nanotape-lab";

/// The commands that it has, in their places here.
const COMMANDS: [&[&str]; 6] = [
    &["lab"],
    &["delay"],
    &["explain"],
    &["ring", "prove"],
    &["journal", "prove"],
    &["latest", "prove"],
];

/// The arguments of this process.
pub(crate) fn words() -> Vec<OsString> {
    env::args_os().skip(1).collect()
}

/// Whether the second program runs a command line, or prints its help.
pub(crate) fn is_for_it(arguments: &[OsString]) -> bool {
    let is_no_word = |word: &&OsString| !VerbosityArguments::is_one(word) && *word != "help";
    let words: Vec<&OsString> = arguments.iter().filter(is_no_word).take(2).collect();
    COMMANDS.iter().any(|command| {
        command.len() <= words.len() && command.iter().zip(&words).all(|(a, b)| *b == a)
    })
}

/// Runs the command line as the second program. Returns only if that fails.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<Status> {
    let Some(program) = find() else {
        bail!(
            "this command is in the program {PROGRAM}, which is neither beside nanotape nor in a \
             folder of PATH: install it with cargo install --locked --path crates/programs/lab-cli"
        );
    };
    let error = command(&program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

/// The command line with the arguments and options of the commands that the second program has, if
/// it is installed.
pub(crate) fn with_its_commands(own: Command) -> anyhow::Result<Command> {
    let Some(program) = find() else { return Ok(own) };
    let output = command(&program).arg("describe").output();
    let output = output.with_context(|| format!("cannot run {}", program.display()))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!("{}", reason.trim().trim_start_matches("nanotape: "));
    }
    let description = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{} does not describe its commands", program.display()))?;
    Ok(merged(own, &described::command(&description)))
}

/// The program, with the version that it has to have.
fn command(program: &Path) -> process::Command {
    let mut command = process::Command::new(program);
    command.arg(concat!("--for-nanotape=", env!("NANOTAPE_VERSION")));
    command
}

/// The program beside this one, or else the first one in the folders of PATH.
fn find() -> Option<PathBuf> {
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut programs = beside.into_iter().chain(env::split_paths(&path));
    programs.by_ref().map(|folder| folder.join(PROGRAM)).find(|program| {
        program
            .metadata()
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

/// Puts the commands of another command line into their places in this one.
fn merged(own: Command, other: &Command) -> Command {
    own.mut_subcommands(|own| match other.find_subcommand(own.get_name()) {
        Some(other) if own.has_subcommands() => merged(own, other),
        Some(other) => other.clone().display_order(own.get_display_order()),
        None => own,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_of_the_second_program_are_for_it() {
        for (line, expected) in [
            ("lab", true),
            ("lab jitter --help", true),
            ("--quiet lab clock", true),
            ("help lab jitter", true),
            ("delay a b", true),
            ("explain equities", true),
            ("ring prove", true),
            ("ring --no-progress prove --seconds 1", true),
            ("ring help prove", true),
            ("help journal prove", true),
            ("latest prove", true),
            ("latest get prove", false),
            ("", false),
            ("--help lab", false),
            ("--version lab", false),
            ("ring --help prove", false),
            ("ring", false),
            ("help ring", false),
            ("ring stat prove", false),
            ("stats lab", false),
            ("labs", false),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(is_for_it(&words), expected, "{line}");
        }
    }
}
