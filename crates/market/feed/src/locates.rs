//! Stock locates for exchanges that name an instrument by its symbol in every message.
//!
//! Where: a feed asks once a message. The first symbol of a day gets locate 1, the next one 2, so
//! the same messages give the same locates.
//! Bounds: 65,535 symbols. All memory is there from the start: no lookup allocates.
//! Cost: one load of two bytes, and one of the symbol. The first 16,384 symbols have a small table,
//! so that a usual day is in the second cache. The hash is fixed, so hostile symbols can make
//! lookups slow, and not wrong.

use nanotape_types::{LocateTable, StockLocate, Symbol};

/// Slots of the first symbols, and of all others. Half of them stay free.
const NEAR: usize = 1 << 15;
const FAR: usize = 2 * StockLocate::COUNT;

/// 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The locate of each symbol.
#[derive(Debug)]
pub struct SymbolLocates {
    /// Two tables, the near one first. Linear probing; the locate of a free slot is 0.
    slots: Box<[u16; NEAR + FAR]>,
    /// The letters of each symbol that has a locate.
    letters: LocateTable<u64>,
    /// The last locate that was given.
    last: u16,
}

/// The locate of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundLocate {
    /// The locate.
    pub stock_locate: StockLocate,
    /// Whether this call assigned it to the symbol.
    pub is_new: bool,
}

impl Default for SymbolLocates {
    fn default() -> Self {
        match vec![0; NEAR + FAR].into_boxed_slice().try_into() {
            Ok(slots) => Self { slots, letters: LocateTable::filled(0), last: 0 },
            Err(_) => unreachable!("the vector has as many slots"),
        }
    }
}

impl SymbolLocates {
    /// The locate of a symbol, which gets the next one at its first time. `None` if all are given.
    #[inline]
    pub fn of(&mut self, symbol: Symbol) -> Option<FoundLocate> {
        let letters = u64::from_le_bytes(symbol.as_bytes());
        match self.slot_of(letters) {
            (place, 0) => self.give(letters, place),
            (_, locate) => {
                Some(FoundLocate { stock_locate: StockLocate::new(locate), is_new: false })
            }
        }
    }

    /// The locate of a symbol that has one.
    #[inline]
    pub fn known(&self, symbol: Symbol) -> Option<StockLocate> {
        let (_, locate) = self.slot_of(u64::from_le_bytes(symbol.as_bytes()));
        (locate > 0).then(|| StockLocate::new(locate))
    }

    /// The slot of a symbol with its locate, or the free one for it.
    #[inline]
    fn slot_of(&self, letters: u64) -> (usize, u16) {
        match self.probe::<0, NEAR>(letters) {
            (_, 0) if usize::from(self.last) >= NEAR / 2 => self.probe::<NEAR, FAR>(letters),
            found => found,
        }
    }

    /// The slot in the table of `SLOTS` slots that begins with slot `FIRST`.
    #[inline]
    fn probe<const FIRST: usize, const SLOTS: usize>(&self, letters: u64) -> (usize, u16) {
        let hash = letters.wrapping_mul(MULTIPLIER);
        let mut place = (hash >> (u64::BITS - SLOTS.trailing_zeros())) as usize;
        // Ends: half of the slots are free.
        loop {
            let slot = FIRST + place % SLOTS;
            let locate = self.slots[slot];
            if locate == 0 || self.letters[StockLocate::new(locate)] == letters {
                return (slot, locate);
            }
            place += 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn give(&mut self, letters: u64, place: usize) -> Option<FoundLocate> {
        self.last = self.last.checked_add(1)?;
        let stock_locate = StockLocate::new(self.last);
        self.slots[place] = self.last;
        self.letters[stock_locate] = letters;
        Some(FoundLocate { stock_locate, is_new: true })
    }

    /// How many symbols have a locate.
    pub fn len(&self) -> usize {
        self.last.into()
    }

    /// Whether no symbol has a locate.
    pub fn is_empty(&self) -> bool {
        self.last == 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use nanotape_harness::Random;

    use super::*;

    fn symbol(number: u64) -> Symbol {
        Symbol::new(number.wrapping_mul(0x1_0001).to_le_bytes())
    }

    #[test]
    fn each_symbol_has_one_locate_in_the_order_of_the_first_messages() {
        let (mut locates, mut naive) = (SymbolLocates::default(), BTreeMap::new());
        let mut random = Random::new(5);
        for _ in 0..300_000 {
            let symbol = symbol(random.below(70_000));
            let next = naive.len() as u16;
            let found = locates.of(symbol);
            match naive.get(&symbol.as_bytes()) {
                Some(&locate) => {
                    let stock_locate = StockLocate::new(locate);
                    assert_eq!(found, Some(FoundLocate { stock_locate, is_new: false }));
                }
                None if next == u16::MAX => assert_eq!(found, None),
                None => {
                    let stock_locate = StockLocate::new(next + 1);
                    naive.insert(symbol.as_bytes(), next + 1);
                    assert_eq!(found, Some(FoundLocate { stock_locate, is_new: true }));
                }
            }
        }
        assert_eq!((locates.len(), locates.is_empty()), (usize::from(u16::MAX), false));
    }

    #[test]
    fn a_symbol_without_letters_is_one_of_them() {
        let mut locates = SymbolLocates::default();
        for number in [0, u64::MAX] {
            let none = Symbol::new(number.to_le_bytes());
            assert!(locates.of(none).is_some_and(|found| found.is_new));
            assert!(locates.of(none).is_some_and(|found| !found.is_new));
        }
    }
}
