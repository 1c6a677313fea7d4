//! `cargo xtask tidy`: checks the rules of the repository.
//!
//! Every check is a function from the stored files to a list of [`Problem`]s, and has a test that
//! shows it fail on a bad sample. All of them also run as one test, so that `cargo test` enforces
//! them.

mod circles;
mod code;
mod dependencies;
mod documents;
mod edges;
mod files;
mod links;
mod locks;
mod names;
mod prose;
mod protocols;
mod repository;
mod source;
mod testing;
mod unsafe_code;
mod venues;
mod waits;
mod words;

use std::{fmt, path::Path, process::ExitCode};

use anyhow::Result;
use repository::Repository;

/// A violation of a rule, with its position.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Problem {
    path: String,
    line: Option<usize>,
    what: String,
}

impl Problem {
    /// A problem of a whole file.
    fn of_file(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }

    /// A problem of one line, counted from 1.
    fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// Runs every check and prints the problems; exit status 1 if there are any.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let repository = Repository::read(root)?;
    for warning in source::long_files(&repository) {
        println!("warning: {warning}");
    }
    let problems = problems(&repository)?;
    for problem in &problems {
        println!("{problem}");
    }
    Ok(match problems.len() {
        0 => {
            println!("tidy: {} files, no problems", repository.files().len());
            ExitCode::SUCCESS
        }
        count => {
            println!("tidy: {count} problems");
            ExitCode::from(1)
        }
    })
}

fn problems(repository: &Repository) -> Result<Vec<Problem>> {
    let mut all = dependencies::check(repository)?;
    all.extend(source::check(repository));
    all.extend(circles::check(repository));
    all.extend(unsafe_code::check(repository));
    all.extend(venues::check(repository));
    all.extend(documents::check(repository));
    all.extend(edges::check(repository));
    all.extend(files::check(repository));
    all.extend(links::check(repository));
    all.extend(locks::check(repository));
    all.extend(names::check(repository));
    all.extend(prose::check(repository));
    all.extend(protocols::check(repository));
    all.extend(testing::check(repository));
    all.extend(waits::check(repository));
    all.extend(words::check(repository));
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let repository = Repository::read(&crate::root()).expect("the repository reads");
        let problems = match problems(&repository) {
            // Another user's toolchain.
            Err(error) if error.root_cause().to_string().contains("Permission denied") => {
                return nanotape_harness::skipped(format_args!("cargo cannot be run: {error:#}"));
            }
            problems => problems.expect("cargo describes the workspace"),
        };
        let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }

    #[test]
    fn a_problem_prints_as_a_place_and_a_sentence() {
        assert_eq!(Problem::of_file("a.rs", "is odd").to_string(), "a.rs: is odd");
        assert_eq!(Problem::at("a.rs", 7, "is odd").to_string(), "a.rs:7: is odd");
    }
}
