//! Files that get their names, and which stocks of a day are complete in a dataset.
//!
//! A stock without rows has no file, so files alone do not show that a day of `--partition symbol`
//! is complete. `DIR/.complete/TABLE/date=YYYY-MM-DD/NAME` does: it is written after the files have
//! their names. It is beside the folders of tables, because polars refuses a folder whose files
//! have several suffixes, hidden ones too.
//! Layout: a line `selected SYMBOL` for each symbol or pattern of `--symbols` (`selected *` for all
//! stocks), and a line `stock NAME` for each stock with rows.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use nanotape_console::output::{Output, is_file};
use nanotape_types::Symbol;

/// The pattern of all stocks.
const ALL: Symbol = Symbol::new(*b"*       ");

/// Gives files their names, all of them or none: another process may have taken one. With `force`
/// the files that were replaced are gone, so those that replaced them stay.
pub(crate) fn complete_all<F, W>(
    files: Vec<(PathBuf, F)>,
    force: bool,
    complete: impl Fn(F) -> io::Result<W>,
) -> io::Result<Vec<W>> {
    let (mut named, mut written) = (Vec::new(), Vec::new());
    for (path, file) in files {
        match complete(file) {
            Ok(file) => written.push(file),
            Err(error) => {
                for path in named.iter().filter(|path: &&PathBuf| !force && is_file(path)) {
                    // The error of the other file is reported.
                    let _ = fs::remove_file(path);
                }
                return Err(error);
            }
        }
        named.push(path);
    }
    Ok(written)
}

/// The stocks of a table of a day that are complete.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Completed {
    /// Symbols and patterns.
    selected: Vec<Symbol>,
    /// Those with rows.
    stocks: Vec<String>,
}

impl Completed {
    /// Reads the file; nothing is complete without one.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Self::parse(&text).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// `None` if a line is not one of this version.
    fn parse(text: &str) -> Option<Self> {
        let mut completed = Self::default();
        for line in text.lines() {
            match line.split_once(' ')? {
                ("selected", symbol) => completed.selected.push(symbol.parse().ok()?),
                ("stock", name) => completed.stocks.push(name.to_owned()),
                _ => return None,
            }
        }
        Some(completed)
    }

    /// Whether all stocks of a selection are complete.
    pub(crate) fn has(&self, symbols: &[Symbol]) -> bool {
        let all = [ALL];
        let wanted = if symbols.is_empty() { &all } else { symbols };
        wanted.iter().all(|wanted| self.selected.iter().any(|symbol| symbol.selects(*wanted)))
    }

    /// The stocks of a selection that have files.
    pub(crate) fn stocks_of(&self, symbols: &[Symbol]) -> impl Iterator<Item = &str> {
        self.stocks.iter().map(String::as_str).filter(move |name| selects(symbols, name))
    }

    /// These and the stocks of a selection, of which `stocks` have files now.
    pub(crate) fn with(mut self, symbols: &[Symbol], stocks: Vec<String>) -> Self {
        let new = if symbols.is_empty() { vec![ALL] } else { symbols.to_vec() };
        self.selected.retain(|symbol| !new.contains(symbol));
        self.selected.extend(new);
        self.stocks.retain(|name| !selects(symbols, name) && !stocks.contains(name));
        self.stocks.extend(stocks);
        self.stocks.sort_unstable();
        self
    }

    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        if let Some(folder) = path.parent() {
            let cannot = || format!("cannot create {}", folder.display());
            fs::create_dir_all(folder).with_context(cannot)?;
        }
        let mut output = Output::create(path, true)?;
        self.selected.iter().try_for_each(|symbol| writeln!(output, "selected {symbol}"))?;
        self.stocks.iter().try_for_each(|name| writeln!(output, "stock {name}"))?;
        Ok(output.finish()?)
    }
}

fn selects(symbols: &[Symbol], name: &str) -> bool {
    let of_name = name.parse::<Symbol>();
    symbols.is_empty()
        || of_name.is_ok_and(|name| symbols.iter().any(|symbol| symbol.selects(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(names: &[&str]) -> Vec<Symbol> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn a_selection_is_complete_if_each_of_its_symbols_is() {
        let names = |stocks: &[&str]| stocks.iter().map(ToString::to_string).collect();
        let some = Completed::default().with(&symbols(&["AA", "B*"]), names(&["AA", "BX"]));
        let complete: [&[&str]; 4] = [&["AA"], &["BX"], &["BZ", "AA"], &["BX*"]];
        for selection in complete {
            assert!(some.has(&symbols(selection)), "{selection:?}");
        }
        let incomplete: [&[&str]; 4] = [&["AB"], &["AA", "C"], &["*B"], &[]];
        for selection in incomplete {
            assert!(!some.has(&symbols(selection)), "{selection:?}");
        }
        assert_eq!(some.stocks_of(&symbols(&["B*"])).collect::<Vec<_>>(), ["BX"]);
        let again = some.with(&symbols(&["B*"]), names(&["BY"]));
        assert_eq!(again.stocks, ["AA", "BY"]);
        let all = again.with(&[], names(&["AA"]));
        assert!(all.has(&[]) && all.has(&symbols(&["C"])));
        assert_eq!(all.stocks, ["AA"]);
        assert_eq!(Completed::parse("selected A\nother B\n"), None);
    }
}
