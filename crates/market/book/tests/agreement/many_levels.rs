//! A side with more levels than any real book, compared with a sorted map.
//!
//! Without books and orders, so that a million levels are affordable: prices go directly into each
//! structure. Moving half of a vector for each new level would be quadratic. So a vector opens a
//! million levels from the end that is cheap for it, and then a few thousand operations follow,
//! which all structures can afford.

use std::collections::BTreeMap;

use nanotape_book::{BookSide, ChosenLevels, Level, LevelStructure, PriceKey, PriceLevels as _};
use nanotape_harness::Random;
use nanotape_types::{Price, Side, StockLocate};

use super::{operations, seed};

/// The end from which a side is opened.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Opened {
    /// The worst price first: every level is a new best.
    FromTheFarEnd,
    /// The best price first.
    FromTheInside,
}

/// Structures that move all levels between a price and one end: the cheap end of each.
fn only_cheap(structure: LevelStructure) -> Option<Opened> {
    match structure {
        LevelStructure::BestFirst => Some(Opened::FromTheInside),
        LevelStructure::BestLast
        | LevelStructure::BestLastBranchFree
        | LevelStructure::BestLastLinear
        | LevelStructure::BestLastNear => Some(Opened::FromTheFarEnd),
        LevelStructure::SortedMap | LevelStructure::TickIndexed | LevelStructure::Packed => None,
    }
}

/// Shares of every order here.
const SHARES: u32 = 5;

/// One side in a structure and in the model; only orders of [`SHARES`].
struct Compared {
    context: String,
    levels: ChosenLevels,
    side: BookSide,
    /// Orders at each price.
    model: BTreeMap<PriceKey, u32>,
}

impl Compared {
    fn best(&self) -> Option<PriceKey> {
        self.model.last_key_value().map(|(&key, _)| key)
    }

    fn level(key: PriceKey, orders: u32) -> Level {
        Level { key, orders, shares: u64::from(orders) * u64::from(SHARES) }
    }

    fn add(&mut self, key: PriceKey) {
        *self.model.entry(key).or_default() += 1;
        let is_best = self.best() == Some(key);
        assert_eq!(self.levels.add(self.side, key, SHARES), is_best, "{key:?}, {}", self.context);
    }

    fn remove(&mut self, key: PriceKey) {
        let was_best = self.best() == Some(key);
        let orders = self.model.get_mut(&key).expect("there is an order");
        *orders -= 1;
        if *orders == 0 {
            self.model.remove(&key);
        }
        let said = self.levels.reduce(self.side, key, SHARES, true);
        assert_eq!(said, was_best, "{key:?}, {}", self.context);
    }

    fn compare_at(&self, key: PriceKey) {
        let expected = self.model.get(&key).map(|&orders| Self::level(key, orders));
        assert_eq!(self.levels.at(self.side, key), expected, "{}", self.context);
        let best = self.levels.best(self.side).map(|level| level.key);
        assert_eq!(best, self.best(), "{}", self.context);
        let after = (std::ops::Bound::Excluded(key), std::ops::Bound::Unbounded);
        let better = self.levels.better_levels(self.side, key);
        assert_eq!(better, self.model.range(after).count(), "{key:?}, {}", self.context);
        let count = self.levels.level_count(self.side);
        assert_eq!(count, self.model.len(), "{}", self.context);
    }

    fn compare_all(&self) {
        let expected = self.model.iter().rev().map(|(&key, &orders)| Self::level(key, orders));
        assert!(self.levels.best_first(self.side).eq(expected), "{}", self.context);
    }
}

fn agrees_with_many_levels(structure: LevelStructure, count: u32, opened: Opened, side: Side) {
    let mut compared = Compared {
        context: format!("{structure}, {count} levels, {side} side opened {opened:?}"),
        levels: ChosenLevels::new(structure, 1),
        side: BookSide::new(StockLocate::new(7), side),
        model: BTreeMap::new(),
    };
    let key = |price: u32| PriceKey::new(side, Price::new(price));
    let mut keys: Vec<_> = (1..=count).map(|tick| key(tick * 100)).collect();
    keys.sort();
    if opened == Opened::FromTheInside {
        keys.reverse();
    }
    keys.iter().for_each(|&key| compared.add(key));
    compared.compare_all();

    let mut random = Random::new(seed());
    for step in 1..=3_000 {
        // Every second price is between two ticks.
        let price = random.below(u64::from(count) * 2) as u32 * 50;
        let key = key(price);
        if compared.model.contains_key(&key) && random.below(3) > 0 {
            compared.remove(key);
        } else {
            compared.add(key);
        }
        compared.compare_at(key);
        if step % 1_000 == 0 {
            compared.compare_all();
        }
    }

    let mut rest: Vec<_> = compared.model.keys().copied().collect();
    if opened == Opened::FromTheFarEnd {
        rest.reverse();
    }
    for key in rest {
        for _ in 0..compared.model[&key] {
            compared.remove(key);
        }
    }
    compared.compare_all();
    assert_eq!(compared.levels.best(compared.side), None);
    println!("{} operations, {} agrees", 2 * count + 3_000, compared.context);
}

#[test]
fn structures_agree_on_a_side_with_very_many_levels() {
    let count: u32 = if operations() >= 1_000_000 { 1_000_000 } else { 20_000 };
    for &structure in LevelStructure::ALL {
        for (opened, side) in
            [(Opened::FromTheFarEnd, Side::Buy), (Opened::FromTheInside, Side::Sell)]
        {
            let cheap = only_cheap(structure).is_none_or(|cheap| cheap == opened);
            if cheap || count < 100_000 {
                agrees_with_many_levels(structure, count, opened, side);
            }
        }
    }
}
