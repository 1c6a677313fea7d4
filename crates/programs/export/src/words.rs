//! The options that a command line has, as clap has parsed them.

use std::ffi::OsString;

use clap::{ArgMatches, Command, parser::ValueSource};
use nanotape_console::verbosity::VerbosityArguments;

/// The command line of `export`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'c> {
    pub(crate) command: &'c Command,
    pub(crate) matches: &'c ArgMatches,
}

impl Words<'_> {
    /// Whether an argument was given; one with a default value might not be.
    pub(crate) fn has(self, id: &str) -> bool {
        self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// The values of an argument, which can be its default.
    pub(crate) fn value(self, id: &str) -> Option<String> {
        let values = self.matches.try_get_raw(id).ok()??;
        let texts: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        Some(texts.join(","))
    }

    /// The words of another command with the same options and inputs. An option that takes a list
    /// has all its values at once, since it might not be repeated there.
    pub(crate) fn of(self, command: &str, verbosity: VerbosityArguments) -> Vec<OsString> {
        let mut words = vec![command.into()];
        words.extend(verbosity.quiet.then(|| "--quiet".into()));
        words.extend(verbosity.no_progress.then(|| "--no-progress".into()));
        let mut inputs = vec!["--".into()];
        for argument in self.command.get_arguments() {
            let id = argument.get_id().as_str();
            if !self.has(id) {
                continue;
            }
            let values = self.matches.get_raw(id).into_iter().flatten().map(OsString::from);
            let option = argument.get_long().map(|long| OsString::from(format!("--{long}")));
            match (option, argument.get_value_delimiter()) {
                (None, _) => inputs.extend(values),
                (Some(option), _) if !argument.get_action().takes_values() => words.push(option),
                (Some(option), None) => {
                    words.extend(values.map(|value| joined(&option, "=", &value)))
                }
                (Some(option), Some(delimiter)) => {
                    let delimiter = delimiter.to_string();
                    let all = values.reduce(|all, value| joined(&all, &delimiter, &value));
                    words.extend(all.map(|all| joined(&option, "=", &all)));
                }
            }
        }
        words.append(&mut inputs);
        words
    }
}

fn joined(one: &OsString, between: &str, other: &OsString) -> OsString {
    let mut word = one.clone();
    word.push(between);
    word.push(other);
    word
}
