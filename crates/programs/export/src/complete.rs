//! Files that get their names.

use std::{fs, io, path::PathBuf};

use nanotape_console::output::is_file;

/// Gives files their names, all of them or none: another process may have taken one. With `force`
/// the files that were replaced are gone, so those that replaced them stay.
pub(crate) fn complete_all<F, W>(
    files: Vec<(PathBuf, F)>,
    force: bool,
    complete: impl Fn(F) -> io::Result<W>,
) -> io::Result<Vec<W>> {
    let (mut named, mut written) = (Vec::new(), Vec::new());
    for (path, file) in files {
        match complete(file) {
            Ok(file) => written.push(file),
            Err(error) => {
                for path in named.iter().filter(|path: &&PathBuf| !force && is_file(path)) {
                    // The error of the other file is reported.
                    let _ = fs::remove_file(path);
                }
                return Err(error);
            }
        }
        named.push(path);
    }
    Ok(written)
}
