//! Snapshots in a live plant, through real sockets: the stocks that it reports are those whose
//! books differ, and afterwards every book is that of the day.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    path::Path,
};

use nanotape_book::{Books, DefaultBooks, OrderStore, PriceLevels};
use nanotape_feed::{Damage, DaySource, MessageHandler, Position, book_event, read_day};
use nanotape_market::MessageNumbers;
use nanotape_plant::{
    LocalBooks,
    records::{GapKind, Notice, Record, RestoredCause},
};
use nanotape_ring::Start;
use nanotape_tap::{Event, Subscription};
use nanotape_types::{OrderReferenceNumber, StockLocate};
use nanotape_wire::itch50::Message;

use crate::support::{
    Folder,
    live::{Plant, SNAPSHOTS, day},
    nanotape,
    plants::Ring,
};

/// The messages of a day.
struct Day(Vec<Vec<u8>>);

impl Day {
    fn read(path: &str) -> Self {
        let mut day = Self(Vec::new());
        let mut source = DaySource::open(Path::new(path)).unwrap();
        read_day(&mut source, &mut day, |_| ()).unwrap();
        day
    }

    /// Applies message `number`, counted from 1; returns the stock that it does not fit.
    fn apply(&self, number: u64, books: &mut DefaultBooks) -> Option<StockLocate> {
        let message = Message::decode(&self.0[number as usize - 1]).unwrap();
        let outcome = books.apply(book_event(&message)?);
        outcome.anomaly.map(|_| outcome.stock_locate)
    }
}

impl MessageHandler for Day {
    fn message(&mut self, _: Position, message: Message<'_>) -> ControlFlow<()> {
        self.0.push(message.as_bytes().to_vec());
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: Damage) {
        panic!("{damage}");
    }
}

/// Live orders by stock, in queue order, without the time of their arrival.
fn orders_of<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
) -> BTreeMap<StockLocate, Vec<(OrderReferenceNumber, u32, u32)>> {
    let mut stocks: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (reference, order) in books.in_queue_order() {
        let order = (order.stock_locate, (reference, order.shares.get(), order.price.code()));
        stocks.entry(order.0).or_default().push(order.1);
    }
    stocks
}

/// The stocks whose books differ.
fn different(one: &DefaultBooks, other: &DefaultBooks) -> BTreeSet<StockLocate> {
    let (one, other) = (orders_of(one), orders_of(other));
    let stocks = one.keys().chain(other.keys()).copied();
    stocks.filter(|stock| one.get(stock) != other.get(stock)).collect()
}

/// What a plant must report, from the day and the messages that it missed.
struct Model<'d> {
    day: &'d Day,
    /// With all messages, and with those that the plant had.
    truth: DefaultBooks,
    ours: DefaultBooks,
    next: u64,
    missed: BTreeSet<u64>,
    /// Stocks that a message did not fit since the last snapshot.
    unfit: BTreeSet<StockLocate>,
}

impl<'d> Model<'d> {
    fn new(day: &'d Day) -> Self {
        let books = || DefaultBooks::with_capacity(1 << 12);
        let (missed, unfit) = (BTreeSet::new(), BTreeSet::new());
        Self { day, truth: books(), ours: books(), next: 1, missed, unfit }
    }

    /// Applies the messages before `next`.
    fn advance(&mut self, next: u64) {
        for number in self.next..next {
            self.day.apply(number, &mut self.truth);
            if !self.missed.contains(&number) {
                self.unfit.extend(self.day.apply(number, &mut self.ours));
            }
        }
        self.next = self.next.max(next);
    }

    /// A snapshot replaced the books.
    fn restore(&mut self) {
        self.ours = DefaultBooks::with_capacity(1 << 12);
        for number in 1..self.next {
            self.day.apply(number, &mut self.ours);
        }
        self.unfit.clear();
    }
}

/// What was seen on the ring.
#[derive(Default)]
struct Seen {
    snapshots: u64,
    replaced: BTreeSet<StockLocate>,
    same: BTreeSet<StockLocate>,
    tainted: BTreeSet<StockLocate>,
    total_replaced: usize,
}

impl Seen {
    fn record(&mut self, record: Record<'_>, books: &LocalBooks, model: &mut Model<'_>) {
        let Record::Notice(notice) = record else { return };
        match notice {
            Notice::Gap(gap) if gap.kind == GapKind::Missing => {
                model.missed.extend(gap.offset..gap.offset + gap.lost_bytes);
            }
            Notice::Taint(taint) => {
                self.tainted.insert(stock(taint.instrument_id));
            }
            Notice::Restored(restored) => match restored.cause {
                RestoredCause::Replaced => {
                    self.replaced.insert(stock(restored.instrument_id));
                }
                RestoredCause::Same => {
                    self.same.insert(stock(restored.instrument_id));
                }
                RestoredCause::Snapshot => self.restored(restored.next, books, model),
                _ => {}
            },
            _ => {}
        }
    }

    /// All books are those of the snapshot before message `next`.
    fn restored(&mut self, next: u64, books: &LocalBooks, model: &mut Model<'_>) {
        model.advance(next);
        let expected = different(&model.ours, &model.truth);
        let numbers = MessageNumbers { first: 1, next };
        assert_eq!(self.replaced, expected, "{numbers}");
        let reported: BTreeSet<_> = self.replaced.union(&self.same).copied().collect();
        assert_eq!(self.tainted, reported, "every taint ends");
        let unfit: BTreeSet<_> = model.unfit.union(&self.replaced).copied().collect();
        assert_eq!(self.tainted, unfit, "{numbers}: only what differs or did is tainted");
        assert!(different(books.all(), &model.truth).is_empty(), "{numbers}: a subscriber's books");
        model.restore();
        self.snapshots += 1;
        self.total_replaced += self.replaced.len();
        (self.replaced, self.same, self.tainted) = Default::default();
    }
}

fn stock(instrument_id: u32) -> StockLocate {
    StockLocate::new(u16::try_from(instrument_id).unwrap())
}

#[test]
fn a_snapshot_restores_exactly_the_stocks_that_differ() {
    let folder = Folder::new("live-recovery");
    let path = day(&folder);
    let mut plant = Plant::start("live-recovery", &[SNAPSHOTS]);
    let options = ["--faults-both", "drop=0.2%", "--seed", "5", "--linger", "6s"];
    let pace = ["--pace", "10000x", "--rerequest-faults", "dead"];
    plant.send(&path, &[options.as_slice(), &pace].concat());
    let (_, stop, stderr) = plant.end();
    assert_eq!(stop["reason"], "end of session", "{stderr}");
    assert_eq!(stop["tainted_stocks"], 0, "every taint ended: {stop}");
    assert_eq!(stop["session_suspect"], false, "{stop}");
    assert!(stop["gap_messages_in_snapshot"].as_u64().unwrap() > 0, "{stop}");
    assert_eq!(stop["gap_messages_lost"], 0, "{stop}");
    assert_eq!(
        stop["definitions_records"], 30,
        "no snapshot repeats a stock that is known: {stop}"
    );

    let day = Day::read(&path);
    let (mut model, mut seen) = (Model::new(&day), Seen::default());
    let ring = Subscription::to(plant.ring.path()).from(Start::Oldest).keep_books();
    let mut subscriber = ring.open().unwrap();
    let mut visit = |event: Event<'_>| {
        let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
        seen.record(delivery.record, delivery.books.unwrap(), &mut model);
    };
    while subscriber.poll(&mut visit).unwrap() > 0 {}
    let books = subscriber.books().unwrap();
    model.advance(day.0.len() as u64 + 1);
    assert!(different(books.all(), &model.truth).is_empty());
    assert!(seen.snapshots > 1, "{}", seen.snapshots);
    assert!(seen.total_replaced > 0, "some books differed");
}

#[test]
fn a_plant_that_joins_late_begins_with_a_snapshot() {
    let folder = Folder::new("live-late");
    let path = day(&folder);
    let mut plant = Plant::start("live-late", &["--join", "snapshot", SNAPSHOTS]);
    // The lines begin in mid-session; the servers have the whole day.
    plant.send(&path, &["--from", "10:00", "--pace", "10000x", "--linger", "3s"]);
    let (status, stop, stderr) = plant.end();
    // A snapshot of before the first packet leaves a gap, which another snapshot closes.
    let expected = if stop["damaged"] == 0 { 0 } else { 1 };
    assert_eq!(status, Some(expected), "{stop} {stderr}");
    assert_eq!(stop["session_suspect"], false, "{stop} {stderr}");

    let day = Day::read(&path);
    let mut truth = DefaultBooks::with_capacity(1 << 12);
    let (mut next, mut restored, mut insides) = (1, None, 0);
    let ring = Subscription::to(plant.ring.path()).from(Start::Oldest).keep_books();
    let mut subscriber = ring.open().unwrap();
    let mut visit = |event: Event<'_>| {
        let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
        match delivery.record {
            // A second snapshot also restores single stocks.
            Record::Notice(Notice::Restored(notice)) if notice.cause == RestoredCause::Snapshot => {
                while next < notice.next {
                    day.apply(next, &mut truth);
                    next += 1;
                }
                assert!(next > 1_000, "{next}");
                assert!(!orders_of(&truth).is_empty());
                assert!(different(delivery.books.unwrap().all(), &truth).is_empty());
                restored = Some(next);
            }
            // Up to the next snapshot no book is certain.
            Record::Notice(Notice::Gap(_) | Notice::Suspect(_)) => restored = None,
            Record::Bbo(bbo) if restored.is_some() => {
                let number = u64::from(bbo.sequence);
                while next <= number {
                    day.apply(next, &mut truth);
                    next += 1;
                }
                let book = truth.book(stock(bbo.hd.instrument_id));
                let best = book.inside().bid.map(|quote| book.price_scale().nanos(quote.price));
                let published = bbo.levels[0].bid_px;
                assert_eq!((published != i64::MAX).then_some(published), best, "{number}");
                assert!(!bbo.flags.is_maybe_bad_book());
                insides += 1;
            }
            _ => {}
        }
    };
    while subscriber.poll(&mut visit).unwrap() > 0 {}
    assert!(restored.is_some() && insides > 100, "{restored:?}, {insides} insides");
}

#[test]
fn with_the_policy_to_go_on_no_unflagged_inside_is_wrong() {
    let folder = Folder::new("live-flag");
    let (path, kept) = (day(&folder), folder.path("kept"));
    let options = ["--gap-policy", "flag", "--join", "start", "--keep", &kept];
    let mut plant = Plant::start("live-flag", &options);
    let faults = ["--faults-both", "drop=0.5%", "--seed", "7", "--linger", "4s"];
    let pace = ["--pace", "5000x", "--rerequest-faults", "delay=15ms"];
    plant.send(&path, &[faults.as_slice(), &pace].concat());
    let (status, stop, stderr) = plant.end();
    assert_eq!(status, Some(0), "{stop} {stderr}");
    assert_eq!(stop["messages"], 20_000, "{stop}");
    assert_eq!(stop["tainted_stocks"], 0, "{stop}");
    assert_eq!(stop["session_suspect"], false, "{stop}");

    let day = Day::read(&path);
    let (mut model, mut open, mut unflagged, mut flagged, mut replaced) =
        (Model::new(&day), false, 0, 0, 0);
    let ring = Subscription::to(plant.ring.path()).from(Start::Oldest).keep_books();
    let mut subscriber = ring.open().unwrap();
    let mut visit = |event: Event<'_>| {
        let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
        match delivery.record {
            Record::Notice(Notice::SessionGap(notice)) => open = notice.gap.closed_ns == 0,
            Record::Notice(Notice::Restored(notice)) => {
                replaced += u64::from(notice.cause == RestoredCause::Replaced);
                if notice.cause == RestoredCause::Complete {
                    model.advance(notice.next);
                    let books = delivery.books.unwrap().all();
                    assert!(different(books, &model.truth).is_empty(), "{}", notice.next);
                }
            }
            Record::Bbo(bbo) if bbo.flags.is_maybe_bad_book() => flagged += u64::from(open),
            Record::Bbo(bbo) => {
                model.advance(u64::from(bbo.sequence) + 1);
                let book = model.truth.book(stock(bbo.hd.instrument_id));
                let best = book.inside().bid.map(|quote| book.price_scale().nanos(quote.price));
                let published = bbo.levels[0].bid_px;
                assert_eq!((published != i64::MAX).then_some(published), best, "{}", bbo.sequence);
                unflagged += 1;
            }
            _ => {}
        }
    };
    while subscriber.poll(&mut visit).unwrap() > 0 {}
    assert!(unflagged > 1_000 && flagged > 20 && replaced > 0, "{unflagged} {flagged} {replaced}");
    model.advance(day.0.len() as u64 + 1);
    assert!(different(subscriber.books().unwrap().all(), &model.truth).is_empty());

    // The packets that were kept give the same records.
    let again = Ring::new("live-flag-again");
    let options = ["run", "--input", &kept, "--ring", again.path(), "--capacity", "64MiB"];
    let run = nanotape(options);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(again.stop().digest, plant.ring.stop().digest, "{run:?}");
}
