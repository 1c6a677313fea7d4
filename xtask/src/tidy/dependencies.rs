//! The allowed dependencies: `cargo metadata` compared with the table of the architecture.
//!
//! A new edge needs a decision note before a row. An edge without a manifest also fails, so that
//! the table permits nothing unused.

mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use self::table::{INSIDE_FOR_TESTS, OUTSIDE_FOR_TESTS, Row, TABLE};
use super::{Problem, repository::Repository};

/// The folders of the crates, in the order of the flow: a crate depends on its own floor, and on
/// those before.
pub(super) const FLOORS: [&str; 7] =
    ["base", "market", "store", "plant", "play", "lab", "programs"];

pub(crate) fn check(repository: &Repository) -> Result<Vec<Problem>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(repository.root())
        .output()
        .context("cargo metadata")?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "cargo metadata: {said}");
    let metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let mut problems = compare(&metadata, TABLE);
    problems.extend(climbing(&metadata));
    Ok(problems)
}

/// Dependencies on a later floor. Tests may have them.
fn climbing(metadata: &Value) -> Vec<Problem> {
    let empty = Vec::new();
    let packages = metadata["packages"].as_array().unwrap_or(&empty);
    let floors: BTreeMap<&str, usize> = packages
        .iter()
        .filter_map(|package| {
            let (_, path) = package["manifest_path"].as_str()?.split_once("/crates/")?;
            let floor = FLOORS.iter().position(|floor| path.split('/').next() == Some(floor))?;
            Some((package["name"].as_str()?, floor))
        })
        .collect();
    let mut problems = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(&floor) = floors.get(name) else { continue };
        let dependencies = package["dependencies"].as_array().unwrap_or(&empty);
        for target in dependencies.iter().filter(|dependency| dependency["kind"] != "dev") {
            let target = target["name"].as_str().unwrap_or_default();
            if let Some(&above) = floors.get(target).filter(|above| **above > floor) {
                let what = format!(
                    "{name} on {} depends on {target} on {}, a later floor",
                    FLOORS[floor], FLOORS[above]
                );
                problems.push(Problem::of_file(name, what));
            }
        }
    }
    problems
}

fn compare(metadata: &Value, table: &[Row]) -> Vec<Problem> {
    let empty = Vec::new();
    let packages = metadata["packages"].as_array().unwrap_or(&empty);
    let names: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut problems = Vec::new();
    for row in table.iter().filter(|row| !names.contains(row.package)) {
        problems.push(Problem::of_file(row.package, "is in the dependency table only"));
    }
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(row) = table.iter().find(|row| row.package == name) else {
            problems.push(Problem::of_file(name, "is not in the dependency table"));
            continue;
        };
        let dependencies = package["dependencies"].as_array().unwrap_or(&empty);
        for target in row.inside.iter().chain(row.outside) {
            if !dependencies.iter().any(|dependency| dependency["name"] == **target) {
                let what = format!(
                    "{name} -> {target} is in the dependency table, but not in its manifest"
                );
                problems.push(Problem::of_file(name, what));
            }
        }
        for dependency in dependencies {
            let target = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"] == "dev";
            let (listed, extra) = if names.contains(target) {
                (row.inside, INSIDE_FOR_TESTS.as_slice())
            } else {
                (row.outside, OUTSIDE_FOR_TESTS.as_slice())
            };
            // Tests may enable features of their own crate that are otherwise disabled.
            let is_itself = for_tests && target == name;
            let allowed =
                is_itself || listed.contains(&target) || (for_tests && extra.contains(&target));
            if !allowed {
                let kind = if for_tests { " in tests" } else { "" };
                let what = format!(
                    "{name} -> {target}{kind} is not in the dependency table \
                     (xtask/src/tidy/dependencies/table.rs)"
                );
                problems.push(Problem::of_file(name, what));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SMALL: &[Row] = &[
        Row { package: "low", inside: &[], outside: &["serde"] },
        Row { package: "high", inside: &["low"], outside: &[] },
    ];

    fn found(low: Value, high: Value) -> Vec<String> {
        let metadata = json!({ "packages": [
            { "name": "low", "dependencies": low },
            { "name": "high", "dependencies": high },
        ]});
        compare(&metadata, SMALL).iter().map(|problem| problem.what.clone()).collect()
    }

    #[test]
    fn rows_name_only_rows_above_them() {
        for (index, row) in TABLE.iter().enumerate() {
            for target in row.inside {
                let above = TABLE[..index].iter().any(|row| row.package == *target);
                assert!(above, "{} -> {target} points up", row.package);
            }
        }
    }

    #[test]
    fn listed_edges_pass() {
        let low = json!([{ "name": "serde", "kind": null }, { "name": "proptest", "kind": "dev" }]);
        let high = json!([{ "name": "low", "kind": "build" }, { "name": "high", "kind": "dev" }]);
        assert_eq!(found(low, high), [""; 0]);
    }

    #[test]
    fn a_dependency_on_a_later_floor_is_named() {
        let on = |name: &str, floor: &str, target: &str, kind: Option<&str>| {
            json!({ "name": name, "manifest_path": format!("/r/crates/{floor}/{name}/Cargo.toml"),
                "dependencies": [{ "name": target, "kind": kind }] })
        };
        let packages = |kind| json!({ "packages": [on("low", "base", "high", kind), on("high", "lab", "low", None)] });
        assert!(climbing(&packages(Some("dev"))).is_empty());
        let found = climbing(&packages(None));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "low on base depends on high on lab, a later floor");
    }

    /// The problems if the manifest of `low` or of `high` has one more dependency than listed.
    fn found_with(name: &str, target: &str, kind: Option<&str>) -> Vec<String> {
        let mut low = json!([{ "name": "serde", "kind": null }]);
        let mut high = json!([{ "name": "low", "kind": null }]);
        let more = if name == "low" { &mut low } else { &mut high };
        more.as_array_mut().expect("a list").push(json!({ "name": target, "kind": kind }));
        found(low, high)
    }

    #[test]
    fn an_edge_that_is_not_listed_is_named() {
        for (name, target, kind, start) in [
            ("low", "high", None, "low -> high is not"),
            ("low", "high", Some("dev"), "low -> high in tests is not"),
            ("high", "rand", None, "high -> rand is not"),
            ("high", "proptest", None, "high -> proptest is not"),
        ] {
            let problems = found_with(name, target, kind);
            assert!(problems.len() == 1 && problems[0].starts_with(start), "{problems:?}");
        }
    }

    #[test]
    fn a_listed_edge_that_no_manifest_has_is_named() {
        let high = json!([{ "name": "proptest", "kind": "dev" }]);
        assert_eq!(
            found(json!([]), high),
            [
                "low -> serde is in the dependency table, but not in its manifest",
                "high -> low is in the dependency table, but not in its manifest",
            ]
        );
    }

    #[test]
    fn a_package_in_one_place_only_is_named() {
        let metadata = json!({ "packages": [
            { "name": "low", "dependencies": [{ "name": "serde", "kind": null }] },
            { "name": "new", "dependencies": [] },
        ]});
        let problems: Vec<String> =
            compare(&metadata, SMALL).iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            ["high: is in the dependency table only", "new: is not in the dependency table",]
        );
    }
}
