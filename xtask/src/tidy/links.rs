//! Checks links in Markdown, and names of documents in the comments of source.

use super::{Problem, repository::Repository};

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in repository.texts(&[".md"]) {
        for (line, target) in links(text) {
            let Some(place) = resolve(path, target) else { continue };
            if !repository.has(&place) {
                problems.push(Problem::at(path, line, format!("{target} does not exist")));
            }
        }
    }
    for (path, text) in repository.texts(&[".rs"]) {
        for (line, document) in documents(text) {
            if !repository.has(document) {
                problems.push(Problem::at(path, line, format!("{document} does not exist")));
            }
        }
    }
    problems
}

/// The targets of links outside code blocks, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut in_code) = (Vec::new(), false);
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for (at, open) in line.match_indices("](") {
            let target = &line[at + open.len()..];
            if let Some(end) = target.find([')', ' ']) {
                found.push((number, &target[..end]));
            }
        }
    }
    found
}

/// The path from the root that `target` in the file `from` means. `None` if it is not a file of
/// ours; an impossible path if it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let (target, _) = target.split_once('#').unwrap_or((target, ""));
    if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Some("..".to_owned()),
            ".." => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Names such as `docs/UNSAFE.md` in source, with their lines.
fn documents(text: &str) -> Vec<(usize, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (at, _) in line.match_indices("docs/") {
            let before = line[..at].chars().next_back();
            let rest = &line[at..];
            let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
            if let Some(end) = name.rfind(".md")
                && !before.is_some_and(is_name)
            {
                found.push((number, &name[..end + 3]));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let readme = "[a](notes/a.md) [b](notes/b.md#x) [c](https://example.org/c) [d](#d)\n\
                      ```\n[e](nowhere.md)\n```\n![f](notes) [g](../outside.md)\n";
        let repository =
            Repository::of(&[("README.md", readme), ("notes/a.md", "[up](../README.md)")]);
        let problems: Vec<String> = check(&repository).iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            [
                "README.md:1: notes/b.md#x does not exist",
                "README.md:5: ../outside.md does not exist",
            ]
        );
    }

    #[test]
    fn links_are_relative_to_their_file() {
        let resolved = |target| resolve("notes/old/0001-x.md", target);
        assert_eq!(resolved("../UNSAFE.md").as_deref(), Some("notes/UNSAFE.md"));
        assert_eq!(resolved("./0002-y.md").as_deref(), Some("notes/old/0002-y.md"));
        assert_eq!(resolved("../../../x").as_deref(), Some(".."));
        assert_eq!(resolved("mailto:a@b"), None);
    }

    #[test]
    fn a_document_that_source_names_must_exist() {
        let source = concat!("//! See doc", "s/gone.md. And doc", "s/{}.md, mydoc", "s/x.md.\n");
        let repository = Repository::of(&[("a.rs", source)]);
        let problems: Vec<String> = check(&repository).iter().map(Problem::to_string).collect();
        assert_eq!(problems, [concat!("a.rs:1: doc", "s/gone.md does not exist")]);
    }
}
