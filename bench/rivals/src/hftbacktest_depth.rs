//! hftbacktest's market depth, order by order, one for each stock, behind nanotape's decoder.
//!
//! The crate has no ITCH reader of its own that could be timed apart from its event arrays, so it is
//! given book events; `nanotape-decode` says what reading them costs. The tick is a hundredth of a
//! cent, the unit of ITCH prices, so that no two prices fall together.

use core::ops::ControlFlow;
use std::{collections::BTreeMap, fmt, path::Path};

use hftbacktest::{
    depth::{BTreeMarketDepth, HashMapMarketDepth, L3MarketDepth, L3Order},
    types::Side as DepthSide,
};
use nanotape_feed::{Damage, DayHandler, DaySource, Position, book_event, read_day};
use nanotape_types::{BookEvent, Side};
use nanotape_wire::itch50::Message;

use crate::{
    digest::{BookDigest, LevelState},
    outcome::{Failure, Memory, Outcome, Stopwatch},
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
    let watch = Stopwatch::start();
    let mut depths = Depths { of_locate: Vec::new(), new, refused: 0, damaged: 0 };
    let summary = read_day(&mut DaySource::open(file)?, &mut depths, |_| ())?;
    let elapsed = watch.stop();
    let memory = Memory::now();
    if let Some(fault) = summary.fault {
        return Err(fault.into());
    }
    let (digest, wrong_best) = depths.digest();
    Ok(Outcome {
        kind: "depth",
        messages: summary.records,
        elapsed,
        answers: digest.answers(),
        notes: BTreeMap::from([
            ("refused", depths.refused),
            ("damaged", depths.damaged),
            ("wrong_best_prices", wrong_best),
        ]),
        memory,
    })
}

struct Depths<D> {
    of_locate: Vec<D>,
    new: fn() -> D,
    /// Events about orders that the depth does not know, or knows already.
    refused: u64,
    damaged: u64,
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
                add(depth, side == Side::Buy, reference.get(), price.get(), shares.get())
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
                        add(depth, is_buy, replacement.get(), price.get(), shares.get())
                    }
                    Err(_) => false,
                }
            }
        };
        self.refused += u64::from(!done);
    }

    /// All levels, and on how many sides the best price it tells is not that of its best level.
    fn digest(&self) -> (BookDigest, u64) {
        let (mut digest, mut wrong_best) = (BookDigest::default(), 0);
        for (locate, depth) in (0..).zip(&self.of_locate) {
            for (is_offer, side) in [(0, DepthSide::Buy), (1, DepthSide::Sell)] {
                let levels = levels(depth, side);
                for (&tick, &orders) in &levels {
                    let shares = match side {
                        DepthSide::Buy => depth.bid_qty_at_tick(tick),
                        _ => depth.ask_qty_at_tick(tick),
                    };
                    let (price, shares) = (tick as u64, shares as u64);
                    digest.level(&LevelState { locate, is_offer, price, shares, orders });
                }
                let wrong = match side {
                    DepthSide::Buy => levels
                        .last_key_value()
                        .map(|(&tick, _)| tick)
                        .is_some_and(|best| best != depth.best_bid_tick()),
                    _ => levels
                        .first_key_value()
                        .map(|(&tick, _)| tick)
                        .is_some_and(|best| best != depth.best_ask_tick()),
                };
                wrong_best += u64::from(wrong);
            }
        }
        (digest, wrong_best)
    }
}

/// The prices of one side in ticks, and how many orders stand at each.
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

/// Takes shares from an order: it has to be looked up for what it has.
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

impl<D: L3MarketDepth> DayHandler for Depths<D> {
    #[inline]
    fn message(&mut self, _: Position, message: Message<'_>) -> ControlFlow<()> {
        if let Ok(Some(event)) = book_event(&message) {
            self.apply(event);
        }
        ControlFlow::Continue(())
    }

    fn damage(&mut self, _: Damage) {
        self.damaged += 1;
    }
}
