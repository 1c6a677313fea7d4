//! Checks of all files: their size, paths of one machine, conflicts of a merge, and a README in
//! each package.

use super::{
    Problem,
    repository::{Repository, StoredFile},
};

/// Larger files belong into a release, not into every clone.
const MOST_BYTES: usize = 256 << 10;

/// Files that grow with the project: lock files, and records of measurements.
const GROWING: [&str; 2] = ["Cargo.lock", ".jsonl"];

/// Folders that exist on one machine only. In two parts each, so that this file passes.
const MACHINE_PATHS: [&str; 3] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems: Vec<Problem> = repository.files().iter().filter_map(size).collect();
    problems.extend(repository.files().iter().flat_map(machine_paths));
    problems.extend(repository.files().iter().filter_map(conflict));
    problems.extend(readmes(repository));
    problems
}

fn size(file: &StoredFile) -> Option<Problem> {
    let bytes = file.bytes.len();
    (bytes > MOST_BYTES && !file.has_suffix(&GROWING))
        .then(|| Problem::of_file(&file.path, format!("{bytes} bytes, at most {MOST_BYTES}")))
}

fn machine_paths(file: &StoredFile) -> Vec<Problem> {
    let Some(text) = file.text() else { return Vec::new() };
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for path in MACHINE_PATHS.into_iter().filter(|path| line.contains(path)) {
            problems.push(Problem::at(&file.path, number, format!("{path} is one machine's path")));
        }
    }
    problems
}

/// Finds what a merge leaves where two changes meet, which no compiler sees in a document.
fn conflict(file: &StoredFile) -> Option<Problem> {
    let is_mark = |line: &str| ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark));
    let (number, _) = (1..).zip(file.text()?.lines()).find(|(_, line)| is_mark(line))?;
    Some(Problem::at(&file.path, number, "a conflict of a merge that is not resolved"))
}

/// Checks that every package of the workspace has a README. The fuzz targets are a separate
/// workspace, described in docs/TESTING.md.
fn readmes(repository: &Repository) -> Vec<Problem> {
    let folders = repository.texts(&["/Cargo.toml"]).filter_map(|(path, text)| {
        let folder = path.strip_suffix("/Cargo.toml")?;
        text.contains("version.workspace = true").then_some(folder)
    });
    let missing = folders.filter(|folder| !repository.has(&format!("{folder}/README.md")));
    missing.map(|folder| Problem::of_file(folder, "has no README.md")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_named_and_a_large_lock_file_is_not() {
        let of = |path: &str, bytes: usize| StoredFile { path: path.into(), bytes: vec![0; bytes] };
        assert!(size(&of("day.itch50", MOST_BYTES + 1)).is_some());
        assert_eq!(size(&of("day.itch50", MOST_BYTES)), None);
        assert_eq!(size(&of("Cargo.lock", MOST_BYTES + 1)), None);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        for path in MACHINE_PATHS {
            let text = format!("fine\nsee {path}day.itch50\n");
            let file = StoredFile { path: "a.md".into(), bytes: text.into_bytes() };
            assert_eq!(machine_paths(&file).len(), 1, "{path}");
        }
        let other = StoredFile { path: "a.md".into(), bytes: b"../shared/data and /tmp".to_vec() };
        assert!(machine_paths(&other).is_empty());
    }

    #[test]
    fn a_conflict_that_is_not_resolved_is_found() {
        let of = |text: &str| {
            let bytes = text.as_bytes().to_vec();
            conflict(&StoredFile { path: "a.md".into(), bytes }).map(|problem| problem.to_string())
        };
        assert!(of("one\n<<<<<<< HEAD\ntwo\n").unwrap().contains("a.md:2"));
        assert!(of("one\n>>>>>>> 1234567 (two)\n").is_some());
        assert_eq!(of("| a <<<<<<< b |\n=======\n"), None);
    }

    #[test]
    fn a_package_without_a_readme_is_named() {
        let manifest = "[package]\nversion.workspace = true\n";
        let with = [("a/Cargo.toml", manifest), ("a/README.md", "# a"), ("b/Cargo.toml", manifest)];
        let problems = readmes(&Repository::of(&with));
        assert_eq!(
            problems.iter().map(Problem::to_string).collect::<Vec<_>>(),
            ["b: has no README.md"]
        );
    }
}
