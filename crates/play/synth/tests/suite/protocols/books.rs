//! Naive books for all protocols: each level is a list of orders in order of priority.

use std::collections::{BTreeMap, HashMap};

use nanotape_types::{Side, Symbol};

/// A side (0 buys) and a price.
type Key = (u8, u32);

/// Levels as they are after an event, each with the sizes of its orders; without any it is gone.
type Sizes = Vec<(Key, Vec<u32>)>;

/// The levels of a stock, and how they were after each event.
#[derive(Clone, Default)]
struct Ladder {
    levels: BTreeMap<Key, Vec<(u64, u32)>>,
    time: u64,
    /// What the event that is open has changed, with the sizes before it.
    before: BTreeMap<Key, Vec<u32>>,
    log: Vec<(u64, Sizes)>,
}

impl Ladder {
    fn sizes(&self, key: Key) -> Vec<u32> {
        let orders = self.levels.get(&key).into_iter().flatten();
        orders.map(|&(_, shares)| shares).collect()
    }

    fn change(&mut self, time: u64, key: Key, change: impl FnOnce(&mut Vec<(u64, u32)>)) {
        assert!(time >= self.time, "events of a stock go on in time");
        assert!(self.before.is_empty() || time == self.time, "an event has one time");
        self.time = time;
        let before = self.sizes(key);
        self.before.entry(key).or_insert(before);
        let level = self.levels.entry(key).or_default();
        change(level);
        if level.is_empty() {
            self.levels.remove(&key);
        }
    }

    fn close(&mut self) {
        let before = core::mem::take(&mut self.before);
        let sizes = before.into_iter().filter(|(key, before)| self.sizes(*key) != *before);
        let sizes: Sizes = sizes.map(|(key, _)| (key, self.sizes(key))).collect();
        if !sizes.is_empty() {
            self.log.push((self.time, sizes));
        }
    }
}

/// A trade or a broken one: time, shares, price.
pub(super) type PrintRow = (u64, u32, u32);

/// What a day shows, by symbol. Two days of the same market are equal.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct DayLog {
    /// After each event that changed them: the levels that it changed.
    pub(super) levels: BTreeMap<Symbol, Vec<(u64, Sizes)>>,
    pub(super) prints: BTreeMap<Symbol, Vec<PrintRow>>,
    pub(super) breaks: BTreeMap<Symbol, Vec<PrintRow>>,
}

impl DayLog {
    /// The log of a feed that shows only the sum of each level.
    pub(super) fn summed(&self) -> Self {
        let mut summed = self.clone();
        for rows in summed.levels.values_mut() {
            let mut shown = HashMap::new();
            for (_, sizes) in rows.iter_mut() {
                for (_, sizes) in sizes.iter_mut() {
                    let sum = sizes.iter().sum();
                    *sizes = if sum == 0 { Vec::new() } else { vec![sum] };
                }
                sizes.retain(|(key, sizes)| {
                    shown.insert(*key, sizes.clone()).unwrap_or_default() != *sizes
                });
            }
            rows.retain(|(_, sizes)| !sizes.is_empty());
        }
        summed
    }

    /// The log of a feed that shows only the best level of each side.
    pub(super) fn best(&self) -> Self {
        let mut best = self.summed();
        for rows in best.levels.values_mut() {
            let mut ladder = BTreeMap::<Key, Vec<u32>>::new();
            let inside = |ladder: &BTreeMap<Key, Vec<u32>>| {
                let bid = ladder.range((0, 0)..(1, 0)).next_back();
                let offer = ladder.range((1, 0)..).next();
                let own = |level: (&Key, &Vec<u32>)| (*level.0, level.1.clone());
                bid.into_iter().chain(offer).map(own).collect::<Sizes>()
            };
            for (_, sizes) in rows.iter_mut() {
                for (key, sizes) in core::mem::take(sizes) {
                    match sizes.is_empty() {
                        true => ladder.remove(&key),
                        false => ladder.insert(key, sizes),
                    };
                }
                *sizes = inside(&ladder);
            }
            rows.dedup_by(|next, before| next.1 == before.1);
        }
        best
    }
}

/// Books under construction.
#[derive(Default)]
pub(super) struct NaiveBooks {
    /// By the number of the order: where it is.
    orders: HashMap<u64, (Symbol, Key)>,
    ladders: BTreeMap<Symbol, Ladder>,
    /// By the number of the trade.
    trades: HashMap<u64, (Symbol, u32, u32)>,
    /// The stock of the event that is open.
    open: Option<Symbol>,
    log: DayLog,
}

impl NaiveBooks {
    fn change(
        &mut self,
        time: u64,
        symbol: Symbol,
        key: Key,
        change: impl FnOnce(&mut Vec<(u64, u32)>),
    ) {
        assert!(self.open.is_none_or(|open| open == symbol), "an event has one stock");
        self.open = Some(symbol);
        self.ladders.entry(symbol).or_default().change(time, key, change);
    }

    /// Ends an event: the books are as they must be.
    pub(super) fn end_event(&mut self) {
        if let Some(ladder) = self.open.take().and_then(|symbol| self.ladders.get_mut(&symbol)) {
            ladder.close();
        }
    }

    pub(super) fn add(&mut self, time: u64, id: u64, symbol: Symbol, key: Key, shares: u32) {
        assert!(shares > 0 && key.1 > 0);
        assert_eq!(self.orders.insert(id, (symbol, key)), None, "order {id} is live");
        self.change(time, symbol, key, |level| level.push((id, shares)));
    }

    pub(super) fn price(&self, id: u64) -> u32 {
        self.orders[&id].1.1
    }

    pub(super) fn symbol(&self, id: u64) -> Symbol {
        self.orders[&id].0
    }

    pub(super) fn shares(&self, id: u64) -> u32 {
        let (symbol, key) = self.orders[&id];
        let level = &self.ladders[&symbol].levels[&key];
        level.iter().find(|order| order.0 == id).unwrap().1
    }

    /// Whether the order is the first of its level.
    pub(super) fn is_first(&self, id: u64) -> bool {
        let (symbol, key) = self.orders[&id];
        self.ladders[&symbol].levels[&key][0].0 == id
    }

    pub(super) fn remove(&mut self, time: u64, id: u64) {
        let (symbol, key) = self.orders.remove(&id).expect("a live order");
        self.change(time, symbol, key, |level| level.retain(|order| order.0 != id));
    }

    pub(super) fn reduce(&mut self, time: u64, id: u64, shares: u32) {
        let left = self.shares(id).checked_sub(shares).expect("as many shares");
        self.set(time, id, left);
    }

    /// Sets the shares of an order, which keeps its place.
    pub(super) fn set(&mut self, time: u64, id: u64, shares: u32) {
        if shares == 0 {
            return self.remove(time, id);
        }
        let (symbol, key) = self.orders[&id];
        self.change(time, symbol, key, |level| {
            level.iter_mut().find(|order| order.0 == id).unwrap().1 = shares;
        });
    }

    /// Moves an order to the end of a level, under the same or another number.
    pub(super) fn replace(&mut self, time: u64, ids: (u64, u64), price: u32, shares: u32) {
        let (symbol, (side, _)) = self.orders[&ids.0];
        self.remove(time, ids.0);
        self.add(time, ids.1, symbol, (side, price), shares);
    }

    /// Sets the shares of a level, of a feed without orders.
    pub(super) fn set_level(&mut self, time: u64, symbol: Symbol, key: Key, shares: u32) {
        self.change(time, symbol, key, |level| {
            level.clear();
            level.extend((shares > 0).then_some((0, shares)));
        });
    }

    /// The best levels of a feed that has no others.
    pub(super) fn set_side(&mut self, time: u64, symbol: Symbol, side: u8, best: (u32, u32)) {
        let ladder = self.ladders.entry(symbol).or_default();
        let keys: Vec<Key> = ladder.levels.keys().copied().filter(|key| key.0 == side).collect();
        for key in keys {
            self.change(time, symbol, key, Vec::clear);
        }
        if best.1 > 0 {
            self.change(time, symbol, (side, best.0), |level| level.push((0, best.1)));
        }
    }

    pub(super) fn print(&mut self, id: u64, symbol: Symbol, row: PrintRow) {
        let (_, shares, price) = row;
        assert_eq!(self.trades.insert(id, (symbol, shares, price)), None, "trade {id} is new");
        self.log.prints.entry(symbol).or_default().push(row);
    }

    pub(super) fn break_trade(&mut self, time: u64, id: u64) -> (Symbol, u32, u32) {
        let trade @ (symbol, shares, price) = self.trades.remove(&id).expect("a trade");
        self.log.breaks.entry(symbol).or_default().push((time, shares, price));
        trade
    }

    pub(super) fn is_traded(&self, id: u64) -> bool {
        self.trades.contains_key(&id)
    }

    /// All that happened. The day must end with empty books.
    pub(super) fn finish(mut self) -> DayLog {
        assert!(self.orders.is_empty());
        for (symbol, ladder) in self.ladders {
            assert!(ladder.levels.is_empty() && ladder.before.is_empty(), "{symbol}");
            if !ladder.log.is_empty() {
                self.log.levels.insert(symbol, ladder.log);
            }
        }
        self.log
    }
}

pub(super) fn key(side: Side, price: u32) -> Key {
    (side as u8, price)
}
