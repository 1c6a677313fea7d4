//! What happens to orders: each slot of the clock becomes one message that is possible then.
//!
//! Whatever is drawn, three things hold. A slot always becomes exactly one message. No book is
//! ever crossed or locked. And the number of live orders stays within reach of what the deletes
//! after the end of system hours can take down, so that all books end empty on the last of them.

use nanotape_types::{MatchNumber, Side, StockLocate};
use nanotape_wire::itch50::{CrossType, ImbalanceDirection, YesNo};

use super::{
    announcements::Imbalance,
    arrivals::{Arrivals, Slot},
    calendar::{self, CLOSE, CLOSING_IMBALANCES, END_OF_SYSTEM_HOURS, OPEN, OPENING_IMBALANCES},
    census::{ATTRIBUTED, Kind, Mix, Phase},
    placement::{self, Fair},
    rng::Rng,
    stock_book::{Handle, Orders, StockBook, TICK},
    tape::{Stock, Tape},
    universe::{Listing, Universe},
};

/// Chance that a message of a cluster is about the same stock as the one before.
const SAME_STOCK: f64 = 0.85;
/// Chance that an order to be taken down is one of the newest.
const RECENT: f64 = 0.55;
/// Chance that a delete takes an order that is better than the fair price warrants.
const DELETE_EXCESS: f64 = 0.4;
/// Share of orders that stay until the close.
const PATIENT: f64 = 0.03;
/// Part of the live orders that is spread evenly over the stocks, whatever their activity.
const EVENLY: f64 = 0.15;
/// Executions that a broken trade is drawn from.
const RECENT_MATCHES: usize = 64;
/// Chances are worked out anew after so many slots at the latest.
const REFRESH: u64 = 256;

/// What changes about a stock during the day.
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

/// All books, and what is done to them.
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
    crossing: Option<Crossing>,
    recent_matches: Vec<(usize, MatchNumber)>,
}

/// How many slots lie before the times at which something changes.
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
            fair: Fair::new(listing),
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
            self.current = universe.pick(&mut self.rng);
        }
        self.act(self.current, universe, tape);
    }

    /// A message beyond the slots, for something planned that is not possible.
    pub(super) fn another(&mut self, universe: &Universe, tape: &mut Tape) {
        let stock = universe.pick(&mut self.rng);
        self.act(stock, universe, tape);
    }

    /// One message about this stock, or about another if this one has nothing to offer.
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
        // An imbalance changes no book: not where every slot is needed for orders.
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
            // Only when the books are as they should be at the end and one slot is left over.
            _ => self.print_trade(stock, universe, tape),
        }
    }

    fn add(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) {
        let listing = &universe.listings[stock];
        let StockState { book, fair, .. } = &mut self.stocks[stock];
        let buys = f64::from(book.side_orders(Side::Buy));
        let sells = f64::from(book.side_orders(Side::Sell));
        // Leaning against the side with more orders keeps both sides populated.
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

    fn delete(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) {
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

    /// Deletes an order of any stock that has one; there is one.
    fn delete_anywhere(&mut self, universe: &Universe, tape: &mut Tape) {
        let index = self.rng.below(self.populated.len() as u64) as usize;
        self.delete(usize::from(self.populated[index]), universe, tape);
    }

    fn replace(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) -> bool {
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

    fn cancel(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) -> bool {
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

    /// Executes the first order at the best price of a side, at that price or between the sides.
    fn execute(
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

    fn trade(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) -> bool {
        if self.stocks[stock].halted {
            return false;
        }
        self.print_trade(stock, universe, tape);
        true
    }

    /// An execution of a hidden order, between the sides or at one of them.
    fn print_trade(&mut self, stock: usize, universe: &Universe, tape: &mut Tape) {
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

    /// What an auction would give now.
    pub(super) fn imbalance(
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

    /// An execution in a cross, of the first order at the best price of one side. False if there
    /// is none that the cross reaches.
    pub(super) fn cross_execution(
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

    /// The cross itself: what was executed for it and what was never displayed. Where a stock
    /// hardly trades it takes place without a share.
    pub(super) fn cross(
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

    /// Voids an earlier execution; false if there is none.
    pub(super) fn break_trade(&mut self, universe: &Universe, tape: &mut Tape) -> bool {
        if self.recent_matches.is_empty() {
            return false;
        }
        let index = self.rng.below(self.recent_matches.len() as u64) as usize;
        let (stock, matched) = self.recent_matches.swap_remove(index);
        tape.break_trade(name(stock, &universe.listings[stock]), matched);
        true
    }

    pub(super) fn set_halted(&mut self, stock: usize, halted: bool) {
        self.stocks[stock].halted = halted;
    }

    /// The price that an auction of the stock is talked about at.
    pub(super) fn reference_price(&self, stock: usize) -> u32 {
        let StockState { book, fair, .. } = &self.stocks[stock];
        match (book.best(Side::Buy), book.best(Side::Sell)) {
            (Some(bid), Some(offer)) if offer < 2 * bid => bid,
            _ => fair.price(),
        }
    }

    /// An order at the best price of a side that is better than it should be, some of the time.
    fn excessive(&mut self, stock: usize, listing: &Listing) -> Option<Handle> {
        let StockState { book, fair, .. } = &self.stocks[stock];
        let side = Side::BOTH.into_iter().find(|&side| fair.excess(side, book, listing) > 0)?;
        let handle = if self.rng.chance(0.5) { book.front(side) } else { book.back(side) };
        handle.filter(|_| self.rng.chance(DELETE_EXCESS))
    }

    /// An order to take down or change: before the close preferably not one that means to stay.
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

    fn remove(&mut self, stock: usize, handle: Handle) {
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

/// The stock as messages name it. Locates begin at 1: 0 is no stock.
pub(super) fn name(stock: usize, listing: &Listing) -> Stock {
    Stock { locate: StockLocate::new(stock as u16 + 1), symbol: listing.symbol }
}

/// Some of an order's shares, but not all: round lots where there are several.
fn part(shares: u32, rng: &mut Rng) -> u32 {
    if shares > 100 {
        rng.between(1, u64::from((shares - 1) / 100)) as u32 * 100
    } else {
        rng.between(1, u64::from(shares - 1)) as u32
    }
}
