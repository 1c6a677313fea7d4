//! Applies one event at a time to all structures and the naive model.

use nanotape_book::{Anomaly, ChosenBooks, OrderStore as _, Outcome};
use nanotape_testkit::{
    naive::NaiveBooks,
    structures::{NamedBooks, every_structure},
};
use nanotape_types::{BookEvent, Modified, Price, Side, StockLocate};

type NaiveInside = [Option<(Price, u64)>; 2];

/// Books of every structure beside the naive model.
pub(crate) struct Lockstep {
    /// Describes the events in a failure message.
    about: String,
    structures: Vec<NamedBooks>,
    naive: NaiveBooks,
    /// The stocks of the events, and the inside of each.
    insides: Vec<(StockLocate, NaiveInside)>,
    events: u64,
    last: Option<BookEvent>,
}

impl Lockstep {
    /// Empty books. Events will be about these stocks.
    pub(crate) fn new(about: impl Into<String>, locates: &[StockLocate]) -> Self {
        Self {
            about: about.into(),
            structures: every_structure(1),
            naive: NaiveBooks::default(),
            insides: locates.iter().map(|&locate| (locate, [None; 2])).collect(),
            events: 0,
            last: None,
        }
    }

    /// Applies one event to all; each must have the outcome of the model.
    pub(crate) fn apply(&mut self, event: BookEvent) {
        self.events += 1;
        self.last = Some(event);
        let named = match event {
            BookEvent::Add { stock_locate, .. }
            | BookEvent::Execute { stock_locate, .. }
            | BookEvent::Cancel { stock_locate, .. }
            | BookEvent::Delete { stock_locate, .. }
            | BookEvent::Replace { stock_locate, .. } => stock_locate,
        };
        let found = match event {
            BookEvent::Add { .. } => None,
            BookEvent::Execute { reference, .. }
            | BookEvent::Cancel { reference, .. }
            | BookEvent::Delete { reference, .. }
            | BookEvent::Replace { original: reference, .. } => self.naive.order(reference),
        };
        // The stock that the event will concern, so that its anomalies can be counted before.
        let concerned = found.map_or(named, |order| order.stock_locate);
        let wrong_before = Anomaly::ALL.map(|kind| self.naive.anomalies(concerned, kind));
        assert_eq!(self.naive.apply(event), concerned, "{}", self.context());
        let wrong = Anomaly::ALL.map(|kind| self.naive.anomalies(concerned, kind));

        let now = self.naive.inside(concerned);
        let inside = self.insides.iter_mut().find(|(locate, _)| *locate == concerned);
        let (_, inside) = inside.expect("the stock was announced");
        let inside_changed = core::mem::replace(inside, now) != now;
        // The first in time, if a replace has two anomalies.
        let happened = |kind: Anomaly| wrong[kind as usize] > wrong_before[kind as usize];
        let mut first = Anomaly::ALL.into_iter().filter(|&kind| happened(kind));
        let anomaly = match happened(Anomaly::LocateMismatch) {
            true => Some(Anomaly::LocateMismatch),
            false => first.next(),
        };
        let expected = Outcome { stock_locate: concerned, inside_changed, anomaly };
        for at in 0..self.structures.len() {
            let NamedBooks { name, books } = &mut self.structures[at];
            if books.apply(event) != expected {
                let name = core::mem::take(name);
                panic!("{name} has another outcome than {expected:?}: {}", self.context());
            }
        }
    }

    /// Clears the book of a stock in all.
    pub(crate) fn clear(&mut self, locate: StockLocate) {
        self.events += 1;
        self.naive.clear(locate);
        self.rarely(locate, |books| books.clear(locate));
    }

    /// Modifies an order in all.
    pub(crate) fn modify(&mut self, stock_locate: StockLocate, change: Modified) {
        self.events += 1;
        let concerned = self.naive.modify(stock_locate, change);
        self.rarely(concerned, |books| books.modify(stock_locate, change));
    }

    /// Each structure must report the stock, and whether its inside changed.
    fn rarely(&mut self, concerned: StockLocate, change: impl Fn(&mut ChosenBooks) -> Outcome) {
        let now = self.naive.inside(concerned);
        let inside = self.insides.iter_mut().find(|(locate, _)| *locate == concerned);
        let (_, inside) = inside.expect("the stock was announced");
        let inside_changed = core::mem::replace(inside, now) != now;
        let context = self.context();
        for NamedBooks { name, books } in &mut self.structures {
            let outcome = change(books);
            let did = (outcome.stock_locate, outcome.inside_changed);
            assert_eq!(did, (concerned, inside_changed), "{name}: after {context}");
        }
    }

    /// Applies all events; compares everything at the end and after each `every` events.
    pub(crate) fn run(&mut self, events: impl IntoIterator<Item = BookEvent>, every: u64) {
        for event in events {
            self.apply(event);
            if self.events.is_multiple_of(every) {
                self.compare_everything();
            }
        }
        self.compare_everything();
    }

    /// Levels, orders, queues and anomalies of all stocks in all structures.
    pub(crate) fn compare_everything(&self) {
        for NamedBooks { name, books } in &self.structures {
            let context = format!("{name}: {}", self.context());
            for &(locate, _) in &self.insides {
                self.compare_book(books, locate, &context);
            }
            self.compare_orders(books, &context);
        }
    }

    /// Prints a line for each structure.
    pub(crate) fn report(&self) {
        for NamedBooks { name, .. } in &self.structures {
            println!("{} operations ({}), structure {name} agrees", self.events, self.about);
        }
    }

    fn context(&self) -> String {
        format!("{}, event {}: {:?}", self.about, self.events, self.last)
    }

    fn compare_book(&self, books: &ChosenBooks, locate: StockLocate, context: &str) {
        let (book, naive) = (books.book(locate), &self.naive);
        let mut in_queue_order = Vec::new();
        for side in Side::BOTH {
            let depth: Vec<_> =
                book.depth(side).map(|l| (l.price, l.shares.get(), l.orders.get())).collect();
            let expected = naive.depth(locate, side);
            assert_eq!(depth, expected, "{side} side of {locate}, {context}");
            assert_eq!(book.level_count(side), expected.len(), "{side} of {locate}, {context}");
            for (place, &(price, shares, orders)) in expected.iter().enumerate() {
                assert_eq!(book.better_levels(side, price), place, "{price:?}, {context}");
                let queue: Vec<_> =
                    books.queue(locate, side, price).iter().map(|order| order.reference).collect();
                assert_eq!(
                    queue,
                    naive.queue(locate, side, price),
                    "queue at {price:?}, {context}"
                );
                in_queue_order.extend(queue);
                let level = book.level(side, price).map(|l| (l.shares.get(), l.orders.get()));
                assert_eq!(level, Some((shares, orders)), "{context}");
            }
            let best = book.inside().side(side).map(|quote| (quote.price, quote.shares.get()));
            assert_eq!(best, naive.inside(locate)[side as usize], "{context}");
        }
        let orders = books.stock_in_queue_order(locate);
        assert!(orders.iter().map(|(reference, _)| reference).eq(&in_queue_order), "{context}");
        let mut tainted = false;
        for anomaly in Anomaly::ALL {
            let expected = naive.anomalies(locate, anomaly);
            assert_eq!(book.anomalies().of(anomaly), expected, "{anomaly} of {locate}, {context}");
            tainted |= expected > 0;
        }
        assert_eq!(book.is_tainted(), tainted, "{context}");
    }

    fn compare_orders(&self, books: &ChosenBooks, context: &str) {
        let naive = &self.naive;
        let mut stored: Vec<_> = books.orders().iter().map(|(reference, _)| reference).collect();
        stored.sort();
        assert!(stored.iter().copied().eq(naive.live()), "{context}");
        assert_eq!(books.orders().len(), stored.len(), "{context}");
        // A queue position walks all orders: of many orders, only a few hundred are checked.
        let stride = stored.len() / 300 + 1;
        for (number, reference) in naive.live().enumerate() {
            let order = books.order(reference).expect("it is stored");
            let expected = naive.order(reference).expect("it is live");
            assert_eq!(order.stock_locate, expected.stock_locate, "{context}");
            assert_eq!((order.side, order.price), (expected.side, expected.price), "{context}");
            assert_eq!(order.shares.get(), expected.shares, "{context}");
            if number.is_multiple_of(stride) {
                let position = books.queue_position(reference).expect("it is live");
                let ahead = Some((position.orders_ahead, position.shares_ahead));
                assert_eq!(ahead, naive.ahead(reference), "ahead of {reference}, {context}");
            }
        }
    }
}
