//! The stocks that a command selects.

use std::{fmt, fs};

use anyhow::bail;
use clap::Args;
use nanotape_console::line::PlainSymbol;
use nanotape_market::StockDirectory;
use nanotape_types::{StockLocate, Symbol, nearest};

/// `--symbols`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SymbolArguments {
    /// Only these stocks: symbols, patterns such as 'BRK*', and @FILE with any of them in each line
    #[arg(long, value_name = "A,B", visible_alias = "symbol", value_parser = listed)]
    symbols: Vec<Listed>,
}

/// The value of one `--symbols`.
#[derive(Clone, Debug)]
struct Listed(Vec<Symbol>);

fn listed(text: &str) -> Result<Listed, String> {
    let mut symbols = Vec::new();
    for part in text.split(',') {
        match part.strip_prefix('@') {
            Some(path) => symbols.extend(of_file(path)?),
            None => symbols.push(part.parse().map_err(|error| format!("{part:?}: {error}"))?),
        }
    }
    Ok(Listed(symbols))
}

/// The symbols in a file: some in each line, separated by commas or spaces.
fn of_file(path: &str) -> Result<Vec<Symbol>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let mut symbols = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let words = content.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        for word in words {
            let symbol = word.parse().map_err(|error| format!("{path}, line {line}: {error}"))?;
            symbols.push(symbol);
        }
    }
    // Without a symbol, every stock would be selected.
    if symbols.is_empty() { Err(format!("{path}: has no symbol")) } else { Ok(symbols) }
}

impl SymbolArguments {
    /// A selection of these symbols; none selects every stock.
    pub(crate) fn of(symbols: &[Symbol]) -> Self {
        match symbols {
            [] => Self::default(),
            symbols => Self { symbols: vec![Listed(symbols.to_vec())] },
        }
    }

    /// The symbols and patterns; empty selects every stock.
    pub(crate) fn list(&self) -> Vec<Symbol> {
        self.symbols.iter().flat_map(|listed| &listed.0).copied().collect()
    }

    /// The same for a command that needs each stock by its name.
    pub(crate) fn list_without_patterns(&self, command: &str) -> anyhow::Result<Vec<Symbol>> {
        let symbols = self.list();
        if let Some(pattern) = symbols.iter().find(|symbol| symbol.is_pattern()) {
            bail!("--symbols {pattern}: {command} needs each symbol, and takes no pattern");
        }
        Ok(symbols)
    }
}

/// Whether a selection can have several stocks, so that rows need their symbols.
pub(crate) fn has_several(symbols: &[Symbol]) -> bool {
    symbols.len() > 1 || symbols.iter().any(|symbol| symbol.is_pattern())
}

/// The stocks that a selection has in a directory, each once, in the order of the selection.
pub(crate) fn expanded(symbols: &[Symbol], directory: &StockDirectory) -> Vec<Symbol> {
    let mut all = Vec::new();
    for wanted in symbols {
        let mut found: Vec<_> = directory.iter().map(|(_, symbol)| symbol).collect();
        found.retain(|symbol| wanted.selects(*symbol) && !all.contains(symbol));
        found.sort_unstable();
        found.dedup();
        all.append(&mut found);
    }
    all
}

/// The names of missing symbols, each with the one that may be meant:
/// `aapl (did you mean AAPL?), NOSUCH`.
pub(crate) fn with_suggestions(missing: &[Symbol], known: &[Symbol]) -> String {
    let known: Vec<_> = known.iter().map(ToString::to_string).collect();
    let named = missing.iter().map(|missing| {
        let missing = missing.to_string();
        match nearest(&missing, known.iter().map(String::as_str)) {
            Some(near) => format!("{missing} (did you mean {near}?)"),
            None => missing,
        }
    });
    named.collect::<Vec<_>>().join(", ")
}

/// A set of symbols, or all of them.
#[derive(Debug)]
pub(crate) struct SymbolFilter {
    wanted: Vec<Symbol>,
    /// By locate: whether it is selected; None while its symbol is unknown.
    decided: Vec<Option<bool>>,
}

impl SymbolFilter {
    /// An empty `wanted` selects every stock.
    pub(crate) fn new(wanted: &[Symbol]) -> Self {
        let decided = if wanted.is_empty() { Vec::new() } else { vec![None; StockLocate::COUNT] };
        Self { wanted: wanted.to_vec(), decided }
    }

    #[inline]
    pub(crate) fn accepts(&mut self, locate: StockLocate, directory: &StockDirectory) -> bool {
        if self.wanted.is_empty() {
            return true;
        }
        if let Some(decided) = self.decided[locate.index()] {
            return decided;
        }
        let Some(symbol) = directory.symbol(locate) else { return false };
        let wanted = self.wanted.iter().any(|wanted| wanted.selects(symbol));
        self.decided[locate.index()] = Some(wanted);
        wanted
    }

    /// Requested symbols that no message named, and patterns that select none.
    pub(crate) fn missing(&self, directory: &StockDirectory) -> Vec<Symbol> {
        let selects_none =
            |wanted: Symbol| !directory.iter().any(|(_, symbol)| wanted.selects(symbol));
        let absent = |wanted: &&Symbol| {
            let has_locate = directory.locate(**wanted).is_some();
            !has_locate && (!wanted.is_pattern() || selects_none(**wanted))
        };
        self.wanted.iter().filter(absent).copied().collect()
    }
}

/// The symbol of a locate, or `#13` if no message named it. Printing it does not allocate, so that
/// it can be printed per row.
pub(crate) fn symbol_or_locate(directory: &StockDirectory, locate: StockLocate) -> StockName {
    StockName::new(directory.symbol(locate), locate.get().into())
}

/// The name of a stock in output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StockName {
    symbol: Option<Symbol>,
    instrument_id: u32,
}

impl StockName {
    /// The name for the instrument number of a record.
    pub(crate) fn new(symbol: Option<Symbol>, instrument_id: u32) -> Self {
        Self { symbol, instrument_id }
    }
}

impl StockName {
    /// The symbol, if it is written as it is.
    #[inline]
    pub(crate) fn plain(self) -> Option<PlainSymbol> {
        self.symbol.and_then(PlainSymbol::of)
    }
}

impl fmt::Display for StockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.symbol {
            Some(symbol) => symbol.fmt(f),
            None => write!(f, "#{}", self.instrument_id),
        }
    }
}
