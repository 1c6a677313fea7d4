//! Checks that documents are true: the tests that they name exist, every page is in the index, a
//! decision has a date that has come, and no README of a crate offers a private item.

use std::{collections::BTreeSet, process::Command};

use super::{
    Problem,
    code::{code_of, has_word},
    repository::Repository,
};

/// The heading in the README of a crate above its invariants.
const INVARIANTS: &str = "## Invariants, each with the test that holds it";

/// Pages and their maximum lines: who opens one reads all of it.
const SHORT: [(&str, usize); 2] = [("README.md", 140), ("docs/ARCHITECTURE.md", 400)];

const INDEX: &str = "docs/README.md";
const DECISIONS: &str = "docs/decisions/";

/// Pages that say how many of something there are are wrong after the next one.
const WITHOUT_COUNTS: [&str; 3] = ["README.md", "docs/README.md", "examples/README.md"];
const COUNTS: [&str; 12] = [
    "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen",
];

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(long_pages(repository));
    problems.extend(counts(repository));
    problems.extend(index(repository));
    problems.extend(future_decisions(repository, &today()));
    problems.extend(numbers_of_decisions(repository));
    problems.extend(invariants(repository));
    problems.extend(private_items(repository));
    problems
}

fn long_pages(repository: &Repository) -> Vec<Problem> {
    let pages = SHORT.iter().filter_map(|&(path, most)| {
        let lines = repository.text(path)?.lines().count();
        (lines > most).then(|| Problem::of_file(path, format!("{lines} lines, at most {most}")))
    });
    pages.collect()
}

fn counts(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in WITHOUT_COUNTS {
        let text = repository.text(path).unwrap_or_default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.to_lowercase();
            for count in COUNTS.into_iter().filter(|count| has_word(&line, count)) {
                let what = format!("\"{count}\": a count in words is wrong after the next change");
                problems.push(Problem::at(path, number, what));
            }
        }
    }
    problems
}

/// Every page below docs/ but decisions must be linked from the index.
fn index(repository: &Repository) -> Vec<Problem> {
    let Some(index) = repository.text(INDEX) else { return Vec::new() };
    let pages = repository.texts(&[".md"]).filter_map(|(path, _)| path.strip_prefix("docs/"));
    let missing = pages.filter(|page| {
        *page != "README.md"
            && !page.starts_with("decisions/")
            && !index.contains(&format!("]({page})"))
    });
    missing.map(|page| Problem::of_file(INDEX, format!("does not name docs/{page}"))).collect()
}

/// The date of today in UTC, as decisions write dates.
fn today() -> String {
    let date = Command::new("date").args(["--utc", "+%Y-%m-%d"]).output();
    date.map(|date| String::from_utf8_lossy(&date.stdout).trim().to_owned()).unwrap_or_default()
}

fn future_decisions(repository: &Repository, today: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let decisions = repository.texts(&[".md"]);
    for (path, text) in decisions.filter(|(path, _)| path.starts_with(DECISIONS)) {
        let Some((number, status)) =
            (1..).zip(text.lines()).find(|(_, line)| line.starts_with("Status: "))
        else {
            problems.push(Problem::of_file(path, "has no line \"Status: accepted YYYY-MM-DD\""));
            continue;
        };
        let dates = status.split(|c: char| !c.is_ascii_digit() && c != '-');
        for date in dates.filter(|word| word.len() == today.len() && *word > today) {
            problems.push(Problem::at(path, number, format!("{date} is in the future")));
        }
    }
    problems
}

/// Two decisions with one number, which a reference cannot distinguish.
fn numbers_of_decisions(repository: &Repository) -> Vec<Problem> {
    let number = |path: &str| Some(path.strip_prefix(DECISIONS)?.split('-').next()?.to_owned());
    let mut paths: Vec<&str> = repository.texts(&[".md"]).map(|(path, _)| path).collect();
    paths.retain(|path| path.starts_with(DECISIONS));
    paths.sort_unstable();
    let pairs = paths.windows(2).filter(|pair| number(pair[0]) == number(pair[1]));
    pairs.map(|pair| Problem::of_file(pair[1], format!("has the number of {}", pair[0]))).collect()
}

/// READMEs of crates, by the folder of the crate.
fn crate_readmes(repository: &Repository) -> impl Iterator<Item = (&str, &str, &str)> {
    repository.texts(&["/README.md"]).filter_map(|(path, text)| {
        let folder = path.strip_suffix("/README.md")?;
        let is_crate = folder.starts_with("crates/") && !folder.contains("/tests/");
        is_crate.then_some((path, folder, text))
    })
}

/// The words in backticks of a line.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Each invariant must name a test, and each test and path that is named must exist.
fn invariants(repository: &Repository) -> Vec<Problem> {
    let functions: BTreeSet<&str> = repository
        .texts(&[".rs"])
        .flat_map(|(_, text)| text.lines().filter_map(function))
        .collect();
    let exists = |word: &str| {
        if word.contains('/') {
            Some(repository.has(word.trim_end_matches('/')))
        } else if word.ends_with(".rs") {
            let end = format!("/{word}");
            Some(repository.files().iter().any(|file| file.path.ends_with(&end)))
        } else {
            let is_name =
                word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            (is_name && word.matches('_').count() > 1).then(|| functions.contains(word))
        }
    };
    let mut problems = Vec::new();
    for (path, _, text) in crate_readmes(repository) {
        let section = (1..).zip(text.lines()).skip_while(|(_, line)| *line != INVARIANTS).skip(1);
        let section = section.take_while(|(_, line)| !line.starts_with("## "));
        // Each item with the number of its first line.
        let mut items: Vec<(usize, String)> = Vec::new();
        for (number, line) in section {
            match items.last_mut() {
                _ if line.starts_with("- ") => items.push((number, line.to_owned())),
                Some((_, item)) if line.starts_with("  ") => {
                    item.push(' ');
                    item.push_str(line.trim());
                }
                _ => {}
            }
        }
        for (number, item) in items {
            let mut named = 0;
            for word in quoted(&item) {
                match exists(word) {
                    Some(true) => named += 1,
                    Some(false) => {
                        let what = format!("{word}: there is no such test or file");
                        problems.push(Problem::at(path, number, what));
                    }
                    None => {}
                }
            }
            if named == 0 {
                problems.push(Problem::at(path, number, "this invariant names no test"));
            }
        }
    }
    problems
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_start = before.trim().split(' ').all(|word| {
        matches!(word, "" | "const" | "unsafe" | "async" | "extern") || word.starts_with("pub")
    });
    is_start.then(|| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())?
}

/// Items that are private in the crate, but that its README offers.
fn private_items(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, folder, text) in crate_readmes(repository) {
        let source = format!("{folder}/src/");
        let (mut public, mut private) = (BTreeSet::new(), BTreeSet::new());
        let files = repository.texts(&[".rs"]).filter(|(path, _)| path.starts_with(&source));
        for (_, code) in files {
            definitions(&code_of(code), &mut public, &mut private);
        }
        let offered = text.split(INVARIANTS).next().unwrap_or_default();
        for (number, line) in (1..).zip(offered.lines()) {
            for word in quoted(line) {
                let name = word.trim_end_matches("()").rsplit("::").next().unwrap_or_default();
                // Other words in lower case are options and the like.
                let is_item = name != word || name.starts_with(|c: char| c.is_uppercase());
                if is_item && private.contains(name) && !public.contains(name) {
                    problems.push(Problem::at(path, number, format!("{name} is private")));
                }
            }
        }
    }
    problems
}

/// Adds the names that code defines. Methods of a trait have its visibility: they count as public.
fn definitions(code: &str, public: &mut BTreeSet<String>, private: &mut BTreeSet<String>) {
    const KINDS: [&str; 5] = ["fn", "struct", "enum", "trait", "type"];
    let mut in_trait = false;
    for line in code.lines() {
        if !line.starts_with([' ', '}', '\t']) && !line.is_empty() {
            in_trait =
                has_word(line, "trait") || (line.starts_with("impl") && has_word(line, "for"));
        }
        let is_public = in_trait || line.trim_start().starts_with("pub ");
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        let Some(name) = words
            .find(|word| KINDS.contains(word))
            .and_then(|_| words.next())
            .filter(|name| !name.is_empty())
        else {
            continue;
        };
        let names = if is_public { &mut *public } else { &mut *private };
        names.insert(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(problems: Vec<Problem>) -> Vec<String> {
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_long_readme_and_a_count_in_words_are_found() {
        let long = "line\n".repeat(141);
        let repository = Repository::of(&[("README.md", &long)]);
        assert_eq!(printed(long_pages(&repository)), ["README.md: 141 lines, at most 140"]);
        let repository = Repository::of(&[("README.md", "often\nNine short programs\n")]);
        let found = printed(counts(&repository));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("README.md:2: \"nine\""), "{found:?}");
    }

    #[test]
    fn a_page_that_the_index_lacks_is_found() {
        let repository = Repository::of(&[
            ("docs/README.md", "| [live.md](live.md) | a |\n"),
            ("docs/live.md", ""),
            ("docs/formats/ring.md", ""),
            (&format!("{DECISIONS}0001-c.md"), ""),
        ]);
        assert_eq!(
            printed(index(&repository)),
            ["docs/README.md: does not name docs/formats/ring.md"]
        );
    }

    #[test]
    fn a_decision_of_tomorrow_is_found() {
        let of = |name: &str| format!("{DECISIONS}{name}.md");
        let repository = Repository::of(&[
            (&of("0001-a"), "# a\n\nStatus: accepted 2026-11-20\n"),
            (&of("0002-b"), "# b\n\nStatus: accepted, 2026-11-28.   Supersedes: -\n"),
            (&of("0003-c"), "# c\n"),
        ]);
        assert_eq!(
            printed(future_decisions(&repository, "2026-11-27")),
            [
                format!("{}:3: 2026-11-28 is in the future", of("0002-b")),
                format!("{}: has no line \"Status: accepted YYYY-MM-DD\"", of("0003-c"))
            ]
        );
    }

    #[test]
    fn two_decisions_with_one_number_are_found() {
        let of = |name: &str| format!("{DECISIONS}{name}.md");
        let repository =
            Repository::of(&[(&of("0001-a"), ""), (&of("0002-c"), ""), (&of("0002-b"), "")]);
        assert_eq!(
            printed(numbers_of_decisions(&repository)),
            [format!("{}: has the number of {}", of("0002-c"), of("0002-b"))]
        );
    }

    #[test]
    fn an_invariant_without_its_test_is_found() {
        let readme = format!(
            "# a\n\n{INVARIANTS}\n\n- Good: `it_holds_always`, `crates/a/tests/`,\n  `kill.rs`.\n- \
             Gone: `it_is_gone_now`.\n- Of `one`: nothing.\n"
        );
        let repository = Repository::of(&[
            ("crates/a/README.md", &readme),
            ("crates/a/tests/kill.rs", "#[test]\nfn it_holds_always() {}\n"),
        ]);
        assert_eq!(
            printed(invariants(&repository)),
            [
                "crates/a/README.md:7: it_is_gone_now: there is no such test or file",
                "crates/a/README.md:7: this invariant names no test",
                "crates/a/README.md:8: this invariant names no test"
            ]
        );
    }

    #[test]
    fn a_private_item_that_a_readme_offers_is_found() {
        let readme = format!(
            "Call `Engine::run`, `start()`, `Engine::hidden` and `Crate`.\n\n{INVARIANTS}\n\n- A: `of_this_test`\n"
        );
        let code = "pub struct Engine;\npub(crate) struct Crate;\nimpl Engine {\n    pub fn run(&self) \
                    {}\n    fn hidden(&self) {}\n}\nimpl Start for Engine {\n    fn start() {}\n}\n\
                    fn of_this_test() {}\n";
        let repository =
            Repository::of(&[("crates/a/README.md", &readme), ("crates/a/src/lib.rs", code)]);
        assert_eq!(
            printed(private_items(&repository)),
            ["crates/a/README.md:1: hidden is private", "crates/a/README.md:1: Crate is private"]
        );
    }
}
