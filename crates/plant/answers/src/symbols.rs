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

/// A set of symbols, or all of them.
#[derive(Debug)]
pub struct SymbolFilter {
    wanted: Vec<Symbol>,
    /// By locate: whether it is selected; None while its symbol is unknown.
    decided: Vec<Option<bool>>,
}

impl SymbolFilter {
    /// An empty `wanted` selects every stock.
    pub fn new(wanted: &[Symbol]) -> Self {
        let decided = if wanted.is_empty() { Vec::new() } else { vec![None; StockLocate::COUNT] };
        Self { wanted: wanted.to_vec(), decided }
    }

    /// Whether a stock is selected, as far as its symbol is known.
    #[inline]
    pub fn accepts(&mut self, locate: StockLocate, directory: &StockDirectory) -> bool {
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
    pub fn missing(&self, directory: &StockDirectory) -> Vec<Symbol> {
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
pub fn symbol_or_locate(directory: &StockDirectory, locate: StockLocate) -> StockName {
    StockName::new(directory.symbol(locate), locate.get().into())
}
