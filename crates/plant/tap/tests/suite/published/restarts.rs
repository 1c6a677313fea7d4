//! Two plants in sequence on one ring, of two days on which the same locate is another stock.

use std::path::PathBuf;

use nanotape_board::board_path;
use nanotape_journal::{Appender, AppenderOptions};
use nanotape_plant::{
    PlantConfig, PlantRun, ShutdownFlag,
    records::{Header, Notice, Predecessor, Record, RecordKind, RecordKinds},
};
use nanotape_ring::{Rejoin, Start, stream};
use nanotape_shm::{OwnedRegion, RegionOptions};
use nanotape_tap::{
    Delivery, Event, Recorder, RecorderError, RecorderOptions, SubscribeError, Subscriber,
    Subscription,
};
use nanotape_types::{Side, StockLocate, Symbol};

use crate::published::{
    messages::{add, delete, directory, symbol},
    support::Folder,
};

/// Stocks of a day: too many definitions for a reader's buffer.
const STOCKS: u16 = 60;

/// The two days, and the name of each locate on each day.
const DAYS: [&str; 2] = ["2019-12-30", "2019-12-31"];

fn name(day: usize, locate: u16) -> Symbol {
    // On the second day each stock moves up by one, and the last one to the front.
    let number = if day == 0 { locate } else { locate % STOCKS + 1 };
    symbol(&format!("S{number}"))
}

/// A ring, the files of both days, and a plant for each.
struct Days {
    folder: Folder,
    capacity_bytes: usize,
}

impl Days {
    /// On a ring of this capacity.
    fn new(capacity_bytes: usize) -> Self {
        Self { folder: Folder::new(), capacity_bytes }
    }

    fn file(&self, day: usize, orders: u64) -> PathBuf {
        let mut bytes = Vec::new();
        let mut push = |message: Vec<u8>| {
            bytes.extend(u16::try_from(message.len()).unwrap().to_be_bytes());
            bytes.extend(message);
        };
        for locate in 1..=STOCKS {
            push(directory(locate, &name(day, locate).to_string()));
        }
        for order in 0..orders {
            let locate = 1 + (order % u64::from(STOCKS)) as u16;
            let side = if order % 2 == 0 { b'B' } else { b'S' };
            push(add(locate, order, side, 1 + order as u32, 100_000 + order as u32));
            if order % 7 == 0 {
                push(delete(locate, order));
            }
        }
        let path = self.folder.path(&format!("{}.itch50", DAYS[day]));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn plant(&self, day: usize, orders: u64) -> PlantRun {
        let mut config: PlantConfig = self.folder.config(&self.file(day, orders));
        config.ring.capacity_bytes = Some(self.capacity_bytes);
        PlantRun::open(&config, ShutdownFlag::new()).unwrap()
    }

    /// Runs a plant over a day from its start to its stop.
    fn run(&self, day: usize, orders: u64) {
        self.plant(day, orders).run(|_| ()).unwrap();
    }

    fn subscription(&self) -> Subscription {
        Subscription::to(&self.folder.ring()).from(Start::Oldest)
    }
}

/// Follows from one day to the next, and checks every name against the day.
#[derive(Default)]
struct Names {
    starts: Vec<Predecessor>,
    /// Records of stocks, by day, and the number without a name.
    records: [u64; 2],
    nameless: u64,
    lost: u64,
}

impl Names {
    fn see(&mut self, delivery: &Delivery<'_>, days: &[usize]) {
        if let Record::Notice(Notice::Start(start)) = delivery.record {
            self.starts.push(start.predecessor);
        }
        let locate = Header::of(delivery.bytes).unwrap().instrument_id as u16;
        if locate == 0 {
            return;
        }
        let day = days[self.starts.len().max(1) - 1];
        self.records[day] += 1;
        match delivery.symbol {
            Some(symbol) => assert_eq!(symbol, name(day, locate), "locate {locate}, day {day}"),
            None => self.nameless += 1,
        }
    }

    /// Reads available records; the n-th start begins the n-th of `days`.
    fn read(&mut self, subscriber: &mut Subscriber, days: &[usize]) {
        while self.poll(subscriber, days) > 0 {}
    }

    fn poll(&mut self, subscriber: &mut Subscriber, days: &[usize]) -> u64 {
        let read = subscriber.poll(|event| match event {
            Event::Record(delivery) => self.see(&delivery, days),
            Event::Lost(lapped) => self.lost += lapped.count(),
            other => panic!("{other:?}, without a journal"),
        });
        read.unwrap()
    }
}

#[test]
fn a_subscriber_that_was_there_names_every_record_of_both_days() {
    let days = Days::new(1 << 20);
    let mut first = days.plant(0, 500);
    let mut subscriber = days.subscription().open().unwrap();
    let mut names = Names::default();
    first.run(|_| ()).unwrap();
    drop(first);
    names.read(&mut subscriber, &[0, 1]);
    days.run(1, 500);
    names.read(&mut subscriber, &[0, 1]);
    assert_eq!(names.starts, [Predecessor::None, Predecessor::Closed]);
    assert_eq!((names.nameless, names.lost), (0, 0));
    assert!(names.records.iter().all(|&records| records > 500), "{:?}", names.records);
    // The board is that of the second day.
    assert_eq!(subscriber.board().unwrap().run().date, 20_191_231);
    assert_eq!(subscriber.symbol(StockLocate::new(1)), Some(name(1, 1)));
}

#[test]
fn a_subscriber_that_joins_after_both_names_every_record_of_both_days() {
    let days = Days::new(1 << 20);
    days.run(0, 500);
    days.run(1, 500);
    let mut names = Names::default();
    names.read(&mut days.subscription().open().unwrap(), &[0, 1]);
    assert_eq!((names.starts.len(), names.nameless, names.lost), (2, 0, 0));
    assert!(names.records.iter().all(|&records| records > 500), "{:?}", names.records);
}

#[test]
fn a_subscriber_from_the_oldest_record_gets_what_is_gone_before_it() {
    let days = Days::new(1 << 16);
    days.run(0, 3_000);
    // The rejoin option for later losses does not matter here.
    let mut subscriber = days.subscription().rejoin(Rejoin::Newest).open().unwrap();
    assert_eq!(subscriber.next_sequence(), 1);
    let (mut next, mut lost) = (1, Vec::new());
    let mut see = |event: Event<'_>| match event {
        Event::Record(delivery) => {
            assert_eq!(delivery.sequence, next);
            next += 1;
        }
        Event::Lost(lapped) => {
            assert_eq!(lapped.from, next);
            next = lapped.to + 1;
            lost.push(lapped);
        }
        other => panic!("{other:?}, without a journal"),
    };
    while subscriber.poll(&mut see).unwrap() > 0 {}
    assert_eq!(lost.len(), 1);
    assert!(lost[0].to > 1_000 && next > lost[0].to + 100, "{lost:?}, {next}");
    assert_eq!(subscriber.next_sequence(), next);
}

#[test]
fn a_subscriber_to_one_symbol_follows_it_from_one_locate_to_another() {
    let days = Days::new(1 << 20);
    days.run(0, 500);
    days.run(1, 500);
    let wanted = name(0, 2);
    let kinds = RecordKinds::ALL.iter().filter(|&kind| kind != RecordKind::Definitions);
    let mut subscriber = days.subscription().symbols([wanted]).records(kinds).open().unwrap();
    let (mut starts, mut locates) = (0, Vec::new());
    let mut see = |event: Event<'_>| {
        let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
        if let Record::Notice(Notice::Start(_)) = delivery.record {
            starts += 1;
        }
        let locate = Header::of(delivery.bytes).unwrap().instrument_id;
        if locate != 0 {
            assert_eq!(delivery.symbol, Some(wanted));
            locates.push((starts, locate));
        }
    };
    while subscriber.poll(&mut see).unwrap() > 0 {}
    assert!(locates.len() > 20);
    locates.dedup();
    assert_eq!(locates, [(1, 2), (2, 1)]);
}

/// Symptom: the records of the first day that the ring still had were left out, and not reported.
/// Cause: their names were on a board that the second plant had replaced.
#[test]
fn records_of_a_run_whose_names_are_gone_are_reported_to_a_subscriber_of_symbols() {
    let days = Days::new(1 << 16);
    days.run(0, 3_000);
    days.run(1, 10);
    let wanted = name(1, 3);
    let mut subscriber = days.subscription().symbols([wanted]).open().unwrap();
    let (mut reported, mut starts, mut records) = (Vec::new(), 0, 0);
    let mut see = |event: Event<'_>| match event {
        Event::Reported { sequence, text } => reported.push((sequence, text.to_owned(), starts)),
        Event::Record(Delivery { record: Record::Notice(Notice::Start(_)), .. }) => starts += 1,
        Event::Record(Delivery { symbol, .. }) => records += u64::from(symbol == Some(wanted)),
        Event::Lost(gap) => assert_eq!(gap.from, 1),
        Event::Healed(_) => panic!("without a journal"),
    };
    while subscriber.poll(&mut see).unwrap() > 0 {}
    let [(sequence, text, 0)] = &reported[..] else { panic!("{reported:?}") };
    assert!(*sequence > 1_000 && text.contains("names of the stocks"), "{reported:?}");
    assert!(starts == 1 && records > 0, "{starts} {records}");
    // The first event alone is the same.
    let mut subscriber = days.subscription().symbols([wanted]).open().unwrap();
    let mut events = std::iter::from_fn(|| match subscriber.next().unwrap() {
        Some(Event::Reported { text, .. }) => Some(text.to_owned()),
        Some(_) => Some(String::new()),
        None => None,
    });
    assert!(events.any(|text| text.contains("names of the stocks")));
}

#[test]
fn a_subscriber_that_joins_in_the_middle_of_the_second_day_has_its_names() {
    let days = Days::new(1 << 20);
    days.run(0, 500);
    days.run(1, 500);
    let mut before = days.subscription().open().unwrap();
    Names::default().read(&mut before, &[0, 1]);
    let end = before.next_sequence();
    let mut late = days.subscription().from(Start::Sequence(end - 100)).open().unwrap();
    let mut names = Names::default();
    names.read(&mut late, &[1]);
    assert!(names.starts.is_empty() && names.records[1] > 90);
    assert_eq!(names.nameless, 0);
}

/// Symptom: names of the first day on records of the second. Cause: names from definitions of an
/// earlier run than the board's were kept over a lap, although the end of that run was among the
/// lost records.
#[test]
fn a_subscriber_that_is_lapped_across_the_start_has_the_names_of_the_second_day() {
    let days = Days::new(1 << 16);
    days.run(0, 10);
    let mut second = days.plant(1, 2_000);
    // Its board is that of the second day from the beginning; it reads the definitions of the
    // first.
    let mut subscriber = days.subscription().open().unwrap();
    let mut names = Names::default();
    assert!(names.poll(&mut subscriber, &[0]) > 0);
    assert!(names.records[0] > 20 && names.starts.len() == 1, "{:?}", names.records);
    second.run(|_| ()).unwrap();
    names.read(&mut subscriber, &[1]);
    assert!(names.lost > 0 && names.starts.len() == 1 && names.records[1] > 100);
    assert_eq!(names.nameless, 0);
}

/// The same, with a board that must be found again.
#[test]
fn a_subscriber_that_was_there_and_is_lapped_across_the_start_finds_the_second_board() {
    let days = Days::new(1 << 16);
    let mut first = days.plant(0, 10);
    let mut subscriber = days.subscription().open().unwrap();
    first.run(|_| ()).unwrap();
    drop(first);
    let mut names = Names::default();
    names.read(&mut subscriber, &[0]);
    assert!(names.records[0] > 60);
    days.run(1, 2_000);
    names.read(&mut subscriber, &[1]);
    assert!(names.lost > 0 && names.records[1] > 100);
    assert_eq!(names.nameless, 0);
    assert_eq!(subscriber.board().unwrap().run().date, 20_191_231);
}

#[test]
fn local_books_are_empty_after_the_second_start_and_then_the_second_plants() {
    let days = Days::new(1 << 20);
    days.run(0, 500);
    let mut second = days.plant(1, 300);
    second.run(|_| ()).unwrap();
    let mut subscriber = days.subscription().keep_books().open().unwrap();
    let locates = || (0..=STOCKS).map(StockLocate::new);
    let (mut starts, mut filled) = (0, 0);
    let mut see = |event: Event<'_>| {
        let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
        let books = delivery.books.unwrap();
        assert!(books.is_whole());
        if let Record::Notice(Notice::Start(_)) = delivery.record {
            starts += 1;
            assert!(locates().all(|locate| books.book(locate).is_empty()));
        } else if let Record::Notice(Notice::Stop(_)) = delivery.record {
            filled = locates().filter(|&locate| !books.book(locate).is_empty()).count();
        }
    };
    while subscriber.poll(&mut see).unwrap() > 0 {}
    assert_eq!((starts, filled), (2, usize::from(STOCKS)));
    let (ours, theirs) = (subscriber.books().unwrap(), second.engine().books());
    assert_eq!(ours.anomalies().total(), 0);
    for locate in locates() {
        for side in Side::BOTH {
            assert!(ours.book(locate).depth(side).eq(theirs.book(locate).depth(side)));
        }
    }
}

/// Without order records, books cannot be kept, and must not be reported as complete.
#[test]
fn local_books_of_a_plant_that_publishes_no_order_records_are_not_whole() {
    let days = Days::new(1 << 20);
    let mut config = days.folder.config(&days.file(0, 50));
    config.publish.records = RecordKinds::NONE.with(RecordKind::Bbo);
    PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
    let mut subscriber = days.subscription().keep_books().open().unwrap();
    while subscriber.poll(|_| ()).unwrap() > 0 {}
    assert!(!subscriber.books().unwrap().is_whole());
}

/// A plant takes the ring over and locks the board of the run before it, to replace it. In between
/// both have a living owner, but there is no run that a named follower could join.
#[test]
fn a_named_follower_does_not_join_by_the_board_of_the_run_before() {
    let days = Days::new(1 << 20);
    days.run(0, 50);
    let ring = days.folder.path("ring");
    let options = RegionOptions::default();
    let _second = stream::Writer::create(&ring, days.capacity_bytes, &options).unwrap();
    let (kind, layout) = (*b"BOARD   ", u64::from_be_bytes(*b"board  4"));
    let _locked = OwnedRegion::take_over(&board_path(&ring), kind, layout, &options).unwrap();
    let named = Subscription::to(&days.folder.ring()).named("audit");
    let error = named.open().map(drop).unwrap_err();
    assert!(matches!(error, SubscribeError::NoPlant { .. }), "{error}");
    let journal = Appender::open(&days.folder.path("journal"), &AppenderOptions::default());
    let options = RecorderOptions { name: Some("audit".to_owned()), ..RecorderOptions::default() };
    let error = Recorder::open(&ring, journal.unwrap(), &options).map(drop).unwrap_err();
    assert!(matches!(error, RecorderError::NoWriter { .. }), "{error}");
}
