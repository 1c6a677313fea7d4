//! Files that get their names, and which stocks of a day are complete in a dataset.
//!
//! A stock without rows has no file, so files alone do not show that a day of `--partition symbol`
//! is complete. `DIR/.complete/TABLE/date=YYYY-MM-DD/NAME` does: it is written after the files have
//! their names. It is beside the folders of tables, because polars refuses a folder whose files
//! have several suffixes, hidden ones too.
//! Layout: lines `input NAME`, `sha256 DIGEST` and `ctime_ns NANOSECONDS` (when it was changed
//! last) if the input is a file, `options OPTIONS`, `damaged` if the input lacked a part, and
//! `strict` if it was written with `--strict`; a line `selected SYMBOL` for each symbol or pattern
//! of `--symbols` (`selected *` for all stocks), and a line `stock NAME` for each stock with rows.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use nanotape_answers::Table;
use nanotape_console::output::{Output, is_file};
use nanotape_types::Symbol;

use crate::stated::{Stated, one_line, stated_of_part};

/// The pattern of all stocks.
const ALL: Symbol = Symbol::new(*b"*       ");

/// Gives files their names, all of them or none: another process may have taken one. A file that
/// was replaced is gone, so the one that replaced it stays.
pub(crate) fn complete_all<F, W>(
    files: Vec<(PathBuf, F)>,
    complete: impl Fn(F) -> io::Result<W>,
) -> io::Result<Vec<W>> {
    let (mut named, mut written) = (Vec::<PathBuf>::new(), Vec::new());
    for (path, file) in files {
        let is_new = is_file(&path) && !path.exists();
        match complete(file) {
            Ok(file) => written.push(file),
            Err(error) => {
                for path in &named {
                    // The error of the other file is reported.
                    let _ = fs::remove_file(path);
                }
                return Err(error);
            }
        }
        if is_new {
            named.push(path);
        }
    }
    Ok(written)
}

/// The stocks of a table of a day that are complete.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Completed {
    /// `None` if nothing is complete.
    pub(crate) stated: Option<Stated>,
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
        let (mut completed, mut stated) = (Self::default(), Stated::default());
        for line in text.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("input", name) => name.clone_into(&mut stated.input),
                ("sha256", digest) => stated.sha256 = Some(digest.to_owned()),
                ("ctime_ns", nanos) => stated.ctime_ns = nanos.parse().ok(),
                ("options", options) => options.clone_into(&mut stated.options),
                ("damaged", "") => stated.is_damaged = true,
                ("strict", "") => stated.is_strict = true,
                ("selected", symbol) => completed.selected.push(symbol.parse().ok()?),
                ("stock", name) => completed.stocks.push(name.to_owned()),
                _ => return None,
            }
        }
        if stated.input.is_empty() {
            return None;
        }
        completed.stated = Some(stated);
        Some(completed)
    }

    /// Whether all stocks of a selection are complete.
    pub(crate) fn has(&self, symbols: &[Symbol]) -> bool {
        let all = [ALL];
        let wanted = if symbols.is_empty() { &all } else { symbols };
        wanted.iter().all(|wanted| self.selected.iter().any(|symbol| symbol.selects(*wanted)))
    }

    /// Whether the day is known to have the stock or a stock of the pattern.
    pub(crate) fn knows(&self, symbol: Symbol) -> bool {
        self.selected.contains(&symbol) || self.stocks_of(&[symbol]).next().is_some()
    }

    /// Whether the file of a stock is there and states what these do.
    pub(crate) fn has_good(&self, stock: &str, path: &Path, table: Table) -> bool {
        let Ok(Some((stated, of))) = stated_of_part(path, table) else { return false };
        of == stock && self.stated.as_ref().is_some_and(|day| stated.is_of_same(day))
    }

    /// The stocks of a selection that have files.
    pub(crate) fn stocks_of(&self, symbols: &[Symbol]) -> impl Iterator<Item = &str> {
        self.stocks.iter().map(String::as_str).filter(move |name| selects(symbols, name))
    }

    /// These and the stocks of a selection, of which `stocks` have files now.
    /// What has other options or is of another input is complete no more.
    pub(crate) fn with(
        mut self,
        symbols: &[Symbol],
        stocks: Vec<String>,
        mut stated: Stated,
    ) -> Self {
        stated.input = one_line(&stated.input);
        if !self.stated.as_ref().is_some_and(|other| other.is_of_same(&stated)) {
            self = Self::default();
        }
        let new = if symbols.is_empty() { vec![ALL] } else { symbols.to_vec() };
        let is_new = |symbol: &Symbol| new.contains(symbol) || new.contains(&ALL);
        self.selected.retain(|symbol| !is_new(symbol));
        let is_damaged = self.stated.as_ref().is_some_and(|before| before.is_damaged);
        stated.is_damaged |= is_damaged && !self.selected.is_empty();
        let is_strict = self.stated.as_ref().is_some_and(|before| before.is_strict);
        stated.is_strict &= is_strict || self.selected.is_empty();
        self.stated = Some(stated);
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
        if let Some(stated) = &self.stated {
            let Stated { input, sha256, ctime_ns, options, is_damaged, is_strict } = stated;
            writeln!(output, "input {input}")?;
            sha256.iter().try_for_each(|digest| writeln!(output, "sha256 {digest}"))?;
            ctime_ns.iter().try_for_each(|nanos| writeln!(output, "ctime_ns {nanos}"))?;
            writeln!(output, "options {options}")?;
            is_damaged.then(|| writeln!(output, "damaged")).transpose()?;
            is_strict.then(|| writeln!(output, "strict")).transpose()?;
        }
        self.selected.iter().try_for_each(|symbol| writeln!(output, "selected {symbol}"))?;
        self.stocks.iter().try_for_each(|name| writeln!(output, "stock {name}"))?;
        Ok(output.finish()?)
    }
}

/// Whether a selection has a stock.
pub(crate) fn selects(symbols: &[Symbol], name: &str) -> bool {
    let of_name = name.parse::<Symbol>();
    symbols.is_empty()
        || of_name.is_ok_and(|name| symbols.iter().any(|symbol| symbol.selects(name)))
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;

    fn symbols(names: &[&str]) -> Vec<Symbol> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn a_selection_is_complete_if_each_of_its_symbols_is() {
        let names = |stocks: &[&str]| stocks.iter().map(ToString::to_string).collect();
        let stated = || Stated { input: "day".to_owned(), ..Stated::default() };
        let of = symbols(&["AA", "B*"]);
        let some = Completed::default().with(&of, names(&["AA", "BX"]), stated());
        let complete: [&[&str]; 4] = [&["AA"], &["BX"], &["BZ", "AA"], &["BX*"]];
        for selection in complete {
            assert!(some.has(&symbols(selection)), "{selection:?}");
        }
        let incomplete: [&[&str]; 4] = [&["AB"], &["AA", "C"], &["*B"], &[]];
        for selection in incomplete {
            assert!(!some.has(&symbols(selection)), "{selection:?}");
        }
        assert_eq!(some.stocks_of(&symbols(&["B*"])).collect::<Vec<_>>(), ["BX"]);
        let again = some.with(&symbols(&["B*"]), names(&["BY"]), stated());
        assert_eq!(again.stocks, ["AA", "BY"]);
        let all = again.with(&[], names(&["AA"]), stated());
        assert!(all.has(&[]) && all.has(&symbols(&["C"])));
        assert_eq!(all.stocks, ["AA"]);
        assert_eq!(Completed::parse("selected A\nother B\n"), None);
    }

    #[test]
    fn files_that_replaced_none_are_taken_back_if_one_cannot_have_its_name() {
        let folder = Scratch::new("export-complete");
        fs::create_dir(folder.path()).unwrap();
        let [new, old, full] = ["new", "old", "full"].map(|name| folder.path().join(name));
        fs::write(&old, "before").unwrap();
        let files = [&new, &old, &full].map(|path| (path.clone(), path.clone()));
        let complete = |path: PathBuf| match path == full {
            true => Err(io::Error::from(io::ErrorKind::StorageFull)),
            false => fs::write(path, "after"),
        };
        complete_all(files.to_vec(), complete).unwrap_err();
        let (is_new, text) = (new.exists(), fs::read_to_string(&old).unwrap());
        assert_eq!((is_new, &*text), (false, "after"));
    }
}
