//! The files of an output that has several: FILE, then FILE.2 and so on before the suffixes.
//!
//! Failure: an existing file is not overwritten without --force; the next free number is used.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use super::TapFormat;
use crate::output::{Output, OutputArguments, is_file};

pub(super) struct NumberedFiles {
    /// Path of the first file.
    first: PathBuf,
    may_overwrite: bool,
    /// Number of the current file, from 1.
    number: u32,
}

impl NumberedFiles {
    /// `None` without -o, and for a device or a pipe, which is written directly.
    pub(super) fn of(output: &OutputArguments<TapFormat>) -> Option<Self> {
        let first = output.output.as_deref().filter(|path| *path != Path::new("-"));
        let first = first.filter(|path| is_file(path))?.to_owned();
        Some(Self { first, may_overwrite: output.force, number: 1 })
    }

    /// Whether the current file is the first one.
    pub(super) fn is_first(&self) -> bool {
        self.number == 1
    }

    /// Creates the next file.
    pub(super) fn next(&mut self) -> io::Result<(PathBuf, Output)> {
        let path = loop {
            self.number += 1;
            let path = numbered(&self.first, self.number);
            if self.may_overwrite || !path.exists() {
                break path;
            }
        };
        let output = Output::create(&path, self.may_overwrite).map_err(io::Error::other)?;
        Ok((path, output))
    }
}

/// The name of a later file: `day.2.dbn.zst` for `day.dbn.zst` and 2.
fn numbered(first: &Path, number: u32) -> PathBuf {
    let name = first.file_name().unwrap_or_default();
    let (inner, packed) = match first.extension().and_then(OsStr::to_str) {
        Some(suffix @ ("gz" | "zst")) => (Path::new(name).with_extension(""), Some(suffix)),
        _ => (PathBuf::from(name), None),
    };
    let mut next = inner.file_stem().unwrap_or_default().to_owned();
    next.push(format!(".{number}"));
    for suffix in [inner.extension(), packed.map(OsStr::new)].into_iter().flatten() {
        next.push(".");
        next.push(suffix);
    }
    first.with_file_name(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_in_front_of_the_suffixes() {
        for (first, next) in [
            ("day.dbn", "day.2.dbn"),
            ("a/day.dbn.zst", "a/day.2.dbn.zst"),
            ("2019.12.30.dbn.gz", "2019.12.30.2.dbn.gz"),
            ("day", "day.2"),
        ] {
            assert_eq!(numbered(Path::new(first), 2), Path::new(next));
        }
    }
}
