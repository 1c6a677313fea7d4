//! `cargo xtask gen`: the files derived from each schema, and whether they are fresh.
//!
//! An interface or a value of another repository is generated there: its paths are below the
//! current folder.

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, anyhow};
use nanotape_schema::{
    Interface, Problem, Problems, Protocol, Schema, Target, ValueSchema, code, document,
    fuzz_target, interface_code, interface_document, read_any_with, read_ours, value_code,
    value_document,
};

use crate::{Usage, figures, root};

/// One derived file: its path from the repository root, and its content.
struct Derived {
    path: String,
    content: String,
    /// The file and the line that it is derived from.
    source: (String, usize),
}

impl Derived {
    /// A problem with this file, at the line that it is derived from.
    fn problem(&self, text: impl AsRef<str>) -> Problems {
        let (path, line) = &self.source;
        Problem::new(path, *line, format!("{}: {}", self.path, text.as_ref())).into()
    }
}

/// A generated file names this program within so many lines.
const MARK_LINES: usize = 8;

/// Writes every derived file that is not fresh.
pub(crate) fn write() -> Result<ExitCode> {
    let root = root();
    write_all(&root, &stale(&root)?)
}

/// Writes what is derived from the schema of an interface or a value outside of this repository.
pub(crate) fn write_of(schema: &str) -> Result<ExitCode> {
    let path = below(schema).ok_or_else(|| {
        Usage(format!(
            "schema '{schema}': expected the path of a file *.toml below the current folder: go to \
             a folder above the schema"
        ))
    })?;
    let root = std::env::current_dir().context("current folder")?;
    let derived = match read_ours(&path, &text_of(&root, &path)?)? {
        Schema::Interface(interface) => of_interface(&root, &interface)?,
        Schema::Value(value) => of_value(&root, &value)?,
        Schema::Protocol(_) => Vec::new(),
    };
    write_all(&root, &not_fresh(&root, derived))
}

/// The path of a schema as its outputs name it, which must be the same on every machine.
fn below(schema: &str) -> Option<String> {
    let parts = Path::new(schema).components().filter(|part| *part != Component::CurDir);
    let mut path = PathBuf::new();
    for part in parts {
        let Component::Normal(part) = part else { return None };
        path.push(part);
    }
    path.extension().filter(|extension| *extension == "toml")?;
    path.into_os_string().into_string().ok()
}

fn write_all(root: &Path, stale: &[Derived]) -> Result<ExitCode> {
    for file in stale {
        check_generated(root, file)?;
    }
    for file in stale {
        let target = root.join(&file.path);
        let folder = target.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&target, &file.content))
            .map_err(|error| file.problem(format!("cannot be written: {error}")))?;
        println!("wrote {}", file.path);
    }
    if stale.is_empty() {
        println!("all generated files are up to date");
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses to replace a file that this program has not written, or has written from another schema.
fn check_generated(root: &Path, file: &Derived) -> Result<()> {
    // The table in the README has marks of its own.
    if file.path == "README.md" && figures::fresh_readme(root).is_ok_and(|fresh| fresh.is_some()) {
        return Ok(());
    }
    let text = match fs::read_to_string(root.join(&file.path)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let text = format!("cannot be replaced by a generated file: {error}");
            return Err(file.problem(text).into());
        }
    };
    let head: Vec<&str> = text.lines().take(MARK_LINES).collect();
    if !text.is_empty() && !head.iter().any(|line| line.contains("cargo xtask")) {
        let text = "exists and is not generated: give another path in the schema";
        return Err(file.problem(text).into());
    }
    match source_in(&head).filter(|source| *source != file.source.0 && root.join(source).exists()) {
        None => Ok(()),
        Some(other) => {
            let text = format!("is generated from {other}: give another path in the schema");
            Err(file.problem(text).into())
        }
    }
}

/// The schema that the first lines of a generated file name. A long path is on a line of its own.
fn source_in(head: &[&str]) -> Option<String> {
    let words = head.iter().flat_map(|line| line.split_whitespace()).filter(|word| *word != "//!");
    let text = words.collect::<Vec<_>>().join(" ");
    let (_, rest) = text.split_once("Written by `cargo xtask gen` from `")?;
    rest.split_once('`').map(|(path, _)| path.to_owned())
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
        let source = (path.to_owned(), 1);
        out.push(Derived { path: path.to_owned(), content, source });
    }
    for schema in schemas(root, "schema")? {
        out.extend(match schema {
            Schema::Interface(interface) => of_interface(root, &interface)?,
            Schema::Value(value) => of_value(root, &value)?,
            Schema::Protocol(protocol) => {
                let module = &protocol.module;
                let code = code(&protocol, "crate");
                let page = format!("docs/protocols/{}.md", protocol.name);
                let fuzz =
                    (format!("fuzz/fuzz_targets/{module}_messages.rs"), fuzz_target(&protocol));
                let module = format!("crates/market/wire/src/generated/{module}.rs");
                of_protocol(&protocol, [(module, code), fuzz, (page, document(&protocol))])
            }
        });
    }
    // Schemas for tests are not linked into the programs.
    for schema in schemas(root, "schema/testing")? {
        out.extend(match schema {
            Schema::Interface(interface) => of_interface(root, &interface)?,
            Schema::Value(value) => of_value(root, &value)?,
            Schema::Protocol(protocol) => {
                let module = format!("crates/play/testkit/src/generated/{}.rs", protocol.module);
                let page = format!("schema/testing/{}.md", protocol.name);
                let code = code(&protocol, "nanotape_wire");
                of_protocol(&protocol, [(module, code), (page, document(&protocol))])
            }
        });
    }
    written_once(&out)?;
    Ok(out)
}

fn of_protocol<const N: usize>(protocol: &Protocol, files: [(String, String); N]) -> Vec<Derived> {
    let source = (protocol.path.clone(), 1);
    let files = files.into_iter();
    files.map(|(path, content)| Derived { path, content, source: source.clone() }).collect()
}

/// Refuses two schemas that are written to one file.
fn written_once(files: &[Derived]) -> Result<()> {
    let mut seen: BTreeMap<&str, &Derived> = BTreeMap::new();
    for file in files {
        if let Some(first) = seen.insert(&file.path, file) {
            let (path, line) = &first.source;
            let text = format!("is also written from {path}:{line}, expected another path");
            return Err(file.problem(text).into());
        }
    }
    Ok(())
}

fn of_interface(root: &Path, interface: &Interface) -> Result<Vec<Derived>> {
    of_versions(
        root,
        &Versions {
            schema: &interface.path,
            line: interface.line,
            check: &|path, list| interface.check_published(path, list),
            published: interface.published(),
            module: (&interface.output, interface_code(interface)),
            page: interface.document.as_ref().map(|page| (page, interface_document(interface))),
        },
    )
}

fn of_value(root: &Path, value: &ValueSchema) -> Result<Vec<Derived>> {
    of_versions(
        root,
        &Versions {
            schema: &value.path,
            line: value.line,
            check: &|path, list| value.check_published(path, list),
            published: value.published(),
            module: (&value.output, value_code(value)),
            page: value.document.as_ref().map(|page| (page, value_document(value))),
        },
    )
}

/// A schema whose versions are ours: what it publishes stays.
struct Versions<'s> {
    schema: &'s str,
    line: usize,
    check: &'s dyn Fn(&str, &str) -> Result<(), Problems>,
    published: String,
    module: (&'s Target, String),
    page: Option<(&'s Target, String)>,
}

/// The module, the page, and the list of what is published, which only grows.
fn of_versions(root: &Path, versions: &Versions<'_>) -> Result<Vec<Derived>> {
    let schema = Path::new(versions.schema);
    let (folder, stem) = (schema.parent(), schema.file_stem().context("a schema has a name")?);
    let list = folder.unwrap_or(Path::new("")).join("published").join(stem).with_extension("txt");
    let list = list.to_str().context("the path of a schema is text")?.to_owned();
    if root.join(&list).exists() {
        (versions.check)(&list, &text_of(root, &list)?)?;
    }
    let derived = |path: &str, line: usize, content: &str| {
        let source = (versions.schema.to_owned(), line);
        Derived { path: path.to_owned(), content: content.to_owned(), source }
    };
    let (module, code) = &versions.module;
    let mut out = vec![
        derived(&list, versions.line, &versions.published),
        derived(&module.path, module.line, code),
    ];
    if let Some((page, document)) = &versions.page {
        out.push(derived(&page.path, page.line, document));
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
    let mut included = |path: &str| text_of(root, path).map_err(|error| format!("{error:#}"));
    Ok(read_any_with(path, &text_of(root, path)?, &mut included)?)
}

/// The text of a file. Bytes that are no text are an error with their line.
fn text_of(root: &Path, path: &str) -> Result<String> {
    let bytes =
        fs::read(root.join(path)).map_err(|error| anyhow!("{path}: cannot read: {error}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        Problems::from(Problem::new(path, line, "not UTF-8, expected text")).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generated_files_of_the_same_schema_are_replaced() {
        let of = |path: &str, source: &str| {
            let source = (source.to_owned(), 3);
            let file = Derived { path: path.into(), content: String::new(), source };
            check_generated(&root(), &file).map_err(|error| error.to_string())
        };
        let fills = "schema/example-fills.toml";
        assert_eq!(of("schema/published/example-fills.txt", fills), Ok(()));
        assert_eq!(of("schema/published/none.txt", fills), Ok(()));
        assert_eq!(of("examples/hub/generated/fills.rs", fills), Ok(()));
        for path in ["Cargo.toml", "schema/example-fills.toml", "schema"] {
            let error = of(path, fills).unwrap_err();
            assert!(error.starts_with(&format!("{fills}:3: {path}: ")), "{error}");
        }
        assert_eq!(
            of("examples/hub/generated/fills.rs", "schema/other.toml").unwrap_err(),
            "schema/other.toml:3: examples/hub/generated/fills.rs: is generated from \
             schema/example-fills.toml: give another path in the schema"
        );
    }

    #[test]
    fn two_schemas_with_one_output_are_refused() {
        let of = |path: &str, schema: &str| {
            let source = (schema.to_owned(), 6);
            Derived { path: path.into(), content: String::new(), source }
        };
        assert!(written_once(&[of("x.rs", "a.toml"), of("y.rs", "b.toml")]).is_ok());
        let error = written_once(&[of("x.rs", "a.toml"), of("x.rs", "b.toml")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "b.toml:6: x.rs: is also written from a.toml:6, expected another path"
        );
    }

    #[test]
    fn the_schema_in_a_long_path_is_found() {
        let head =
            ["//! Title.", "//!", "//! Written by `cargo xtask gen` from", "//! `a/b.toml`: x"];
        assert_eq!(source_in(&head).as_deref(), Some("a/b.toml"));
    }

    #[test]
    fn every_derived_file_is_fresh() {
        let stale = stale(&root()).expect("the schemas read");
        let paths: Vec<&str> = stale.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [""; 0], "stale; run: cargo xtask gen");
    }
}
