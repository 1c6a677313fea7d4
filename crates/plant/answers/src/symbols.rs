//! The stocks that a caller selects.

use nanotape_market::StockDirectory;
use nanotape_types::{StockLocate, Symbol, nearest, rows::StockName};

/// Whether a selection can have several stocks, so that rows need their symbols.
pub fn has_several(symbols: &[Symbol]) -> bool {
    symbols.len() > 1 || symbols.iter().any(|symbol| symbol.is_pattern())
}

/// The stocks that a selection has in a directory, each once, in the order of the selection.
pub fn expanded(symbols: &[Symbol], directory: &StockDirectory) -> Vec<Symbol> {
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
pub fn with_suggestions(missing: &[Symbol], known: &[Symbol]) -> String {
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

/// A set of symbols, or all of them. A stock that gets another symbol is checked again.
#[derive(Debug)]
pub struct SymbolFilter {
    wanted: Vec<Symbol>,
    /// Whether a stock had the symbol at any time, for each of `wanted`.
    found: Vec<bool>,
    /// By locate: its symbol, and whether that is selected; `None` while it is unknown.
    decided: Vec<Option<(Symbol, bool)>>,
}

impl SymbolFilter {
    /// An empty `wanted` selects every stock.
    pub fn new(wanted: &[Symbol]) -> Self {
        let decided = if wanted.is_empty() { Vec::new() } else { vec![None; StockLocate::COUNT] };
        Self { wanted: wanted.to_vec(), found: vec![false; wanted.len()], decided }
    }

    /// Whether a stock is selected, as far as its symbol is known.
    #[inline]
    pub fn accepts(&mut self, locate: StockLocate, directory: &StockDirectory) -> bool {
        if self.wanted.is_empty() {
            return true;
        }
        let Some(symbol) = directory.symbol(locate) else { return false };
        match self.decided[locate.index()] {
            Some((of, is_wanted)) if of == symbol => is_wanted,
            _ => self.decide(locate, symbol),
        }
    }

    #[cold]
    fn decide(&mut self, locate: StockLocate, symbol: Symbol) -> bool {
        let mut is_wanted = false;
        for (wanted, found) in self.wanted.iter().zip(&mut self.found) {
            let selects = wanted.selects(symbol);
            *found |= selects;
            is_wanted |= selects;
        }
        self.decided[locate.index()] = Some((symbol, is_wanted));
        is_wanted
    }

    /// Requested symbols that no message named, and patterns that select none.
    pub fn missing(&self, directory: &StockDirectory) -> Vec<Symbol> {
        let selects_none =
            |wanted: Symbol| !directory.iter().any(|(_, symbol)| wanted.selects(symbol));
        let absent = |wanted: Symbol| {
            let has_locate = directory.locate(wanted).is_some();
            !has_locate && (!wanted.is_pattern() || selects_none(wanted))
        };
        let missing = self.wanted.iter().zip(&self.found).filter(|(_, found)| !**found);
        missing.map(|(wanted, _)| *wanted).filter(|wanted| absent(*wanted)).collect()
    }
}

/// The symbol of a locate, or `#13` if no message named it. Printing it does not allocate, so that
/// it can be printed per row.
pub fn symbol_or_locate(directory: &StockDirectory, locate: StockLocate) -> StockName {
    StockName::new(directory.symbol(locate), locate.get().into())
}
