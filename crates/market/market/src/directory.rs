//! The symbol of each stock locate of a day.
//!
//! The symbols are from definitions, and, for files that begin in mid-session, from any other event
//! that has one. A definition overwrites an earlier symbol.

use nanotape_types::{BookEvent, LocateTable, Maybe, StockLocate, Symbol};

use crate::{MarketEvent, What};

/// Symbols by stock locate.
#[derive(Debug)]
pub struct StockDirectory {
    symbols: LocateTable<Maybe<Symbol>>,
}

impl Default for StockDirectory {
    fn default() -> Self {
        Self { symbols: LocateTable::filled(Maybe::NONE) }
    }
}

impl StockDirectory {
    /// Stores the symbol of an event's instrument, if the event has it.
    #[inline(always)]
    pub fn learn(&mut self, event: &MarketEvent) {
        match event.what {
            // Most events have no symbol.
            What::Execution(_) => {}
            What::Order(BookEvent::Add { .. }) => self.learn_pair(event),
            What::Order(_) => {}
            What::Definition(_) => self.symbols[event.stock_locate] = event.symbol,
            _ => self.learn_pair(event),
        }
    }

    /// Inlined, because a call would make every event of a loop save registers.
    #[inline(always)]
    fn learn_pair(&mut self, event: &MarketEvent) {
        let known = &mut self.symbols[event.stock_locate];
        // Locate 0 is not a single stock: IPO updates have it with a symbol.
        if known.is_none() && event.stock_locate.get() != 0 {
            *known = event.symbol;
        }
    }

    /// Stores a symbol that is known from elsewhere than an event.
    pub fn name(&mut self, locate: StockLocate, symbol: Symbol) {
        self.symbols[locate] = Maybe::of(symbol);
    }

    /// The symbol of a locate, if an event had it.
    #[inline]
    pub fn symbol(&self, locate: StockLocate) -> Option<Symbol> {
        self.symbols[locate].get()
    }

    /// The locate of a symbol. A linear search: for set-up, not for every message.
    pub fn locate(&self, symbol: Symbol) -> Option<StockLocate> {
        let mut known = self.symbols.iter();
        known.find(|(_, known)| known.get() == Some(symbol)).map(|(locate, _)| locate)
    }

    /// All known pairs, by locate.
    pub fn iter(&self) -> impl Iterator<Item = (StockLocate, Symbol)> + '_ {
        self.symbols.iter().filter_map(|(locate, known)| Some((locate, known.get()?)))
    }
}
