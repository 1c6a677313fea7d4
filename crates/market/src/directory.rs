//! Which symbol a stock locate stands for today.
//!
//! Learnt from definitions, and, for files that begin in mid-session, from any other event that
//! carries a symbol. A definition overwrites what was learnt before it.

use nanotape_types::{BookEvent, Maybe, StockLocate, Symbol};

use crate::{MarketEvent, What};

/// Symbols by stock locate.
#[derive(Debug)]
pub struct StockDirectory {
    symbols: Box<[Maybe<Symbol>; StockLocate::COUNT]>,
}

impl Default for StockDirectory {
    fn default() -> Self {
        let symbols = vec![Maybe::NONE; StockLocate::COUNT].into_boxed_slice();
        match symbols.try_into() {
            Ok(symbols) => Self { symbols },
            Err(_) => unreachable!("exactly StockLocate::COUNT elements were made"),
        }
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
            What::Definition(_) => self.symbols[event.instrument.index()] = event.symbol,
            _ => self.learn_pair(event),
        }
    }

    #[inline(always)]
    fn learn_pair(&mut self, event: &MarketEvent) {
        if self.symbols[event.instrument.index()].is_none() {
            self.learn_new(event.instrument, event.symbol);
        }
    }

    #[cold]
    #[inline(never)]
    fn learn_new(&mut self, instrument: StockLocate, symbol: Maybe<Symbol>) {
        // Locate 0 stands for no single stock: IPO updates carry a symbol under it.
        if instrument.get() != 0 {
            self.symbols[instrument.index()] = symbol;
        }
    }

    /// The symbol of a locate, if any event carried it.
    #[inline]
    pub fn symbol(&self, locate: StockLocate) -> Option<Symbol> {
        self.symbols[locate.index()].get()
    }

    /// The locate of a symbol. A walk over the table: for set-up, not for every message.
    pub fn locate(&self, symbol: Symbol) -> Option<StockLocate> {
        let place = self.symbols.iter().position(|known| known.get() == Some(symbol))?;
        Some(StockLocate::new(place as u16))
    }

    /// All known pairs, by locate.
    pub fn iter(&self) -> impl Iterator<Item = (StockLocate, Symbol)> + '_ {
        let all = self.symbols.iter().enumerate();
        all.filter_map(|(index, known)| Some((StockLocate::new(index as u16), known.get()?)))
    }
}
