//! The files of the repository: those that git tracks, or all files without git.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

/// One file: its path from the root with forward slashes, and its content.
#[derive(Clone, Debug)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl StoredFile {
    /// The content, if it is text.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// Whether the path ends with one of these.
    pub(crate) fn has_suffix(&self, suffixes: &[&str]) -> bool {
        suffixes.iter().any(|suffix| self.path.ends_with(suffix))
    }
}

/// All stored files, by path.
#[derive(Debug)]
pub(crate) struct Repository {
    root: PathBuf,
    files: Vec<StoredFile>,
}

impl Repository {
    /// Reads every file of the repository at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let paths = match tracked(root) {
            Some(paths) => paths,
            None => {
                let mut paths = Vec::new();
                walk(root, "", &mut paths)?;
                paths
            }
        };
        let mut files = Vec::new();
        for path in paths {
            let full = root.join(&path);
            // Removed in the working tree, or a link: nothing to check.
            if full.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                let bytes = fs::read(&full).with_context(|| path.clone())?;
                files.push(StoredFile { path, bytes });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { root: root.to_owned(), files })
    }

    /// An invented repository, for tests of checks.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let stored = |&(path, text): &(&str, &str)| StoredFile {
            path: path.to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        Self { root: PathBuf::new(), files: files.iter().map(stored).collect() }
    }

    /// The root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// All files.
    pub(crate) fn files(&self) -> &[StoredFile] {
        &self.files
    }

    /// The text files whose paths end with one of these.
    pub(crate) fn texts(&self, suffixes: &[&str]) -> impl Iterator<Item = (&str, &str)> {
        let chosen = self.files.iter().filter(move |file| file.has_suffix(suffixes));
        chosen.filter_map(|file| Some((file.path.as_str(), file.text()?)))
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path)?.text()
    }

    /// Whether a file or a folder with files is at this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let below = |file: &StoredFile| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        };
        path.is_empty() || self.files.iter().any(|file| file.path == path || below(file))
    }
}

/// The files that git tracks; `None` if this is not a checkout, such as an unpacked archive.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let listing = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output().ok()?;
    let paths = String::from_utf8(listing.stdout).ok()?;
    let paths: Vec<String> =
        paths.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    (listing.status.success() && !paths.is_empty()).then_some(paths)
}

/// Folders of generated files.
const MADE: [&str; 4] = [".git", "target", "corpus", "artifacts"];

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder)).with_context(|| folder.to_owned())? {
        let entry = entry.with_context(|| folder.to_owned())?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !entry.file_type().with_context(|| path.clone())?.is_dir() {
            paths.push(path);
        } else if !MADE.contains(&name.as_str()) {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_and_a_walk_find_the_sources() {
        let root = crate::root();
        let mut walked = Vec::new();
        walk(&root, "", &mut walked).unwrap();
        assert!(walked.iter().any(|path| path == "xtask/src/tidy/repository.rs"));
        let repository = Repository::read(&root).unwrap();
        assert!(repository.has("Cargo.toml") && repository.has("crates/base/types/src"));
        assert!(!repository.has("crates/typ") && !repository.has("target"));
        assert!(repository.text("Cargo.toml").unwrap().contains("[workspace]"));
    }
}
