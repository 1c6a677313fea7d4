//! The order books as the specification words them, one sentence at a time.
//!
//! Orders are in one sorted map; a level is a queue of references. All derived values (shares of a
//! level, the inside, the orders ahead) are computed from these, every time.

use std::collections::BTreeMap;

use nanotape_book::Anomaly;
use nanotape_types::{
    BookEvent, Modified, OrderReferenceNumber, Price, Priority, Shares, Side, StockLocate,
};

/// A displayed order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NaiveOrder {
    /// The stock it was added under.
    pub stock_locate: StockLocate,
    /// Its side.
    pub side: Side,
    /// Its price.
    pub price: Price,
    /// Shares that remain.
    pub shares: u32,
}

/// All books, without optimisation.
#[derive(Default, Debug)]
pub struct NaiveBooks {
    orders: BTreeMap<OrderReferenceNumber, NaiveOrder>,
    /// Front of the queue first.
    queues: BTreeMap<(StockLocate, Side, Price), Vec<OrderReferenceNumber>>,
    anomalies: BTreeMap<(StockLocate, Anomaly), u32>,
}

impl NaiveBooks {
    /// Applies one event and returns the stock it concerns.
    pub fn apply(&mut self, event: BookEvent) -> StockLocate {
        match event {
            BookEvent::Add { stock_locate, reference, side, shares, price } => {
                self.add(stock_locate, reference, side, shares, price);
                stock_locate
            }
            BookEvent::Execute { stock_locate, reference, shares } => {
                self.reduce(stock_locate, reference, shares, Anomaly::OverExecution)
            }
            BookEvent::Cancel { stock_locate, reference, shares } => {
                self.reduce(stock_locate, reference, shares, Anomaly::OverCancel)
            }
            BookEvent::Delete { stock_locate, reference } => {
                match self.locate_of(stock_locate, reference) {
                    Some(locate) => {
                        self.remove(reference);
                        locate
                    }
                    None => stock_locate,
                }
            }
            BookEvent::Replace { stock_locate, original, replacement, shares, price } => {
                let Some(locate) = self.locate_of(stock_locate, original) else {
                    return stock_locate;
                };
                let side = self.remove(original).side;
                self.add(locate, replacement, side, shares, price);
                locate
            }
        }
    }

    /// Removes every order of a stock.
    pub fn clear(&mut self, stock_locate: StockLocate) {
        self.orders.retain(|_, order| order.stock_locate != stock_locate);
        self.queues.retain(|(locate, ..), _| *locate != stock_locate);
    }

    /// Modifies an order, and returns the stock it concerns.
    pub fn modify(&mut self, stock_locate: StockLocate, change: Modified) -> StockLocate {
        let Modified { reference, side, shares, price, priority } = change;
        let Some(order) = self.order(reference) else {
            self.record(stock_locate, Anomaly::UnknownReference);
            if let Some(side) = side {
                self.add(stock_locate, reference, side, shares, price);
            }
            return stock_locate;
        };
        if side.is_some_and(|side| order.side != side) {
            self.record(order.stock_locate, Anomaly::UnknownSide);
            return order.stock_locate;
        }
        if order.stock_locate != stock_locate {
            self.record(order.stock_locate, Anomaly::LocateMismatch);
        }
        let stays = match priority {
            Priority::Kept => true,
            Priority::Lost => false,
            Priority::KeptIfLess => shares.get() <= order.shares,
        };
        if shares.get() == 0 {
            self.remove(reference);
        } else if price == order.price && stays {
            let order = self.orders.get_mut(&reference).expect("it is live");
            order.shares = shares.get();
        } else {
            self.remove(reference);
            self.add(order.stock_locate, reference, order.side, shares, price);
        }
        order.stock_locate
    }

    /// The stock of a live order. Records an anomaly if it is not live, or if the message has
    /// another stock.
    fn locate_of(
        &mut self,
        in_message: StockLocate,
        reference: OrderReferenceNumber,
    ) -> Option<StockLocate> {
        let Some(order) = self.orders.get(&reference) else {
            self.record(in_message, Anomaly::UnknownReference);
            return None;
        };
        let locate = order.stock_locate;
        if locate != in_message {
            self.record(locate, Anomaly::LocateMismatch);
        }
        Some(locate)
    }

    fn add(
        &mut self,
        stock_locate: StockLocate,
        reference: OrderReferenceNumber,
        side: Side,
        shares: Shares,
        price: Price,
    ) {
        let shares = shares.get();
        if shares == 0 {
            self.record(stock_locate, Anomaly::ZeroShares);
        } else if self.order(reference).is_some() {
            self.record(stock_locate, Anomaly::DuplicateReference);
        } else {
            self.orders.insert(reference, NaiveOrder { stock_locate, side, price, shares });
            self.queues.entry((stock_locate, side, price)).or_default().push(reference);
        }
    }

    fn reduce(
        &mut self,
        in_message: StockLocate,
        reference: OrderReferenceNumber,
        shares: Shares,
        over: Anomaly,
    ) -> StockLocate {
        let Some(locate) = self.locate_of(in_message, reference) else { return in_message };
        let has = self.orders[&reference].shares;
        if shares.get() > has && locate == in_message {
            self.record(locate, over);
        }
        if shares.get() >= has {
            self.remove(reference);
        } else if let Some(order) = self.orders.get_mut(&reference) {
            order.shares -= shares.get();
        }
        locate
    }

    fn remove(&mut self, reference: OrderReferenceNumber) -> NaiveOrder {
        let order = self.orders.remove(&reference).expect("only live orders are removed");
        let key = (order.stock_locate, order.side, order.price);
        let queue = self.queues.get_mut(&key).expect("a live order stands in a queue");
        queue.retain(|&other| other != reference);
        if queue.is_empty() {
            self.queues.remove(&key);
        }
        order
    }

    fn record(&mut self, stock_locate: StockLocate, anomaly: Anomaly) {
        *self.anomalies.entry((stock_locate, anomaly)).or_default() += 1;
    }

    /// Levels of one side, best first: price, shares, orders.
    pub fn depth(&self, locate: StockLocate, side: Side) -> Vec<(Price, u64, u32)> {
        let range = (locate, side, Price::new(0))..=(locate, side, Price::new(u32::MAX));
        let ascending = self.queues.range(range).map(|(&(_, _, price), queue)| {
            let shares = queue.iter().map(|r| u64::from(self.orders[r].shares)).sum();
            (price, shares, queue.len() as u32)
        });
        match side {
            Side::Buy => ascending.rev().collect(),
            Side::Sell => ascending.collect(),
        }
    }

    /// Best price and its shares, bids first.
    pub fn inside(&self, locate: StockLocate) -> [Option<(Price, u64)>; 2] {
        Side::BOTH
            .map(|side| self.depth(locate, side).first().map(|&(price, shares, _)| (price, shares)))
    }

    /// References at a price, front of the queue first.
    pub fn queue(
        &self,
        locate: StockLocate,
        side: Side,
        price: Price,
    ) -> Vec<OrderReferenceNumber> {
        self.queues.get(&(locate, side, price)).cloned().unwrap_or_default()
    }

    /// Orders and shares ahead of a live order.
    pub fn ahead(&self, reference: OrderReferenceNumber) -> Option<(u32, u64)> {
        let order = self.orders.get(&reference)?;
        let queue = &self.queues[&(order.stock_locate, order.side, order.price)];
        let ahead = queue.iter().take_while(|&&other| other != reference);
        Some(ahead.fold((0, 0), |(n, s), r| (n + 1, s + u64::from(self.orders[r].shares))))
    }

    /// A live order.
    pub fn order(&self, reference: OrderReferenceNumber) -> Option<NaiveOrder> {
        self.orders.get(&reference).copied()
    }

    /// References of all live orders.
    pub fn live(&self) -> impl Iterator<Item = OrderReferenceNumber> + '_ {
        self.orders.keys().copied()
    }

    /// How often a kind of anomaly occurred in one stock.
    pub fn anomalies(&self, locate: StockLocate, anomaly: Anomaly) -> u32 {
        self.anomalies.get(&(locate, anomaly)).copied().unwrap_or(0)
    }
}
