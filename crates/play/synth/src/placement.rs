//! Chooses price and size of an order: mostly near the inside, sometimes far, never across it.
//!
//! Each stock has a fair price that moves slowly around the day's base price. Orders are placed a
//! number of ticks worse than the better of two anchors: the best price of their side, or its
//! target by the fair price. So a book follows its fair price, and recovers after its best levels
//! were taken.

use nanotape_types::Side;

use super::{
    rng::Rng,
    stock_book::{StockBook, TICK},
    universe::Listing,
};

/// Ticks from the anchor: up to this share of orders, between these distances.
///
/// These are the distances of orders when placed. After deletes, executions and price moves, the
/// distances of all messages meet the figures that the measurement checks.
const DEPTHS: &[(f64, u64, u64)] = &[
    (0.375, 0, 0),
    (0.553, 1, 1),
    (0.729, 2, 6),
    (0.893, 7, 14),
    (0.987, 15, 203),
    (0.998_45, 204, 2_135),
    (1.000, 2_136, 20_000),
];

/// Share of orders that are stub quotes, at the extreme prices.
const STUBS: f64 = 0.000_1;
const STUB_BID: u32 = 1;
const STUB_OFFER: u32 = 1_999_999_900;

/// Chance that an order closes a tick of a gap between the best price and its target.
const IMPROVE: f64 = 0.35;
/// A gap wider than this is closed by the next order.
const GAP_MAX: u32 = 8 * TICK;
/// Chance that an order betters the inside although there is no gap.
const INSIDE_SPREAD: f64 = 0.02;

/// Moves of the fair price in a day, up and down together. The number is independent of the number
/// of messages; otherwise larger days would leave orders further from the price.
const FAIR_MOVES: f64 = 1_000.0;
/// Maximum chance of a move before a message.
const FAIR_MOVES_MAX: f64 = 0.03;

/// The fair price of one stock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fair {
    price: u32,
    /// Chance of a move by a tick before a message.
    moves: f64,
}

impl Fair {
    /// The price before the day, for a stock with about this many messages.
    pub(super) fn new(listing: &Listing, messages: f64) -> Self {
        let moves = (FAIR_MOVES / messages.max(1.0)).min(FAIR_MOVES_MAX);
        Self { price: listing.base_price, moves }
    }

    pub(super) fn price(self) -> u32 {
        self.price
    }

    /// Moves a tick by chance, more likely towards the base price the further away it is.
    pub(super) fn wander(&mut self, listing: &Listing, rng: &mut Rng) {
        if !rng.chance(self.moves) {
            return;
        }
        let base = f64::from(listing.base_price);
        let up = 0.5 + (base - f64::from(self.price)) / base * 8.0;
        if rng.chance(up.clamp(0.1, 0.9)) {
            self.price += TICK;
        } else {
            self.price -= TICK;
        }
    }

    /// The target of the best price of a side.
    pub(super) fn nominal(self, side: Side, listing: &Listing) -> u32 {
        let bid = self.price.saturating_sub((listing.spread / 2).div_ceil(TICK) * TICK).max(TICK);
        match side {
            Side::Buy => bid,
            Side::Sell => bid + listing.spread,
        }
    }

    /// How much better the best price of a side is than its target, or 0.
    pub(super) fn excess(self, side: Side, book: &StockBook, listing: &Listing) -> u32 {
        let nominal = self.nominal(side, listing);
        match (book.best(side), side) {
            (Some(best), Side::Buy) => best.saturating_sub(nominal),
            (Some(best), Side::Sell) => nominal.saturating_sub(best),
            (None, _) => 0,
        }
    }
}

/// A price for a new order, or `None` if there is no room on this side.
pub(super) fn price(
    side: Side,
    book: &StockBook,
    fair: Fair,
    listing: &Listing,
    rng: &mut Rng,
) -> Option<u32> {
    let nominal = fair.nominal(side, listing);
    let limit = limit(side, book)?;
    let Some(best) = book.best(side) else {
        let behind = rng.below(3) as u32 * TICK;
        return Some(no_better(side, worse(side, nominal, behind).unwrap_or(TICK), limit));
    };
    if book.side_orders(side) > 3 && rng.chance(STUBS) {
        return Some(if side == Side::Buy { STUB_BID } else { STUB_OFFER });
    }
    let gap = match side {
        Side::Buy => nominal.saturating_sub(best),
        Side::Sell => best.saturating_sub(nominal),
    };
    if gap > GAP_MAX {
        let behind = rng.below(3) as u32 * TICK;
        return Some(no_better(side, worse(side, nominal, behind).unwrap_or(TICK), limit));
    }
    if (gap > 0 && rng.chance(IMPROVE)) || rng.chance(INSIDE_SPREAD) {
        return Some(no_better(side, better(side, best, TICK), limit));
    }
    let anchor = no_better(side, nominal, best);
    for _ in 0..3 {
        let behind = depth(rng) as u32 * TICK;
        if let Some(price) = worse(side, anchor, behind) {
            return Some(no_better(side, price, limit));
        }
    }
    Some(no_better(side, anchor, limit))
}

/// The number of shares of an order: mostly round lots, often odd lots.
pub(super) fn shares(rng: &mut Rng) -> u32 {
    match rng.below(100) {
        0..22 => rng.between(1, 99) as u32,
        22..72 => 100,
        72..92 => rng.between(2, 6) as u32 * 100,
        92..96 => rng.between(101, 900) as u32,
        _ => rng.log_uniform(7, 200) as u32 * 100,
    }
}

fn depth(rng: &mut Rng) -> u64 {
    let uniform = rng.unit();
    match DEPTHS.iter().find(|&&(until, ..)| uniform < until) {
        Some(&(_, near, far)) if near == far => near,
        Some(&(_, near, far)) => rng.log_uniform(near, far),
        None => 0,
    }
}

/// The best price that an order can have without meeting the other side.
fn limit(side: Side, book: &StockBook) -> Option<u32> {
    match (side, book.best(side.opposite())) {
        (Side::Buy, Some(offer)) => offer.checked_sub(TICK).filter(|&price| price >= TICK),
        (Side::Buy, None) => Some(STUB_OFFER),
        (Side::Sell, Some(bid)) => Some(bid / TICK * TICK + TICK),
        (Side::Sell, None) => Some(TICK),
    }
}

fn no_better(side: Side, price: u32, limit: u32) -> u32 {
    match side {
        Side::Buy => price.min(limit),
        Side::Sell => price.max(limit),
    }
}

fn better(side: Side, price: u32, by: u32) -> u32 {
    match side {
        // A stub bid is not a multiple of a tick.
        Side::Buy => price / TICK * TICK + by,
        Side::Sell => price - by.min(price - TICK),
    }
}

fn worse(side: Side, price: u32, by: u32) -> Option<u32> {
    match side {
        Side::Buy => price.checked_sub(by).filter(|&price| price >= TICK),
        Side::Sell => Some((price + by).min(STUB_OFFER - TICK)),
    }
}
