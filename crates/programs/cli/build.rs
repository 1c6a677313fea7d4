//! Puts the commit into `nanotape --version` and `nanotape-lab --version`: `0.1.0 (0b1ff35
//! 2026-11-23)`. Both programs have this build script.
//!
//! The commit is that of the checkout that contains this file. Its date is the committer's, so that
//! a commit gives the same program on every machine. `-dirty` means that a file that makes the
//! program differs from the commit. Sources without a repository of their own, such as those of an
//! archive, give the version alone.
//!
//! Cargo runs this again if the commit or one of these files changes, and not otherwise.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What makes the program, from the root of the repository: these files, and those of all crates.
const SOURCES: [&str; 2] = ["Cargo.toml", "Cargo.lock"];
const SOURCES_OF_A_CRATE: [&str; 3] = ["src", "Cargo.toml", "build.rs"];

/// Variables with which git would use another repository, as it does for a hook.
const VARIABLES_OF_GIT: [&str; 4] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE"];

pub(crate) fn main() {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed={}", package.join("../cli/build.rs").display());
    let commit =
        Repository::of(&package.join("../../..")).and_then(|repository| repository.commit());
    let (version, date) = match commit {
        Some(Commit { name, date }) => (format!("{version} ({name} {date})"), date),
        None => (version, String::new()),
    };
    println!("cargo::rustc-env=NANOTAPE_VERSION={version}");
    println!("cargo::rustc-env=NANOTAPE_DATE={date}");
}

/// The commit of a checkout.
struct Commit {
    /// `0b1ff35`, or `0b1ff35-dirty`.
    name: String,
    /// `2026-11-23`.
    date: String,
}

/// A checkout of this repository.
struct Repository {
    root: PathBuf,
}

impl Repository {
    /// The checkout at `root`. A folder inside another repository is none.
    fn of(root: &Path) -> Option<Self> {
        let repository = Self { root: root.canonicalize().ok()? };
        // A worktree has a file of this name, a clone a folder.
        if !repository.root.join(".git").exists() {
            return None;
        }
        match repository.git(&["rev-parse", "--show-toplevel"]) {
            Ok(_) => Some(repository),
            Err(reason) => {
                println!("cargo::warning=nanotape --version will lack the commit: {reason}");
                None
            }
        }
    }

    fn commit(&self) -> Option<Commit> {
        self.watch();
        let head =
            self.git(&["show", "--no-patch", "--abbrev=7", "--format=%h %cs", "HEAD"]).ok()?;
        let (hash, date) = head.split_once(' ')?;
        let mut changes = vec!["status", "--porcelain", "--untracked-files=no", "--"];
        changes.extend(SOURCES);
        let of_crates = SOURCES_OF_A_CRATE.map(|name| format!("crates/*/*/{name}*"));
        changes.extend(of_crates.iter().map(String::as_str));
        let is_clean = self.git(&changes).is_ok_and(|changes| changes.is_empty());
        let name = format!("{hash}{}", if is_clean { "" } else { "-dirty" });
        Some(Commit { name, date: date.to_owned() })
    }

    /// Names the files that a new commit or a change of a source changes. Each of them exists: a
    /// missing file would run this script in every build.
    fn watch(&self) {
        let mut watched: Vec<PathBuf> = SOURCES.iter().map(|name| self.root.join(name)).collect();
        let folders = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
        for floor in folders(&self.root.join("crates")) {
            for entry in folders(&floor.path()) {
                watched.extend(SOURCES_OF_A_CRATE.map(|name| entry.path().join(name)));
            }
        }
        let branch = self.git(&["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
        // The branch is a file or a line of packed-refs; the log of HEAD has a line per commit.
        for name in ["HEAD", "logs/HEAD", "packed-refs", branch.as_str()] {
            if let Ok(path) = self.git(&["rev-parse", "--git-path", name]) {
                watched.push(self.root.join(path));
            }
        }
        for path in watched.iter().filter(|path| path.exists()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }

    /// The output of git, or the reason why there is none.
    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("git");
        for name in VARIABLES_OF_GIT {
            command.env_remove(name);
        }
        // Without the lock that `status` would take to refresh the index.
        let output = command
            .arg("--no-optional-locks")
            .args(arguments)
            .current_dir(&self.root)
            .output()
            .map_err(|error| format!("git: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().replace('\n', " ");
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}
