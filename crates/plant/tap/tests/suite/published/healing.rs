//! A ring that is completed from a journal: every record once, in order, whatever the ring has
//! lost and however late the recorder is.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nanotape_board::board_path;
use nanotape_clock::UtcNanos;
use nanotape_feed::handle_message;
use nanotape_history::{Snapshotter, SnapshotterOptions};
use nanotape_journal::{Appender, AppenderOptions, JournalError};
use nanotape_market::Position;
use nanotape_plant::{
    PlantRun, ShutdownFlag,
    records::{Notice, Record, RecordKind},
};
use nanotape_ring::{RingSource, Start, stream};
use nanotape_shm::RegionOptions;
use nanotape_tap::{Event, Handover, Subscriber, Subscription};
use nanotape_tape::{Gap, Item, Progress, Sink, Source as _};
use nanotape_types::{Side, StockLocate};
use nanotape_wire::itch50::Message;

use crate::published::{messages::add, support::Folder};

/// A message of a ring: its number, its type and its bytes.
type Stored = (u64, u16, Vec<u8>);

/// A plant that has ended: all of its records, and a small ring that has only the last ones.
struct Past {
    folder: Folder,
    records: Vec<Stored>,
}

impl Past {
    fn new() -> Self {
        let folder = Folder::new();
        let mut config = folder.config(&folder.day(20_000, 30));
        config.ring.name = folder.path("all");
        PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
        let mut records = Vec::new();
        let mut all = RingSource::open(&folder.path("all"), Start::Oldest).unwrap();
        while all.poll(|item| keep(&mut records, item)).unwrap() == Progress::Read {}
        config.ring.name = folder.ring().into();
        config.ring.capacity_bytes = Some(64 << 10);
        PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
        let past = Self { folder, records };
        assert!(past.oldest_in_ring() > 20_000, "{}", past.oldest_in_ring());
        past
    }

    fn oldest_in_ring(&self) -> u64 {
        let ring = RingSource::open(Path::new(&self.folder.ring()), Start::Oldest).unwrap();
        nanotape_tape::Tape::next_sequence(&ring)
    }

    fn journal(&self) -> PathBuf {
        self.folder.path("journal")
    }

    fn recorder(&self) -> Appender {
        let options = AppenderOptions { segment_bytes: 1 << 20, ..AppenderOptions::default() };
        Appender::open(&self.journal(), &options).unwrap()
    }

    /// Records the messages up to this number.
    fn record(&self, appender: &mut Appender, to: u64) -> Result<(), JournalError> {
        let next = appender.next_sequence();
        for (sequence, type_id, payload) in &self.records {
            if (next..=to).contains(sequence) {
                appender.append(*type_id, 1_000 + sequence, payload)?;
            }
        }
        Ok(())
    }

    fn subscription(&self, patience: Duration) -> Subscription {
        Subscription::to(&self.folder.ring()).heal_from(self.journal(), patience)
    }

    fn newest(&self) -> u64 {
        self.records.last().unwrap().0
    }
}

fn keep(records: &mut Vec<Stored>, item: Item<'_>) -> std::ops::ControlFlow<()> {
    let Item::Message(message) = item else { panic!("{item:?}") };
    records.push((message.sequence, message.type_id, message.payload.to_vec()));
    std::ops::ControlFlow::Continue(())
}

/// What a subscriber saw.
#[derive(Default)]
struct Seen {
    numbers: Vec<u64>,
    lost: Vec<Gap>,
    handovers: Vec<Handover>,
}

impl Seen {
    /// Reads to the stop; every number must be the next one.
    fn by(mut subscriber: Subscriber, first: u64) -> Self {
        let mut seen = Self::default();
        let mut next = first;
        while let Some(event) = subscriber.next().unwrap() {
            match event {
                Event::Record(delivery) => {
                    assert_eq!(delivery.sequence, next);
                    next += 1;
                    seen.numbers.push(delivery.sequence);
                    let is_named = delivery.symbol.is_some();
                    let is_order = matches!(delivery.record, Record::Mbo(_));
                    // The board is that of the second run, so a loss forgets the names.
                    assert!(is_named || !is_order || !seen.lost.is_empty(), "{next}");
                }
                Event::Lost(gap) => {
                    assert_eq!(gap.from, next);
                    next = gap.to + 1;
                    seen.lost.push(gap);
                }
                Event::Healed(handover) => {
                    assert_eq!(handover.to + 1, next);
                    seen.handovers.push(handover);
                }
                Event::Reported { text, .. } => panic!("{text}, without a file"),
            }
        }
        seen
    }
}

#[test]
fn what_the_ring_has_lost_comes_from_the_journal_and_the_ring_takes_over() {
    let past = Past::new();
    let mut appender = past.recorder();
    let oldest = past.oldest_in_ring();
    for (recorded, from) in [(oldest, 1), (oldest + 100, oldest - 1), (past.newest(), 777)] {
        past.record(&mut appender, recorded).unwrap();
        let start = if from == 1 { Start::Oldest } else { Start::Sequence(from) };
        let subscriber = past.subscription(Duration::ZERO).from(start).open().unwrap();
        let seen = Seen::by(subscriber, from);
        assert_eq!(seen.numbers.len() as u64, past.newest() + 1 - from);
        assert!(seen.lost.is_empty());
        let [handover] = seen.handovers[..] else { panic!("{:?}", seen.handovers) };
        assert_eq!((handover.from, handover.lost), (from, 0));
        assert_eq!(handover.records, handover.to + 1 - from);
        assert!(handover.to >= oldest - 1 && handover.behind_ns > 0);
    }
    // A reader that ends before it is in the ring again. It has read the record that ends it.
    let subscription = past.subscription(Duration::ZERO).from(Start::Sequence(1));
    let mut subscriber = subscription.until(100).open().unwrap();
    while subscriber.next().unwrap().is_some() {}
    let handover = subscriber.finish_healing().unwrap();
    assert_eq!((handover.from, handover.to, handover.records), (1, 100, 100));
    assert!(subscriber.finish_healing().is_none());
    // A start that the ring has needs no journal.
    let subscriber = past.subscription(Duration::ZERO).from(Start::Sequence(oldest + 200));
    let seen = Seen::by(subscriber.open().unwrap(), oldest + 200);
    assert_eq!(seen.numbers.len() as u64, past.newest() + 1 - (oldest + 200));
}

#[test]
fn a_recorder_that_is_late_is_waited_for_and_then_its_records_are_lost() {
    let past = Past::new();
    let mut appender = past.recorder();
    past.record(&mut appender, 5_000).unwrap();
    let oldest = past.oldest_in_ring();
    // Nothing more comes: the rest is lost at once, or after the patience.
    for patience in [Duration::ZERO, Duration::from_millis(50)] {
        let subscriber = past.subscription(patience).from(Start::Oldest).open().unwrap();
        let seen = Seen::by(subscriber, 1);
        let [gap] = seen.lost[..] else { panic!("{:?}", seen.lost) };
        assert_eq!((gap.from, gap.to), (5_001, oldest - 1));
        let [handover] = seen.handovers[..] else { panic!("{:?}", seen.handovers) };
        assert_eq!((handover.records, handover.lost), (5_000, gap.count()));
    }
    // The recorder is killed, another one continues, and nothing is lost.
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            past.record(&mut appender, 9_000).unwrap();
            drop(appender);
            thread::sleep(Duration::from_millis(20));
            past.record(&mut past.recorder(), past.newest()).unwrap();
        });
        let patience = Duration::from_secs(60);
        let subscriber = past.subscription(patience).from(Start::Oldest).open().unwrap();
        let seen = Seen::by(subscriber, 1);
        assert_eq!((seen.lost.len(), seen.numbers.len() as u64), (0, past.newest()));
    });
}

/// A plant that publishes adds of one stock when the test wants it to.
struct Steps {
    plant: PlantRun,
    orders: u64,
}

impl Steps {
    fn publish(&mut self, orders: u64) {
        for _ in 0..orders {
            self.orders += 1;
            let bytes = add(1, self.orders, b'B', 100, 1_000_000);
            let message = Message::decode(&bytes).unwrap();
            let at = Position { number: self.orders, offset: 0 };
            assert!(handle_message(at, &message, self.plant.live()).is_continue());
        }
    }
}

#[test]
fn records_that_were_lost_do_not_come_later_if_the_reader_is_lapped_again() {
    let folder = Folder::new();
    let mut config = folder.config(&folder.day(100, 3));
    config.ring.capacity_bytes = Some(64 << 10);
    config.publish.records = [RecordKind::Mbo].into_iter().collect();
    let plant = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
    let mut steps = Steps { plant, orders: 0 };
    let journal = folder.path("journal");
    let mut appender = Appender::open(&journal, &AppenderOptions::default()).unwrap();
    // The recorder has the first record, and is late with the others.
    let mut recorded = RingSource::open(Path::new(&folder.ring()), Start::Oldest).unwrap();
    let mut records = Vec::new();
    steps.publish(500);
    let _ = recorded.poll(|item| keep(&mut records, item)).unwrap();
    for (sequence, type_id, payload) in &records {
        assert_eq!(appender.append(*type_id, 1, payload).unwrap(), *sequence);
    }
    steps.publish(5_000);
    let subscription = Subscription::to(&folder.ring()).heal_from(&journal, Duration::ZERO);
    let mut subscriber = subscription.from(Start::Sequence(1)).open().unwrap();
    let (mut next, mut lost) = (1, 0);
    for _ in 0..40 {
        let mut is_lost = false;
        let read = subscriber.poll(|event| match event {
            Event::Record(delivery) => {
                assert_eq!(delivery.sequence, next);
                next += 1;
            }
            Event::Lost(gap) => {
                assert_eq!(gap.from, next);
                (next, is_lost) = (gap.to + 1, true);
                lost += 1;
            }
            event => assert!(matches!(event, Event::Healed(_)), "{event:?}"),
        });
        read.unwrap();
        if is_lost {
            // The recorder catches up too late, and the plant laps the reader once more.
            let (_, type_id, payload) = records.last().unwrap();
            for _ in 0..300 {
                appender.append(*type_id, 1, payload).unwrap();
            }
            steps.publish(5_000);
        }
    }
    assert!(lost > 3, "{lost}");
}

#[test]
fn numbers_that_the_recorder_skipped_are_lost_in_their_place() {
    let past = Past::new();
    let mut appender = past.recorder();
    past.record(&mut appender, 5_000).unwrap();
    appender.skip_to(6_001).unwrap();
    past.record(&mut appender, past.newest()).unwrap();
    let subscriber = past.subscription(Duration::ZERO).from(Start::Oldest).open().unwrap();
    let seen = Seen::by(subscriber, 1);
    let [gap] = seen.lost[..] else { panic!("{:?}", seen.lost) };
    assert_eq!((gap.from, gap.to), (5_001, 6_000));
    assert_eq!(seen.numbers.len() as u64, past.newest() - 1_000);
}

#[test]
fn a_start_behind_the_last_record_ends_with_the_plant() {
    let past = Past::new();
    past.record(&mut past.recorder(), past.newest()).unwrap();
    for patience in [0, 50].map(Duration::from_millis) {
        for start in [past.newest() + 1, past.newest() + 1_000_000] {
            let subscription = past.subscription(patience).from(Start::Sequence(start));
            let mut subscriber = subscription.open().unwrap();
            assert!(subscriber.next().unwrap().is_none(), "{start}");
        }
    }
}

/// Inside prices and depth of every stock.
fn depth(subscriber: &Subscriber) -> Vec<String> {
    let books = subscriber.books().unwrap();
    let of = |locate| {
        let book = books.book(StockLocate::new(locate));
        let [bids, offers] = Side::BOTH.map(|side| book.depth(side).collect::<Vec<_>>());
        format!("{locate}: {bids:?} {offers:?}")
    };
    (1..=40).map(of).collect()
}

#[test]
fn a_reader_that_joins_late_with_a_snapshot_has_the_books_of_one_that_read_everything() {
    let past = Past::new();
    let mut appender = past.recorder();
    // The first half, so that its snapshot is not that of the empty books at the end of the day.
    let half = past.newest() / 2;
    past.record(&mut appender, half).unwrap();
    let (share_percent, least_bytes) = (100, 1 << 20);
    let options = SnapshotterOptions { share_percent, least_bytes, ..Default::default() };
    let mut snapshotter = Snapshotter::open(&past.journal(), &options).unwrap();
    let mut snapshots = 0;
    snapshotter.run(|_| snapshots += 1, |_| ()).unwrap();
    assert!(snapshots > 0);
    past.record(&mut appender, past.newest()).unwrap();

    let whole = past.subscription(Duration::ZERO).keep_books().check_digests();
    let mut all = whole.clone().from(Start::Oldest).open().unwrap();
    let mut late = whole.whole().records([RecordKind::Mbo]).open().unwrap();
    let at = late.next_sequence();
    assert!(at > 1 && at <= half, "{at}");
    while all.next_sequence() < at {
        all.next().unwrap().unwrap();
    }
    let mut restored = 0;
    // The records of the snapshot have the number of its last record.
    loop {
        match late.next().unwrap().unwrap() {
            Event::Record(delivery) if delivery.sequence < at => restored += 1,
            _ => break,
        }
    }
    assert!(restored > 500, "{restored}");
    assert!(late.books().unwrap().is_whole());
    loop {
        let next = late.next_sequence();
        while all.next_sequence() < next {
            all.next().unwrap().unwrap();
        }
        assert_eq!(depth(&late), depth(&all), "before {next}");
        match late.next().unwrap() {
            // Comparing after each record would take minutes.
            Some(_) if next.is_multiple_of(97) => {}
            Some(Event::Record(delivery)) => {
                if matches!(delivery.record, Record::Notice(Notice::Stop(_))) {
                    // The snapshot had the digests so far.
                    assert_eq!(delivery.is_digest_same, Some(true));
                    break;
                }
                for _ in 0..96 {
                    match late.next().unwrap() {
                        Some(Event::Record(delivery)) if delivery.sequence < past.newest() => {}
                        Some(Event::Record(delivery)) => {
                            assert_eq!(delivery.is_digest_same, Some(true));
                            return;
                        }
                        Some(Event::Healed(_)) => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
            Some(_) => {}
            None => break,
        }
    }
}

#[test]
fn the_journal_of_another_ring_is_refused() {
    let past = Past::new();
    drop(past.recorder());
    let mark = "nanotape recording 1\ncreated_ns 5\nring /dev/shm/x\n";
    std::fs::write(past.journal().join("recorded-from"), mark).unwrap();
    let refused = past.subscription(Duration::ZERO).open().unwrap_err().to_string();
    assert!(refused.contains("not the ring that"), "{refused}");
}

#[test]
fn the_journal_of_another_ring_that_comes_later_is_refused() {
    let past = Past::new();
    let subscription = past.subscription(Duration::from_secs(60)).from(Start::Oldest);
    let mut subscriber = subscription.open().unwrap();
    past.record(&mut past.recorder(), past.newest()).unwrap();
    let mark = "nanotape recording 1\ncreated_ns 5\nring /dev/shm/x\n";
    std::fs::write(past.journal().join("recorded-from"), mark).unwrap();
    let refused = subscriber.next().unwrap_err().to_string();
    assert!(refused.contains("not the ring that"), "{refused}");
}

#[test]
fn a_board_that_is_truncated_is_an_error_of_a_selection() {
    let folder = Folder::new();
    let config = folder.config(&folder.day(20_000, 30));
    PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
    let all = Subscription::to(&folder.ring()).symbols(["*".parse().unwrap()]);
    let mut subscriber = all.from(Start::Oldest).open().unwrap();
    assert!(subscriber.next().unwrap().is_some());
    let board = std::fs::OpenOptions::new().write(true).open(board_path(folder.ring().as_ref()));
    board.unwrap().set_len(0).unwrap();
    let error = loop {
        match subscriber.next() {
            Ok(event) => assert!(event.is_some(), "it has ended without an error"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("truncated"), "{error}");
}

#[test]
fn a_journal_alone_is_read_as_its_ring() {
    let past = Past::new();
    let mut appender = past.recorder();
    past.record(&mut appender, past.newest()).unwrap();
    drop(appender);
    let journal = past.journal().display().to_string();
    let mut subscriber = Subscription::to(&journal).from(Start::Oldest).open().unwrap();
    let mut numbers = Vec::new();
    while let Some(event) = subscriber.next().unwrap() {
        let Event::Record(delivery) = event else { panic!("{event:?}") };
        numbers.push((delivery.sequence, delivery.type_id, delivery.bytes.to_vec()));
    }
    assert_eq!(numbers, past.records);
}

#[test]
fn numbers_that_a_ring_skipped_come_from_the_journal_or_are_lost_once() {
    let past = Past::new();
    let ring = past.folder.path("skipped");
    let options = RegionOptions::default();
    let (mut writer, _) = stream::Writer::create(&ring, 64 << 20, &options).unwrap();
    let skipped = Gap { from: 500, to: 12_000 };
    for (sequence, type_id, payload) in &past.records {
        if !(skipped.from..=skipped.to).contains(sequence) {
            Sink::append_at(&mut writer, *sequence, *type_id, UtcNanos::new(1), payload).unwrap();
        }
    }
    drop(writer);
    std::fs::copy(board_path(&past.folder.path("all")), board_path(&ring)).unwrap();
    let mut appender = past.recorder();
    for recorded in [100, 499, 700, 11_999, 12_000, 12_001, past.newest()] {
        past.record(&mut appender, recorded).unwrap();
        let subscription = Subscription::to(&ring).heal_from(past.journal(), Duration::ZERO);
        let seen = Seen::by(subscription.from(Start::Oldest).open().unwrap(), 1);
        let lost = Gap { from: skipped.from.max(recorded + 1), to: skipped.to };
        assert_eq!(seen.lost, if lost.from <= lost.to { vec![lost] } else { Vec::new() });
        let numbers = past.newest() - if lost.from <= lost.to { lost.count() } else { 0 };
        assert_eq!(seen.numbers.len() as u64, numbers, "{recorded}");
        let [handover] = seen.handovers[..] else { panic!("{:?}", seen.handovers) };
        assert_eq!(handover.from, skipped.from);
    }
}
