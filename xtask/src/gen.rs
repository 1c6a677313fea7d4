//! `cargo xtask gen`: the files derived from each schema, and whether they are fresh.
//!
//! An interface of another repository is generated there: its paths are below the current folder.

use std::{fs, io::ErrorKind, path::Path, process::ExitCode};

use anyhow::{Context, Result, anyhow, bail};
use nanotape_schema::{
    Interface, Schema, code, document, fuzz_target, interface_code, interface_document, read_any,
};

use crate::{figures, root};

/// One derived file: its path from the repository root, and its content.
struct Derived {
    path: String,
    content: String,
}

/// A generated file names this program within so many lines.
const MARK_LINES: usize = 8;

/// Writes every derived file that is not fresh.
pub(crate) fn write() -> Result<ExitCode> {
    let root = root();
    write_all(&root, &stale(&root)?)
}

/// Writes what is derived from the schema of an interface outside of this repository.
pub(crate) fn write_of(schema: &str) -> Result<ExitCode> {
    let root = std::env::current_dir().context("current folder")?;
    let Schema::Interface(interface) = read_schema(&root, schema)? else {
        bail!("{schema}: expected a schema with a table [interface]");
    };
    write_all(&root, &not_fresh(&root, of_interface(&root, &interface)?))
}

fn write_all(root: &Path, stale: &[Derived]) -> Result<ExitCode> {
    for Derived { path, .. } in stale {
        check_generated(root, path)?;
    }
    for Derived { path, content } in stale {
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

/// Refuses to replace a file that this program has not written.
fn check_generated(root: &Path, path: &str) -> Result<()> {
    // The table in the README has marks of its own.
    if path == "README.md" && figures::fresh_readme(root).is_ok_and(|fresh| fresh.is_some()) {
        return Ok(());
    }
    match fs::read_to_string(root.join(path)) {
        Ok(text) if text.is_empty() || text.lines().take(MARK_LINES).any(is_mark) => Ok(()),
        Ok(_) => bail!("{path}: exists, and is not generated; give another output in the schema"),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => bail!("{path}: cannot be replaced by a generated file: {error}"),
    }
}

fn is_mark(line: &str) -> bool {
    line.contains("cargo xtask")
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
    Ok(not_fresh(root, derived(root)?))
}

fn not_fresh(root: &Path, mut all: Vec<Derived>) -> Vec<Derived> {
    all.retain(|file| {
        fs::read_to_string(root.join(&file.path)).ok().as_ref() != Some(&file.content)
    });
    all
}

fn derived(root: &Path) -> Result<Vec<Derived>> {
    let mut out = Vec::new();
    if let Some((path, content)) = figures::fresh_readme(root)? {
        out.push(Derived { path: path.to_owned(), content });
    }
    for schema in schemas(root, "schema")? {
        let protocol = match schema {
            Schema::Interface(interface) => {
                out.extend(of_interface(root, &interface)?);
                continue;
            }
            Schema::Protocol(protocol) => protocol,
        };
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
    // Schemas for tests are not linked into the programs.
    for schema in schemas(root, "schema/testing")? {
        let protocol = match schema {
            Schema::Interface(interface) => {
                out.extend(of_interface(root, &interface)?);
                continue;
            }
            Schema::Protocol(protocol) => protocol,
        };
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

/// The module, the page, and the list of what is published, which only grows.
fn of_interface(root: &Path, interface: &Interface) -> Result<Vec<Derived>> {
    let schema = Path::new(&interface.path);
    let (folder, stem) = (schema.parent(), schema.file_stem().context("a schema has a name")?);
    let list = folder.unwrap_or(Path::new("")).join("published").join(stem).with_extension("txt");
    match fs::read_to_string(root.join(&list)) {
        Ok(published) => interface.check_published(&published).map_err(|problems| {
            let list = list.display();
            anyhow!("{problems}\n(compared with {list}: messages of that version exist)")
        })?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| list.display().to_string()),
    }
    let path = list.to_str().context("the path of a schema is text")?.to_owned();
    let mut out = vec![
        Derived { path, content: interface.published() },
        Derived { path: interface.output.clone(), content: interface_code(interface) },
    ];
    if let Some(path) = interface.document.clone() {
        out.push(Derived { path, content: interface_document(interface) });
    }
    Ok(out)
}

/// The schemas in `folder`, in the order of their names.
fn schemas(root: &Path, folder: &str) -> Result<Vec<Schema>> {
    let entries = fs::read_dir(root.join(folder)).with_context(|| folder.to_owned())?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.with_context(|| folder.to_owned())?.file_name();
        names.extend(name.to_str().filter(|name| name.ends_with(".toml")).map(str::to_owned));
    }
    names.sort();
    names.iter().map(|name| read_schema(root, &format!("{folder}/{name}"))).collect()
}

fn read_schema(root: &Path, path: &str) -> Result<Schema> {
    let text = fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?;
    read_any(path, &text).map_err(|problems| anyhow!("{problems}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generated_files_are_replaced() {
        let is_replaced = |path| check_generated(&root(), path).is_ok();
        assert!(is_replaced("schema/published/example-fills.txt"));
        assert!(is_replaced("schema/published/none.txt"));
        for path in ["Cargo.toml", "schema/example-fills.toml", "schema"] {
            assert!(!is_replaced(path), "{path}");
        }
    }

    #[test]
    fn every_derived_file_is_fresh() {
        let stale = stale(&root()).expect("the schemas read");
        let paths: Vec<&str> = stale.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [""; 0], "stale; run: cargo xtask gen");
    }
}
