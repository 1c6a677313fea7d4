//! A program beside `nanotape` that runs some of its commands: how it was started.
//!
//! Protocol: `nanotape` passes its version first. The words of its own command line follow, or
//! `describe`, with which it gets the commands for completions and manual pages.

use std::{
    env,
    ffi::OsString,
    io::{self, Write as _},
};

use clap::Command;

use crate::{
    described,
    status::{Status, warn},
};

/// The first argument that `nanotape` passes, with its version.
const FOR_NANOTAPE: &str = "--for-nanotape=";

/// The argument after it that asks for the commands.
const DESCRIBE: &str = "describe";

/// How a program was started.
#[derive(Debug)]
pub enum Started {
    /// By a person or a script, with these words.
    Directly(Vec<OsString>),
    /// By `nanotape`, with these words of its command line.
    ByNanotape(Vec<OsString>),
    /// By `nanotape`, which gets the commands.
    ToDescribe,
    /// By a `nanotape` of another version: a line reports it.
    ByAnother,
}

/// How this program of this version was started.
pub fn started(program: &str, own: &str) -> Started {
    let mut words: Vec<OsString> = env::args_os().skip(1).collect();
    let version = words.first().and_then(|first| {
        let version = first.as_encoded_bytes().strip_prefix(FOR_NANOTAPE.as_bytes())?;
        Some(String::from_utf8_lossy(version).into_owned())
    });
    let Some(version) = version else { return Started::Directly(words) };
    words.remove(0);
    if version != own {
        warn(format_args!(
            "{program} is {own}, nanotape is {version}: install both from one commit, see \
             docs/install.md"
        ));
        return Started::ByAnother;
    }
    if words == [DESCRIBE] { Started::ToDescribe } else { Started::ByNanotape(words) }
}

/// Prints the commands, for completions and manual pages.
pub fn describe(command: &Command) -> anyhow::Result<Status> {
    writeln!(io::stdout(), "{}", described::description(command))?;
    Ok(Status::Good)
}
