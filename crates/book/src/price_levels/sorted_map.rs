//! The plain structure: a sorted map from price to level.

use std::collections::BTreeMap;

use super::PriceLevels;
use crate::{Level, PriceKey};

/// Levels in a `BTreeMap`. Logarithmic everywhere, several cache misses a look-up, allocates nodes.
#[derive(Default, Debug)]
pub struct SortedMapLevels(BTreeMap<PriceKey, Level>);

impl PriceLevels for SortedMapLevels {
    fn add(&mut self, key: PriceKey, shares: u32) {
        let level = self.0.entry(key).or_insert(Level { key, orders: 0, shares: 0 });
        level.orders += 1;
        level.shares += u64::from(shares);
    }

    fn reduce(&mut self, key: PriceKey, shares: u32, order_leaves: bool) {
        let Some(level) = self.0.get_mut(&key) else {
            debug_assert!(false, "an order's level is open");
            return;
        };
        level.shares -= u64::from(shares);
        level.orders -= u32::from(order_leaves);
        if level.orders == 0 {
            self.0.remove(&key);
        }
    }

    fn best(&self) -> Option<Level> {
        self.0.last_key_value().map(|(_, &level)| level)
    }

    fn at(&self, key: PriceKey) -> Option<Level> {
        self.0.get(&key).copied()
    }

    fn best_first(&self) -> impl Iterator<Item = Level> + '_ {
        self.0.values().rev().copied()
    }
}
