//! The programs beside this one, `nanotape-lab` and `nanotape-export`: which commands they have,
//! where they are, and how they get a command line.
//!
//! They replace this process, so that signals, the terminal and the exit status are their own.

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

/// A program beside this one.
struct Companion {
    program: &'static str,
    /// The folder of its package.
    package: &'static str,
    /// The commands that it has, in their places here.
    commands: &'static [&'static [&'static str]],
}

const COMPANIONS: [Companion; 2] = [
    Companion {
        program: "nanotape-lab",
        package: "lab-cli",
        commands: &[
            &["lab"],
            &["delay"],
            &["explain"],
            &["ring", "prove"],
            &["journal", "prove"],
            &["latest", "prove"],
        ],
    },
    Companion { program: "nanotape-export", package: "export", commands: &[&["export"]] },
];

/// The arguments of this process.
pub(crate) fn words() -> Vec<OsString> {
    env::args_os().skip(1).collect()
}

/// The program that runs a command line, or prints its help; `None` for this one.
fn companion_of(arguments: &[OsString]) -> Option<&'static Companion> {
    let is_no_word = |word: &&OsString| !VerbosityArguments::is_one(word) && *word != "help";
    let words: Vec<&OsString> = arguments.iter().filter(is_no_word).take(2).collect();
    let has = |command: &&[&str]| {
        command.len() <= words.len() && command.iter().zip(&words).all(|(a, b)| *b == a)
    };
    COMPANIONS.iter().find(|companion| companion.commands.iter().any(has))
}

/// Runs the command line as the program that has its command; `None` if that is this one. Returns
/// only if that fails.
pub(crate) fn run(arguments: &[OsString]) -> Option<anyhow::Result<Status>> {
    companion_of(arguments).map(|companion| companion.run(arguments))
}

/// Runs the command line of this process as `nanotape-lab`. Returns only if that fails.
pub(crate) fn run_lab() -> anyhow::Result<Status> {
    COMPANIONS[0].run(&words())
}

/// Runs the command line of this process as `nanotape-export`. Returns only if that fails.
pub(crate) fn run_export() -> anyhow::Result<Status> {
    COMPANIONS[1].run(&words())
}

/// The command line with the arguments and options of the commands that other programs have, as
/// far as they are installed.
pub(crate) fn with_their_commands(own: Command) -> anyhow::Result<Command> {
    COMPANIONS.iter().try_fold(own, |own, companion| {
        let described = companion.described()?;
        Ok(described.map_or(own.clone(), |other| merged(own, &other)))
    })
}

impl Companion {
    fn run(&self, arguments: &[OsString]) -> anyhow::Result<Status> {
        let Some(program) = self.find() else {
            bail!(
                "this command is in the program {}, which is neither beside nanotape nor in a \
                 folder of PATH: install it with cargo install --locked --path crates/programs/{}",
                self.program,
                self.package
            );
        };
        let error = command(&program).args(arguments).exec();
        Err(error).with_context(|| format!("cannot run {}", program.display()))
    }

    /// Its commands, if it is installed.
    fn described(&self) -> anyhow::Result<Option<Command>> {
        let Some(program) = self.find() else { return Ok(None) };
        let output = command(&program).arg("describe").output();
        let output = output.with_context(|| format!("cannot run {}", program.display()))?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            bail!("{}", reason.trim().trim_start_matches("nanotape: "));
        }
        let description = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} does not describe its commands", program.display()))?;
        Ok(Some(described::command(&description)))
    }

    /// The program beside this one, or else the first one in the folders of PATH.
    fn find(&self) -> Option<PathBuf> {
        let own = env::current_exe().ok();
        let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
        let path = env::var_os("PATH").unwrap_or_default();
        let programs = beside.into_iter().chain(env::split_paths(&path));
        programs.map(|folder| folder.join(self.program)).find(|program| {
            program
                .metadata()
                .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
        })
    }
}

/// The program, with the version that it has to have.
fn command(program: &Path) -> process::Command {
    let mut command = process::Command::new(program);
    command.arg(concat!("--for-nanotape=", env!("NANOTAPE_VERSION")));
    command
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
    fn a_command_line_is_for_the_program_that_has_its_command() {
        const LAB: Option<&str> = Some("nanotape-lab");
        for (line, expected) in [
            ("lab", LAB),
            ("lab jitter --help", LAB),
            ("--quiet lab clock", LAB),
            ("help lab jitter", LAB),
            ("delay a b", LAB),
            ("explain equities", LAB),
            ("ring prove", LAB),
            ("ring --no-progress prove --seconds 1", LAB),
            ("ring help prove", LAB),
            ("help journal prove", LAB),
            ("latest prove", LAB),
            ("latest get prove", None),
            ("export day.gz -o day.parquet", Some("nanotape-export")),
            ("help export", Some("nanotape-export")),
            ("trace export", None),
            ("", None),
            ("--help lab", None),
            ("--version lab", None),
            ("ring --help prove", None),
            ("ring", None),
            ("help ring", None),
            ("ring stat prove", None),
            ("stats lab", None),
            ("labs", None),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let program = companion_of(&words).map(|companion| companion.program);
            assert_eq!(program, expected, "{line}");
        }
    }
}
