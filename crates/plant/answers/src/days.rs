//! The inputs in a folder of days, and the names that they have in a dataset.

use std::{collections::HashMap, fs, io, path::Path};

use nanotape_history::{Runs, RunsError};
use nanotape_journal::ErrorKind;
use nanotape_plant::TradeDate;

use crate::{Given, InputError};

/// Whether a path is a folder of inputs, and not that of a journal.
pub fn is_folder_of_days(path: &Path) -> bool {
    let is_no_journal = |error: &RunsError| matches!(error, RunsError::Journal(error) if *error.kind() == ErrorKind::NotFound);
    path.is_dir() && Runs::of_journal(path).is_err_and(|error| is_no_journal(&error))
}

/// The inputs of names, where a folder of days stands for what is in it: its files and the folders
/// of journals, by their names. Hidden files are none. A link to nothing is a day that is missing.
pub fn days_of<'g>(names: impl IntoIterator<Item = &'g Given>) -> io::Result<Vec<Given>> {
    let mut days = Vec::new();
    for name in names {
        if name.is_standard() || !is_folder_of_days(name.path()) {
            days.push(name.clone());
            continue;
        }
        let mut inside = Vec::new();
        for entry in fs::read_dir(name.path())? {
            let path = entry?.path();
            let is_hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes()[0] == b'.');
            let is_day = path.is_file() || path.is_dir() && !is_folder_of_days(&path);
            let is_day = is_day || path.is_symlink() && !path.exists();
            if is_day && !is_hidden {
                inside.push(path);
            }
        }
        inside.sort();
        days.extend(inside.iter().map(|path| Given::from(path.as_path())));
    }
    Ok(days)
}

/// The name of the files of an input in a dataset: its own name up to the first dot. `None` if
/// nothing is left of it.
pub fn name_in_dataset(input: &Given) -> Option<String> {
    let name = input.path().file_name()?.to_string_lossy();
    let stem = name.split('.').next().filter(|stem| !stem.is_empty());
    stem.map(str::to_owned)
}

/// Refuses two inputs whose rows would be in the same file of a dataset: those of one name, unless
/// the names of the inputs have other dates. `has_date`: all of them are of one date.
pub fn require_distinct_days(days: &[Given], has_date: bool) -> Result<(), InputError> {
    let mut seen: HashMap<String, Vec<(Option<TradeDate>, &Given)>> = HashMap::new();
    for day in days {
        // An input without a name is refused when its turn comes.
        let Some(name) = name_in_dataset(day) else { continue };
        let date = TradeDate::of_file_name(day.path()).filter(|_| !has_date);
        let others = seen.entry(name.clone()).or_default();
        let is_other =
            |other: &Option<TradeDate>| date.is_some() && other.is_some() && *other != date;
        if let Some((_, one)) = others.iter().find(|(other, _)| !is_other(other)) {
            let (one, other) = (one.to_string(), day.to_string());
            return Err(InputError::SameDay { one, other, name, date });
        }
        others.push((date, day));
    }
    Ok(())
}
