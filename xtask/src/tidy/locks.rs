//! Checks the lock files of the other workspaces: each must list the dependencies of our crates, or
//! builds with `--locked` fail there.

use super::{Problem, repository::Repository};

pub(crate) fn check(repository: &Repository) -> Vec<Problem> {
    let texts: Vec<_> = repository.texts(&["Cargo.toml", "Cargo.lock"]).collect();
    let manifests: Vec<(String, Vec<&str>)> = texts
        .iter()
        .filter_map(|(path, text)| {
            let (_, name) =
                path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?.split_once('/')?;
            Some((format!("nanotape-{name}"), dependencies(text)))
        })
        .collect();
    let locks = texts.iter().filter(|(path, _)| path.ends_with("/Cargo.lock"));
    locks.flat_map(|(path, lock)| missing(path, lock, &manifests)).collect()
}

/// The missing dependencies of the crates in a lock file.
fn missing(path: &str, lock: &str, manifests: &[(String, Vec<&str>)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, wanted) in manifests {
        let heading = format!("name = \"{name}\"\n");
        let Some(package) =
            lock.split("[[package]]\n").find(|package| package.starts_with(&heading))
        else {
            continue;
        };
        for dependency in wanted {
            // With a version after the name if there are several.
            let is_there = package.contains(&format!("\"{dependency}\""))
                || package.contains(&format!("\"{dependency} "));
            if !is_there {
                let what = format!(
                    "{name} depends on {dependency}, but this lock file does not: run cargo metadata there"
                );
                problems.push(Problem::of_file(path, what));
            }
        }
    }
    problems
}

/// The names under `[dependencies]`, without those of features: a lock file has these only if a
/// feature of its workspace needs them.
fn dependencies(manifest: &str) -> Vec<&str> {
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let always = section.lines().filter(|line| !line.contains("optional = true"));
    let names = always.filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| !name.is_empty() && !name.starts_with('#')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"nanotape-a\"\n\n[dependencies]\n# Why.\n\
                            b.workspace = true\nc = \"1\"\n\
                            o = { workspace = true, optional = true }\n\n[dev-dependencies]\nd = \"1\"\n";

    #[test]
    fn a_lock_file_that_lacks_a_dependency_is_found() {
        let manifests = [("nanotape-a".to_owned(), dependencies(MANIFEST))];
        assert_eq!(manifests[0].1, ["b", "c"]);
        let lock = |dependencies: &str| {
            format!("[[package]]\nname = \"nanotape-a\"\ndependencies = [\n{dependencies}]\n")
        };
        let whole = lock(" \"b\",\n \"c 1.0.0\",\n");
        assert_eq!(missing("x/Cargo.lock", &whole, &manifests), []);
        let stale = missing("x/Cargo.lock", &lock(" \"b\",\n"), &manifests);
        assert_eq!(stale.len(), 1);
        assert!(stale[0].to_string().contains("nanotape-a depends on c"), "{}", stale[0]);
        let of_others = "[[package]]\nname = \"e\"\n";
        assert_eq!(missing("x/Cargo.lock", of_others, &manifests), []);
    }
}
