//! Unfinished files of processes that were killed: the next command that writes the same file names
//! them, since no process removes them.
//!
//! Protocol: a process locks its unfinished file as long as it has it open. A file that can be
//! locked has no process any more.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::{fs::OFlags, process::geteuid};

use crate::{
    status::warn,
    values::{bytes_text, counted},
};

/// Time that a process has to lock the file that it made.
const TO_LOCK: Duration = Duration::from_millis(200);

/// Files that get a line each; the rest is counted.
const LINES: usize = 5;

/// Names the unfinished files of this path that a killed process left.
pub(crate) fn report(path: &Path) {
    let left = left_beside(path).unwrap_or_default();
    for (file, bytes) in left.iter().take(LINES) {
        warn(format_args!(
            "{}: an unfinished output of a process that was killed, {}; remove it if it is not needed",
            file.display(),
            bytes_text(*bytes)
        ));
    }
    if left.len() > LINES {
        warn(format_args!("and {} more", counted((left.len() - LINES) as u64, "unfinished file")));
    }
}

/// Removes the unfinished files of this path that killed processes left, and returns their number.
pub(crate) fn remove(path: &Path) -> io::Result<usize> {
    let left = match left_beside(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        left => left?,
    };
    let mut removed = 0;
    for (file, _) in left {
        match fs::remove_file(file) {
            Ok(()) => removed += 1,
            // Another process has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}

/// Unfinished files of this path without a process, and their lengths.
fn left_beside(path: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(Vec::new()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut left = Vec::new();
    for entry in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
        let entry = entry?;
        let is_of_name = entry.file_name().to_str().is_some_and(|other| is_unfinished(other, name));
        if is_of_name && let Some(bytes) = bytes_without_process(&entry.path()) {
            left.push((path.with_file_name(entry.file_name()), bytes));
        }
    }
    left.sort();
    Ok(left)
}

/// Whether this is the name of an unfinished file: `.NAME.RANDOM.partial`.
fn is_unfinished(file_name: &str, name: &str) -> bool {
    let random = file_name
        .strip_prefix('.')
        .and_then(|rest| rest.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".partial"));
    random.is_some_and(|random| {
        !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The length of an own file that no process has locked.
fn bytes_without_process(path: &Path) -> Option<u64> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_own = metadata.is_file() && metadata.uid() == geteuid().as_raw();
    if !is_own || file.try_lock().is_err() {
        return None;
    }
    // A process that has just made its file has not locked it yet.
    let age = metadata.modified().ok()?.elapsed().unwrap_or_default();
    if let Some(rest) = TO_LOCK.checked_sub(age) {
        file.unlock().ok()?;
        thread::sleep(rest);
        file.try_lock().ok()?;
    }
    Some(metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_unfinished_files_of_the_path_are_found() {
        for (file_name, is_of_day) in [
            (".day.csv.00ff.partial", true),
            (".day.csv.12.partial", true),
            (".day.csv.partial", false),
            (".day.csv.x.partial", false),
            (".other.csv.00ff.partial", false),
            ("day.csv", false),
            ("day.csv.00ff.partial", false),
        ] {
            assert_eq!(is_unfinished(file_name, "day.csv"), is_of_day, "{file_name}");
        }
    }
}
