//! Checks of Rust files: module docs, length, unfinished work, ignored tests, plain characters.

use super::{
    Problem,
    code::{code_of, has_word},
    repository::Repository,
};

/// Maximum lines of a file; generated files may have more.
const MOST_LINES: usize = 1_000;

/// Files of this length cause a warning.
const MANY_LINES: usize = 500;

/// Macros that mark unfinished work.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Words that mark unfinished work in a comment; in two parts, so that this file passes.
const UNFINISHED_WORDS: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];

/// Files that are source, and so ASCII.
const SOURCE: [&str; 6] = [".rs", ".toml", ".yml", "justfile", ".ci/run", ".gitignore"];

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in repository.texts(&[".rs"]) {
        problems.extend(module_docs(path, text));
        problems.extend(length(path, text));
        problems.extend(unfinished(path, text));
    }
    for (path, text) in repository.texts(&SOURCE) {
        problems.extend(plain_characters(path, text));
    }
    problems
}

/// Files that are long but not too long: a warning, not a failure.
pub(crate) fn long_files(repository: &Repository) -> Vec<Problem> {
    let texts = repository.texts(&[".rs"]);
    texts
        .filter(|(path, text)| !is_generated(path) && text.lines().count() > MANY_LINES)
        .map(|(path, text)| Problem::of_file(path, format!("{} lines", text.lines().count())))
        .collect()
}

fn is_generated(path: &str) -> bool {
    path.contains("/generated/")
}

fn module_docs(path: &str, text: &str) -> Option<Problem> {
    let what = "does not open with a module comment (`//!`)";
    (!text.starts_with("//!")).then(|| Problem::of_file(path, what))
}

fn length(path: &str, text: &str) -> Option<Problem> {
    let lines = text.lines().count();
    (lines > MOST_LINES && !is_generated(path))
        .then(|| Problem::of_file(path, format!("{lines} lines, at most {MOST_LINES}")))
}

/// The attribute of a test that does not run. In two parts, so that a search finds only such tests.
const IGNORED: &str = concat!("#[ign", "ore");

fn unfinished(path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(code_of(text).lines()) {
        for name in UNFINISHED {
            if has_word(line, name) && line.contains(&format!("{name}!")) {
                problems.push(Problem::at(path, number, format!("{name}! is unfinished work")));
            }
        }
        if line.contains(IGNORED) {
            problems.push(Problem::at(path, number, "an ignored test proves nothing"));
        }
    }
    for (number, line) in (1..).zip(text.lines()) {
        for word in UNFINISHED_WORDS {
            if has_word(line, word) {
                problems.push(Problem::at(path, number, format!("{word} is unfinished work")));
            }
        }
    }
    problems
}

fn plain_characters(path: &str, text: &str) -> Option<Problem> {
    let (number, line) = (1..).zip(text.lines()).find(|(_, line)| !line.is_ascii())?;
    let odd = line.chars().find(|c| !c.is_ascii())?;
    Some(Problem::at(path, number, format!("{:?} is not ASCII; write it as an escape", odd)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_module_docs_is_named() {
        assert!(module_docs("a.rs", "use std::fmt;\n").is_some());
        assert_eq!(module_docs("a.rs", "//! What it is.\n"), None);
    }

    #[test]
    fn a_long_file_fails_unless_it_is_generated() {
        let (fits, too_long) = ("//! x\n".repeat(1_000), "//! x\n".repeat(1_001));
        assert_eq!(length("a.rs", &fits), None);
        assert!(length("a.rs", &too_long).is_some());
        assert_eq!(length("crates/market/wire/src/generated/a.rs", &too_long), None);
    }

    #[test]
    fn a_file_over_five_hundred_lines_is_a_warning() {
        let long = "//! x\n".repeat(501);
        let repository = Repository::of(&[("a.rs", &long), ("b.rs", "//! x\n")]);
        assert_eq!(long_files(&repository).len(), 1);
        assert!(check(&repository).is_empty());
    }

    #[test]
    fn unfinished_work_is_found_in_code_and_comments() {
        for bad in UNFINISHED {
            let line = format!("fn f() {{ {bad}!() }}");
            assert_eq!(unfinished("a.rs", &line).len(), 1, "{line}");
            assert!(unfinished("a.rs", &format!("// {line}")).is_empty());
        }
        for word in UNFINISHED_WORDS {
            assert_eq!(unfinished("a.rs", &format!("// {word}: later")).len(), 1);
        }
        assert_eq!(unfinished("a.rs", &format!("#[test]\n{IGNORED}]\nfn f() {{}}")).len(), 1);
        assert!(unfinished("a.rs", "let sdbg = methodo!();").is_empty());
    }

    #[test]
    fn a_character_that_is_not_plain_is_found() {
        assert!(plain_characters("a.rs", "let x = 1;\n// \u{2192}").is_some());
        assert_eq!(plain_characters("a.rs", "let x = '\\u{2192}';"), None);
    }
}
