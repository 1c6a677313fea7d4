//! hftbacktest's market depth, order by order, one for each stock, behind nanotape's decoder.
//!
//! The crate has no ITCH reader that could be timed apart from its event arrays, so it gets book
//! events; `nanotape-decode` is the cost of decoding them. The tick is the unit of ITCH prices, a
//! hundredth of a cent, so that every price has a tick of its own.

use std::{collections::BTreeMap, fmt, path::Path};

use hftbacktest::{
    depth::{BTreeMarketDepth, HashMapMarketDepth, L3MarketDepth, L3Order},
    types::Side as DepthSide,
};
use nanotape_types::{BookEvent, Side};
use rivals_measure::Failure;

use crate::{
    digest::BookDigest,
    measured::{Outcome, measured},
    nanotape::book_events,
};

/// ITCH prices have four decimals.
const TICK: f64 = 0.0001;
const LOT: f64 = 1.0;

pub(crate) fn btree(file: &Path) -> Result<Outcome, Failure> {
    run(file, || BTreeMarketDepth::new(TICK, LOT))
}

pub(crate) fn hash(file: &Path) -> Result<Outcome, Failure> {
    run(file, || HashMapMarketDepth::new(TICK, LOT))
}

fn run<D: L3MarketDepth>(file: &Path, new: fn() -> D) -> Result<Outcome, Failure>
where
    D::Error: fmt::Debug,
{
    let mut depths = Depths { of_locate: Vec::new(), new, refused: 0 };
    let (read, measured) = measured(|| book_events(file, |event| depths.apply(event)))?;
    let (digest, wrong_best) = depths.digest();
    Ok(Outcome {
        kind: "depth",
        messages: read.messages,
        measured,
        answer: digest.answers(),
        notes: [
            ("refused", depths.refused),
            ("damaged", read.damaged),
            ("wrong_best_prices", wrong_best),
        ]
        .into(),
    })
}

struct Depths<D> {
    of_locate: Vec<D>,
    new: fn() -> D,
    /// Events of orders that the depth does not have, or already has.
    refused: u64,
}

impl<D: L3MarketDepth> Depths<D> {
    #[inline]
    fn depth(&mut self, locate: u16) -> &mut D {
        let index = usize::from(locate);
        if index >= self.of_locate.len() {
            self.of_locate.resize_with(index + 1, self.new);
        }
        &mut self.of_locate[index]
    }

    #[inline]
    fn apply(&mut self, event: BookEvent) {
        let done = match event {
            BookEvent::Add { stock_locate, reference, side, shares, price } => {
                let depth = self.depth(stock_locate.get());
                add(depth, side == Side::Buy, reference.get(), price.code(), shares.get())
            }
            BookEvent::Execute { stock_locate, reference, shares }
            | BookEvent::Cancel { stock_locate, reference, shares } => {
                reduce(self.depth(stock_locate.get()), reference.get(), shares.get())
            }
            BookEvent::Delete { stock_locate, reference } => {
                self.depth(stock_locate.get()).delete_order(reference.get(), 0).is_ok()
            }
            BookEvent::Replace { stock_locate, original, replacement, shares, price } => {
                let depth = self.depth(stock_locate.get());
                match depth.delete_order(original.get(), 0) {
                    Ok((side, ..)) => {
                        let is_buy = side == DepthSide::Buy;
                        add(depth, is_buy, replacement.get(), price.code(), shares.get())
                    }
                    Err(_) => false,
                }
            }
        };
        self.refused += u64::from(!done);
    }

    /// All levels, and the number of sides whose best price is not that of the best level.
    fn digest(&self) -> (BookDigest, u64) {
        let (mut digest, mut wrong_best) = (BookDigest::default(), 0);
        for (locate, depth) in (0..).zip(&self.of_locate) {
            for side in [Side::Buy, Side::Sell] {
                let is_buy = side == Side::Buy;
                let levels = levels(depth, if is_buy { DepthSide::Buy } else { DepthSide::Sell });
                for (&tick, &orders) in &levels {
                    let shares = match is_buy {
                        true => depth.bid_qty_at_tick(tick),
                        false => depth.ask_qty_at_tick(tick),
                    };
                    digest.level((locate, side), tick as u64, shares as u64, orders);
                }
                let (best, reported) = match is_buy {
                    true => (levels.keys().next_back(), depth.best_bid_tick()),
                    false => (levels.keys().next(), depth.best_ask_tick()),
                };
                wrong_best += u64::from(best.is_some_and(|&best| best != reported));
            }
        }
        (digest, wrong_best)
    }
}

/// The prices of one side in ticks, and the number of orders at each.
fn levels<D: L3MarketDepth>(depth: &D, side: DepthSide) -> BTreeMap<i64, u64> {
    let mut levels = BTreeMap::new();
    for order in depth.orders().values().filter(|order| order.side == side) {
        *levels.entry(order.price_tick).or_insert(0) += 1;
    }
    levels
}

#[inline]
fn add<D: L3MarketDepth>(depth: &mut D, is_buy: bool, id: u64, price: u32, shares: u32) -> bool {
    let (price, shares) = (f64::from(price) * TICK, f64::from(shares));
    let added = match is_buy {
        true => depth.add_buy_order(id, price, shares, 0),
        false => depth.add_sell_order(id, price, shares, 0),
    };
    added.is_ok()
}

/// Takes shares from an order. Modifying it needs the shares that are left, hence the lookup.
#[inline]
fn reduce<D: L3MarketDepth>(depth: &mut D, id: u64, shares: u32) -> bool {
    let Some(&L3Order { qty, price_tick, .. }) = depth.orders().get(&id) else { return false };
    let left = qty - f64::from(shares);
    if left > 0.0 {
        depth.modify_order(id, price_tick as f64 * TICK, left, 0).is_ok()
    } else {
        depth.delete_order(id, 0).is_ok()
    }
}
