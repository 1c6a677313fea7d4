//! A writer is killed before each of its stores in turn: readers never see a partial message, and
//! the next writer continues normally.
//!
//! For every operation and every store of it: a ring after some laps with readers at several
//! positions; a child that is killed before that store; readers, old and new, by every way to read;
//! a child that takes over and publishes more; the same readers again. The child that takes over is
//! killed at every one of its stores too, and a third one continues.

mod scene;

use std::{fs::OpenOptions, os::unix::fs::FileExt as _, path::Path};

use nanotape_harness::{Scratch, Task, survives};
use nanotape_ring::{
    Batched as _, Claimed as _, Publish, RingError, RingMonitor, Start, Subscribe,
};
use nanotape_shm::{Origin, OwnerState, Refusal, RegionOptions, inspect, kill_points};

use scene::Scene;

use crate::processes::{
    children::command,
    rings::{Ring, SMALL, Slots, Stream, payload},
};

/// The operation during which the child is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Publish,
    PublishIntoANewBlock,
    PublishBehindPadding,
    Batch,
    BatchBehindPadding,
    Claim,
    AbandonedClaim,
    AbandonedBatch,
    /// A message and a batch, held back and shown together.
    Held,
    /// Enters another block from any position.
    PublishMoreThanABlock,
    /// More messages than a reader of batches follows before it loads `committed`.
    LongBatch,
}

const OPERATIONS: [Operation; 11] = [
    Operation::Publish,
    Operation::PublishIntoANewBlock,
    Operation::PublishBehindPadding,
    Operation::Batch,
    Operation::BatchBehindPadding,
    Operation::Claim,
    Operation::AbandonedClaim,
    Operation::AbandonedBatch,
    Operation::Held,
    Operation::PublishMoreThanABlock,
    Operation::LongBatch,
];

/// Numbers of the writers, which are the types of their messages.
const HISTORY: u16 = 10;
const KILLED: u16 = 11;
const NEXT: u16 = 12;
const LAST: u16 = 13;

/// Messages of the writer that took over: one message, without the rest of an unpublished batch
/// after it.
const ONE: [usize; 1] = [7];

/// Messages of the third writer.
const THREE: [usize; 3] = [120, 0, 33];

/// Lengths of the messages of a long batch: few words, because each is a point to be killed at.
const LONG: [usize; 20] = {
    let mut lengths = [0; 20];
    lengths[2] = 8;
    lengths[19] = 16;
    lengths
};

/// Bytes of a slot ring with room for such a batch.
const LARGE: usize = 32 << 10;

/// Bytes of the ring of an operation; its path ends with the operation's name.
fn bytes_of<R: Ring>(path: &Path) -> usize {
    let is_long = path.to_string_lossy().ends_with("LongBatch");
    if is_long && R::NAME == Slots::NAME { LARGE } else { SMALL }
}

/// Words of the stream ring and of its blocks, as in its document, to choose the ring's end.
const RING_WORDS: usize = SMALL / 8;
const BLOCK_WORDS: usize = RING_WORDS / 64;

impl Operation {
    /// Whether the operation does what its name states in a stream ring that ends here.
    fn begins_at(self, place: usize) -> bool {
        match self {
            // Three words of payload, two before them, and the zero after them, in one block.
            Self::Publish => place.is_multiple_of(BLOCK_WORDS),
            Self::PublishIntoANewBlock => place % BLOCK_WORDS == 5,
            Self::PublishBehindPadding => place > RING_WORDS - 20,
            Self::BatchBehindPadding => (RING_WORDS - 40..RING_WORDS - 25).contains(&place),
            _ => place % BLOCK_WORDS == 3,
        }
    }

    /// Lengths of the messages that it publishes together.
    fn lengths(self) -> &'static [usize] {
        match self {
            Self::PublishBehindPadding => &[240],
            Self::Batch => &[40, 0, 90],
            // What is held back ends with its block.
            Self::Held => &[0, 0],
            Self::BatchBehindPadding => &[60, 240, 8],
            Self::Claim => &[51],
            Self::PublishMoreThanABlock => &[56],
            Self::LongBatch => &LONG,
            _ => &[24],
        }
    }

    /// Whether to kill before this store. A long batch has many similar ones: the relevant stores
    /// are near the first commit word, and after it.
    fn is_killed_at(self, store: u64) -> bool {
        const ALIKE: u64 = 54;
        self != Self::LongBatch || store > ALIKE || store.is_multiple_of(9)
    }

    fn perform(self, writer: &mut impl Publish) {
        let first = writer.next_sequence();
        let lengths = self.lengths();
        match self {
            Self::Batch | Self::BatchBehindPadding | Self::LongBatch => {
                push_all(writer, lengths, |batch| assert_eq!(batch.publish(), first));
            }
            Self::Claim => {
                let bytes = payload(first, KILLED, lengths[0]);
                let mut claim = writer.claim(KILLED, bytes.len()).unwrap();
                claim.write(0, &bytes[..16]);
                claim.write(2, &bytes[16..]);
                assert_eq!(claim.publish(), first);
            }
            Self::AbandonedClaim => {
                let mut claim = writer.claim(KILLED, 100).unwrap();
                claim.write(0, &[0xee; 100]);
                claim.abandon();
            }
            Self::AbandonedBatch => push_all(writer, &[100, 9, 60], |batch| drop(batch)),
            Self::Held => {
                writer.set_holding(true);
                writer.publish(KILLED, &payload(first, KILLED, lengths[0])).unwrap();
                push_all(writer, &lengths[1..], |batch| assert_eq!(batch.publish(), first + 1));
                writer.show_held();
            }
            _ => {}
        }
        if writer.next_sequence() == first {
            writer.publish(KILLED, &payload(first, KILLED, lengths[0])).unwrap();
        }
    }
}

/// Builds a batch of the next messages.
fn push_all<W: Publish>(writer: &mut W, lengths: &[usize], end: impl FnOnce(W::Batch<'_>)) {
    let first = writer.next_sequence();
    let mut batch = writer.batch();
    for (sequence, &length) in (first..).zip(lengths) {
        batch.push(KILLED, &payload(sequence, KILLED, length)).unwrap();
    }
    end(batch);
}

/// In a child: takes the ring over, and is killed in the operation.
pub(crate) fn operate_and_die<R: Ring>(task: &Task) {
    let operation = OPERATIONS.into_iter().find(|o| format!("{o:?}") == task.detail).unwrap();
    let (mut writer, _) =
        R::create(&task.path, bytes_of::<R>(&task.path), &RegionOptions::default()).unwrap();
    kill_points::arm(task.number);
    operation.perform(&mut writer);
    assert_eq!(kill_points::disarm(), task.number - 1, "it was not killed because it was done");
}

/// In a child: is killed while it creates the ring.
pub(crate) fn create_and_die<R: Ring>(task: &Task) {
    kill_points::arm(task.number);
    let (writer, origin) =
        R::create(&task.path, bytes_of::<R>(&task.path), &RegionOptions::default()).unwrap();
    assert_eq!(kill_points::disarm(), task.number - 1);
    assert_eq!((origin, writer.next_sequence()), (Origin::Created, 1));
}

/// In a child: takes over, and is killed meanwhile if it makes enough stores; otherwise publishes
/// the messages of the writer whose number is in the detail.
pub(crate) fn take_over<R: Ring>(task: &Task) {
    let number = task.detail.parse().unwrap();
    kill_points::arm(task.number);
    let (mut writer, _) =
        R::create(&task.path, bytes_of::<R>(&task.path), &RegionOptions::default()).unwrap();
    kill_points::disarm();
    for &length in lengths_of(number) {
        let sequence = writer.next_sequence();
        writer.publish(number, &payload(sequence, number, length)).unwrap();
    }
}

/// Lengths of the messages of a writer that took over.
fn lengths_of(number: u16) -> &'static [usize] {
    if number == NEXT { &ONE } else { &THREE }
}

/// Kills at every store of an operation, and lets another writer continue; kills that one at every
/// store of its take-over too. Returns how many stores the operation had, and how many times a
/// take-over was killed.
fn at_every_store<R: Ring>(operation: Operation) -> (u64, u64) {
    let name = format!("{operation:?}");
    let place = Scratch::new(&format!("{}-{name}", R::NAME));
    let maybe: Vec<_> = operation.lengths().iter().map(|&length| (KILLED, length)).collect();
    let (mut take_overs, mut outcomes) = (0, [0, 0]);
    for number in (1..).filter(|&number| operation.is_killed_at(number)) {
        place.clear();
        let mut scene = Scene::<R>::prepare(place.path(), operation);
        let before = scene.end();
        if survives(command::<R>("operate and die", place.path(), number, &name)) {
            scene.examine(&maybe, OwnerState::Closed);
            assert_eq!(scene.end(), before + maybe.len() as u64);
            let points = number - 1;
            println!("{}, {name}: {points} points, {take_overs} in take-overs", R::NAME);
            // Both outcomes must occur: otherwise the kills have no effect.
            assert!(outcomes[0] > 0 && outcomes[1] > 0, "{outcomes:?}");
            return (points, take_overs);
        }
        scene.examine(&maybe, OwnerState::Dead);
        outcomes[usize::from(scene.end() > before)] += 1;
        take_overs += at_every_store_of_a_take_over(&scene);
    }
    unreachable!("the loop ends after the last store")
}

/// Restores the ring as the killed writer left it, and kills the next one, store by store.
fn at_every_store_of_a_take_over<R: Ring>(scene: &Scene<R>) -> u64 {
    let left = std::fs::read(&scene.path).unwrap();
    let file = OpenOptions::new().write(true).open(&scene.path).unwrap();
    for number in 1.. {
        file.write_all_at(&left, 0).unwrap();
        let mut scene = scene.clone();
        if scene.taken_over(number, NEXT) {
            scene.went_on(NEXT);
            assert!(scene.taken_over(0, LAST));
            scene.went_on(LAST);
            return number - 1;
        }
        scene.examine(&[], OwnerState::Dead);
        assert!(scene.taken_over(0, LAST));
        scene.went_on(LAST);
    }
    unreachable!("the loop ends after the last store")
}

/// Creates a ring and is killed, at every store; returns their number.
fn at_every_store_of_a_creation<R: Ring>() -> u64 {
    let place = Scratch::new(&format!("{}-creation", R::NAME));
    let mut refused = 0;
    for number in 1.. {
        place.clear();
        if survives(command::<R>("create and die", place.path(), number, "")) {
            let points = number - 1;
            println!("{}, creation: {points} points, {refused} before it was there", R::NAME);
            assert!(refused >= points - 2);
            return points;
        }
        let mut scene = Scene::<R> {
            path: place.path().to_owned(),
            published: Vec::new(),
            readers: Vec::new(),
        };
        match R::open(place.path(), Start::Oldest) {
            Err(RingError::Region(error)) => {
                assert_eq!(*error.refusal(), Refusal::HalfCreated, "store {number}");
                assert!(RingMonitor::open(place.path()).is_err());
                refused += 1;
            }
            // It was killed after the last store of the creation: the ring exists, and is empty.
            Ok(reader) => {
                assert_eq!(reader.next_sequence(), 1);
                scene.readers.push(("of the dead creator's ring", reader));
            }
            Err(error) => panic!("store {number}: {error}"),
        }
        assert!(!inspect(place.path()).unwrap().is_owned);
        assert!(scene.taken_over(0, NEXT));
        scene.readers.push(("new", R::open(place.path(), Start::Sequence(1)).unwrap()));
        scene.went_on(NEXT);
    }
    unreachable!("the loop ends after the last store")
}

/// All tests for one kind of ring; each operation with its minimum of stores.
fn all<R: Ring>(least: [(Operation, u64); 8], creation: u64) {
    let (mut points, mut take_overs) = (0, 0);
    for (operation, least) in least {
        let (more, more_take_overs) = at_every_store::<R>(operation);
        assert!(more >= least, "{operation:?}: {more} points");
        // A take-over stores at least five words of the region's header and one of the ring.
        assert!(more_take_overs >= 6 * more, "{operation:?}: {more_take_overs} in take-overs");
        points += more;
        take_overs += more_take_overs;
    }
    let created = at_every_store_of_a_creation::<R>();
    assert!(created >= creation, "{created} points");
    points += created;
    println!("{}: {points} points and {take_overs} in take-overs in all", R::NAME);
}

#[test]
fn a_stream_writer_killed_at_any_store_leaves_whole_messages_and_a_ring_to_take_over() {
    let least = [
        (Operation::Publish, 7),
        (Operation::PublishIntoANewBlock, 11),
        (Operation::PublishBehindPadding, 36),
        (Operation::Batch, 25),
        (Operation::BatchBehindPadding, 47),
        (Operation::Claim, 11),
        (Operation::AbandonedClaim, 20),
        (Operation::AbandonedBatch, 28),
    ];
    all::<Stream>(least, 80);
}

#[test]
fn a_slot_writer_killed_at_any_store_leaves_whole_messages_and_a_ring_to_take_over() {
    let least = [
        (Operation::Publish, 8),
        (Operation::PublishIntoANewBlock, 8),
        (Operation::PublishBehindPadding, 34),
        (Operation::Batch, 28),
        (Operation::BatchBehindPadding, 48),
        (Operation::Claim, 12),
        (Operation::AbandonedClaim, 23),
        (Operation::AbandonedBatch, 35),
    ];
    all::<Slots>(least, 15);
}

#[test]
fn a_long_batch_of_a_killed_stream_writer_is_there_whole_or_not_at_all() {
    let (points, _) = at_every_store::<Stream>(Operation::LongBatch);
    assert!(points >= 75, "{points} points");
}

#[test]
fn what_a_killed_stream_writer_held_back_is_there_whole_or_not_at_all() {
    let (points, _) = at_every_store::<Stream>(Operation::Held);
    assert!(points >= 8, "{points} points");
}

#[test]
fn a_long_batch_of_a_killed_slot_writer_is_there_whole_or_not_at_all() {
    let (points, _) = at_every_store::<Slots>(Operation::LongBatch);
    assert!(points >= 65, "{points} points");
}

/// A writer that is killed whenever it would store an index entry leaves this to the next one.
/// Otherwise readers could not join the ring after some dozens of kills.
#[test]
fn the_index_of_a_stream_outlives_any_number_of_writers_killed_before_they_wrote_to_it() {
    let operation = Operation::PublishMoreThanABlock;
    let place = Scratch::new("stream-index");
    let mut scene = Scene::<Stream>::prepare(place.path(), operation);
    let name = format!("{operation:?}");
    // The first of the two stores of an entry is the fourteenth of the publication; with padding,
    // the fifteenth.
    for fatal in [14, 15].into_iter().cycle().take(100) {
        assert!(!survives(command::<Stream>("operate and die", place.path(), fatal, &name)));
        scene.published.push((KILLED, operation.lengths()[0]));
        let stat = RingMonitor::open(place.path()).unwrap().sample().unwrap();
        assert_eq!(stat.next_sequence, scene.end() + 1);
        assert!(stat.oldest_sequence + 30 < scene.end(), "{stat:?}");
    }
    assert!(scene.taken_over(0, LAST));
    scene.readers.push(("new", Stream::open(place.path(), Start::Oldest).unwrap()));
    scene.went_on(LAST);
}
