//! Processes that are stopped at any point, and continue much later.

use nanotape_harness::{Peer, Scratch, Task, eventually, mixed, say};
use nanotape_ring::{Gap, Publish as _, Read, Rejoin, RingMonitor, Start, Subscribe as _};
use nanotape_shm::{OwnerState, RegionOptions};

use crate::processes::{
    children::command,
    rings::{Ring, SMALL, Slots, Stream, WAYS, Way, next, payload},
};

const WRITER: u16 = 1;

const REJOINS: [Rejoin; 3] = [Rejoin::Oldest, Rejoin::Halfway, Rejoin::Newest];

/// In a child: reads without a pause, and reports every lap and every end that it reaches.
pub(crate) fn report<R: Ring>(task: &Task) {
    let mut reader = R::open(&task.path, Start::Sequence(1)).unwrap();
    let rejoin = REJOINS.into_iter().find(|r| format!("{r:?}") == task.detail).unwrap();
    reader.set_rejoin(rejoin);
    let (mut read, mut lost, mut reported) = (0, 0, u64::MAX);
    for way in WAYS.into_iter().cycle() {
        match next(&mut reader, way, |_| read += 1).unwrap() {
            Read::Message(()) => {}
            Read::Lapped(Gap { from, to }) => {
                lost += to - from + 1;
                say(format!("lost {from} to {to}"));
            }
            Read::Empty if reported != reader.next_sequence() => {
                reported = reader.next_sequence();
                say(format!("at {} read {read} lost {lost}", reported - 1));
            }
            Read::Empty => std::thread::yield_now(),
        }
    }
}

fn publish<R: Ring>(writer: &mut R::Writer, count: u64) -> u64 {
    for _ in 0..count {
        let sequence = writer.next_sequence();
        let length = (mixed(sequence) % 200) as usize;
        writer.publish(WRITER, &payload(sequence, WRITER, length)).unwrap();
    }
    writer.next_sequence() - 1
}

/// Checks that the child's next line is this end, after any number of earlier ends.
fn receive_end(child: &mut Peer, end: u64) -> String {
    let here = format!("at {end} ");
    loop {
        let said = child.receive();
        assert!(said.starts_with("at "), "{said}");
        if said.starts_with(&here) {
            return said;
        }
    }
}

fn frozen_reader<R: Ring>(rejoin: Rejoin) {
    let place = Scratch::new(&format!("frozen-{}-{rejoin:?}", R::NAME));
    let (mut writer, _) = R::create(place.path(), SMALL, &RegionOptions::default()).unwrap();
    let mut total = publish::<R>(&mut writer, 5);
    let detail = format!("{rejoin:?}");
    let mut child = Peer::start(command::<R>("report", place.path(), 0, &detail));
    let mut lost = 0;
    receive_end(&mut child, total);
    for round in 0..8 {
        child.stop();
        let read = total;
        // At least three laps.
        total = publish::<R>(&mut writer, 150 + round * 7);
        let stat = RingMonitor::open(place.path()).unwrap().sample().unwrap();
        child.resume();
        let said = child.receive();
        let to = said.strip_prefix(&format!("lost {} to ", read + 1)).map(str::parse::<u64>);
        let Some(Ok(to)) = to else { panic!("stopped at {read}: {said}") };
        lost += to - read;
        match rejoin {
            Rejoin::Oldest => assert_eq!(to + 1, stat.oldest_sequence),
            Rejoin::Halfway => assert!(stat.oldest_sequence < to + 1 && to < total, "{to}"),
            Rejoin::Newest => assert_eq!(to, total),
        }
        // The reader reads everything that it did not lose, and nothing twice.
        assert_eq!(
            receive_end(&mut child, total),
            format!("at {total} read {} lost {lost}", total - lost)
        );
        total = publish::<R>(&mut writer, 3);
        let end = format!("at {total} read {} lost {lost}", total - lost);
        assert_eq!(receive_end(&mut child, total), end);
    }
    println!("{}, {rejoin:?}: {total} messages, {lost} of them lost", R::NAME);
}

#[test]
fn a_reader_that_was_frozen_gets_first_what_it_missed_and_goes_on_where_it_chose() {
    for rejoin in REJOINS {
        frozen_reader::<Stream>(rejoin);
        frozen_reader::<Slots>(rejoin);
    }
}

fn frozen_anywhere<R: Ring>() {
    let place = Scratch::new(&format!("anywhere-{}", R::NAME));
    let (mut writer, _) = R::create(place.path(), SMALL, &RegionOptions::default()).unwrap();
    let mut child = Peer::start(command::<R>("report", place.path(), 0, "Halfway"));
    assert_eq!(child.receive(), "at 0 read 0 lost 0");
    let mut total = 0;
    for round in 0..30 {
        // At any point of its work, so the test does not wait for anything.
        for _ in 0..mixed(round) % 50 {
            publish::<R>(&mut writer, 5);
            std::thread::yield_now();
        }
        child.stop();
        total = publish::<R>(&mut writer, 120);
        child.resume();
    }
    let end = format!("at {total} ");
    let mut lost = 0;
    let said = loop {
        let said = child.receive();
        if let Some((from, to)) = said.strip_prefix("lost ").and_then(|s| s.split_once(" to ")) {
            lost += to.parse::<u64>().unwrap() - from.parse::<u64>().unwrap() + 1;
        } else if said.starts_with(&end) {
            break said;
        }
    };
    assert_eq!(said, format!("at {total} read {} lost {lost}", total - lost));
    println!("{}: {total} messages, {lost} of them lost", R::NAME);
    assert!(lost > 0);
}

#[test]
fn a_reader_frozen_anywhere_sees_no_torn_message_and_misses_none_unsaid() {
    frozen_anywhere::<Stream>();
    frozen_anywhere::<Slots>();
}

fn frozen_writer<R: Ring>() {
    let place = Scratch::new(&format!("writer-{}", R::NAME));
    let mut child = Peer::start(command::<R>("write", place.path(), u64::MAX, "no pause"));
    child.receive();
    let mut readers: Vec<R::Reader> =
        WAYS.map(|_| R::open(place.path(), Start::Newest).unwrap()).into();
    for _ in 0..20 {
        let before = readers[0].next_sequence();
        eventually("the writer is at work", || {
            let _ = next(&mut readers[0], Way::Read, |_| ()).unwrap();
            readers[0].next_sequence() > before
        });
        child.stop();
        let mut ends = Vec::new();
        for (reader, way) in readers.iter_mut().zip(WAYS) {
            while next(reader, way, |_| ()).unwrap() != Read::Empty {}
            ends.push(reader.next_sequence());
            for _ in 0..100 {
                assert_eq!(next(reader, way, |_| ()), Ok(Read::Empty), "{way:?}");
            }
        }
        assert_eq!(ends[0], ends[1]);
        let stat = RingMonitor::open(place.path()).unwrap().sample().unwrap();
        assert_eq!((stat.owner.state, stat.owner.pid), (OwnerState::Alive, child.pid()));
        assert!(R::create(place.path(), SMALL, &RegionOptions::default()).is_err());
        let mut new = R::open(place.path(), Start::Oldest).unwrap();
        while next(&mut new, Way::Visit, |_| ()).unwrap() != Read::Empty {}
        assert_eq!(new.next_sequence(), ends[0]);
        child.resume();
        let mut moved = |reader: usize, way| {
            let _ = next(&mut readers[reader], way, |_| ()).unwrap();
            readers[reader].next_sequence() > ends[0]
        };
        eventually("the writer goes on", || moved(0, Way::Read));
        eventually("so do readers of batches", || moved(2, Way::Batch));
    }
}

#[test]
fn a_frozen_writer_is_alive_and_readers_find_nothing_new_until_it_goes_on() {
    frozen_writer::<Stream>();
    frozen_writer::<Slots>();
}
