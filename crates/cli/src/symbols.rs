//! The stocks that a command selects.

use std::fmt;

use nanotape_console::line::PlainSymbol;
use nanotape_market::StockDirectory;
use nanotape_types::{StockLocate, Symbol};

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
        let wanted = self.wanted.contains(&symbol);
        self.decided[locate.index()] = Some(wanted);
        wanted
    }

    /// Requested symbols that no message named.
    pub(crate) fn missing(&self, directory: &StockDirectory) -> Vec<Symbol> {
        let absent = |symbol: &&Symbol| directory.locate(**symbol).is_none();
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
