//! The inputs in a folder of days.

use std::{fs, io, path::Path};

use nanotape_history::{Runs, RunsError};
use nanotape_journal::ErrorKind;

use crate::Given;

/// Whether a path is a folder of inputs, and not that of a journal.
pub fn is_folder_of_days(path: &Path) -> bool {
    let is_no_journal = |error: &RunsError| matches!(error, RunsError::Journal(error) if *error.kind() == ErrorKind::NotFound);
    path.is_dir() && Runs::of_journal(path).is_err_and(|error| is_no_journal(&error))
}

/// The inputs of names, where a folder of days stands for what is in it: its files and the folders
/// of journals, by their names. Hidden files are none.
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
            if is_day && !is_hidden {
                inside.push(path);
            }
        }
        inside.sort();
        days.extend(inside.iter().map(|path| Given::from(path.as_path())));
    }
    Ok(days)
}
