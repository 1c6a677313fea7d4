//! `nanotape completions`: the script with which a shell completes commands, options and values.

use std::io::{self, Write as _};

use clap::{Args, Command, CommandFactory as _, ValueEnum};
use clap_complete::{Shell, generate};

use crate::{arguments::Arguments, companions, status::Status};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape completions bash > ~/.local/share/bash-completion/completions/nanotape
  nanotape completions zsh > ~/.zfunc/_nanotape         with ~/.zfunc in fpath, before compinit
  nanotape completions fish > ~/.config/fish/completions/nanotape.fish
  source <(nanotape completions bash)                   only in this shell")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: CompletedShell,
}

/// The shells whose scripts are tested.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(arguments: &CompletionsArguments) -> anyhow::Result<Status> {
    let shell = match arguments.shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    let command = companions::with_their_commands(Arguments::command())?;
    // In memory first: the library panics if its output fails.
    let mut script = Vec::new();
    generate(shell, &mut visible(&command), "nanotape", &mut script);
    io::stdout().write_all(&script)?;
    Ok(Status::Good)
}

/// The command without its hidden options and sub-commands, which the library would offer.
fn visible(command: &Command) -> Command {
    // Clap takes names that live as long as the program. This one ends soon.
    let name: &'static str = command.get_name().to_owned().leak();
    let mut visible = Command::new(name)
        .args(command.get_arguments().filter(|argument| !argument.is_hide_set()))
        .subcommands(command.get_subcommands().filter(|one| !one.is_hide_set()).map(visible));
    if let Some(about) = command.get_about() {
        visible = visible.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        let version: &'static str = version.to_owned().leak();
        visible = visible.version(version);
    }
    visible
}
