//! Books of levels without orders: every structure beside a sorted map.

use std::collections::BTreeMap;

use nanotape_harness::Random;
use nanotape_testkit::structures::every_structure;
use nanotape_types::{Price, Shares, Side, StockLocate};

use crate::{operations, seed};

const LOCATES: [StockLocate; 3] =
    [StockLocate::new(1), StockLocate::new(2), StockLocate::new(65_535)];

type NaiveLevels = BTreeMap<(StockLocate, bool), BTreeMap<u32, u32>>;

fn best_first(levels: &NaiveLevels, locate: StockLocate, side: Side) -> Vec<(Price, u64)> {
    let of_side = levels.get(&(locate, side == Side::Buy)).into_iter().flatten();
    let mut all: Vec<_> =
        of_side.map(|(&price, &shares)| (Price::new(price), shares.into())).collect();
    if side == Side::Buy {
        all.reverse();
    }
    all
}

#[test]
fn structures_agree_with_a_sorted_map_when_levels_are_set_and_books_are_cleared() {
    let (operations, seed) = (operations(), seed());
    let (mut random, mut naive) = (Random::new(seed), NaiveLevels::new());
    let mut structures = every_structure(1);
    let mut insides = BTreeMap::new();
    for operation in 0..operations {
        let locate = LOCATES[random.index(3)];
        let side = Side::BOTH[random.index(2)];
        let is_clear = random.below(5_000) == 0;
        let middle = 1_000_000 + random.below(4) as u32 * 50;
        let price = match random.below(40) {
            0 => [0, 1, u32::MAX - 1, u32::MAX][random.index(4)],
            1..10 => random.below(20_000) as u32 * 100,
            _ => middle + random.below(60) as u32 * 100,
        };
        let shares = match random.below(10) {
            0..4 => 0,
            4 => u32::MAX,
            _ => 1 + random.below(3) as u32,
        };
        let levels = naive.entry((locate, side == Side::Buy)).or_default();
        match shares {
            _ if is_clear => naive.retain(|(of, _), _| *of != locate),
            0 => drop(levels.remove(&price)),
            _ => drop(levels.insert(price, shares)),
        }
        let inside = Side::BOTH.map(|side| best_first(&naive, locate, side).first().copied());
        let inside_changed = insides.insert(locate, inside).unwrap_or_default() != inside;
        for named in &mut structures {
            let context = format!("{}: seed {seed}, operation {operation}", named.name);
            let outcome = match is_clear {
                true => named.books.clear(locate),
                false => {
                    named.books.set_level(locate, side, Price::new(price), Shares::new(shares))
                }
            };
            let did = (outcome.stock_locate, outcome.inside_changed, outcome.anomaly);
            assert_eq!(did, (locate, inside_changed, None), "{context}");
        }
        if operation % 2_000 == 0 || operation + 1 == operations {
            for named in &structures {
                for (locate, side) in LOCATES.into_iter().flat_map(|l| Side::BOTH.map(|s| (l, s))) {
                    let book = named.books.book(locate);
                    let depth = book.depth(side).map(|level| {
                        assert_eq!(level.orders.get(), 1, "{}", named.name);
                        (level.price, level.shares.get())
                    });
                    let expected = best_first(&naive, locate, side);
                    assert!(depth.eq(expected.iter().copied()), "{}: {operation}", named.name);
                    assert_eq!(book.level_count(side), expected.len());
                }
            }
        }
    }
    println!("{operations} operations, {} structures agree", structures.len());
}
