//! Words that the glossary bans in public names: fields, functions, types, constants, variants.
//!
//! The glossary is normative: its line `Not: ...` lists the words, each in backticks.

use std::collections::BTreeSet;

use crate::tidy::{Problem, code::code_of, repository::Repository};

const GLOSSARY: &str = "docs/GLOSSARY.md";

/// The beginning of the line with the words.
const NOT: &str = "Not: ";

/// The folder of the crates whose public names are checked.
const CRATES: &str = "crates/";

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let Some(banned) = repository.text(GLOSSARY).map(banned_words) else { return Vec::new() };
    if banned.is_empty() {
        return vec![Problem::of_file(GLOSSARY, format!("has no line that starts with \"{NOT}\""))];
    }
    let sources = repository.texts(&[".rs"]).filter(|(path, _)| path.starts_with(CRATES));
    sources.flat_map(|(path, text)| names(path, &code_of(text), &banned)).collect()
}

/// The words in backticks of lines that start with `Not: `, and of the lines after those up to an
/// empty one.
fn banned_words(glossary: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut is_list = false;
    for line in glossary.lines() {
        is_list = !line.trim().is_empty() && (is_list || line.starts_with(NOT));
        if is_list {
            words.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    words
}

fn names(path: &str, code: &str, banned: &BTreeSet<String>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let Some(name) = public_name(line) else { continue };
        let name_words = snake(name);
        for word in banned {
            if has_words(&name_words, word) {
                let what = format!("{name}: the glossary bans {word} in public names");
                problems.push(Problem::at(path, number, what));
            }
        }
    }
    problems
}

/// The name that a line of code makes public.
fn public_name(line: &str) -> Option<&str> {
    const BEFORE: [&str; 10] =
        ["const", "unsafe", "async", "fn", "struct", "enum", "trait", "type", "mod", "static"];
    let rest = line.trim_start().strip_prefix("pub ")?;
    let mut words =
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
    let name = words.find(|word| !BEFORE.contains(word))?;
    (!rest.starts_with("use ")).then_some(name)
}

/// `OrderId` and `order_id` as `order_id`.
pub(crate) fn snake(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut is_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && is_lower {
            words.push('_');
        }
        is_lower = c.is_lowercase() || c.is_ascii_digit();
        words.extend(c.to_lowercase());
    }
    words
}

/// Whether the words of a name contain those of `banned` in sequence.
fn has_words(name: &str, banned: &str) -> bool {
    format!("_{name}_").contains(&format!("_{banned}_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Glossary\n\nNot: `order_id`,\n`ask`.\n\nThe word `bid` is used.\n";

    fn found_in(source: &str) -> Vec<String> {
        let files = [(GLOSSARY, LIST), ("crates/a/src/lib.rs", source), ("xtask/src/a.rs", source)];
        check(&Repository::of(&files)).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_banned_word_in_a_public_name_is_found() {
        for bad in [
            "pub fn order_id(self) -> u64 {",
            "    pub best_ask: u64,",
            "pub const fn ask() {",
            "pub struct OrderId(u64);",
            "pub const MOST_ORDER_ID: u64 = 1;",
        ] {
            assert_eq!(found_in(bad).len(), 1, "{bad}");
        }
        for good in [
            "fn order_id() {",
            "pub(crate) fn ask() {",
            "pub fn order(id: u64) {",
            "pub fn task() {",
            "pub use dbn::ask;",
            "/// pub fn ask",
        ] {
            assert_eq!(found_in(good), [""; 0], "{good}");
        }
    }

    #[test]
    fn a_glossary_without_the_list_is_found() {
        let repository = Repository::of(&[(GLOSSARY, "# Glossary\n")]);
        assert_eq!(check(&repository).len(), 1);
    }
}
