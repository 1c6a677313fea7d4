//! Any types and bytes in place of a plant's records: a notice reads the same with bytes after it;
//! a subscriber returns an event, or an error that names the invalid message.
//!
//! The input is a list of messages: a byte that chooses the type, a byte of length, and the bytes.
#![no_main]

use std::{cell::RefCell, fs, path::PathBuf, process};

use libfuzzer_sys::fuzz_target;
use nanotape_plant::{
    PlantConfig, PlantRun, ShutdownFlag,
    records::{FIRST_TYPE_ID, Notice, RecordKind},
};
use nanotape_ring::{Publish as _, Start, stream};
use nanotape_shm::RegionOptions;
use nanotape_tap::{Event, Subscription};

const CAPACITY_BYTES: usize = 1 << 18;

/// The ring of a plant that has ended, and a writer.
struct Ring {
    name: std::path::PathBuf,
    writer: stream::Writer,
}

thread_local! {
    static RING: RefCell<Ring> = RefCell::new(ring());
}

fuzz_target!(|input: &[u8]| {
    let messages = messages(input);
    for (type_id, bytes) in &messages {
        if let Some(notice) = Notice::decode(*type_id, bytes) {
            assert_eq!(notice.type_id(), *type_id);
            let longer = [bytes.as_slice(), &[0xFF; 8]].concat();
            assert_eq!(Notice::decode(*type_id, &longer), Some(notice));
        }
    }
    RING.with_borrow_mut(|ring| publish_and_read(ring, &messages));
});

fn publish_and_read(ring: &mut Ring, messages: &[(u16, Vec<u8>)]) {
    let subscription = Subscription::to(&ring.name).keep_books().from(Start::Newest);
    let mut subscriber = subscription.open().expect("ring and board are sound");
    for (type_id, bytes) in messages {
        ring.writer.publish(*type_id, bytes).expect("a short message fits");
    }
    for _ in 0..=messages.len() {
        let read = subscriber.poll(|event| match event {
            Event::Record(delivery) => drop(format!("{:?}", delivery.record)),
            Event::Lost(lapped) => panic!("{lapped}"),
            Event::Healed(handover) => panic!("{handover}"),
            Event::Reported { text, .. } => panic!("{text}"),
        });
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("message "), "{error}"),
        }
    }
    assert_eq!(subscriber.next_sequence(), ring.writer.next_sequence());
}

/// Known types, each with the length and type that its header needs, and any others.
fn messages(mut input: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut messages = Vec::new();
    while let [sort, length, rest @ ..] = input {
        let taken = rest.len().min(usize::from(*length));
        let (bytes, behind) = rest.split_at(taken);
        input = behind;
        let mut bytes = bytes.to_vec();
        let type_id = match usize::from(*sort) {
            sort if sort < RecordKind::ALL.len() => {
                let kind = RecordKind::ALL[sort];
                bytes.resize(kind.length(), *length);
                (bytes[0], bytes[1]) = ((kind.length() / 4) as u8, kind.type_id() as u8);
                kind.type_id()
            }
            sort => FIRST_TYPE_ID.wrapping_add(sort as u16).wrapping_sub(6),
        };
        messages.push((type_id, bytes));
    }
    messages.truncate(100);
    messages
}

/// Made once: a plant without messages, whose board stays.
fn ring() -> Ring {
    let folder: PathBuf = std::env::temp_dir().join(format!("nanotape-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder for the ring");
    let day = folder.join("20191230.itch50");
    fs::write(&day, [0, 0]).expect("an empty day");
    let path = folder.join("ring");
    let mut config = PlantConfig::default();
    config.input.file = day;
    config.ring.name.clone_from(&path);
    config.ring.capacity_bytes = Some(CAPACITY_BYTES);
    config.machine.orders = Some(1);
    let mut plant = PlantRun::open(&config, ShutdownFlag::new()).expect("a plant");
    plant.run(|_| ()).expect("a day of nothing");
    drop(plant);
    let options = RegionOptions::default();
    let (writer, _) = stream::Writer::create(&path, CAPACITY_BYTES, &options).expect("its ring");
    Ring { name: config.ring.name, writer }
}
