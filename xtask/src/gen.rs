//! `cargo xtask gen`: the files derived from each schema, and whether they are fresh.

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, Result};
use nanotape_schema::{Protocol, code, document, fuzz_target, read};

use crate::{figures, root};

/// One derived file: its path from the repository root, and its content.
struct Derived {
    path: String,
    content: String,
}

/// Writes every derived file that is not fresh.
pub(crate) fn write() -> Result<ExitCode> {
    let root = root();
    let stale = stale(&root)?;
    for Derived { path, content } in &stale {
        let target = root.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        fs::write(&target, content).with_context(|| path.clone())?;
        println!("wrote {path}");
    }
    if stale.is_empty() {
        println!("all generated files are up to date");
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists every derived file that is not fresh.
pub(crate) fn check() -> Result<ExitCode> {
    let stale = stale(&root())?;
    for Derived { path, .. } in &stale {
        println!("stale: {path}");
    }
    if stale.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("run: cargo xtask gen");
    Ok(ExitCode::from(1))
}

fn stale(root: &Path) -> Result<Vec<Derived>> {
    let mut all = derived(root)?;
    all.retain(|file| {
        fs::read_to_string(root.join(&file.path)).ok().as_ref() != Some(&file.content)
    });
    Ok(all)
}

fn derived(root: &Path) -> Result<Vec<Derived>> {
    let mut out = Vec::new();
    if let Some((path, content)) = figures::fresh_readme(root)? {
        out.push(Derived { path: path.to_owned(), content });
    }
    for protocol in protocols(root, "schema")? {
        let module = &protocol.module;
        out.extend(
            [
                (format!("crates/market/wire/src/generated/{module}.rs"), code(&protocol, "crate")),
                (format!("fuzz/fuzz_targets/{module}_messages.rs"), fuzz_target(&protocol)),
                (format!("docs/protocols/{}.md", protocol.name), document(&protocol)),
            ]
            .map(|(path, content)| Derived { path, content }),
        );
    }
    // A protocol for tests is not linked into the programs.
    for protocol in protocols(root, "schema/testing")? {
        let module = &protocol.module;
        out.extend(
            [
                (
                    format!("crates/play/testkit/src/generated/{module}.rs"),
                    code(&protocol, "nanotape_wire"),
                ),
                (format!("schema/testing/{}.md", protocol.name), document(&protocol)),
            ]
            .map(|(path, content)| Derived { path, content }),
        );
    }
    Ok(out)
}

/// The schemas in `folder`, in the order of their names.
fn protocols(root: &Path, folder: &str) -> Result<Vec<Protocol>> {
    let entries = fs::read_dir(root.join(folder)).with_context(|| folder.to_owned())?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.with_context(|| folder.to_owned())?.file_name();
        names.extend(name.to_str().filter(|name| name.ends_with(".toml")).map(str::to_owned));
    }
    names.sort();
    let mut out = Vec::new();
    for name in names {
        let path = format!("{folder}/{name}");
        let text = fs::read_to_string(root.join(&path)).with_context(|| path.clone())?;
        out.push(read(&path, &text).map_err(|problems| anyhow::anyhow!("{problems}"))?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_derived_file_is_fresh() {
        let stale = stale(&root()).expect("the schemas read");
        let paths: Vec<&str> = stale.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [""; 0], "stale; run: cargo xtask gen");
    }
}
