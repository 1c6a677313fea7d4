//! Checks how tests wait for programs and how they skip.
//!
//! A wait without a bound stops the whole suite when a program hangs, so tests wait through the
//! harness. A skip that prints to captured output is invisible, so tests skip through it too.

use super::{Problem, code::code_of, repository::Repository};

/// The waits of the standard library, and what replaces each.
const WAITS: [(&str, &str); 3] = [
    (".output()", "bounded_output"),
    (".status()", "bounded_status"),
    (".wait_with_output()", "bounded_wait_with_output"),
];

/// Prints that `cargo test` captures from tests that pass; in two parts, so that this file passes.
const PRINTS: [&str; 4] = [
    concat!("println!(\"SKIP", "PED"),
    concat!("print!(\"SKIP", "PED"),
    concat!("writeln!(std::io::stderr(), \"SKIP", "PED"),
    concat!("writeln!(io::stderr(), \"SKIP", "PED"),
];

const HARNESS: &str = "crates/base/harness/";

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in repository.texts(&[".rs"]).filter(|(path, _)| is_of_tests(path)) {
        problems.extend(waits(path, text));
        problems.extend(skips(path, text));
    }
    problems
}

fn is_of_tests(path: &str) -> bool {
    let is_test = path.contains("/tests/") || path.contains("/src/");
    path.starts_with("crates/") && is_test && !path.starts_with(HARNESS)
}

fn waits(path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let code = code_of(text);
    // Other types have methods of these names.
    if !path.contains("/tests/") || !code.contains("Command") {
        return problems;
    }
    for (number, line) in code.lines().enumerate() {
        for (wait, instead) in WAITS {
            if line.contains(wait) {
                let what = format!("a wait without a bound: use {instead} of the harness");
                problems.push(Problem::at(path, number + 1, what));
            }
        }
    }
    problems
}

fn skips(path: &str, text: &str) -> Vec<Problem> {
    let lines = text.lines().enumerate();
    let silent = lines.filter(|(_, line)| PRINTS.iter().any(|print| line.contains(print)));
    let what = "a skip that `cargo test` captures: use `skipped` of the harness";
    silent.map(|(number, _)| Problem::at(path, number + 1, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        let repository = Repository::of(&[(path, text)]);
        check(&repository).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn waits_without_a_bound_are_found_in_tests() {
        let text = "use std::process::Command;\nlet a = Command::new(\"a\").output();\n\
                    // Command.status()\nlet b = c.wait_with_output();\n";
        let found = problems("crates/a/tests/suite/a.rs", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/a/tests/suite/a.rs:2: a wait without a bound"));
        assert!(found[1].ends_with("use bounded_wait_with_output of the harness"), "{found:?}");
        assert_eq!(problems("crates/a/src/a.rs", text), [""; 0]);
        assert_eq!(problems("crates/a/tests/suite/a.rs", "client.output();"), [""; 0]);
    }

    #[test]
    fn skips_that_are_captured_are_found() {
        for print in PRINTS {
            let text = format!("fn a() {{\n    {print}: no program\");\n}}\n");
            let found = problems("crates/a/src/a.rs", &text);
            assert_eq!(found.len(), 1, "{print}");
            assert!(found[0].starts_with("crates/a/src/a.rs:2: a skip"), "{found:?}");
        }
        assert_eq!(problems("crates/a/tests/a.rs", "skipped(\"no program\");"), [""; 0]);
    }
}
