//! Checks that every kind of test in docs/TESTING.md is run by something.
//!
//! The last column of the table of kinds has the command of each. Either `.ci/run` runs it, as part
//! of the whole suite or by itself, or `cargo xtask nightly` does.

use super::{Problem, dependencies::FLOORS, repository::Repository};
use crate::nightly::{ROWS, Row};

const DOCUMENT: &str = "docs/TESTING.md";
const CI: &str = ".ci/run";

/// The command of the whole suite.
const SUITE: &str = "cargo test --workspace --locked";

/// Commands that a test of xtask runs as functions.
const IN_THE_SUITE: [&str; 2] = ["cargo xtask gen --check", "cargo xtask tidy"];

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let text = |path| repository.text(path).unwrap_or_default();
    let has = |path: &str| repository.has(path);
    rows(text(DOCUMENT), text(CI), &ROWS, has)
}

fn rows(document: &str, ci: &str, nightly: &[Row], has: impl Fn(&str) -> bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    let kinds = document.lines().enumerate().skip_while(|(_, line)| *line != "## Kinds").skip(1);
    let kinds = kinds.take_while(|(_, line)| !line.starts_with("## "));
    for (number, line) in kinds.filter(|(_, line)| line.starts_with('|')) {
        let cell = line.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default().trim();
        if cell == "alone" || cell.starts_with("---") {
            continue;
        }
        let mut problem = |what: String| problems.push(Problem::at(DOCUMENT, number + 1, what));
        let Some(command) = cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`')) else {
            problem(format!("the last column must be one command in backticks, not {cell}"));
            continue;
        };
        match of_suite(command) {
            Some(paths) if ci.contains(SUITE) && paths.iter().any(|path| has(path)) => {}
            Some(paths) => problem(format!("{command}: {SUITE} has no such test ({paths:?})")),
            None if runs(ci, command) || IN_THE_SUITE.contains(&command) => {}
            None if nightly.iter().any(|row| row.command.contains(command)) => {}
            None => problem(format!("neither {CI} nor `cargo xtask nightly` runs {command}")),
        }
    }
    problems
}

/// For a command that runs a part of the suite: the files of which one must exist.
fn of_suite(command: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = command.strip_prefix("cargo test -p nanotape-")?.split(' ').collect();
    let floors = FLOORS.map(|floor| format!("crates/{floor}/{}", words[0]));
    let examples = ["examples".to_owned()];
    let folders = if words[0] == "examples" { &examples[..] } else { &floors };
    let test = words.iter().position(|word| *word == "--test").map(|at| words[at + 1]);
    let files = match test {
        Some(test) => vec![format!("tests/{test}.rs"), format!("tests/{test}/main.rs")],
        None => vec!["Cargo.toml".to_owned()],
    };
    let paths = |folder| files.iter().map(move |file| format!("{folder}/{file}"));
    Some(folders.iter().flat_map(paths).collect())
}

/// Whether a line of a script, without its comments, begins with the command.
fn runs(script: &str, command: &str) -> bool {
    script.lines().any(|line| {
        let line = line.trim_start();
        !line.starts_with('#')
            && (line.starts_with(command) || line.contains(&format!(" {command}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NIGHTLY: [Row; 1] = [Row { name: "miri", command: "cargo xtask miri", minutes: 1 }];
    const SCRIPT: &str = "# cargo xtask comment\ncargo test --workspace --locked\n\
                          X=1 cargo xtask loom || status=$?\n";

    fn problems(cell: &str) -> Vec<String> {
        let document = format!(
            "| a | `no kind` |\n## Kinds\n\n| kind | alone |\n|---|---|\n| a | {cell} |\n## Longer\n\
             | b | none |\n"
        );
        let has = |path: &str| {
            path == "crates/store/a/tests/suite/main.rs" || path == "crates/lab/a/Cargo.toml"
        };
        rows(&document, SCRIPT, &NIGHTLY, has).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_kind_that_nothing_runs_is_found() {
        for good in [
            "`cargo test -p nanotape-a --test suite b:: -- --nocapture`",
            "`cargo test -p nanotape-a b`",
            "`cargo xtask loom`",
            "`cargo xtask miri`",
            "`cargo xtask tidy`",
        ] {
            assert_eq!(problems(good), [""; 0], "{good}");
        }
        for (bad, what) in [
            ("`cargo xtask comment`", "neither .ci/run nor `cargo xtask nightly` runs cargo xtask"),
            ("`scripts/forgotten`", "runs scripts/forgotten"),
            ("`cargo test -p nanotape-a --test gone`", "has no such test"),
            ("`cargo test -p nanotape-b`", "has no such test"),
            ("below", "must be one command in backticks, not below"),
        ] {
            let found = problems(bad);
            assert_eq!(found.len(), 1, "{bad}: {found:?}");
            assert!(
                found[0].starts_with("docs/TESTING.md:6: ") && found[0].contains(what),
                "{found:?}"
            );
        }
    }
}
