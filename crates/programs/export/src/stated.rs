//! What the files of a day state of their rows: the input, and the options that decide rows and
//! columns. A day that exists with others is not the one that a command asks for.

use std::{ffi::OsStr, fs::File, os::unix::fs::MetadataExt as _, path::Path};

use anyhow::{Context as _, ensure};
use nanotape_answers::{Given, Table};
use nanotape_types::Symbol;

use crate::{
    metadata::{self, Digest, INPUT, INPUT_SHA256, IS_WHOLE, OPTIONS},
    words::Words,
};

/// What a file, or the marker of a day, states.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stated {
    /// The name of the input as it was given.
    pub(crate) input: String,
    pub(crate) sha256: Option<String>,
    pub(crate) options: String,
    /// Whether the input lacked a part.
    pub(crate) is_damaged: bool,
}

/// The options that decide the rows and columns of a table. `symbols`: those of a file; a day with
/// a file for each stock has them beside.
pub(crate) fn options_of(words: Words<'_>, table: Table, symbols: &[Symbol]) -> String {
    let mut options = Vec::new();
    let mut names = vec!["prices", "from", "until", "run", "groups", "read_session", "pieces"];
    match table {
        Table::Bbo => names.push("every"),
        Table::Depth => names.extend(["every", "levels"]),
        Table::Bars => names.push("bars"),
        _ => {}
    }
    for name in names {
        if let Some(value) = words.value(name) {
            let option = match name {
                "groups" => "group",
                "read_session" => "session",
                "pieces" => "piece",
                name => name,
            };
            options.push(format!("--{option} {value}"));
        }
    }
    let mut symbols: Vec<_> = symbols.iter().map(ToString::to_string).collect();
    symbols.sort_unstable();
    symbols.dedup();
    if !symbols.is_empty() {
        options.push(format!("--symbols {}", symbols.join(",")));
    }
    options.join(" ")
}

impl Stated {
    /// What a Parquet file states; `None` if an earlier version wrote it.
    pub(crate) fn of_file(path: &Path) -> anyhow::Result<Option<Self>> {
        let cannot = || format!("cannot read {}; --force writes it again", path.display());
        let file = File::open(path).with_context(cannot)?;
        let mut entries = nanotape_tables::metadata_of(file).with_context(cannot)?;
        let mut entry = |key: &str| entries.remove(&metadata::name_of(key));
        let Some(options) = entry(OPTIONS) else { return Ok(None) };
        let input = entry(INPUT).unwrap_or_default();
        let is_damaged = entry(IS_WHOLE).as_deref() == Some("false");
        Ok(Some(Self { input, sha256: entry(INPUT_SHA256), options, is_damaged }))
    }

    /// Refuses a day at `path` that is of another input or has other options. `stating`: the file
    /// that states this.
    pub(crate) fn require_same(
        &self,
        path: &Path,
        stating: &Path,
        input: &Given,
        options: &str,
    ) -> anyhow::Result<()> {
        ensure!(
            self.is_of(input, stating),
            "{}: exists, and is of the input {}{}: give another folder, or --force to overwrite it",
            path.display(),
            self.input,
            if self.has_name(input) { ", which changed since" } else { "" }
        );
        ensure!(
            self.options == options,
            "{}: exists with other options ({}; now {options}): give another folder, or --force to \
             overwrite it",
            path.display(),
            self.options
        );
        Ok(())
    }

    /// Whether this is the input. One of this name in another folder can be a copy. The content of
    /// a file is compared only if it can differ.
    fn is_of(&self, input: &Given, stating: &Path) -> bool {
        let file_name = |name: &str| Path::new(name).file_name().map(OsStr::to_owned);
        if file_name(&self.input) != file_name(&one_line(&input.to_string())) {
            return false;
        }
        if self.has_name(input) && !is_changed_since(input.path(), stating) {
            return true;
        }
        let Some(there) = &self.sha256 else { return true };
        Digest::of(input).finish().is_none_or(|here| here == *there)
    }

    fn has_name(&self, input: &Given) -> bool {
        self.input == one_line(&input.to_string())
    }
}

/// Whether a file can have other content than when another was written. Copying tools set the time
/// of modification to that of the original, but not the time of the last change.
fn is_changed_since(path: &Path, written: &Path) -> bool {
    let (Ok(file), Ok(written)) = (path.metadata(), written.metadata()) else { return true };
    (file.ctime(), file.ctime_nsec()) > (written.mtime(), written.mtime_nsec())
}

/// The name of an input as it is stated.
pub(crate) fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}
