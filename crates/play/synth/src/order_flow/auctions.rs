//! Auctions and broken trades: messages that need the state of the books, but come from the
//! programme of the day.

use nanotape_types::Side;
use nanotape_wire::itch50::{CrossType, ImbalanceDirection, YesNo};

use super::{Crossing, OrderFlow, StockState, name};
use crate::{announcements::Imbalance, stock_book::TICK, tape::Tape, universe::Universe};

impl OrderFlow {
    /// Writes the imbalance of an auction at this time.
    pub(crate) fn imbalance(
        &mut self,
        stock: usize,
        cross: CrossType,
        universe: &Universe,
        tape: &mut Tape,
    ) {
        let listing = &universe.listings[stock];
        let reference = self.reference_price(stock);
        let rng = &mut self.rng;
        let mut around = |ticks: u64| {
            let away = rng.below(2 * ticks + 1) as u32 * TICK;
            (reference + away).saturating_sub(ticks as u32 * TICK).max(TICK)
        };
        let (near, far) = (around(3), around(12));
        let busy = (listing.activity * universe.listings.len() as f64 * 2_000.0) as u64 + 200;
        let (paired, left_over) = (rng.below(busy) / 100 * 100, rng.below(busy) / 1_000 * 100);
        let direction = match (left_over, rng.below(2)) {
            (0, _) => ImbalanceDirection::NoImbalance,
            (_, 0) => ImbalanceDirection::Buy,
            _ => ImbalanceDirection::Sell,
        };
        let (near, far) = if paired == 0 { (0, 0) } else { (near, far) };
        let direction =
            if paired == 0 { ImbalanceDirection::InsufficientOrders } else { direction };
        let of = Imbalance { paired, left_over, direction, far, near, reference };
        tape.imbalance(name(stock, listing), cross, &of);
    }

    /// Executes, in a cross, the first order at the best price of one side. False if the cross
    /// reaches none.
    pub(crate) fn cross_execution(
        &mut self,
        stock: usize,
        remaining: u8,
        universe: &Universe,
        tape: &mut Tape,
    ) -> bool {
        let StockState { book, halted, .. } = &self.stocks[stock];
        if *halted || !self.within_reach(-1) {
            return false;
        }
        let crossing = match self.crossing {
            Some(crossing) if crossing.stock == stock => crossing,
            _ => {
                let side = Side::BOTH[self.rng.below(2) as usize];
                let Some(price) = book.price_holding(side, u32::from(remaining)) else {
                    return false;
                };
                Crossing { stock, side, price, shares: 0 }
            }
        };
        let Some(handle) = book.front(crossing.side) else { return false };
        let order = *self.orders.get(handle);
        let reached = match crossing.side {
            Side::Buy => order.price >= crossing.price,
            Side::Sell => order.price <= crossing.price,
        };
        if !reached {
            return false;
        }
        let printed = (crossing.price, order.shares);
        let about = name(stock, &universe.listings[stock]);
        tape.execute_with_price(about, order.reference, printed, YesNo::No);
        self.remove(stock, handle);
        let shares = crossing.shares + u64::from(order.shares);
        self.crossing = Some(Crossing { shares, ..crossing });
        true
    }

    /// Writes the cross: what was executed for it, and hidden shares. If a stock hardly trades, the
    /// cross has no shares.
    pub(crate) fn cross(
        &mut self,
        stock: usize,
        cross: CrossType,
        universe: &Universe,
        tape: &mut Tape,
    ) {
        let listing = &universe.listings[stock];
        let relative = listing.activity * universe.listings.len() as f64;
        let displayed = self.crossing.take().filter(|crossing| crossing.stock == stock);
        let hidden = if self.rng.unit() < relative {
            self.rng.log_uniform(100, 1_000 + (relative * 20_000.0) as u64)
        } else {
            0
        };
        let (price, shares) = match displayed {
            Some(crossing) => (crossing.price, crossing.shares + hidden),
            None if hidden > 0 && !self.stocks[stock].halted => {
                (self.reference_price(stock), hidden)
            }
            None if hidden > 0 && cross == CrossType::HaltOrIpo => {
                (self.reference_price(stock), hidden)
            }
            None => (0, 0),
        };
        tape.cross(name(stock, listing), price, shares, cross);
    }

    /// Breaks an earlier execution; false if there is none.
    pub(crate) fn break_trade(&mut self, universe: &Universe, tape: &mut Tape) -> bool {
        if self.recent_matches.is_empty() {
            return false;
        }
        let index = self.rng.below(self.recent_matches.len() as u64) as usize;
        let (stock, matched) = self.recent_matches.swap_remove(index);
        tape.break_trade(name(stock, &universe.listings[stock]), matched);
        true
    }

    /// The reference price of an auction of the stock.
    pub(crate) fn reference_price(&self, stock: usize) -> u32 {
        let StockState { book, fair, .. } = &self.stocks[stock];
        match (book.best(Side::Buy), book.best(Side::Sell)) {
            (Some(bid), Some(offer)) if offer < 2 * bid => bid,
            _ => fair.price(),
        }
    }
}
