//! Checks orderings between processes or threads: each has a name on both sides, and those of
//! shared memory are in the document of their format.

use std::collections::BTreeMap;

use super::{Problem, repository::Repository};

/// A comment at a load or a store names its edge with this tag.
const TAG: &str = "SYNC(";

/// The declaration of an edge of shared memory.
const DECLARATION: &str = "Edge::new(\"";

/// The folder of the formats.
const FORMATS: &str = "docs/formats/";

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let sources: Vec<_> = repository.texts(&[".rs"]).collect();
    // This file is about tags and has none.
    let sources = sources.into_iter().filter(|(path, _)| !path.starts_with("xtask/"));
    let formats: String = repository
        .texts(&[".md"])
        .filter(|(path, _)| path.starts_with(FORMATS))
        .map(|(_, text)| text)
        .collect();
    edges(sources, &formats)
}

fn edges<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>, formats: &str) -> Vec<Problem> {
    let mut tags: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    let mut declared: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, text) in sources {
        for (at, line) in text.lines().enumerate() {
            if let Some((_, rest)) = line.split_once(TAG) {
                let name = rest.split_once(')').map_or(rest, |(name, _)| name);
                tags.entry(name).or_default().push((path, at + 1));
            }
            if let Some((_, rest)) = line.split_once(DECLARATION) {
                let name = rest.split_once('"').map_or(rest, |(name, _)| name);
                declared.entry(name).or_default().push((path, at + 1));
            }
        }
    }
    let mut problems = Vec::new();
    for (tag, places) in &tags {
        if let [(path, line)] = places[..] {
            problems.push(Problem::at(path, line, format!("SYNC({tag}) has no other end")));
        }
    }
    for (name, places) in &declared {
        let (path, line) = places[0];
        if let Some(&(path, line)) = places.get(1) {
            problems.push(Problem::at(path, line, format!("the edge {name} is declared twice")));
        }
        if !tags.contains_key(name) {
            problems.push(Problem::at(
                path,
                line,
                format!("no SYNC({name}) comment marks its use"),
            ));
        }
        if !formats.contains(name) {
            problems.push(Problem::at(
                path,
                line,
                format!("{name} is in no document of {FORMATS}"),
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(source: &str, formats: &str) -> Vec<String> {
        let problems = edges([("a.rs", source)].into_iter(), formats);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_edge_with_both_ends_and_a_page_is_good() {
        let source = "const A: Edge = Edge::new(\"r.a\");\n// SYNC(r.a): x\n// SYNC(r.a): y\n";
        assert_eq!(said(source, "| `r.a` |"), [""; 0]);
    }

    #[test]
    fn an_end_alone_an_edge_unused_unwritten_or_twice_is_a_problem() {
        assert_eq!(said("// SYNC(r.a): x", ""), ["a.rs:1: SYNC(r.a) has no other end"]);
        let twice = "Edge::new(\"r.a\")\nEdge::new(\"r.a\")";
        assert_eq!(
            said(twice, ""),
            [
                "a.rs:2: the edge r.a is declared twice",
                "a.rs:1: no SYNC(r.a) comment marks its use",
                "a.rs:1: r.a is in no document of docs/formats/",
            ]
        );
    }
}
