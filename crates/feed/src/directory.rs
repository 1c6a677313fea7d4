//! Which symbol a stock locate stands for today.
//!
//! Learnt from stock directory messages, and, for files that begin in mid-session, from any other
//! message that carries both. What was learnt first from a directory message stays.

use nanotape_types::{Maybe, StockLocate, Symbol};
use nanotape_wire::itch50::Message;

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
    /// Learns from a message what it has to tell.
    #[inline(always)]
    pub fn learn(&mut self, message: &Message<'_>) {
        match message {
            // The bulk of a day carries no symbol.
            Message::OrderDelete(_)
            | Message::OrderExecuted(_)
            | Message::OrderExecutedWithPrice(_)
            | Message::OrderCancel(_)
            | Message::OrderReplace(_) => {}
            Message::AddOrder(add) => self.learn_pair(add.stock_locate(), add.stock()),
            Message::AddOrderMpid(add) => self.learn_pair(add.stock_locate(), add.stock()),
            Message::StockDirectory(entry) => {
                self.symbols[entry.stock_locate().index()] =
                    Maybe::some(entry.stock()).unwrap_or_default();
            }
            other => self.learn_rare(other),
        }
    }

    #[cold]
    #[inline(never)]
    fn learn_rare(&mut self, message: &Message<'_>) {
        if let (Some(locate), Some(stock)) = (message.stock_locate(), message.stock()) {
            self.learn_pair(locate, stock);
        }
    }

    #[inline]
    fn learn_pair(&mut self, locate: StockLocate, stock: Symbol) {
        if self.symbols[locate.index()].is_none() {
            self.learn_new(locate, stock);
        }
    }

    #[cold]
    #[inline(never)]
    fn learn_new(&mut self, locate: StockLocate, stock: Symbol) {
        // Locate 0 is "no one stock": IPO updates carry a symbol under it.
        if locate.get() != 0 {
            self.symbols[locate.index()] = Maybe::some(stock).unwrap_or_default();
        }
    }

    /// The symbol of a locate, if any message told.
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
