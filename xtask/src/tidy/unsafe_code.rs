//! Checks where unsafe code is and how often, against the inventory of docs/UNSAFE.md.

use super::{
    Problem,
    code::{code_of, count_word},
    repository::Repository,
};

/// Crate roots that must forbid unsafe code.
const FORBIDDEN_IN: [&str; 33] = [
    "crates/base/types/src/lib.rs",
    "crates/market/schema/src/lib.rs",
    "crates/base/host/src/lib.rs",
    "crates/base/tape/src/lib.rs",
    "crates/market/wire/src/lib.rs",
    "crates/market/book/src/lib.rs",
    "crates/store/ring/src/lib.rs",
    "crates/store/journal/src/lib.rs",
    "crates/store/link/src/lib.rs",
    "crates/store/aeron/src/lib.rs",
    "crates/store/logging/src/lib.rs",
    "crates/store/trace/src/lib.rs",
    "crates/lab/report/src/lib.rs",
    "crates/lab/lab/src/lib.rs",
    "crates/lab/queue/src/lib.rs",
    "crates/lab/machine/src/lib.rs",
    "crates/play/synth/src/lib.rs",
    "crates/play/exchange/src/lib.rs",
    "crates/play/testkit/src/lib.rs",
    "crates/plant/engine/src/lib.rs",
    "crates/plant/board/src/lib.rs",
    "crates/plant/live/src/lib.rs",
    "crates/plant/plant/src/lib.rs",
    "crates/plant/tap/src/lib.rs",
    "crates/lab/bench/src/lib.rs",
    "crates/base/console/src/lib.rs",
    "crates/programs/cli/src/main.rs",
    "crates/programs/lab-cli/src/main.rs",
    "crates/programs/tables/src/lib.rs",
    "crates/programs/export/src/main.rs",
    "crates/programs/runner/src/lib.rs",
    "examples/src/lib.rs",
    "xtask/src/main.rs",
];

/// Every file with unsafe code, and how often it contains the word.
const INVENTORY: [(&str, usize); 19] = [
    ("bench/rivals/map/src/rivals/lmdb.rs", 1),
    ("crates/base/clock/src/tsc.rs", 2),
    ("crates/lab/delay/src/gpu/launch.rs", 18),
    ("crates/market/feed/src/udp/calls.rs", 1),
    ("crates/base/harness/src/quiet.rs", 11),
    ("crates/base/harness/src/signals.rs", 8),
    ("crates/base/harness/src/wait.rs", 1),
    ("crates/base/shm/src/bus_guard.rs", 11),
    ("crates/base/shm/src/checksum.rs", 2),
    ("crates/base/shm/src/compare.rs", 1),
    ("crates/base/shm/src/lone_file.rs", 1),
    ("crates/base/shm/src/owner_lock.rs", 1),
    ("crates/base/shm/src/region/mapping.rs", 18),
    ("crates/base/shm/src/region/memory.rs", 4),
    ("crates/base/shm/src/table.rs", 2),
    ("crates/base/shm/src/word.rs", 4),
    ("crates/programs/py/src/capsules.rs", 1),
    ("crates/programs/capi/src/functions.rs", 24),
    ("crates/programs/capi/src/memory.rs", 3),
];

/// The document that describes the assumptions of each.
const DOCUMENT: &str = "docs/UNSAFE.md";

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems = forbidden(repository, &FORBIDDEN_IN);
    problems.extend(inventory(repository, &INVENTORY));
    problems.extend(documented(repository.text(DOCUMENT).unwrap_or_default(), &INVENTORY));
    problems
}

fn forbidden(repository: &Repository, roots: &[&str]) -> Vec<Problem> {
    let forbids = |path: &&&str| {
        let text = repository.text(path).unwrap_or_default();
        code_of(text).contains("#![forbid(unsafe_code)]")
    };
    let missing = roots.iter().filter(|path| !forbids(path));
    missing.map(|path| Problem::of_file(path, "must have #![forbid(unsafe_code)]")).collect()
}

fn inventory(repository: &Repository, listed: &[(&str, usize)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in repository.texts(&[".rs"]) {
        let found = count_word(&code_of(text), "unsafe");
        let expected = listed.iter().find(|(known, _)| *known == path).map_or(0, |entry| entry.1);
        if found != expected {
            let what = format!(
                "unsafe {found} times, but {expected} in the inventory (xtask/src/tidy/unsafe_code.rs \
                 and {DOCUMENT})"
            );
            problems.push(Problem::of_file(path, what));
        }
    }
    for (path, _) in listed.iter().filter(|(path, _)| repository.text(path).is_none()) {
        problems.push(Problem::of_file(path, "is in the unsafe inventory but does not exist"));
    }
    problems
}

/// Each listed file has a row in the document with its count.
fn documented(document: &str, listed: &[(&str, usize)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, count) in listed {
        let row = format!("| `{path}` | {count} |");
        if !document.lines().any(|line| line.starts_with(&row)) {
            problems.push(Problem::of_file(DOCUMENT, format!("no row that starts with {row}")));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_does_not_forbid_unsafe_code_is_named() {
        let repository = Repository::of(&[
            ("good/src/lib.rs", "//! x\n#![forbid(unsafe_code)]\n"),
            ("bad/src/lib.rs", "//! x\n// #![forbid(unsafe_code)]\n"),
        ]);
        let problems = forbidden(&repository, &["good/src/lib.rs", "bad/src/lib.rs"]);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, "bad/src/lib.rs");
        assert_eq!(forbidden(&repository, &["gone/src/lib.rs"]).len(), 1);
    }

    #[test]
    fn unsafe_code_that_is_not_listed_is_found() {
        let repository = Repository::of(&[
            ("a.rs", "fn f() { unsafe { g() } } // unsafe"),
            ("b.rs", "let s = \"unsafe\"; #![allow(unsafe_code)]"),
        ]);
        assert!(inventory(&repository, &[("a.rs", 1)]).is_empty());
        assert_eq!(inventory(&repository, &[]).len(), 1);
        assert_eq!(inventory(&repository, &[("a.rs", 2)]).len(), 1);
        assert_eq!(inventory(&repository, &[("a.rs", 1), ("gone.rs", 1)]).len(), 1);
    }

    #[test]
    fn a_listed_file_needs_its_row_in_the_document() {
        let document = "| file | count |\n|---|---|\n| `a.rs` | 2 | what |\n";
        assert!(documented(document, &[("a.rs", 2)]).is_empty());
        assert_eq!(documented(document, &[("a.rs", 3)]).len(), 1);
        assert_eq!(documented("", &[("a.rs", 2)]).len(), 1);
    }
}
