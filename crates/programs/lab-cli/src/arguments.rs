//! The command lines of this program: those of `nanotape` that it runs, and its own names for them.
//!
//! Usage lines and errors are those of `nanotape`, however the program was started.

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use nanotape_console::verbosity::VerbosityArguments;

use crate::{delay::DelayArguments, explain::ExplainArguments, lab::LabArguments};

/// The commands of `nanotape` that this program runs, in their places there.
#[derive(Parser, Debug)]
#[command(name = "nanotape", version = env!("NANOTAPE_VERSION"), max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) verbosity: VerbosityArguments,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Explain each slow message of a plant: what it waited for, and what interrupted it
    Explain(ExplainArguments),
    /// Estimate how much later a second feed shows what a first one shows
    Delay(Box<DelayArguments>),
    /// Broadcast rings in shared memory: inspect, check and test them
    #[command(subcommand)]
    Ring(RingCommand),
    /// Journals on disk: write, read, check and maintain them
    #[command(subcommand)]
    Journal(JournalCommand),
    /// Maps of the latest values, in shared memory: inspect, change and test them
    #[command(subcommand)]
    Latest(LatestCommand),
    /// Measure, compare, and check whether a measurement can be trusted
    Lab(Box<LabArguments>),
}

#[derive(Subcommand, Debug)]
pub(crate) enum RingCommand {
    /// Run processes against each other, kill or stop some, and account for every message
    Prove(nanotape_bench::RingProveCommand),
}

#[derive(Subcommand, Debug)]
pub(crate) enum JournalCommand {
    /// Run processes against each other, kill some of them, and account for every excerpt
    Prove(nanotape_bench::JournalProveCommand),
}

#[derive(Subcommand, Debug)]
pub(crate) enum LatestCommand {
    /// Run processes against each other, kill or stop some, and account for every change
    Prove(nanotape_bench::LatestProveCommand),
}

/// The names of commands that are not below `nanotape lab`. `delay` is a trial of estimators there.
const NAMES: [(&str, &[&str]); 5] = [
    ("feed-delay", &["delay"]),
    ("explain", &["explain"]),
    ("ring-prove", &["ring", "prove"]),
    ("journal-prove", &["journal", "prove"]),
    ("latest-prove", &["latest", "prove"]),
];

const BESIDE: &str = "\
`nanotape lab X` runs `nanotape-lab X`. This program also has nanotape delay (as feed-delay), nanotape
explain (explain), nanotape ring prove (ring-prove), nanotape journal prove (journal-prove) and
nanotape latest prove (latest-prove).";

/// The words of `nanotape` for those of this program: `jitter` is `lab jitter`.
pub(crate) fn as_of_nanotape(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_before = |word: &OsString| VerbosityArguments::is_one(word) || word == "help";
    let first = words.iter().position(|word| !is_before(word));
    let named = first.and_then(|first| {
        let (_, of_nanotape) = NAMES.iter().find(|(name, _)| words[first] == *name)?;
        Some((first, of_nanotape))
    });
    match named {
        Some((first, of_nanotape)) => {
            words.splice(first..=first, of_nanotape.iter().map(OsString::from));
        }
        None => words.insert(0, "lab".into()),
    }
    words
}

/// The same commands, with the version and the names of this program in the help of `lab`.
pub(crate) fn called_directly(command: clap::Command) -> clap::Command {
    command.mut_subcommand("lab", |lab| lab.version(env!("NANOTAPE_VERSION")).after_help(BESIDE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_this_program_is_a_command_of_nanotape() {
        for (own, of_nanotape) in [
            ("", "lab"),
            ("--version", "lab --version"),
            ("jitter --help", "lab jitter --help"),
            ("delay --methods xcorr", "lab delay --methods xcorr"),
            ("help jitter", "lab help jitter"),
            ("-q feed-delay a b", "-q delay a b"),
            ("help feed-delay", "help delay"),
            ("explain explain", "explain explain"),
            ("ring-prove --seconds 1", "ring prove --seconds 1"),
            ("bench ring-prove", "lab bench ring-prove"),
        ] {
            let words = |text: &str| text.split_whitespace().map(OsString::from).collect();
            let expected: Vec<OsString> = words(of_nanotape);
            assert_eq!(as_of_nanotape(words(own)), expected, "{own}");
        }
    }
}
