//! GLIMPSE: a snapshot of the books at any moment of the day.
//!
//! Protocol: a [`Glimpse`] follows the messages of the day and keeps what a snapshot needs. A
//! [`Snapshot`] has the system events so far and the states of all stocks. Then come all live
//! orders with their remaining shares, in time priority within each price level. Its last message
//! has the number of the first message that is not in the snapshot.
//! Bounds: the live orders of the day, 64 system events, and the latest state of each stock.
//! Cost: a snapshot costs in proportion to the live orders, wherever the day is.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use nanotape_book::{Anomaly, DefaultBooks, OrderStore as _};
use nanotape_feed::{
    book_event,
    soupbintcp::{MAX_MESSAGE_BYTES, MessageStore},
};
use nanotape_types::{
    Alpha, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Sentinel as _, StockLocate,
    Symbol, TrackingNumber,
};
use nanotape_wire::{
    itch50::{
        AddOrderFields, AddOrderMpidFields, BuySellIndicator, Message, OperationalHalt,
        RegShoRestriction, RetailPriceImprovement, StockDirectory, StockTradingAction, SystemEvent,
    },
    soupbintcp::{GlimpseEndOfSnapshotFields, format_number},
};

use crate::history::History;

/// The most system events of a snapshot; a day has six.
const MOST_EVENTS: usize = 64;

/// The latest messages about a stock.
#[derive(Clone, Debug)]
struct Stock {
    symbol: Symbol,
    directory: Option<[u8; StockDirectory::LEN]>,
    trading: Option<[u8; StockTradingAction::LEN]>,
    reg_sho: Option<[u8; RegShoRestriction::LEN]>,
    retail: Option<[u8; RetailPriceImprovement::LEN]>,
    /// By the code of the market.
    halts: BTreeMap<u8, [u8; OperationalHalt::LEN]>,
}

impl Default for Stock {
    fn default() -> Self {
        let (directory, trading, reg_sho, retail) = (None, None, None, None);
        let (symbol, halts) = (Symbol::ABSENT, BTreeMap::new());
        Self { symbol, directory, trading, reg_sho, retail, halts }
    }
}

/// The state of the day that snapshots are made from.
#[derive(Debug)]
pub struct Glimpse {
    books: DefaultBooks,
    /// The attributions of live orders that have one.
    attributions: HashMap<OrderReferenceNumber, Mpid>,
    events: Vec<[u8; SystemEvent::LEN]>,
    stocks: BTreeMap<StockLocate, Stock>,
    time: NanosSinceMidnight,
    /// Number of the next message.
    next: u64,
}

impl Glimpse {
    /// The state before the first message, with room for `orders` live orders before it grows.
    pub fn with_capacity(orders: usize) -> Self {
        Self {
            books: DefaultBooks::with_capacity(orders),
            attributions: HashMap::new(),
            events: Vec::new(),
            stocks: BTreeMap::new(),
            time: NanosSinceMidnight::default(),
            next: 1,
        }
    }

    /// Number of the next message.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Live orders.
    pub fn live_orders(&self) -> usize {
        self.books.orders().len()
    }

    /// Applies up to `most` messages that the history has published. Returns whether there are no
    /// more of them.
    pub fn follow(&mut self, history: &mut History, most: u64) -> bool {
        let end = history.next();
        let stop = end.min(self.next.saturating_add(most));
        while self.next < stop {
            match history.read(self.next) {
                Some(message) => self.apply(message),
                // The file shrank: the state stays at the last message.
                None => return true,
            }
        }
        self.next == end
    }

    /// Applies the next message of the day.
    pub fn apply(&mut self, bytes: &[u8]) {
        self.next += 1;
        let Ok(message) = Message::decode(bytes) else { return };
        if let Some(time) = message.timestamp() {
            self.time = time;
        }
        match message {
            Message::SystemEvent(event) if self.events.len() < MOST_EVENTS => {
                self.events.push(*event.as_bytes());
            }
            Message::StockDirectory(m) => {
                let stock = self.stock(m.stock_locate());
                (stock.symbol, stock.directory) = (m.stock(), Some(*m.as_bytes()));
            }
            Message::StockTradingAction(m) => {
                self.stock(m.stock_locate()).trading = Some(*m.as_bytes());
            }
            Message::RegShoRestriction(m) => {
                self.stock(m.stock_locate()).reg_sho = Some(*m.as_bytes());
            }
            Message::RetailPriceImprovement(m) => {
                self.stock(m.stock_locate()).retail = Some(*m.as_bytes());
            }
            Message::OperationalHalt(m) => {
                let stock = self.stock(m.stock_locate());
                stock.halts.insert(m.market_code().code(), *m.as_bytes());
            }
            other => self.apply_to_books(&other),
        }
    }

    /// The snapshot before the next message.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let stocks = || self.stocks.values();
        self.events.iter().for_each(|message| snapshot.push(message));
        stocks().flat_map(|stock| &stock.directory).for_each(|message| snapshot.push(message));
        stocks().flat_map(|stock| &stock.trading).for_each(|message| snapshot.push(message));
        stocks().flat_map(|stock| &stock.reg_sho).for_each(|message| snapshot.push(message));
        stocks().flat_map(|stock| &stock.retail).for_each(|message| snapshot.push(message));
        stocks().flat_map(|stock| stock.halts.values()).for_each(|message| snapshot.push(message));
        self.push_orders(&mut snapshot);
        let sequence_number = format_number(self.next).unwrap_or(Alpha::ABSENT);
        snapshot.push(&GlimpseEndOfSnapshotFields { sequence_number }.encode());
        snapshot.first_after = self.next;
        snapshot
    }

    fn stock(&mut self, locate: StockLocate) -> &mut Stock {
        self.stocks.entry(locate).or_default()
    }

    fn apply_to_books(&mut self, message: &Message<'_>) {
        let Some(event) = book_event(message) else { return };
        let anomaly = self.books.apply(event).anomaly;
        match message {
            Message::AddOrder(m) => self.name(m.stock_locate(), m.stock()),
            Message::AddOrderMpid(m) => {
                self.name(m.stock_locate(), m.stock());
                // A reference that was live already keeps its own order.
                if anomaly.is_none() {
                    self.attributions.insert(m.order_reference_number(), m.attribution());
                }
            }
            Message::OrderExecuted(m) => self.forget_if_gone(m.order_reference_number()),
            Message::OrderExecutedWithPrice(m) => self.forget_if_gone(m.order_reference_number()),
            Message::OrderCancel(m) => self.forget_if_gone(m.order_reference_number()),
            Message::OrderDelete(m) => self.forget_if_gone(m.order_reference_number()),
            Message::OrderReplace(m) => {
                let attribution = self.attributions.remove(&m.original_order_reference_number());
                let new = m.new_order_reference_number();
                let is_entered = anomaly.is_none_or(|anomaly| anomaly == Anomaly::LocateMismatch);
                if let Some(attribution) = attribution.filter(|_| is_entered)
                    && self.books.order(new).is_some()
                {
                    self.attributions.insert(new, attribution);
                }
            }
            _ => {}
        }
    }

    /// Takes the symbol of a stock without a directory message from its orders.
    fn name(&mut self, locate: StockLocate, symbol: Symbol) {
        let stock = self.stock(locate);
        if stock.symbol == Symbol::ABSENT {
            stock.symbol = symbol;
        }
    }

    fn forget_if_gone(&mut self, reference: OrderReferenceNumber) {
        if self.attributions.contains_key(&reference) && self.books.order(reference).is_none() {
            self.attributions.remove(&reference);
        }
    }

    fn push_orders(&self, snapshot: &mut Snapshot) {
        for (order_reference_number, order) in self.books.in_queue_order() {
            let stock_locate = order.stock_locate;
            let stock = self.stocks.get(&stock_locate).map_or(Symbol::ABSENT, |s| s.symbol);
            let (tracking_number, timestamp) = (TrackingNumber::default(), self.time);
            let buy_sell_indicator = BuySellIndicator::from(order.side);
            // Its orders came in messages of ITCH.
            let price = Price4::new(order.price.code());
            let shares = order.shares;
            match self.attributions.get(&order_reference_number) {
                None => snapshot.push(
                    &AddOrderFields {
                        stock_locate,
                        tracking_number,
                        timestamp,
                        order_reference_number,
                        buy_sell_indicator,
                        shares,
                        stock,
                        price,
                    }
                    .encode(),
                ),
                Some(&attribution) => snapshot.push(
                    &AddOrderMpidFields {
                        stock_locate,
                        tracking_number,
                        timestamp,
                        order_reference_number,
                        buy_sell_indicator,
                        shares,
                        stock,
                        price,
                        attribution,
                    }
                    .encode(),
                ),
            }
        }
    }
}

/// The messages of one snapshot.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    bytes: Vec<u8>,
    /// Where each message ends.
    ends: Vec<usize>,
    first_after: u64,
}

impl Snapshot {
    /// Number of messages, the end included.
    pub fn count(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Number of the first message of the day that is not in the snapshot.
    pub fn first_after(&self) -> u64 {
        self.first_after
    }

    /// A message, from 1.
    pub fn message(&self, number: u64) -> Option<&[u8]> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let end = *self.ends.get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        self.bytes.get(start..end)
    }

    /// All messages.
    pub fn messages(&self) -> impl Iterator<Item = &[u8]> {
        (1..=self.count()).filter_map(|number| self.message(number))
    }

    fn push(&mut self, message: &[u8]) {
        debug_assert!(message.len() <= MAX_MESSAGE_BYTES);
        self.bytes.extend_from_slice(message);
        self.ends.push(self.bytes.len());
    }
}

/// The messages of one connection to a GLIMPSE server: each login gets a snapshot of its moment.
/// The connections of a server share the state that snapshots are made from.
#[derive(Clone, Debug)]
pub struct GlimpseSession {
    glimpse: Rc<RefCell<Glimpse>>,
    history: History,
    snapshot: Snapshot,
}

impl GlimpseSession {
    /// A connection that has not logged in.
    pub fn new(glimpse: Rc<RefCell<Glimpse>>, history: History) -> Self {
        Self { glimpse, history, snapshot: Snapshot::default() }
    }
}

impl MessageStore for GlimpseSession {
    fn session(&self) -> Alpha<10> {
        self.history.session()
    }

    fn next(&self) -> u64 {
        self.snapshot.count() + 1
    }

    /// The client logs out.
    fn is_over(&self) -> bool {
        false
    }

    fn message(&mut self, number: u64) -> Option<&[u8]> {
        self.snapshot.message(number)
    }

    fn opened(&mut self) {
        let mut glimpse = self.glimpse.borrow_mut();
        glimpse.follow(&mut self.history, u64::MAX);
        self.snapshot = glimpse.snapshot();
    }
}
