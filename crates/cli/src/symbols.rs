//! Which stocks a command is asked about.

use std::fmt;

use nanotape_market::StockDirectory;
use nanotape_types::{StockLocate, Symbol};

/// A set of symbols, or all of them.
#[derive(Debug)]
pub(crate) struct SymbolFilter {
    wanted: Vec<Symbol>,
    /// By locate, once it is decided. Undecided while the symbol is not known.
    decided: Vec<Option<bool>>,
}

impl SymbolFilter {
    /// `wanted` empty: every stock.
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
        let wanted = self.wanted.contains(&symbol);
        self.decided[locate.index()] = Some(wanted);
        wanted
    }

    /// Symbols that were asked for and that no message named.
    pub(crate) fn missing(&self, directory: &StockDirectory) -> Vec<Symbol> {
        let absent = |symbol: &&Symbol| directory.locate(**symbol).is_none();
        self.wanted.iter().filter(absent).copied().collect()
    }
}

/// The symbol of a locate, or `#13` where no message told. Prints without allocating, for those who
/// print one a row.
pub(crate) fn symbol_or_locate(directory: &StockDirectory, locate: StockLocate) -> StockName {
    StockName::new(directory.symbol(locate), locate.get().into())
}

/// What a stock is called in output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StockName {
    symbol: Option<Symbol>,
    instrument_id: u32,
}

impl StockName {
    /// Of the number that a record has.
    pub(crate) fn new(symbol: Option<Symbol>, instrument_id: u32) -> Self {
        Self { symbol, instrument_id }
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
