//! Writers and readers at full speed, writers that are killed at any moment, and many readers.

use nanotape_harness::{Peer, Scratch, Task, eventually, listen, mixed, say};
use nanotape_ring::{
    Batched as _, Claimed as _, Publish, PublishError, Read, RingMonitor, Start, Subscribe as _,
};
use nanotape_shm::{OwnerState, Refusal, RegionOptions};

use crate::processes::{
    children::command,
    rings::{LONGEST, Ring, Slots, Stream, WAYS, next, payload},
};

/// The type of the last message.
const END: u16 = u16::MAX;

/// Bytes of the ring: small, for frequent laps, but enough for a reader that is rarely scheduled.
const BYTES: usize = 64 << 10;

/// Lengths that differ from message to message, most of them short.
fn length_of(sequence: u64) -> usize {
    let random = mixed(sequence) as usize;
    if random.is_multiple_of(16) { random / 16 % (LONGEST + 1) } else { random / 16 % 60 }
}

/// In a child: publishes `number` messages in all ways, and then the last one; waits for a line
/// before it begins, unless the detail is `no pause`.
pub(crate) fn write<R: Ring>(task: &Task) {
    let (mut writer, _) = R::create(&task.path, BYTES, &RegionOptions::default()).unwrap();
    // Each writer has its own number, and so its own contents.
    let number = writer.region().epoch() as u16;
    let first = writer.next_sequence();
    say(first);
    if task.detail != "no pause" {
        listen();
    }
    let end = first.saturating_add(task.number);
    while writer.next_sequence() < end {
        publish_some(&mut writer, number, end);
    }
    let last = writer.next_sequence();
    writer.publish(END, &payload(last, END, 0)).unwrap();
    say(format!("wrote {last}"));
}

/// One message, or several in a batch, below `end`; sometimes none.
fn publish_some(writer: &mut impl Publish, number: u16, end: u64) {
    let sequence = writer.next_sequence();
    let bytes = payload(sequence, number, length_of(sequence));
    match mixed(sequence ^ 77) % 10 {
        0 => {
            let mut batch = writer.batch();
            for next in sequence..end.min(sequence + 5) {
                match batch.push(number, &payload(next, number, length_of(next))) {
                    Ok(()) => {}
                    Err(PublishError::BatchFull { .. }) => break,
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(batch.publish(), sequence);
        }
        1 => {
            let mut claim = writer.claim(number, bytes.len()).unwrap();
            claim.write(0, &bytes);
            assert_eq!(claim.publish(), sequence);
        }
        2 => {
            writer.claim(number, LONGEST).unwrap().write(0, &[0xee; LONGEST]);
            assert_eq!(writer.publish(number, &bytes), Ok(sequence));
        }
        3 => {
            writer.heartbeat(sequence);
            let _ = writer.batch().push(number, &[0xee; 100]);
            assert_eq!(writer.publish(number, &bytes), Ok(sequence));
        }
        _ => assert_eq!(writer.publish(number, &bytes), Ok(sequence)),
    }
}

/// In a child: reads from the first message to the last one, and reports how many it read and how
/// many it lost. The detail is the period of its pauses, for slow readers.
pub(crate) fn follow<R: Ring>(task: &Task) {
    let mut reader = R::open(&task.path, Start::Sequence(1)).unwrap();
    say("attached");
    let (mut read, mut lost, mut ended) = (0, 0, false);
    let mut way = WAYS.into_iter().cycle();
    while !ended {
        let mut is_end = |type_id| ended |= type_id == END;
        let way = way.next().unwrap();
        match next(&mut reader, way, |received| {
            read += 1;
            is_end(received.type_id);
        })
        .unwrap()
        {
            Read::Message(()) => {}
            Read::Empty if task.detail == "sleep" => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Read::Empty => std::thread::yield_now(),
            Read::Lapped(lapped) => lost += lapped.count(),
        }
    }
    say(format!("{read} {lost}"));
}

/// The final report of a reader: how many messages it read, and how many it lost.
fn account(reader: &mut Peer) -> (u64, u64) {
    let said = reader.receive();
    let (read, lost) = said.split_once(' ').unwrap();
    assert!(reader.end().success());
    (read.parse().unwrap(), lost.parse().unwrap())
}

fn start_readers<R: Ring>(place: &Scratch, count: usize, detail: &str) -> Vec<Peer> {
    let start = |_| Peer::start(command::<R>("follow", place.path(), 0, detail));
    let mut readers: Vec<Peer> = (0..count).map(start).collect();
    for reader in &mut readers {
        assert_eq!(reader.receive(), "attached");
    }
    readers
}

fn full_speed<R: Ring>() {
    const MESSAGES: u64 = 300_000;
    let place = Scratch::new(&format!("speed-{}", R::NAME));
    let mut writer = Peer::start(command::<R>("write", place.path(), MESSAGES, ""));
    assert_eq!(writer.receive(), "1");
    let mut readers = start_readers::<R>(&place, 3, "");
    writer.send("go");
    assert_eq!(writer.receive(), format!("wrote {}", MESSAGES + 1));
    for reader in &mut readers {
        let (read, lost) = account(reader);
        println!("{}: {read} read and {lost} lost of {MESSAGES} and one", R::NAME);
        assert_eq!(read + lost, MESSAGES + 1);
        assert!(read > 0);
    }
    assert!(writer.end().success());
}

#[test]
fn every_reader_accounts_for_every_message_of_a_writer_at_full_speed() {
    full_speed::<Stream>();
    full_speed::<Slots>();
}

fn killed_at_random<R: Ring>() {
    const KILLS: u64 = 5;
    let place = Scratch::new(&format!("random-{}", R::NAME));
    let forever = || command::<R>("write", place.path(), u64::MAX, "no pause");
    let mut writer = Peer::start(forever());
    assert_eq!(writer.receive(), "1");
    let mut readers = start_readers::<R>(&place, 3, "");
    let seen = RingMonitor::open(place.path()).unwrap();
    let mut first = 1;
    for round in 0..KILLS {
        // At any moment, but not before it has published something.
        let enough = first + mixed(round) % 5_000;
        eventually("the writer is at work", || {
            seen.sample().is_ok_and(|stat| stat.next_sequence > enough)
        });
        writer.kill();
        // Killing a reader has no effect on others.
        if round == KILLS / 2 {
            readers.pop().unwrap().kill();
        }
        let stat = seen.sample().unwrap();
        assert_eq!((stat.owner.state, stat.owner.epoch), (OwnerState::Dead, round + 1));
        assert!(stat.next_sequence > enough);
        let command = if round + 1 < KILLS {
            forever()
        } else {
            command::<R>("write", place.path(), 10_000, "no pause")
        };
        writer = Peer::start(command);
        first = writer.receive().parse().unwrap();
        // The observer depends on how much of its last batch the dead writer has stored.
        assert!(
            (stat.next_sequence..=stat.next_sequence + 5).contains(&first),
            "{first}, {stat:?}"
        );
    }
    let total: u64 = writer.receive().strip_prefix("wrote ").unwrap().parse().unwrap();
    assert_eq!(total, first + 10_000);
    for reader in &mut readers {
        let (read, lost) = account(reader);
        println!("{}: {read} read and {lost} lost of {total} of {} writers", R::NAME, KILLS + 1);
        assert_eq!(read + lost, total);
    }
    assert_eq!(seen.sample().unwrap().owner.epoch, KILLS + 1);
}

#[test]
fn writers_killed_at_any_moment_are_followed_by_others_without_a_gap() {
    killed_at_random::<Stream>();
    killed_at_random::<Slots>();
}

fn many_readers<R: Ring>() {
    const MESSAGES: u64 = 2_000;
    let place = Scratch::new(&format!("many-{}", R::NAME));
    let mut writer = Peer::start(command::<R>("write", place.path(), MESSAGES, ""));
    assert_eq!(writer.receive(), "1");
    let mut readers = start_readers::<R>(&place, 64, "sleep");
    writer.send("go");
    assert_eq!(writer.receive(), format!("wrote {}", MESSAGES + 1));
    for reader in &mut readers {
        let (read, lost) = account(reader);
        assert_eq!(read + lost, MESSAGES + 1);
    }
}

#[test]
fn sixty_four_readers_at_once_are_as_good_as_one() {
    many_readers::<Stream>();
    many_readers::<Slots>();
}

fn replaced<R: Ring>() {
    let place = Scratch::new(&format!("replaced-{}", R::NAME));
    let (mut writer, _) = R::create(place.path(), BYTES, &RegionOptions::default()).unwrap();
    writer.publish(1, &payload(1, 1, 9)).unwrap();
    let mut reader = R::open(place.path(), Start::Oldest).unwrap();
    let seen = RingMonitor::open(place.path()).unwrap();
    assert!(R::replace(place.path(), 2 * BYTES).is_err(), "its writer lives");
    reader.region().check().unwrap();
    drop(writer);
    let (mut writer, _) = R::replace(place.path(), 2 * BYTES).unwrap();
    assert_eq!(writer.publish(2, &payload(1, 2, 20)), Ok(1));
    for region in [reader.region(), seen.region()] {
        assert_eq!(*region.check().unwrap_err().refusal(), Refusal::Replaced);
        assert_eq!(region.owner().state, OwnerState::Closed);
    }
    // The old ring stays unchanged; the new one is separate.
    let mut types = Vec::new();
    let mut read = |reader: &mut R::Reader| {
        while next(reader, WAYS[0], |received| types.push(received.type_id)).unwrap() != Read::Empty
        {
        }
    };
    read(&mut reader);
    let mut new = R::open(place.path(), Start::Oldest).unwrap();
    read(&mut new);
    assert_eq!(types, [1, 2]);
    new.region().check().unwrap();
}

#[test]
fn readers_of_a_ring_that_was_replaced_report_it_and_keep_what_they_have() {
    replaced::<Stream>();
    replaced::<Slots>();
}
