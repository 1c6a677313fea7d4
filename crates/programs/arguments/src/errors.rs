//! Errors of the libraries as a command reports them: with the options that help, and with the exit
//! status. Damage in the content is bad data; everything else belongs to the environment.

use std::{fmt, fs, path::Path};

use nanotape_answers::{Choice, InputError};
use nanotape_console::status::BadData;
use nanotape_history::{JournalRunError, RunsError};
use nanotape_journal::{ErrorKind, JournalError, Start, Tailer};
use nanotape_plant::RunError;
use nanotape_tap::SubscribeError;

use crate::regions::{of_region, of_ring};

/// The error of an input.
pub fn of_input(error: InputError) -> anyhow::Error {
    match error {
        InputError::Source(error) => error.into(),
        InputError::Runs(error) => of_runs(error),
        InputError::JournalRun(JournalRunError::Journal(error)) => of_journal(error),
        InputError::Dbn { error: nanotape_history::DbnError::Source(error), .. } => error.into(),
        InputError::Subscribe(error) => of_subscription(error),
        InputError::Name(error) => anyhow::anyhow!("{error}"),
        InputError::NoSuchRun { name, runs, number } => {
            let runs = nanotape_console::values::counted(runs, "run");
            anyhow::anyhow!("{name}: has {runs}, --run {number} is not one of them")
        }
        InputError::LastOfStream { name } => {
            anyhow::anyhow!("{name}: is read only once: give --run a number")
        }
        InputError::NoChoice { name, kind, choice } => {
            let option = match choice {
                Choice::Run => "--run",
                Choice::Date => "--date",
                Choice::Capture => "--group, --session or --piece",
            };
            anyhow::anyhow!("{name}: is {kind}, to which {option} does not apply")
        }
        InputError::NoMessages { name, is } => anyhow::anyhow!(
            "{name}: is {is}; this command needs the messages of a day file or a capture"
        ),
        InputError::NoDate { name } => anyhow::anyhow!(
            "{name}: no trade date in the file name: give it, as in --date 2019-12-30"
        ),
        error => of_any(error.is_bad_data(), error),
    }
}

/// The error of a list of runs.
pub fn of_runs(error: RunsError) -> anyhow::Error {
    match error {
        RunsError::Journal(error) => of_journal(error),
        error if error.is_bad_data() => of_any(true, error),
        error => error.into(),
    }
}

/// The error of a subscription.
pub fn of_subscription(error: SubscribeError) -> anyhow::Error {
    match error {
        SubscribeError::Region(error) => of_region(&error),
        SubscribeError::Ring { path, error } => of_ring(&path, &error),
        SubscribeError::Journal(error) => of_journal(error),
        SubscribeError::Plant(error) => of_run(*error),
        error => of_any(error.is_bad_data(), error),
    }
}

/// The error of a plant.
pub fn of_run(error: RunError) -> anyhow::Error {
    match error {
        RunError::Source(error) => error.into(),
        RunError::Ring { path, error } => of_ring(&path, &error),
        RunError::Region(error) => of_region(&error),
        // A program may tell it apart.
        error if error.is_kept_to_its_end() => error.into(),
        error => of_any(error.is_bad_data(), error),
    }
}

/// The error of a journal.
pub fn of_journal(error: JournalError) -> anyhow::Error {
    match error.kind() {
        ErrorKind::Region(error) => of_region(error),
        ErrorKind::NotFound if error.path().is_dir() => no_journal(error.path()),
        _ => of_any(error.is_bad_data(), error),
    }
}

/// An error whose text is complete.
fn of_any(is_bad_data: bool, error: impl fmt::Display) -> anyhow::Error {
    if is_bad_data { BadData(error.to_string()).into() } else { anyhow::anyhow!("{error}") }
}

/// A folder that is no journal, with the journals in it.
fn no_journal(folder: &Path) -> anyhow::Error {
    const MOST: usize = 3;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut inside: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && Tailer::open(path, Start::Oldest).is_ok())
        .map(|path| path.display().to_string().escape_debug().to_string())
        .collect();
    inside.sort();
    inside.truncate(MOST);
    let advice = match inside.is_empty() {
        true => "give the folder that nanotape run --journal or nanotape journal record wrote"
            .to_owned(),
        false => format!("did you mean {}?", inside.join(" or ")),
    };
    anyhow::anyhow!("{}: no journal: the folder has no segments; {advice}", folder.display())
}
