//! What the files of a day state of their rows: the input, and the options that decide rows and
//! columns. A day that exists with others is not the one that a command asks for.

use std::{collections::HashMap, ffi::OsStr, fs::File, path::Path};

use anyhow::{Context as _, ensure};
use nanotape_answers::Table;
use nanotape_types::Symbol;

use crate::{
    input_files::InputFiles,
    metadata::{self, INPUT, INPUT_CTIME, INPUT_SHA256, IS_STRICT, IS_WHOLE, OPTIONS, PART, TABLE},
    words::Words,
};

/// What a file, or the marker of a day, states.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stated {
    /// The name of the input as it was given.
    pub(crate) input: String,
    pub(crate) sha256: Option<String>,
    /// When a file of the input was changed last, before it was read.
    pub(crate) ctime_ns: Option<i128>,
    pub(crate) options: String,
    /// Whether the input lacked a part.
    pub(crate) is_damaged: bool,
    /// Whether it was written with `--strict`: no part is missing, and no book is unreliable.
    pub(crate) is_strict: bool,
}

/// What the file of a stock states, and the stock.
pub(crate) fn stated_of_part(
    path: &Path,
    table: Table,
) -> anyhow::Result<Option<(Stated, String)>> {
    let mut entries = entries_of(path, table)?;
    let stock = entries.remove(&metadata::name_of(PART)).unwrap_or_default();
    Ok(Stated::of_entries(entries).map(|stated| (stated, stock)))
}

fn entries_of(path: &Path, table: Table) -> anyhow::Result<HashMap<String, String>> {
    let cannot = || format!("cannot read {}; --force writes it again", path.display());
    let file = File::open(path).with_context(cannot)?;
    let entries = nanotape_tables::metadata_of(file).with_context(cannot)?;
    if let Some(other) = entries.get(&metadata::name_of(TABLE)) {
        let is_own = other == table.name();
        ensure!(is_own, "{}: has the table {other}; --force writes it again", path.display());
    }
    Ok(entries)
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

/// The value of one of these options.
pub(crate) fn option_in<'o>(options: &'o str, name: &str) -> Option<&'o str> {
    options.split(' ').skip_while(|word| *word != name).nth(1)
}

impl Stated {
    /// What a Parquet file states; `None` if an earlier version wrote it.
    pub(crate) fn of_file(path: &Path, table: Table) -> anyhow::Result<Option<Self>> {
        Ok(Self::of_entries(entries_of(path, table)?))
    }

    fn of_entries(mut entries: HashMap<String, String>) -> Option<Self> {
        let mut entry = |key: &str| entries.remove(&metadata::name_of(key));
        let options = entry(OPTIONS)?;
        let input = one_line(&entry(INPUT).unwrap_or_default());
        let is_damaged = entry(IS_WHOLE).as_deref() == Some("false");
        let is_strict = entry(IS_STRICT).as_deref() == Some("true");
        let ctime_ns = entry(INPUT_CTIME).and_then(|text| text.parse().ok());
        let sha256 = entry(INPUT_SHA256);
        Some(Self { input, sha256, ctime_ns, options, is_damaged, is_strict })
    }

    /// Refuses a day at `path` that is of another input or has other options.
    pub(crate) fn require_same(
        &self,
        path: &Path,
        input: &InputFiles<'_>,
        options: &str,
    ) -> anyhow::Result<()> {
        ensure!(
            self.is_of(input),
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

    /// Whether both state the same input and options.
    pub(crate) fn is_of_same(&self, other: &Self) -> bool {
        (&self.options, &self.sha256) == (&other.options, &other.sha256)
            && (self.sha256.is_some()
                || (&self.input, self.ctime_ns) == (&other.input, other.ctime_ns))
    }

    /// Whether this is the input. One of this name in another folder can be a copy. The content of
    /// a file is compared only if it can differ.
    fn is_of(&self, input: &InputFiles<'_>) -> bool {
        let file_name = |name: &str| Path::new(name).file_name().map(OsStr::to_owned);
        if file_name(&self.input) != file_name(&one_line(&input.name.to_string())) {
            return false;
        }
        if self.has_name(input) && self.ctime_ns == input.ctime_ns() {
            return true;
        }
        // A pipe, or files that changed while they were read.
        let Some(there) = &self.sha256 else { return self.ctime_ns.is_none() };
        input.digest().finish().is_none_or(|here| here == *there)
    }

    fn has_name(&self, input: &InputFiles<'_>) -> bool {
        self.input == one_line(&input.name.to_string())
    }
}

/// The name of an input as it is stated.
pub(crate) fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}
