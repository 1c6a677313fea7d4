//! The state of the source tree, from the `git` program.
//!
//! Untracked files do not make a tree dirty, as with `git describe --dirty`. Records of earlier
//! runs are untracked, and a new source file has no effect until a tracked one names it.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use super::known;
use crate::placement::unplaced;

/// The state of a directory in git.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Tree {
    pub(super) revision: Option<String>,
    pub(super) dirty: Option<bool>,
}

impl Tree {
    /// All values are None outside a repository, or without git.
    pub(super) fn of(directory: &Path) -> Self {
        // git reads many files; it must not run on the processor reserved for the measurement.
        unplaced(|| {
            let revision = git(directory, &["rev-parse", "HEAD"]);
            let status = git(directory, &["status", "--porcelain", "--untracked-files=no"]);
            Self {
                revision: revision.as_deref().and_then(revision_in),
                dirty: status.map(|text| !text.trim().is_empty()),
            }
        })
        .unwrap_or_default()
    }
}

/// The output of git. It takes no locks and starts no helper programs of the repository.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(["-c", "core.fsmonitor=false"])
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A whole commit hash and nothing else.
fn revision_in(text: &str) -> Option<String> {
    let text = known(text)?;
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_a_whole_hash() {
        let hash = "9a489be0f2a5d1f1c0a1b2c3d4e5f60718293a4b";
        assert_eq!(revision_in(&format!("{hash}\n")).as_deref(), Some(hash));
        for rubbish in ["", "HEAD", "9a489be", "fatal: not a git repository"] {
            assert_eq!(revision_in(rubbish), None);
        }
    }

    #[test]
    fn outside_a_repository_nothing_is_known() {
        assert_eq!(Tree::of(Path::new("/proc")), Tree::default());
        assert_eq!(Tree::of(Path::new("/does/not/exist")), Tree::default());
    }
}
