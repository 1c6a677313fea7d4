//! The files beside a ring, whose names begin with its own.

use std::{ffi::OsStr, fs, path::Path};

use nanotape_shm::{Refusal, beside};

/// What follows the path of a ring and `mark` in the paths of files beside it, if it is a name;
/// sorted. Empty if the folder of the ring cannot be read.
pub(crate) fn names_beside(ring: &Path, mark: &str, is_name: fn(&str) -> bool) -> Vec<String> {
    let (Some(folder), Some(file)) = (ring.parent(), ring.file_name()) else { return Vec::new() };
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    let start = beside(Path::new(file), mark).into_os_string();
    let name_of = |file: &OsStr| {
        let name = file.as_encoded_bytes().strip_prefix(start.as_encoded_bytes())?;
        let name = str::from_utf8(name).ok().filter(|name| is_name(name))?;
        Some(name.to_owned())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| name_of(&entry.file_name())).collect();
    names.sort();
    names
}

/// Whether a region that cannot be taken over is replaced. A file that is not a region, or one of
/// another kind, is not.
pub(crate) fn is_to_replace(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Parameters { .. }
            | Refusal::Layout { .. }
            | Refusal::FormatVersion { .. }
            | Refusal::Contradiction { .. }
            | Refusal::TooSmall { .. }
    )
}
