//! Price levels of an exchange that shows no orders: subscribers have the plant's levels after each
//! record, and an inside at the end of each change.

use std::collections::BTreeMap;

use nanotape_harness::Random;
use nanotape_market::{LevelChange, What};
use nanotape_types::{Price, Shares, Side, StockLocate};

use crate::published::pair::{Pair, STOCKS};

const FIRST: StockLocate = STOCKS[0];

fn level(side: Side, price: u32, shares: u32) -> What {
    let (price, shares) = (Price::new(price), Shares::new(shares));
    What::Level(LevelChange { side, price, shares, is_only: false })
}

fn only(side: Side, price: u32, shares: u32) -> What {
    let (price, shares) = (Price::new(price), Shares::new(shares));
    What::Level(LevelChange { side, price, shares, is_only: true })
}

#[test]
fn the_parts_of_a_change_have_one_inside() {
    let mut pair = Pair::new();
    let lines = ["7 mbo A B 100 at 50 #0 [LM]", "7 bbo A B 100 at 50 [L] 100x50 / 0x-"];
    assert_eq!(pair.apply(FIRST, level(Side::Buy, 50, 100)).0, lines);
    pair.apply(FIRST, level(Side::Sell, 60, 7));
    // The bid goes over the offer before the offer leaves.
    let first = pair.apply_part(FIRST, level(Side::Buy, 60, 5), false).0;
    assert_eq!(first, ["7 mbo A B 5 at 60 #0 [M]"]);
    let last = pair.apply_part(FIRST, level(Side::Sell, 60, 0), true).0;
    assert_eq!(last, ["7 mbo C A 7 at 60 #0 [LM]", "7 bbo C A 7 at 60 [L] 5x60 / 0x-"]);
    // A level that is not there can close, and end a change.
    assert_eq!(pair.apply_part(FIRST, level(Side::Buy, 60, 9), false).0.len(), 1);
    let last = pair.apply(FIRST, level(Side::Sell, 61, 0)).0;
    assert_eq!(last, ["7 mbo N A 0 at 61 #0 [LM]", "7 bbo N A 0 at 61 [L] 9x60 / 0x-"]);
    // There and back again: no other inside.
    pair.apply_part(FIRST, level(Side::Buy, 70, 1), false);
    assert_eq!(pair.apply(FIRST, level(Side::Buy, 70, 0)).0, ["7 mbo C B 1 at 70 #0 [LM]"]);
    assert_eq!(pair.end().anomalies, 0);
}

#[test]
fn a_best_level_has_no_other_on_its_side() {
    let mut pair = Pair::new();
    pair.apply(FIRST, only(Side::Buy, 50, 100));
    pair.apply_part(FIRST, only(Side::Buy, 40, 7), false);
    let lines = pair.apply(FIRST, only(Side::Sell, 60, 8)).0;
    assert_eq!(lines, ["7 mbo A A 8 at 60 #0 [LT]", "7 bbo A A 8 at 60 [L] 7x40 / 8x60"]);
    let book = pair.subscriber.books().unwrap().book(FIRST);
    let depth: Vec<_> = book.depth(Side::Buy).map(|level| level.price.code()).collect();
    assert_eq!(depth, [40]);
    pair.apply(FIRST, only(Side::Buy, 0, 0));
    assert_eq!(pair.subscriber.books().unwrap().book(FIRST).depth(Side::Buy).count(), 0);
}

#[test]
fn levels_of_subscribers_agree_with_naive_ones_after_each_of_many_parts() {
    let seed = 91;
    let mut random = Random::new(seed);
    let mut pair = Pair::new();
    let mut naive: BTreeMap<(StockLocate, u8, u32), u64> = BTreeMap::new();
    let mut at_end: BTreeMap<StockLocate, [Option<(u32, u64)>; 2]> = BTreeMap::new();
    let mut insides = 0;
    for part in 0..6_000 {
        let stock = STOCKS[random.below(2) as usize];
        let side = Side::BOTH[random.below(2) as usize];
        // The prices of the second stock are on both sides of the longer steps.
        let lowest = if stock == FIRST { 50 } else { 1_999_999_998 };
        let (price, shares) = (lowest + random.below(5) as u32, random.below(4) as u32);
        let is_last = random.below(3) > 0;
        let what =
            if random.below(60) == 0 { What::BookCleared } else { level(side, price, shares) };
        if what == What::BookCleared {
            naive.retain(|(of, ..), _| *of != stock);
        } else if shares == 0 {
            naive.remove(&(stock, side as u8, price));
        } else {
            naive.insert((stock, side as u8, price), u64::from(shares));
        }
        let is_last = is_last || what == What::BookCleared;
        let (lines, _) = pair.apply_part(stock, what, is_last);
        let context = format!("seed {seed}, part {part}: {what:?} gave {lines:?}");
        let best = |side: Side| {
            let levels = naive.iter().filter(|((of, at, _), _)| (*of, *at) == (stock, side as u8));
            let levels = levels.map(|((.., price), shares)| (*price, *shares));
            if side == Side::Buy { levels.max() } else { levels.min() }
        };
        let now = Side::BOTH.map(best);
        let before = at_end.get(&stock).copied().unwrap_or_default();
        let published = lines.iter().filter(|line| line.contains(" bbo ")).count();
        assert_eq!(published, usize::from(is_last && now != before), "{context}");
        insides += published;
        if is_last {
            at_end.insert(stock, now);
        }
        let theirs = pair.subscriber.books().unwrap().book(stock);
        for side in Side::BOTH {
            let theirs: BTreeMap<_, _> =
                theirs.depth(side).map(|level| (level.price.code(), level.shares.get())).collect();
            let ours = naive.iter().filter(|((of, at, _), _)| (*of, *at) == (stock, side as u8));
            let ours: BTreeMap<_, _> =
                ours.map(|((.., price), shares)| (*price, *shares)).collect();
            assert_eq!(theirs, ours, "{context}");
        }
    }
    assert!(insides > 1_000, "{insides}");
    pair.end();
}
