//! Counts the modules of a crate that use each other in a circle: none of them can be read, tested
//! or moved alone.
//!
//! A module is a file or folder directly under `src`. An edge is a path that begins with `crate::`,
//! to a module or to what the root of the crate re-exports from one. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, code::code_of, repository::Repository};

/// The crates with circles, and how many of their modules are in one. The numbers may only shrink.
const ACCEPTED: [(&str, usize); 12] = [
    ("base/clock", 2),
    ("base/console", 2),
    ("base/shm", 3),
    ("lab/bench", 4),
    ("lab/lab", 4),
    ("lab/machine", 2),
    ("market/feed", 7),
    ("plant/history", 6),
    ("play/exchange", 3),
    ("programs/cli", 2),
    ("store/journal", 7),
    ("store/ring", 7),
];

type Graph = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    compare(&crates(repository), &ACCEPTED)
}

fn compare(crates: &BTreeMap<String, Graph>, accepted: &[(&str, usize)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, graph) in crates {
        let modules = graph.keys().map(String::as_str);
        let found: Vec<&str> = modules.filter(|at| reaches(graph, at, at)).collect();
        let known = accepted.iter().find(|(of, _)| of == name).map_or(0, |(_, known)| *known);
        if found.len() != known {
            let what = format!(
                "{} modules use each other in a circle, and {known} are accepted \
                 (xtask/src/tidy/circles.rs): {}",
                found.len(),
                found.join(", ")
            );
            problems.push(Problem::of_file(&format!("crates/{name}"), what));
        }
    }
    problems
}

/// Whether a path of at least one edge leads from one module to the other.
fn reaches(graph: &Graph, from: &str, to: &str) -> bool {
    let (mut open, mut seen) = (vec![from], BTreeSet::new());
    while let Some(at) = open.pop() {
        for next in graph.get(at).into_iter().flatten() {
            if next == to {
                return true;
            }
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    false
}

/// The edges between the modules of each crate.
fn crates(repository: &Repository) -> BTreeMap<String, Graph> {
    let mut crates: BTreeMap<String, Graph> = BTreeMap::new();
    let mut exported: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let sources = || {
        repository.texts(&[".rs"]).filter_map(|(path, text)| {
            let (name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
            Some((name, file, text))
        })
    };
    for (name, file, text) in sources() {
        if matches!(file, "lib.rs" | "main.rs") {
            let exports = exported.entry(name.to_owned()).or_default();
            for (module, tree) in uses(&code_of(text)) {
                for item in items(tree) {
                    let last = item.rsplit([':', ' ']).next().unwrap_or_default();
                    exports.insert(last.to_owned(), module.to_owned());
                }
            }
        } else {
            crates.entry(name.to_owned()).or_default().entry(module_of(file)).or_default();
        }
    }
    for (name, file, text) in sources() {
        let module = module_of(file);
        let is_test = file.split('/').any(|part| part.starts_with("tests"));
        let Some(graph) = crates.get_mut(name).filter(|graph| graph.contains_key(&module)) else {
            continue;
        };
        if is_test {
            continue;
        }
        let code = code_of(text);
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for target in targets(code) {
            let exports = exported.get(name).and_then(|exports| exports.get(target));
            let target = exports.map_or(target, String::as_str);
            if target != module && graph.contains_key(target) {
                let target = target.to_owned();
                graph.entry(module.clone()).or_default().insert(target);
            }
        }
    }
    crates
}

fn module_of(file: &str) -> String {
    file.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned()
}

/// The first word of each path that begins with `crate::`.
fn targets(code: &str) -> Vec<&str> {
    let behind = code.match_indices("crate::").map(|(at, found)| &code[at + found.len()..]);
    behind
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(tree) => items(&tree[..closing(tree)]),
            None => vec![rest],
        })
        .map(|item| word(item.trim_start()))
        .collect()
}

/// The imports of a root file: the first word of the path, and what follows it.
fn uses(code: &str) -> impl Iterator<Item = (&str, &str)> {
    code.match_indices("use ").filter_map(|(at, found)| {
        let path = code[at + found.len()..].split(';').next()?;
        let (module, tree) = path.split_once("::")?;
        Some((module.trim(), tree.trim().trim_start_matches('{').trim_end_matches('}')))
    })
}

/// The parts of a tree of imports, split at the commas outside of inner braces.
fn items(tree: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(tree[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(tree[begin..].trim());
    // Behind a last comma there is none.
    found.retain(|item| !item.is_empty());
    found
}

/// The position of the brace that closes a tree.
fn closing(tree: &str) -> usize {
    let mut depth = 1_usize;
    for (at, c) in tree.char_indices() {
        depth = depth + usize::from(c == '{') - usize::from(c == '}');
        if depth == 0 {
            return at;
        }
    }
    tree.len()
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], accepted: &[(&str, usize)]) -> Vec<String> {
        let crates = crates(&Repository::of(files));
        compare(&crates, accepted).iter().map(|problem| problem.what.clone()).collect()
    }

    const ROOT: &str = "mod a;\nmod b;\nmod c;\npub use b::{inner::Item, Other as Name,};\n";

    #[test]
    fn modules_that_use_each_other_are_found() {
        let circle = [
            ("crates/f/x/src/lib.rs", ROOT),
            ("crates/f/x/src/a.rs", "use crate::{\n    Item,\n    c::{One, Two},\n};\n"),
            ("crates/f/x/src/b/deep.rs", "fn f() { crate::a::call() }\n"),
            ("crates/f/x/src/c.rs", "// crate::a\nconst A: &str = \"crate::a\";\n"),
        ];
        let problems = found(&circle, &[]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("2 modules") && problems[0].ends_with(": a, b"));
        assert_eq!(found(&circle, &[("f/x", 2)]), [""; 0]);
        assert_eq!(found(&circle, &[("f/x", 3)]).len(), 1, "the number may only shrink");
    }

    #[test]
    fn tests_and_one_direction_are_no_circle() {
        let text = "use crate::Name;\n#[cfg(test)]\nmod tests { use crate::c::Thing; }\n";
        let files = [
            ("crates/f/x/src/lib.rs", ROOT),
            ("crates/f/x/src/a.rs", text),
            ("crates/f/x/src/b.rs", "use crate::d::Thing;\n"),
            ("crates/f/x/src/b/tests.rs", "use crate::a::call;\n"),
            ("crates/f/x/src/c.rs", "use crate::a::call;\n"),
            ("crates/f/x/src/d.rs", "use crate::{\n    d::Own,\n};\n"),
        ];
        assert_eq!(found(&files, &[]), [""; 0]);
    }
}
