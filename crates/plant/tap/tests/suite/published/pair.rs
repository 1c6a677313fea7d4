//! A plant that takes one event at a time through [`PlantRun::live`], and a subscriber of its ring
//! that keeps books.

use nanotape_book::{Books, DefaultBooks, OrderStore, PriceLevels};
use nanotape_engine::BookEngine;
use nanotape_market::{
    EventHandler as _, EventTime, MarketEvent, MarketSnapshot, NoOrigin, Position, SessionChange,
    What,
};
use nanotape_plant::{
    PlantRun, ShutdownFlag,
    records::{Notice, PlantStop, Record},
};
use nanotape_ring::Start;
use nanotape_tap::{Event, Subscriber, Subscription};
use nanotape_types::{OrderReferenceNumber, Price, Shares, Side, StockLocate};

use crate::published::support::Folder;

/// Two stocks with names.
pub(crate) const STOCKS: [StockLocate; 2] = [StockLocate::new(7), StockLocate::new(9)];

/// A plant, its subscriber, and books that apply the same events directly.
pub(crate) struct Pair {
    pub(crate) plant: PlantRun,
    pub(crate) subscriber: Subscriber,
    pub(crate) books: BookEngine<DefaultBooks>,
    /// The number of the last message.
    number: u64,
    _folder: Folder,
}

/// A live order: reference, stock, side, price, shares. Without its time of arrival.
pub(crate) type Live = (OrderReferenceNumber, StockLocate, Side, Price, Shares);

impl Pair {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        let config = folder.config(&folder.day(12, 1));
        let mut plant = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
        let ring = Subscription::to(&folder.ring()).from(Start::Oldest).keep_books();
        let subscriber = ring.check_digests().open().unwrap();
        for (locate, name) in STOCKS.into_iter().zip(["AAPL", "MSFT"]) {
            plant.live().name(locate, name.parse().unwrap());
        }
        let books = BookEngine::new(DefaultBooks::with_capacity(64));
        let mut pair = Self { plant, subscriber, books, number: 0, _folder: folder };
        assert!(pair.records()[0].starts_with("start"));
        pair
    }

    /// Passes an event to the plant; returns its records, and whether it changed an inside.
    pub(crate) fn apply(&mut self, stock: StockLocate, what: What) -> (Vec<String>, bool) {
        self.apply_part(stock, what, true)
    }

    /// The same for a part of a change, which might not be the last.
    pub(crate) fn apply_part(
        &mut self,
        stock: StockLocate,
        what: What,
        is_last: bool,
    ) -> (Vec<String>, bool) {
        self.number += 1;
        let at = Position { number: self.number, offset: self.number };
        let time = Some(EventTime::new(1_000_000_000 * self.number));
        let event = MarketEvent { time, is_last, ..MarketEvent::about(stock, what) };
        assert!(self.plant.live().event(at, &event, NoOrigin).is_continue());
        let insides = |pair: &Self| STOCKS.map(|stock| pair.books.books().book(stock).inside());
        let before = insides(self);
        assert!(self.books.live(&mut ()).event(at, &event, NoOrigin).is_continue());
        (self.records(), before != insides(self))
    }

    /// Passes a snapshot to the plant, as after a loss; returns its records.
    pub(crate) fn restore(&mut self, snapshot: &MarketSnapshot) -> Vec<String> {
        let next = snapshot.next;
        self.plant.live().restore(snapshot);
        self.plant.live().session(&SessionChange::Restored { next });
        self.books.live(&mut ()).restore(snapshot);
        self.records()
    }

    /// The new records on the ring, one line each.
    pub(crate) fn records(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut visit = |event: Event<'_>| {
            let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
            lines.push(line(&delivery.record));
        };
        while self.subscriber.poll(&mut visit).unwrap() > 0 {}
        lines
    }

    /// The live orders of the subscriber, and those that it should have; each in queue order.
    pub(crate) fn orders(&self) -> [Vec<Live>; 2] {
        [orders_of(self.subscriber.books().unwrap().all()), orders_of(self.books.books())]
    }

    /// Ends the plant. The subscriber has the same digest of all records.
    pub(crate) fn end(mut self) -> PlantStop {
        let stop = self.plant.end();
        let mut is_same = None;
        while is_same.is_none() {
            let mut visit = |event: Event<'_>| {
                let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
                is_same = delivery.is_digest_same;
            };
            assert!(self.subscriber.poll(&mut visit).unwrap() > 0, "a stop has a digest");
        }
        assert_eq!(is_same, Some(true));
        stop
    }
}

pub(crate) fn orders_of<L: PriceLevels, S: OrderStore>(books: &Books<L, S>) -> Vec<Live> {
    let orders = books.in_queue_order().into_iter();
    let live = orders.map(|(reference, o)| (reference, o.stock_locate, o.side, o.price, o.shares));
    live.collect()
}

fn line(record: &Record<'_>) -> String {
    match record {
        Record::Mbo(mbo) => {
            let change = change(mbo.action, mbo.side, mbo.size, mbo.price);
            format!("{} mbo {change} #{} {}", mbo.hd.instrument_id, mbo.order_id, flags(mbo.flags))
        }
        Record::Bbo(bbo) => {
            let change = change(bbo.action, bbo.side, bbo.size, bbo.price);
            let [inside] = &bbo.levels;
            let (bid, offer) = (price(inside.bid_px), price(inside.ask_px));
            let levels = format!("{}x{bid} / {}x{offer}", inside.bid_sz, inside.ask_sz);
            format!("{} bbo {change} {} {levels}", bbo.hd.instrument_id, flags(bbo.flags))
        }
        Record::Notice(Notice::Start(_)) => "start".to_owned(),
        Record::Notice(Notice::Taint(taint)) => {
            let anomaly = taint.anomaly.map(|anomaly| anomaly.to_string());
            format!("{} taint {}", taint.instrument_id, anomaly.unwrap_or_default())
        }
        Record::Notice(Notice::Restored(restored)) => {
            format!("{} restored {:?}", restored.instrument_id, restored.cause)
        }
        other => format!("{other:?}"),
    }
}

fn change(action: core::ffi::c_char, side: core::ffi::c_char, shares: u32, at: i64) -> String {
    let letter = |code: core::ffi::c_char| char::from(code as u8);
    format!("{} {} {shares} at {}", letter(action), letter(side), price(at))
}

fn price(at: i64) -> String {
    if at == dbn::UNDEF_PRICE { "-".to_owned() } else { (at / 100_000).to_string() }
}

/// `L` for the last of its kind, `S` of a snapshot, `B` for a book that may be unreliable, `M` of a
/// level, `T` of a best level, `P` for an order that grows in its place.
fn flags(flags: dbn::FlagSet) -> String {
    let names = [
        (dbn::flags::LAST, "L"),
        (dbn::flags::SNAPSHOT, "S"),
        (dbn::flags::MAYBE_BAD_BOOK, "B"),
        (dbn::flags::MBP, "M"),
        (dbn::flags::TOB, "T"),
        (dbn::flags::PUBLISHER_SPECIFIC, "P"),
    ];
    let set = names.iter().filter(|(flag, _)| flags.raw() & flag != 0);
    format!("[{}]", set.map(|(_, name)| *name).collect::<String>())
}
