//! Which symbol a stock locate stands for today.
//!
//! Learnt from definitions, and, for files that begin in mid-session, from any other event that
//! carries a symbol. A definition overwrites what was learnt before it.

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
    /// Learns the symbol of an event's instrument, if the event carries it.
    #[inline(always)]
    pub fn learn(&mut self, event: &MarketEvent) {
        match event.what {
            // Most events carry no symbol.
            What::Execution(_) => {}
            What::Order(BookEvent::Add { .. }) => self.learn_pair(event),
            What::Order(_) => {}
            What::Definition(_) => self.symbols[event.instrument] = event.symbol,
            _ => self.learn_pair(event),
        }
    }

    #[inline(always)]
    fn learn_pair(&mut self, event: &MarketEvent) {
        if self.symbols[event.instrument].is_none() {
            self.learn_new(event.instrument, event.symbol);
        }
    }

    #[cold]
    #[inline(never)]
    fn learn_new(&mut self, instrument: StockLocate, symbol: Maybe<Symbol>) {
        // Locate 0 stands for no single stock: IPO updates carry a symbol under it.
        if instrument.get() != 0 {
            self.symbols[instrument] = symbol;
        }
    }

    /// The symbol of a locate, if any event carried it.
    #[inline]
    pub fn symbol(&self, locate: StockLocate) -> Option<Symbol> {
        self.symbols[locate].get()
    }

    /// The locate of a symbol. A walk over the table: for set-up, not for every message.
    pub fn locate(&self, symbol: Symbol) -> Option<StockLocate> {
        let mut known = self.symbols.iter();
        known.find(|(_, known)| known.get() == Some(symbol)).map(|(locate, _)| locate)
    }

    /// All known pairs, by locate.
    pub fn iter(&self) -> impl Iterator<Item = (StockLocate, Symbol)> + '_ {
        self.symbols.iter().filter_map(|(locate, known)| Some((locate, known.get()?)))
    }
}
