//! A subscriber of a day file and of a DBN file: the records of the plant of the day.

use std::{ops::ControlFlow, path::Path, thread, time::Duration};

use nanotape_feed::{DaySource, handle_message};
use nanotape_history::DbnStream;
use nanotape_market::Position;
use nanotape_plant::{PlantRun, ShutdownFlag, Step, records::RecordKinds};
use nanotape_ring::{Read, Start, Subscribe as _, stream};
use nanotape_tap::{DbnFile, Event, Subscriber, Subscription};
use nanotape_wire::{framing::binary_file::Records, itch50::Message};

use crate::published::support::{Folder, run};

/// More records than the private ring holds.
const MESSAGES: u64 = 40_000;

/// The part of an event that is the same in every reading, without the sequence number.
fn seen(event: &Event<'_>) -> (u64, String) {
    let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
    let mut bytes = delivery.bytes.to_vec();
    let ts_recv = delivery.record.ts_recv().unwrap_or_default().to_le_bytes();
    let at = bytes.windows(8).position(|word| word == ts_recv);
    bytes[at.map_or(0..0, |at| at..at + 8)].fill(0);
    // A notice has the times of its reading.
    let is_notice = delivery.type_id >= 0xFFF0;
    let of_record = [u64::from(delivery.type_id), delivery.midnight_ns.unwrap_or(0)];
    let symbol = delivery.symbol.map(|symbol| symbol.to_string());
    let bytes = if is_notice { Vec::new() } else { bytes };
    (delivery.sequence, format!("{of_record:?} {symbol:?} {bytes:?}"))
}

fn of_ring(folder: &Folder) -> Subscriber {
    Subscription::to(&folder.ring()).from(Start::Oldest).open().unwrap()
}

fn of_day(day: &Path) -> Subscriber {
    let source = DaySource::open(day).unwrap();
    Subscription::to("day").open_day(source, "2019-12-30".parse().unwrap()).unwrap()
}

fn of_dbn(path: &Path) -> Subscriber {
    Subscription::to("dbn").open_dbn(DbnStream::new(DaySource::open(path).unwrap()).unwrap())
}

fn one_by_one(mut subscriber: Subscriber) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    while let Some(event) = subscriber.next().unwrap() {
        all.push(seen(&event));
    }
    all
}

fn in_steps(mut subscriber: Subscriber) -> Vec<(u64, String)> {
    let (mut all, mut is_over) = (Vec::new(), false);
    while !is_over {
        let step = subscriber.step(|event| {
            all.push(seen(&event));
            ControlFlow::Continue(())
        });
        is_over = matches!(step.unwrap(), Step::Gone(_) | Step::Complete);
    }
    all
}

#[test]
fn a_day_file_and_a_dbn_file_give_the_records_of_the_plant() {
    let folder = Folder::new();
    let day = folder.day(MESSAGES, 20);
    let mut config = folder.config(&day);
    config.publish.records = RecordKinds::ALL;
    config.ring.capacity_bytes = Some(64 << 20);
    run(&config);
    let expected = one_by_one(of_ring(&folder));
    assert!(expected.len() > 60_000, "{}", expected.len());
    let slow = of_day(&day);
    // The plant waits for its reader.
    thread::sleep(Duration::from_millis(300));
    assert!(in_steps(slow) == expected);
    assert!(one_by_one(of_day(&day)) == expected);

    let path = folder.path("day.dbn");
    let mut file = DbnFile::new(std::fs::File::create(&path).unwrap(), &[]);
    let mut subscriber = of_ring(&folder);
    while subscriber.poll(|event| file.add(&event).unwrap()).unwrap() > 0 {
        file.write(&subscriber).unwrap();
    }
    file.finish(&subscriber).unwrap();
    let content = |all: &[(u64, String)]| -> Vec<String> {
        all.iter().map(|(_, content)| content.clone()).collect()
    };
    for read in [in_steps(of_dbn(&path)), one_by_one(of_dbn(&path))] {
        assert!(content(&read) == content(&expected));
    }
}

#[test]
fn records_that_wait_for_those_of_the_next_messages_are_the_same_as_one_by_one() {
    let folder = Folder::new();
    let day = folder.day(20_000, 20);
    let mut config = folder.config(&day);
    let together = run(&config).stop;

    config.ring.replace = true;
    // Blocks of 64 bytes to 256 KiB, at whose ends records are published.
    for capacity_bytes in [4 << 10, 64 << 10, 16 << 20] {
        config.ring.capacity_bytes = Some(capacity_bytes);
        let stop = run(&config).stop;
        assert_eq!((stop.records, stop.digest), (together.records, together.digest));
    }

    let mut plant = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
    let mut reader = stream::Reader::open(&folder.path("ring"), Start::Newest).unwrap();
    let bytes = std::fs::read(&day).unwrap();
    for (number, record) in (1..).zip(Records::new(&bytes, 0)) {
        let at = Position { number, offset: record.offset };
        let message = Message::decode(record.bytes).unwrap();
        assert!(handle_message(at, &message, plant.live()).is_continue());
        while reader.try_visit(|_| ()).unwrap() != Read::Empty {}
        assert_eq!(reader.next_sequence(), plant.next_sequence(), "nothing waits");
    }
    let stop = plant.end();
    assert_eq!((stop.records, stop.digest), (together.records, together.digest));
}

#[test]
fn a_plant_of_a_day_file_ends_with_its_subscriber() {
    let folder = Folder::new();
    let day = folder.day(MESSAGES, 20);
    // It waits for its reader when it is dropped.
    let mut early = of_day(&day);
    assert!(early.next().unwrap().is_some());
    drop(early);
    let mut stopped = of_day(&day);
    let ended = stopped.finish_day().unwrap().unwrap();
    assert!(ended.stop.messages < MESSAGES);
    assert!(stopped.finish_day().is_none());
    // One that was read to its end has the whole report.
    let mut whole = of_day(&day);
    while whole.next().unwrap().is_some() {}
    let ended = whole.finish_day().unwrap().unwrap();
    assert!(ended.stop.messages >= MESSAGES && ended.report.is_good());
}
