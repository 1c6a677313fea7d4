//! Counts the crates that define a public type of the same name: a reader of `Step` or `Line` must
//! know which one is meant.
//!
//! The definitions are those of `pub struct`, `enum`, `trait`, `type` and `union` in the sources of
//! the crates, without tests. Two crates may share a name.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, code::code_of, repository::Repository};

/// Crates that may define a name.
const MOST: usize = 2;

/// Names of more crates, and how many. The numbers may only shrink.
const ACCEPTED: [(&str, usize); 13] = [
    ("Batch", 3),
    ("Cause", 3),
    ("Event", 3),
    ("Finding", 3),
    ("Gap", 4),
    ("Message", 3),
    ("Options", 3),
    ("Origin", 3),
    ("Progress", 4),
    ("Record", 4),
    ("Source", 3),
    ("Step", 5),
    ("Window", 3),
];

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    compare(&definitions(repository), &ACCEPTED)
}

type Definitions = BTreeMap<String, BTreeSet<String>>;

fn compare(definitions: &Definitions, accepted: &[(&str, usize)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let names = accepted.iter().map(|(name, _)| (*name).to_owned());
    let names: BTreeSet<_> = names.chain(definitions.keys().cloned()).collect();
    for name in names {
        let crates = definitions.get(&name);
        let count = crates.map_or(0, BTreeSet::len);
        let known = accepted.iter().find(|(of, _)| *of == name).map(|(_, known)| *known);
        if count > MOST && known != Some(count) || known.is_some() && count <= MOST {
            let crates = crates.into_iter().flatten().cloned().collect::<Vec<_>>().join(", ");
            let what = format!(
                "public types of {count} crates have the name {name}, and {} are accepted: {crates}",
                known.unwrap_or(MOST)
            );
            problems.push(Problem::of_file("xtask/src/tidy/names.rs", what));
        }
    }
    problems
}

fn definitions(repository: &Repository) -> Definitions {
    let mut found = Definitions::new();
    for (path, text) in repository.texts(&[".rs"]) {
        let parts = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        let Some((name, file)) = parts else { continue };
        if file.split('/').any(|part| part.starts_with("tests")) {
            continue;
        }
        let code = code_of(text);
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for line in code.lines() {
            if let Some(defined) = definition(line.trim_start()) {
                found.entry(defined.to_owned()).or_default().insert(name.to_owned());
            }
        }
    }
    found
}

/// The name of the public type that a line defines.
fn definition(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    // A macro has a variable there.
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)], accepted: &[(&str, usize)]) -> usize {
        compare(&definitions(&Repository::of(files)), accepted).len()
    }

    #[test]
    fn a_name_of_three_crates_is_a_problem_and_its_exception_may_only_shrink() {
        let files = [
            ("crates/a/x/src/lib.rs", "pub struct Step<'a> {\n}\n"),
            ("crates/a/y/src/lib.rs", "pub enum Step {\n}\nstruct Other;\n"),
            ("crates/b/z/src/in.rs", "pub(crate) struct Other;\n    pub unsafe trait Step {}\n"),
        ];
        assert_eq!(problems(&files, &[]), 1);
        assert_eq!(problems(&files, &[("Step", 3)]), 0);
        assert_eq!(problems(&files, &[("Step", 4)]), 1);
        assert_eq!(problems(&files[..2], &[]), 0);
        assert_eq!(problems(&files[..2], &[("Step", 3)]), 1, "an exception without a need");
    }

    #[test]
    fn tests_and_texts_define_no_name() {
        let files = [
            ("crates/a/x/src/lib.rs", "pub struct Step;\n"),
            ("crates/a/y/src/lib.rs", "pub struct Step;\n"),
            ("crates/a/z/src/tests.rs", "pub struct Step;\n"),
            ("crates/a/v/src/lib.rs", "#[cfg(test)]\nmod tests {\n    pub struct Step;\n}\n"),
            ("crates/a/w/src/lib.rs", "/// pub struct Step;\nfn step() {}\n"),
        ];
        assert_eq!(problems(&files, &[]), 0);
    }
}
