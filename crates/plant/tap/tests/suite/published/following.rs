//! A subscriber that waits: single events, to the plant's stop or to the end of a ring without one.

use std::{
    fs,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use nanotape_harness::SetAtEnd;
use nanotape_plant::{
    Step,
    records::{Notice, Record},
};
use nanotape_ring::{Start, stream};
use nanotape_shm::RegionOptions;
use nanotape_tap::{Event, Subscriber, Subscription};
use nanotape_tape::WriterState;

use crate::published::support::{Folder, run};

const CAPACITY_BYTES: usize = 1 << 16;

/// The compared part of an event.
#[derive(PartialEq, Eq, Debug)]
enum Seen {
    Record { sequence: u64, symbol: Option<String>, record: String },
    Lost(u64, u64),
}

fn seen(event: &Event<'_>) -> Seen {
    match event {
        Event::Record(delivery) => Seen::Record {
            sequence: delivery.sequence,
            symbol: delivery.symbol.map(|symbol| symbol.to_string()),
            record: format!("{:?} {:?}", delivery.record, delivery.bytes),
        },
        Event::Lost(gap) => Seen::Lost(gap.from, gap.to),
        other => panic!("{other:?}, without a journal"),
    }
}

/// The ring of a plant that exited, smaller than its day.
fn left() -> Folder {
    let folder = Folder::new();
    let mut config = folder.config(&folder.day(2_000, 5));
    config.ring.capacity_bytes = Some(CAPACITY_BYTES);
    run(&config);
    folder
}

fn subscriber(folder: &Folder, start: Start) -> Subscriber {
    Subscription::to(&folder.ring()).from(start).open().unwrap()
}

#[test]
fn events_come_one_by_one_in_steps_and_in_polls_alike_up_to_the_stop() {
    let folder = left();
    let mut polled = Vec::new();
    let mut polls = subscriber(&folder, Start::Oldest);
    while polls.poll(|event| polled.push(seen(&event))).unwrap() > 0 {}
    assert!(matches!(polled[0], Seen::Lost(1, _)) && polled.len() > 200);

    let mut each = Vec::new();
    let (mut one_by_one, mut has_stopped) = (subscriber(&folder, Start::Oldest), false);
    while let Some(event) = one_by_one.next().unwrap() {
        has_stopped = matches!(&event, Event::Record(delivery)
            if matches!(delivery.record, Record::Notice(Notice::Stop(_))));
        each.push(seen(&event));
    }
    assert!(has_stopped && one_by_one.next().unwrap().is_none());
    assert_eq!(each, polled);

    let mut stepped = Vec::new();
    let mut steps = subscriber(&folder, Start::Oldest);
    while steps.next_sequence() < polls.next_sequence() {
        let before = stepped.len();
        let step = steps.step(|event| {
            stepped.push(seen(&event));
            // The visitor stops at every third event, and misses none.
            if stepped.len() % 3 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(step.unwrap(), Step::Read | Step::Stopped) && stepped.len() > before);
    }
    assert_eq!(stepped, polled);
}

#[test]
fn a_start_before_the_oldest_record_loses_only_what_is_overwritten() {
    let folder = left();
    let read = |start| {
        let (mut subscriber, mut events) = (subscriber(&folder, start), Vec::new());
        while subscriber.poll(|event| events.push(seen(&event))).unwrap() > 0 {}
        events
    };
    let whole = read(Start::Oldest);
    let Seen::Lost(1, last) = whole[0] else { panic!("{:?}", whole[0]) };
    for first in [2, last / 2, last] {
        let events = read(Start::Sequence(first));
        assert_eq!(events[0], Seen::Lost(first, last));
        assert!(events[1..] == whole[1..]);
    }
    assert!(read(Start::Sequence(last + 1)) == whole[1..]);
}

#[test]
fn a_subscriber_that_has_waited_for_its_ring_begins_with_the_run() {
    let folder = Folder::new();
    let config = folder.config(&folder.day(2_000, 5));
    let first = |start: Option<Start>| {
        let subscription = Subscription::to(&folder.ring()).wait(Duration::from_secs(60));
        let subscription = start.into_iter().fold(subscription, Subscription::from);
        let mut subscriber = subscription.open().unwrap();
        let first = subscriber.next_sequence();
        while subscriber.poll(|event| assert!(matches!(event, Event::Record(_)))).unwrap() > 0 {}
        (first, subscriber.next_sequence())
    };
    let (waited, now) = thread::scope(|scope| {
        let waits = scope.spawn(|| first(None));
        // Time for its first attempt; a later one is the other case, and passes too.
        thread::sleep(Duration::from_millis(100));
        run(&config);
        (waits.join().unwrap().0, first(None))
    });
    assert_eq!(waited, 1);
    assert!(now.0 == now.1 && now.0 > 1_000, "{now:?}");
}

#[test]
fn events_end_when_the_writer_closes_the_ring_without_a_stop() {
    let folder = left();
    let options = RegionOptions::default();
    let (writer, _) =
        stream::Writer::create(folder.ring().as_ref(), CAPACITY_BYTES, &options).unwrap();
    let mut subscriber = subscriber(&folder, Start::Newest);
    assert_eq!(subscriber.writer(), WriterState::Alive);
    drop(writer);
    assert!(subscriber.next().unwrap().is_none());
    assert_eq!(subscriber.writer(), WriterState::Closed);
}

#[test]
fn a_subscriber_that_waits_joins_although_the_ring_is_being_replaced() {
    let folder = left();
    let (ring, kept) = (folder.path("ring"), folder.path("kept"));
    fs::hard_link(&ring, &kept).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = SetAtEnd(&is_over);
        // The path is absent again and again, as while a plant replaces the ring.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::remove_file(&ring).unwrap();
                fs::hard_link(&kept, &ring).unwrap();
            }
        });
        let open = || Subscription::to(&folder.ring()).wait(Duration::from_secs(60)).open();
        let refused = (0..2_000).find_map(|_| open().err());
        assert!(refused.is_none(), "{}", refused.unwrap());
    });
}
