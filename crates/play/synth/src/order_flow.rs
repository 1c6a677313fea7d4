//! Makes a possible message about orders for each slot of the clock.
//!
//! Three things always hold. A slot becomes exactly one message. No book is ever crossed or locked.
//! And the deletes after the end of system hours can still remove all live orders, so that all
//! books end empty on the last of them.

use nanotape_types::{MatchNumber, Side, StockLocate};
use nanotape_wire::itch50::CrossType;

mod actions;
mod auctions;

use super::{
    arrivals::{Arrivals, Slot},
    calendar::{self, CLOSE, CLOSING_IMBALANCES, END_OF_SYSTEM_HOURS, OPEN, OPENING_IMBALANCES},
    census::{Kind, Mix, Phase},
    placement::Fair,
    rng::Rng,
    stock_book::{Orders, StockBook},
    tape::{Stock, Tape},
    universe::{Listing, Universe},
};

/// Chance that a message of a cluster is about the same stock as the one before.
const SAME_STOCK: f64 = 0.85;
/// Chance that a cluster is about a stock of a recent cluster: activity excites itself, so that
/// orders can live for milliseconds only.
const REVISIT: f64 = 0.45;
/// Number of recent clusters whose stocks are kept.
const RECENT_STOCKS: u64 = 512;
/// After the close, chance that a message is about any stock that still has orders.
const CLEAN_UP: f64 = 0.5;
/// Share of the live orders that is spread evenly over the stocks, independent of activity.
const EVENLY: f64 = 0.15;
/// Number of executions from which a broken trade is drawn.
const RECENT_MATCHES: usize = 64;
/// Maximum number of slots before chances are computed again.
const REFRESH: u64 = 256;

/// The part of a stock that changes during the day.
#[derive(Debug)]
struct StockState {
    book: StockBook,
    fair: Fair,
    halted: bool,
    /// Position in the list of stocks that have orders, if it has any.
    populated: u32,
}

/// A cross whose executions have begun.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    stock: usize,
    side: Side,
    price: u32,
    shares: u64,
}

/// All books, and the state of the events on them.
#[derive(Debug)]
pub(super) struct OrderFlow {
    stocks: Vec<StockState>,
    orders: Orders,
    populated: Vec<u16>,
    mix: Mix,
    rng: Rng,
    market_slots: f64,
    slots_before: SlotsBefore,
    taken: u64,
    refresh_at: u64,
    phase: Phase,
    live_target: f64,
    current: usize,
    /// Number of clusters, and the stocks of the latest, each at its number modulo the length.
    clusters: u64,
    recent_stocks: Vec<u16>,
    crossing: Option<Crossing>,
    recent_matches: Vec<(usize, MatchNumber)>,
}

/// Number of slots before each time at which something changes.
#[derive(Clone, Copy, Debug)]
struct SlotsBefore {
    open: u64,
    close: u64,
    end_of_system_hours: u64,
    end: u64,
}

impl OrderFlow {
    pub(super) fn new(universe: &Universe, slots: u64, arrivals: &Arrivals, rng: Rng) -> Self {
        let state = |listing: &Listing| StockState {
            book: StockBook::default(),
            fair: Fair::new(listing, listing.activity * slots as f64),
            halted: false,
            populated: 0,
        };
        Self {
            stocks: universe.listings.iter().map(state).collect(),
            orders: Orders::default(),
            populated: Vec::new(),
            mix: Mix::new(slots),
            rng,
            market_slots: slots as f64,
            slots_before: SlotsBefore {
                open: arrivals.count_before(OPEN),
                close: arrivals.count_before(CLOSE),
                end_of_system_hours: arrivals.count_before(END_OF_SYSTEM_HOURS),
                end: slots,
            },
            taken: 0,
            refresh_at: 0,
            phase: Phase::BeforeOpen,
            live_target: 0.0,
            current: 0,
            clusters: 0,
            recent_stocks: Vec::with_capacity(RECENT_STOCKS as usize),
            crossing: None,
            recent_matches: Vec::with_capacity(RECENT_MATCHES),
        }
    }

    /// Turns the next slot of the clock into a message.
    pub(super) fn slot(&mut self, slot: Slot, universe: &Universe, tape: &mut Tape) {
        self.taken += 1;
        if self.taken > self.slots_before.end_of_system_hours {
            return self.delete_anywhere(universe, tape);
        }
        if self.taken >= self.refresh_at {
            self.refresh(slot.time);
        }
        if self.imbalance_due(slot.time) {
            let cross = if slot.time < OPEN { CrossType::Opening } else { CrossType::Closing };
            let stock = universe.pick(&mut self.rng);
            return self.imbalance(stock, cross, universe, tape);
        }
        if !(slot.in_cluster && self.rng.chance(SAME_STOCK)) {
            self.current = self.next_stock(universe);
        }
        self.act(self.current, universe, tape);
    }

    /// The stock that the next cluster is about.
    fn next_stock(&mut self, universe: &Universe) -> usize {
        let known = self.recent_stocks.len() as u64;
        let populated = self.populated.len() as u64;
        if self.phase == Phase::AfterClose && populated > 0 && self.rng.chance(CLEAN_UP) {
            return usize::from(self.populated[self.rng.below(populated) as usize]);
        }
        let stock = if known == RECENT_STOCKS && self.rng.chance(REVISIT) {
            let back = self.rng.log_uniform(1, known);
            let index = (self.clusters + RECENT_STOCKS - back) % RECENT_STOCKS;
            usize::from(self.recent_stocks[index as usize])
        } else {
            universe.pick(&mut self.rng)
        };
        if known < RECENT_STOCKS {
            self.recent_stocks.push(stock as u16);
        } else {
            self.recent_stocks[(self.clusters % RECENT_STOCKS) as usize] = stock as u16;
        }
        self.clusters += 1;
        stock
    }

    /// Makes a message besides the slots, in place of a planned one that is impossible.
    pub(super) fn another(&mut self, universe: &Universe, tape: &mut Tape) {
        let stock = universe.pick(&mut self.rng);
        self.act(stock, universe, tape);
    }

    /// Makes one message about this stock, or about another if this one allows none.
    fn act(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) {
        let listing = &universe.listings[stock];
        self.stocks[stock].fair.wander(listing, &mut self.rng);
        if self.within_reach(0) {
            let uniform = self.rng.unit();
            if let Some(kind) = self.mix.draw(uniform)
                && self.attempt(kind, stock, universe, tape)
            {
                self.mix.spend(kind);
                return;
            }
        }
        self.add_or_delete(stock, universe, tape);
    }

    fn attempt(&mut self, kind: Kind, stock: usize, universe: &Universe, tape: &mut Tape) -> bool {
        match kind {
            Kind::Replace => self.replace(stock, universe, tape),
            Kind::Cancel => self.cancel(stock, universe, tape),
            Kind::Execute => self.execute(stock, universe, tape, false),
            Kind::ExecuteWithPrice => self.execute(stock, universe, tape, true),
            Kind::Trade => self.trade(stock, universe, tape),
        }
    }

    /// Whether the books can still end empty if the live orders change by `change` now.
    fn within_reach(&self, change: i64) -> bool {
        let SlotsBefore { end_of_system_hours, end, .. } = self.slots_before;
        let at_end = (end - end_of_system_hours) as i64;
        let distance = self.orders.live() as i64 + change - at_end;
        distance.unsigned_abs() <= end_of_system_hours.saturating_sub(self.taken)
    }

    fn refresh(&mut self, time: u64) {
        let SlotsBefore { open, close, end_of_system_hours, .. } = self.slots_before;
        let (phase, until) = match self.taken {
            taken if taken <= open => (Phase::BeforeOpen, open),
            taken if taken <= close => (Phase::Regular, close),
            _ => (Phase::AfterClose, end_of_system_hours),
        };
        let horizon = until + 1 - self.taken.min(until);
        self.phase = phase;
        self.mix.refresh(phase, horizon);
        self.live_target = calendar::live_orders(time) * self.market_slots;
        self.refresh_at = (self.taken + (horizon / 64).clamp(1, REFRESH)).min(until + 1);
    }

    fn imbalance_due(&mut self, time: u64) -> bool {
        // An imbalance changes no book: skip it if every slot is needed for orders.
        if !self.within_reach(0) {
            return false;
        }
        if (OPENING_IMBALANCES..OPEN).contains(&time) {
            let left = self.slots_before.open + 1 - self.taken;
            let due = self.rng.chance(self.mix.opening_imbalance_chance(left));
            if due {
                self.mix.spend_opening_imbalance();
            }
            due
        } else if (CLOSING_IMBALANCES..CLOSE).contains(&time) {
            let left = self.slots_before.close + 1 - self.taken;
            let due = self.rng.chance(self.mix.closing_imbalance_chance(left));
            if due {
                self.mix.spend_closing_imbalance();
            }
            due
        } else {
            false
        }
    }

    fn add_or_delete(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) {
        let live = f64::from(self.stocks[stock].book.live());
        let share = universe.listings[stock].activity * (1.0 - EVENLY)
            + EVENLY / universe.listings.len() as f64;
        let target = self.live_target * share;
        let wish = 0.5 + 0.5 * (target - live) / (0.15 * target + 3.0);
        let add = self.rng.chance(wish.clamp(0.02, 0.98));
        match (add, self.within_reach(1), self.within_reach(-1)) {
            (true, true, _) => self.add(stock, universe, tape),
            (false, _, true) if live > 0.0 => self.delete(stock, universe, tape),
            (false, true, _) if live == 0.0 && self.phase != Phase::AfterClose => {
                self.add(stock, universe, tape);
            }
            (_, _, true) if self.orders.live() > 0 => self.delete_anywhere(universe, tape),
            (_, true, _) => self.add(stock, universe, tape),
            // Reached only if the books are already in their final state and one slot is left.
            _ => self.print_trade(stock, universe, tape),
        }
    }

    pub(super) fn set_halted(&mut self, stock: usize, halted: bool) {
        self.stocks[stock].halted = halted;
    }
}

/// The stock as it appears in messages. Locates begin at 1; 0 is not a stock.
pub(super) fn name(stock: usize, listing: &Listing) -> Stock {
    Stock { locate: StockLocate::new(stock as u16 + 1), symbol: listing.symbol }
}
