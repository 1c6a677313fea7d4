//! Benchmark programs built from revisions of a git repository, for comparison.
//!
//! All revisions are built one after the other in one checkout under `target/lab/source`, so that
//! all paths in a program are the same. So two revisions with the same code give the same bytes,
//! without a difference in layout. The checkout is a separate git worktree; the user's files are
//! never touched. The state of the working tree, including uncommitted and untracked files, is
//! written as a commit without a branch.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// The word for the current working tree.
pub const WORKTREE: &str = "worktree";

/// A git repository and its benchmark target.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
    package: Option<String>,
    target: String,
}

/// A benchmark program that was built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Built {
    /// The full name of the commit.
    pub revision: String,
    /// The program.
    pub program: PathBuf,
}

/// The reason why there is no program for a revision.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// git could not be started, or it failed.
    #[error("git {arguments}: {reason}")]
    Git {
        /// The arguments of git.
        arguments: String,
        /// The message of git, or the reason why it could not be started.
        reason: String,
    },
    /// cargo could not build the program.
    #[error("cannot build {target} of {revision}: {reason}")]
    Cargo {
        /// The benchmark target.
        target: String,
        /// The revision.
        revision: String,
        /// The last lines of cargo's message.
        reason: String,
    },
    /// An operation on a file or folder under `target/lab` failed.
    #[error("cannot write {path}")]
    File {
        /// The path.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Repository {
    /// The repository around `folder`, and the benchmark `target` (of `package`) in it.
    pub fn open(folder: &Path, package: Option<&str>, target: &str) -> Result<Self, BuildError> {
        let root = git(folder, &["rev-parse", "--show-toplevel"], &[])?;
        Ok(Self {
            root: PathBuf::from(root),
            package: package.map(str::to_owned),
            target: target.to_owned(),
        })
    }

    /// The full name of the commit of `revision`; `None` if there is no such commit.
    pub fn resolve(&self, revision: &str) -> Option<String> {
        if revision == WORKTREE {
            return self.snapshot().ok();
        }
        let commit = format!("{revision}^{{commit}}");
        git(&self.root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit], &[])
            .ok()
    }

    /// Builds the benchmark program of `commit`. `progress` receives status messages.
    pub fn build(&self, commit: &str, progress: &mut dyn FnMut(&str)) -> Result<Built, BuildError> {
        let lab = self.root.join("target").join("lab");
        let (source, programs) = (lab.join("source"), lab.join("programs"));
        for folder in [&lab, &programs] {
            fs::create_dir_all(folder).map_err(|error| cannot_write(folder, error))?;
        }
        // One build at a time: there is one checkout. The kernel drops the lock of a dead process.
        let _lock = locked(&lab.join("lock"), progress)?;
        self.check_out(&source, commit)?;
        progress(&format!("building {} of {}", self.target, short(commit)));
        let executable = self.cargo(&source, &lab.join("build"), commit)?;
        let program = programs.join(format!("{}-{}", self.target, short(commit)));
        // Copied under another name and renamed: a worker may be running the old one.
        let partial = program.with_extension(format!("{}.partial", std::process::id()));
        fs::copy(&executable, &partial).map_err(|error| cannot_write(&partial, error))?;
        fs::rename(&partial, &program).map_err(|error| cannot_write(&program, error))?;
        Ok(Built { revision: commit.to_owned(), program })
    }

    /// A commit, on no branch, of everything in the working tree that git does not ignore.
    fn snapshot(&self) -> Result<String, BuildError> {
        let head = git(&self.root, &["rev-parse", "--verify", "HEAD"], &[])?;
        let folder = git(&self.root, &["rev-parse", "--absolute-git-dir"], &[])?;
        let index = Path::new(&folder).join(format!("nanotape-lab-{}.index", std::process::id()));
        let index_name = index.display().to_string();
        let with_index = [("GIT_INDEX_FILE", index_name.as_str())];
        let tree = git(&self.root, &["read-tree", "HEAD"], &with_index)
            .and_then(|_| git(&self.root, &["add", "--all"], &with_index))
            .and_then(|_| git(&self.root, &["write-tree"], &with_index));
        // git no longer needs the index, whether it succeeded or failed.
        let _ = fs::remove_file(&index);
        let tree = tree?;
        if tree == git(&self.root, &["rev-parse", "HEAD^{tree}"], &[])? {
            return Ok(head);
        }
        // A fixed author and time, so that the same files give the same commit.
        let identity = [
            ("GIT_AUTHOR_NAME", "nanotape lab"),
            ("GIT_AUTHOR_EMAIL", "lab@localhost"),
            ("GIT_AUTHOR_DATE", "2000-01-01T00:00:00Z"),
            ("GIT_COMMITTER_NAME", "nanotape lab"),
            ("GIT_COMMITTER_EMAIL", "lab@localhost"),
            ("GIT_COMMITTER_DATE", "2000-01-01T00:00:00Z"),
        ];
        git(&self.root, &["commit-tree", &tree, "-p", &head, "-m", "working tree"], &identity)
    }

    fn check_out(&self, source: &Path, commit: &str) -> Result<(), BuildError> {
        let switch = || {
            git(source, &["checkout", "--force", "--detach", commit], &[])?;
            git(source, &["clean", "--force", "-d", "--quiet"], &[])
        };
        if source.join(".git").exists() && switch().is_ok() {
            return Ok(());
        }
        // There is none, or a switch of it was interrupted: create a new one.
        if source.exists() {
            fs::remove_dir_all(source).map_err(|error| cannot_write(source, error))?;
        }
        let path = source.display().to_string();
        git(&self.root, &["worktree", "prune"], &[])?;
        git(&self.root, &["worktree", "add", "--force", "--detach", &path, commit], &[])?;
        Ok(())
    }

    /// The package with the benchmark target. It is passed to cargo, so that no other package of
    /// the workspace affects the compilation.
    fn package_in(&self, source: &Path) -> Result<String, String> {
        let output = Command::new(cargo_program())
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(source)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cargo: {error}"))?;
        if !output.status.success() {
            return Err(last_lines(&output));
        }
        let metadata = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        match packages_with(&metadata, &self.target).as_slice() {
            [package] => Ok(package.clone()),
            [] => Err("no package has a benchmark target of this name".to_owned()),
            several => Err(format!(
                "several packages have one; choose with --package: {}",
                several.join(", ")
            )),
        }
    }

    fn cargo(&self, source: &Path, build: &Path, commit: &str) -> Result<PathBuf, BuildError> {
        let failed = |reason: String| BuildError::Cargo {
            target: self.target.clone(),
            revision: short(commit).to_owned(),
            reason,
        };
        let mut command = Command::new(cargo_program());
        command
            .args(["bench", "--no-run", "--message-format", "json", "--bench", &self.target])
            .current_dir(source)
            .env("CARGO_TARGET_DIR", build)
            .stdin(Stdio::null());
        let package = match &self.package {
            Some(package) => package.clone(),
            None => self.package_in(source).map_err(failed)?,
        };
        command.args(["--package", &package]);
        if source.join("Cargo.lock").exists() {
            command.arg("--locked");
        }
        let output = command.output().map_err(|error| failed(format!("cargo: {error}")))?;
        if !output.status.success() {
            return Err(failed(last_lines(&output)));
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        executable(&messages, &self.target)
            .ok_or_else(|| failed("cargo built no program of this name".to_owned()))
    }
}

/// The packages that have a benchmark target of this name, found in cargo's metadata.
fn packages_with(metadata: &Value, target: &str) -> Vec<String> {
    let is_it = |found: &Value| {
        let of_kind = |kind: &Value| kind == "bench";
        found["name"] == target
            && found["kind"].as_array().is_some_and(|all| all.iter().any(of_kind))
    };
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let having = packages
        .filter(|package| package["targets"].as_array().is_some_and(|all| all.iter().any(is_it)));
    having.filter_map(|package| package["name"].as_str().map(str::to_owned)).collect()
}

/// The program of a benchmark target, found in cargo's messages.
fn executable(messages: &str, target: &str) -> Option<PathBuf> {
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs = artifacts.filter_map(|message| {
        let of_target = message["reason"] == "compiler-artifact"
            && message["target"]["name"] == target
            && message["target"]["kind"].as_array()?.iter().any(|kind| kind == "bench");
        of_target.then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    programs.next()
}

/// Waits until no other process builds here.
fn locked(path: &Path, progress: &mut dyn FnMut(&str)) -> Result<File, BuildError> {
    let file = File::options().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| cannot_write(path, error))?;
    if file.try_lock().is_err() {
        progress("waiting for another comparison that builds here");
        file.lock().map_err(|error| cannot_write(path, error))?;
    }
    Ok(file)
}

/// Runs git without hooks: the build is the only code of the repository that is run.
fn git(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<String, BuildError> {
    let failed = |reason: String| BuildError::Git { arguments: arguments.join(" "), reason };
    let output = Command::new("git")
        .args(["-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(failed(last_lines(&output)))
    }
}

/// The cargo that started this program, if one did.
fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The end of a failed program's message.
fn last_lines(output: &Output) -> String {
    const LINES: usize = 12;
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

fn cannot_write(path: &Path, source: io::Error) -> BuildError {
    BuildError::File { path: path.display().to_string(), source }
}

/// A commit's name, shortened for display.
pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_cargos_messages() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"name":"hot","kind":["lib"]},"executable":null}
not json
{"reason":"compiler-artifact","target":{"name":"cold","kind":["bench"]},"executable":"/t/cold-1"}
{"reason":"compiler-artifact","target":{"name":"hot","kind":["bench"]},"executable":"/t/hot-2"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages, "hot"), Some(PathBuf::from("/t/hot-2")));
        assert_eq!(executable(messages, "warm"), None);
    }

    #[test]
    fn the_package_is_the_one_that_has_the_target() {
        let package = |name: &str, target: &str, kind: &str| serde_json::json!({ "name": name, "targets": [{ "name": target, "kind": [kind] }] });
        let packages = [
            package("a", "hot", "test"),
            package("b", "hot", "bench"),
            package("c", "cold", "bench"),
            package("d", "cold", "bench"),
        ];
        let metadata = serde_json::json!({ "packages": packages });
        assert_eq!(packages_with(&metadata, "hot"), ["b"]);
        assert_eq!(packages_with(&metadata, "cold"), ["c", "d"]);
        assert!(packages_with(&metadata, "warm").is_empty());
        assert!(packages_with(&Value::Null, "hot").is_empty());
    }

    #[test]
    fn a_folder_without_a_repository_is_an_error_in_gits_words() {
        let error = Repository::open(Path::new("/"), None, "hot").unwrap_err();
        assert!(error.to_string().starts_with("git rev-parse --show-toplevel: "), "{error}");
    }
}
