//! The plain structure: a sorted map from price to level.

use std::collections::BTreeMap;

use super::SideLevels;
use crate::{Level, PriceKey};

/// Levels in a `BTreeMap`. Logarithmic, several cache misses per lookup, allocates nodes.
#[derive(Default, Debug)]
pub struct SortedMap(BTreeMap<PriceKey, Level>);

impl SortedMap {
    fn is_best(&self, key: PriceKey) -> bool {
        self.0.last_key_value().is_some_and(|(&best, _)| best == key)
    }
}

impl SideLevels for SortedMap {
    fn add(&mut self, key: PriceKey, shares: u32) -> bool {
        let level = self.0.entry(key).or_insert(Level { key, orders: 0, shares: 0 });
        level.orders += 1;
        level.shares += u64::from(shares);
        self.is_best(key)
    }

    fn reduce(&mut self, key: PriceKey, shares: u32, order_leaves: bool) -> bool {
        let was_best = self.is_best(key);
        let Some(level) = self.0.get_mut(&key) else {
            debug_assert!(false, "an order's level is open");
            return false;
        };
        level.shares -= u64::from(shares);
        level.orders -= u32::from(order_leaves);
        if level.orders == 0 {
            self.0.remove(&key);
        }
        was_best
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

    fn level_count(&self) -> usize {
        self.0.len()
    }
}
