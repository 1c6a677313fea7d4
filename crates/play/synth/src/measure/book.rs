//! The book of the measurement: a map of orders and a map of levels.

use std::collections::{BTreeMap, HashMap};

use nanotape_types::Side;

/// A live order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resting {
    pub(super) locate: usize,
    pub(super) side: Side,
    pub(super) price: u32,
    pub(super) shares: u32,
    /// When it entered, nanoseconds since midnight.
    pub(super) born: u64,
}

impl Resting {
    /// The order that replaces this one.
    pub(super) fn moved(self, price: u32, shares: u32, born: u64) -> Self {
        Self { price, shares, born, ..self }
    }
}

/// What happened to an order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Removal {
    /// It still has shares, or the order does not exist.
    Reduced,
    /// It left the book.
    Gone(Resting),
}

/// The orders of all stocks, and how many are at each price.
#[derive(Debug)]
pub(super) struct MeasuredBook {
    orders: HashMap<u64, Resting>,
    /// By locate and side: orders at each price.
    levels: Vec<[BTreeMap<u32, u32>; 2]>,
}

impl Default for MeasuredBook {
    fn default() -> Self {
        let levels = (0..1 << 16).map(|_| [BTreeMap::new(), BTreeMap::new()]).collect();
        Self { orders: HashMap::new(), levels }
    }
}

impl MeasuredBook {
    pub(super) fn live(&self) -> u64 {
        self.orders.len() as u64
    }

    pub(super) fn order(&self, reference: u64) -> Option<Resting> {
        self.orders.get(&reference).copied()
    }

    pub(super) fn best(&self, locate: usize, side: Side) -> Option<u32> {
        let levels = &self.levels[locate][side as usize];
        let best = match side {
            Side::Buy => levels.last_key_value(),
            Side::Sell => levels.first_key_value(),
        };
        best.map(|(&price, _)| price)
    }

    pub(super) fn insert(&mut self, reference: u64, order: Resting) {
        let levels = &mut self.levels[order.locate][order.side as usize];
        *levels.entry(order.price).or_default() += 1;
        self.orders.insert(reference, order);
    }

    /// Takes shares off an order, or all of them.
    pub(super) fn take(&mut self, reference: u64, shares: Option<u32>) -> Removal {
        let Some(order) = self.orders.get_mut(&reference) else { return Removal::Reduced };
        if let Some(shares) = shares
            && shares < order.shares
        {
            order.shares -= shares;
            return Removal::Reduced;
        }
        let order = *order;
        self.orders.remove(&reference);
        let levels = &mut self.levels[order.locate][order.side as usize];
        if let Some(count) = levels.get_mut(&order.price) {
            *count -= 1;
            if *count == 0 {
                levels.remove(&order.price);
            }
        }
        Removal::Gone(order)
    }
}
