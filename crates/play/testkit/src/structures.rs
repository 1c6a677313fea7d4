//! Books in every structure, for tests in which all of them must agree.

use nanotape_book::{ChosenBooks, ChosenLevels, ChosenOrders, LevelStructure, OrderStructure};

/// Empty books in one combination of structures, with its name.
#[derive(Debug)]
pub struct NamedBooks {
    /// `tick-indexed, open-addressing`.
    pub name: String,
    /// The books.
    pub books: ChosenBooks,
}

/// Every structure of price levels over one store of orders, every other store under one structure
/// of levels, and the default of both; with room for `orders` before a store has to grow.
pub fn every_structure(orders: usize) -> Vec<NamedBooks> {
    const LEVELS: LevelStructure = LevelStructure::BestLastNear;
    const STORE: OrderStructure = OrderStructure::OpenAddressing;
    let every_level = LevelStructure::ALL.iter().map(|&levels| (levels, STORE));
    let other_stores = OrderStructure::ALL.iter().filter(|&&store| store != STORE);
    let default = [(LevelStructure::default(), OrderStructure::default())];
    let combinations = every_level.chain(other_stores.map(|&store| (LEVELS, store))).chain(default);
    let named = combinations.map(|(levels, store)| NamedBooks {
        name: format!("{levels}, {store}"),
        books: ChosenBooks::new(
            ChosenLevels::new(levels, orders),
            ChosenOrders::new(store, orders),
        ),
    });
    named.collect()
}
