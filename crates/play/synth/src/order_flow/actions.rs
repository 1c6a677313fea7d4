//! Adds, deletes, replaces, reduces or executes one order: writes the message and updates the book.

use nanotape_types::{MatchNumber, Side};
use nanotape_wire::itch50::YesNo;

use super::{OrderFlow, RECENT_MATCHES, StockState, name};
use crate::{
    census::{ATTRIBUTED, Phase},
    placement,
    rng::Rng,
    stock_book::{Handle, TICK},
    tape::Tape,
    universe::{Listing, Universe},
};

/// Chance that an order to delete is one of the newest.
const RECENT: f64 = 0.75;
/// Chance that a delete takes an order that is better than the fair price justifies.
const DELETE_EXCESS: f64 = 0.4;
/// Share of orders that stay until the close.
const PATIENT: f64 = 0.03;

impl OrderFlow {
    pub(super) fn add(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) {
        let listing = &universe.listings[stock];
        let StockState { book, fair, .. } = &mut self.stocks[stock];
        let buys = f64::from(book.side_orders(Side::Buy));
        let sells = f64::from(book.side_orders(Side::Sell));
        // Preferring the side with fewer orders keeps both sides populated.
        let lean = 0.5 + 0.4 * (sells - buys) / (buys + sells + 2.0);
        let wish = if self.rng.chance(lean) { Side::Buy } else { Side::Sell };
        let (side, price) = [wish, wish.opposite()]
            .into_iter()
            .find_map(|side| {
                let price = placement::price(side, book, *fair, listing, &mut self.rng)?;
                Some((side, price))
            })
            // Offers always have room.
            .unwrap_or((Side::Sell, fair.price()));
        let shares = placement::shares(&mut self.rng);
        let attribution = self.rng.chance(ATTRIBUTED).then(|| {
            let participants = &universe.participants;
            participants[self.rng.below(participants.len() as u64) as usize]
        });
        let order = (side, price, shares);
        let reference = tape.add(name(stock, listing), order, attribution);
        let patient = self.rng.chance(PATIENT);
        self.insert(stock, order, reference, patient);
    }

    pub(super) fn delete(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) {
        let listing = &universe.listings[stock];
        let handle = self.excessive(stock, listing).or_else(|| self.pick(stock));
        match handle {
            Some(handle) => {
                tape.delete(name(stock, listing), self.orders.get(handle).reference);
                self.remove(stock, handle);
            }
            None => self.delete_anywhere(universe, tape),
        }
    }

    /// Deletes an order of any stock; there must be an order.
    pub(super) fn delete_anywhere(&mut self, universe: &Universe, tape: &mut Tape) {
        let index = self.rng.below(self.populated.len() as u64) as usize;
        self.delete(usize::from(self.populated[index]), universe, tape);
    }

    pub(super) fn replace(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) -> bool {
        let listing = &universe.listings[stock];
        let Some(handle) = self.pick(stock) else { return false };
        let original = *self.orders.get(handle);
        let StockState { book, fair, .. } = &mut self.stocks[stock];
        let price = placement::price(original.side, book, *fair, listing, &mut self.rng);
        let Some(price) = price else { return false };
        let same_size = self.rng.chance(0.8);
        let shares = if same_size { original.shares } else { placement::shares(&mut self.rng) };
        let reference = tape.replace(name(stock, listing), original.reference, (price, shares));
        self.remove(stock, handle);
        self.insert(stock, (original.side, price, shares), reference, original.patient);
        true
    }

    pub(super) fn cancel(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) -> bool {
        let Some(handle) = self.pick(stock) else { return false };
        let order = *self.orders.get(handle);
        if order.shares < 2 {
            return false;
        }
        let shares = part(order.shares, &mut self.rng);
        tape.cancel(name(stock, &universe.listings[stock]), order.reference, shares);
        self.orders.reduce(handle, shares);
        true
    }

    /// Executes the first order at the best price of a side, at that price or inside the spread.
    pub(super) fn execute(
        &mut self,
        stock: usize,
        universe: &Universe,
        tape: &mut Tape,
        with_price: bool,
    ) -> bool {
        let listing = &universe.listings[stock];
        let StockState { book, fair, halted, .. } = &self.stocks[stock];
        if *halted {
            return false;
        }
        let excess = Side::BOTH.map(|side| fair.excess(side, book, listing));
        let wish = match excess[0].cmp(&excess[1]) {
            core::cmp::Ordering::Greater => Side::Buy,
            core::cmp::Ordering::Less => Side::Sell,
            core::cmp::Ordering::Equal => Side::BOTH[self.rng.below(2) as usize],
        };
        let handle = book.front(wish).or_else(|| book.front(wish.opposite()));
        let Some(handle) = handle else { return false };
        let order = *self.orders.get(handle);
        let print_price = match (book.best(Side::Buy), book.best(Side::Sell)) {
            (Some(bid), Some(offer)) if offer < 2 * bid => bid + (offer - bid) / 2,
            _ => order.price,
        };
        let complete = self.within_reach(-1)
            && (order.shares == 1 || self.rng.chance(self.mix.completion_chance()));
        if !complete && order.shares == 1 {
            return false;
        }
        let shares = if complete { order.shares } else { part(order.shares, &mut self.rng) };
        let about = name(stock, listing);
        let matched = if with_price {
            tape.execute_with_price(about, order.reference, (print_price, shares), YesNo::Yes)
        } else {
            tape.execute(about, order.reference, shares)
        };
        self.mix.executed(complete);
        self.remember(stock, matched);
        if complete {
            self.remove(stock, handle);
        } else {
            self.orders.reduce(handle, shares);
        }
        true
    }

    pub(super) fn trade(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) -> bool {
        if self.stocks[stock].halted {
            return false;
        }
        self.print_trade(stock, universe, tape);
        true
    }

    /// Executes a hidden order, inside the spread or at one of the best prices.
    pub(super) fn print_trade(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) {
        let listing = &universe.listings[stock];
        let StockState { book, fair, .. } = &self.stocks[stock];
        let price = match (book.best(Side::Buy), book.best(Side::Sell)) {
            (Some(bid), Some(offer)) if offer < 2 * bid => {
                let halves = u64::from((offer - bid) / (TICK / 2));
                bid + self.rng.below(halves + 1) as u32 * (TICK / 2)
            }
            _ => fair.price(),
        };
        let shares = placement::shares(&mut self.rng);
        let matched = tape.trade(name(stock, listing), price, shares);
        self.remember(stock, matched);
    }

    /// Sometimes an order at the best price of a side, if that is better than the fair price
    /// justifies.
    fn excessive(&mut self, stock: usize, listing: &Listing) -> Option<Handle> {
        let StockState { book, fair, .. } = &self.stocks[stock];
        let side = Side::BOTH.into_iter().find(|&side| fair.excess(side, book, listing) > 0)?;
        let handle = if self.rng.chance(0.5) { book.front(side) } else { book.back(side) };
        handle.filter(|_| self.rng.chance(DELETE_EXCESS))
    }

    /// An order to delete or change; before the close preferably not a patient one.
    fn pick(&mut self, stock: usize) -> Option<Handle> {
        let book = &self.stocks[stock].book;
        let mut picked = book.pick(&mut self.rng, RECENT)?;
        for _ in 0..3 {
            if self.phase == Phase::AfterClose || !self.orders.get(picked).patient {
                break;
            }
            picked = book.pick(&mut self.rng, RECENT)?;
        }
        Some(picked)
    }

    fn insert(&mut self, stock: usize, order: (Side, u32, u32), reference: u64, patient: bool) {
        let state = &mut self.stocks[stock];
        if state.book.live() == 0 {
            state.populated = self.populated.len() as u32;
            self.populated.push(stock as u16);
        }
        state.book.add(&mut self.orders, order, reference, patient);
    }

    pub(super) fn remove(&mut self, stock: usize, handle: Handle) {
        let state = &mut self.stocks[stock];
        state.book.remove(&mut self.orders, handle);
        if state.book.live() == 0 {
            let hole = state.populated;
            self.populated.swap_remove(hole as usize);
            if let Some(&moved) = self.populated.get(hole as usize) {
                self.stocks[usize::from(moved)].populated = hole;
            }
        }
    }

    fn remember(&mut self, stock: usize, matched: MatchNumber) {
        if self.recent_matches.len() < RECENT_MATCHES {
            self.recent_matches.push((stock, matched));
        } else {
            let index = self.rng.below(RECENT_MATCHES as u64) as usize;
            self.recent_matches[index] = (stock, matched);
        }
    }
}

/// Some of an order's shares, but not all: round lots if there are several.
fn part(shares: u32, rng: &mut Rng) -> u32 {
    if shares > 100 {
        rng.between(1, u64::from((shares - 1) / 100)) as u32 * 100
    } else {
        rng.between(1, u64::from(shares - 1)) as u32
    }
}
