//! Compares both rings with a list of messages: for every sequence of publishing, claiming,
//! abandoning and reading, a reader gets every message once, in order and whole, or reports it as
//! lost.

use std::ops::RangeInclusive;

use nanotape_ring::{
    Batched, Claimed, Publish, PublishError, Read, Received, Rejoin, Start, Subscribe, slots,
    stream,
};
use proptest::prelude::*;

const CAPACITY_BYTES: usize = 4096;

#[derive(Clone, Debug)]
enum Step {
    Publish(usize),
    Claim { length: usize, publish: bool },
    Batch { lengths: Vec<usize>, publish: bool },
    Skip(u64),
    Hold(bool),
    ShowHeld,
    Read(usize),
    Visit(usize),
    ReadBatch { reader: usize, buffer: usize },
    Join { start: Start, rejoin: Rejoin },
}

const SLOTS: usize = 32;

/// In place of a length: the writer skipped this number.
const SKIPPED: usize = usize::MAX;
const SLOT_BYTES: usize = 200;

fn steps(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    let length = move || prop_oneof![4 => 0usize..100, 1 => 0..=longest];
    let start = prop_oneof![
        Just(Start::Oldest),
        Just(Start::Newest),
        (1u64..300).prop_map(Start::Sequence)
    ];
    let rejoin = prop_oneof![Just(Rejoin::Oldest), Just(Rejoin::Halfway), Just(Rejoin::Newest)];
    let step = prop_oneof![
        8 => length().prop_map(Step::Publish),
        2 => (length(), any::<bool>()).prop_map(|(length, publish)| Step::Claim { length, publish }),
        2 => (prop::collection::vec(prop_oneof![length(), Just(24)], 0..8), any::<bool>())
            .prop_map(|(lengths, publish)| Step::Batch { lengths, publish }),
        1 => prop_oneof![4 => 0u64..6, 1 => 0u64..100].prop_map(Step::Skip),
        1 => any::<bool>().prop_map(Step::Hold),
        1 => Just(Step::ShowHeld),
        6 => (0usize..8).prop_map(Step::Read),
        3 => (0usize..8).prop_map(Step::Visit),
        3 => (0usize..8, 1200usize..5000)
            .prop_map(|(reader, buffer)| Step::ReadBatch { reader, buffer }),
        1 => (start, rejoin).prop_map(|(start, rejoin)| Step::Join { start, rejoin }),
    ];
    prop::collection::vec(step, 1..if cfg!(miri) { 30 } else { 400 })
}

/// The payload of message `sequence`: different for every message.
fn payload(sequence: u64, length: usize) -> Vec<u8> {
    (0..length).map(|at| (sequence as usize * 31 + at * 7 + length) as u8).collect()
}

struct Model {
    published: Vec<usize>,
    /// Whether the writer may hold messages back.
    holds: bool,
    /// Messages that readers can certainly see.
    shown: u64,
    may_be_lost: fn(&[usize]) -> bool,
    laps: u64,
}

impl Model {
    fn next(&self) -> u64 {
        self.published.len() as u64 + 1
    }

    /// The number of the next message as a reader may see it.
    fn next_shown(&self) -> RangeInclusive<u64> {
        self.shown + 1..=self.next()
    }

    fn check(&mut self, expected: u64, received: Received, bytes: &[u8]) {
        self.shown = self.shown.max(expected);
        assert_eq!(received.sequence, expected);
        let length = self.published[expected as usize - 1];
        assert_ne!(length, SKIPPED);
        assert_eq!((received.length as usize, received.type_id), (length, length as u16));
        assert_eq!(bytes, payload(expected, length));
    }
}

/// `may_be_lost` returns whether a message may be lost after messages of these lengths.
fn run<W: Publish>(
    mut writer: W,
    steps: &[Step],
    can_hold: bool,
    may_be_lost: fn(&[usize]) -> bool,
) -> u64 {
    let mut model = Model { published: Vec::new(), holds: false, shown: 0, may_be_lost, laps: 0 };
    let mut readers = vec![writer.reader(Start::Oldest).unwrap()];
    for step in steps {
        match step {
            Step::Publish(length) => {
                let sequence = model.next();
                let bytes = payload(sequence, *length);
                assert_eq!(writer.publish(*length as u16, &bytes), Ok(sequence));
                model.published.push(*length);
            }
            Step::Claim { length, publish } => {
                let sequence = model.next();
                let bytes = payload(sequence, *length);
                let mut claim = writer.claim(*length as u16, *length).unwrap();
                let half = bytes.len() / 16;
                claim.write(0, &bytes[..half * 8]);
                claim.write(half, &bytes[half * 8..]);
                if *publish {
                    assert_eq!(claim.publish(), sequence);
                    model.published.push(*length);
                } else {
                    claim.abandon();
                }
            }
            Step::Batch { lengths, publish } => {
                let first = model.next();
                let mut batch = writer.batch();
                let mut pushed = Vec::new();
                for &length in lengths {
                    let bytes = payload(first + pushed.len() as u64, length);
                    let pushed_now = match bytes.as_chunks() {
                        (words, []) if length == 24 => batch.push_words(
                            length as u16,
                            [0, 1, 2].map(|index| u64::from_ne_bytes(words[index])),
                        ),
                        _ => batch.push(length as u16, &bytes),
                    };
                    match pushed_now {
                        Ok(()) => pushed.push(length),
                        Err(PublishError::BatchFull { .. }) => break,
                        Err(error) => panic!("{error}"),
                    }
                }
                if *publish {
                    assert_eq!(batch.len(), pushed.len() as u64);
                    assert_eq!(batch.publish(), first);
                    model.published.extend(pushed);
                }
            }
            Step::Skip(count) => {
                let next = model.next() + count;
                writer.skip_to(next).unwrap();
                model.published.resize(next as usize - 1, SKIPPED);
                // Of no numbers, it shows nothing either.
                model.shown = if *count > 0 { next - 1 } else { model.shown };
            }
            Step::Hold(holds) => {
                writer.set_holding(*holds);
                model.holds = *holds && can_hold;
                model.shown = model.published.len() as u64;
            }
            Step::ShowHeld => {
                writer.show_held();
                model.shown = model.published.len() as u64;
            }
            Step::Read(reader) => {
                let count = readers.len();
                let reader = &mut readers[reader % count];
                let expected = reader.next_sequence();
                let mut buffer = vec![0; CAPACITY_BYTES / 4];
                match reader.try_read(&mut buffer).unwrap() {
                    Read::Message(received) => {
                        let bytes = &buffer[..received.length as usize];
                        model.check(expected, received, bytes);
                    }
                    other => model.check_none(expected, reader, other),
                }
            }
            Step::Visit(reader) => {
                let count = readers.len();
                let reader = &mut readers[reader % count];
                let expected = reader.next_sequence();
                let read = reader.try_visit(|message| {
                    let mut bytes = vec![0; message.len()];
                    assert_eq!(message.copy_to(&mut bytes), bytes.len());
                    for (index, chunk) in bytes.chunks(8).enumerate() {
                        let word = message.word(index).to_ne_bytes();
                        assert_eq!(word[..chunk.len()], *chunk);
                    }
                    (message.received(), bytes)
                });
                match read.unwrap() {
                    Read::Message((received, bytes)) => model.check(expected, received, &bytes),
                    other => model.check_none(expected, reader, other),
                }
            }
            Step::ReadBatch { reader, buffer } => {
                let count = readers.len();
                let reader = &mut readers[reader % count];
                let mut expected = reader.next_sequence();
                let mut buffer = vec![0; *buffer];
                let read = reader.read_batch(&mut buffer, |received, bytes| {
                    model.check(expected, received, bytes);
                    expected += 1;
                });
                match read.unwrap() {
                    Read::Message(count) => {
                        assert!(count > 0);
                        assert_eq!(reader.next_sequence(), expected);
                    }
                    other => model.check_none(expected, reader, other),
                }
            }
            Step::Join { start, rejoin } => match writer.reader(*start) {
                Ok(mut reader) => {
                    match start {
                        Start::Newest => {
                            assert!(model.next_shown().contains(&reader.next_sequence()));
                        }
                        Start::Sequence(sequence) => assert_eq!(reader.next_sequence(), *sequence),
                        Start::Oldest => assert!(reader.next_sequence() <= model.next()),
                        Start::Time(_) => unreachable!("no step has a time"),
                    }
                    reader.set_rejoin(*rejoin);
                    readers.truncate(7);
                    readers.push(reader);
                }
                Err(error) => {
                    let Start::Sequence(sequence) = *start else { panic!("{error}") };
                    let next = writer.reader(Start::Newest).unwrap().next_sequence();
                    assert!(sequence > next && model.next_shown().contains(&next), "{error}");
                    let said =
                        format!("message {sequence} is not published yet: the next one is {next}");
                    assert_eq!(error.to_string(), said);
                }
            },
        }
        if !model.holds {
            model.shown = model.published.len() as u64;
        }
        assert_eq!(writer.next_sequence(), model.next());
    }
    model.laps
}

impl Model {
    fn check_none(
        &mut self,
        expected: u64,
        reader: &impl Subscribe,
        read: Read<impl std::fmt::Debug>,
    ) {
        match read {
            Read::Empty => {
                assert!(self.next_shown().contains(&expected), "empty means that all was read");
            }
            Read::Lapped(lapped) => {
                assert_eq!((lapped.from, lapped.to + 1), (expected, reader.next_sequence()));
                assert!(lapped.to >= lapped.from && lapped.to < self.next());
                let behind = &self.published[expected as usize - 1..];
                let gone = &behind[..lapped.count() as usize];
                if gone.iter().all(|&length| length == SKIPPED) {
                    return;
                }
                assert!((self.may_be_lost)(behind), "lost with {behind:?} behind it");
                self.laps += 1;
            }
            Read::Message(_) => unreachable!("{read:?}"),
        }
    }
}

/// Half of the ring may be reserved for a batch, and a quarter be padding.
fn stream_may_lose(behind: &[usize]) -> bool {
    let bytes = |length: &usize| 16 + length.next_multiple_of(8);
    behind.iter().filter(|length| **length != SKIPPED).map(bytes).sum::<usize>()
        > CAPACITY_BYTES / 5
}

fn slots_may_lose(behind: &[usize]) -> bool {
    behind.len() > SLOTS / 2
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 2_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_stream_shows_every_message_once_in_order_and_whole_or_says_it_is_lost(
        steps in steps(CAPACITY_BYTES / 4),
    ) {
        run(stream::Writer::on_heap(CAPACITY_BYTES).unwrap(), &steps, true, stream_may_lose);
    }

    #[test]
    fn slots_show_every_message_once_in_order_and_whole_or_say_it_is_lost(
        steps in steps(SLOT_BYTES),
    ) {
        run(slots::Writer::on_heap(SLOTS, SLOT_BYTES).unwrap(), &steps, false, slots_may_lose);
    }
}

#[test]
fn the_model_sees_laps() {
    let mut steps = vec![Step::Publish(100); 200];
    steps.extend([Step::Read(0), Step::ReadBatch { reader: 0, buffer: 4000 }]);
    assert_eq!(
        run(stream::Writer::on_heap(CAPACITY_BYTES).unwrap(), &steps, true, stream_may_lose),
        1
    );
    assert_eq!(
        run(slots::Writer::on_heap(SLOTS, SLOT_BYTES).unwrap(), &steps, false, slots_may_lose),
        1
    );
}

#[test]
fn messages_that_are_held_back_are_shown_together() {
    let mut writer = stream::Writer::on_heap(64 << 10).unwrap();
    let mut reader = writer.reader(Start::Oldest).unwrap();
    let mut read = move || {
        let (mut count, mut buffer) = (0, [0; 1_000]);
        while reader.try_read(&mut buffer).unwrap() != Read::Empty {
            count += 1;
        }
        count
    };
    writer.set_holding(true);
    for value in 1..=3 {
        assert_eq!(writer.publish(1, &[0; 40]), Ok(value));
        assert_eq!((read(), writer.next_sequence()), (0, value + 1));
    }
    writer.show_held();
    assert_eq!(read(), 3);
    // What is held back ends with its block of 1 KiB.
    writer.publish(1, &[0; 800]).unwrap();
    assert_eq!(read(), 0);
    writer.publish(1, &[0; 40]).unwrap();
    assert_eq!(read(), 2);
    writer.publish(1, &[0; 40]).unwrap();
    writer.set_holding(false);
    assert_eq!(read(), 1);
    writer.publish(1, &[0; 40]).unwrap();
    assert_eq!(read(), 1);
}

/// The longest message needs half of the ring at the end of a lap, for its padding and itself.
#[test]
fn the_longest_message_fits_behind_what_is_held_back_at_every_position() {
    let longest = vec![7; CAPACITY_BYTES / 4];
    for before in 0..CAPACITY_BYTES / 8 {
        let mut writer = stream::Writer::on_heap(CAPACITY_BYTES).unwrap();
        for _ in 0..before {
            writer.publish(1, b"").unwrap();
        }
        let mut reader = writer.reader(Start::Newest).unwrap();
        writer.set_holding(true);
        let held = writer.publish(1, b"held").unwrap();
        assert_eq!(writer.publish(2, &longest), Ok(held + 1), "after {before} messages");
        let mut batch = writer.batch();
        assert_eq!(batch.push(3, &longest), Ok(()), "in a batch, after {before} messages");
        assert_eq!(batch.publish(), held + 2);
        writer.show_held();
        let mut buffer = vec![0; longest.len()];
        for sequence in held..=held + 2 {
            let read = reader.try_read(&mut buffer).unwrap();
            assert!(matches!(read, Read::Message(message) if message.sequence == sequence));
        }
        assert_eq!(buffer, longest);
    }
}

#[test]
fn an_empty_batch_stores_nothing() {
    fn check<W: Publish>(mut writer: W) {
        writer.publish(1, b"one").unwrap();
        let words = |writer: &W| -> Vec<u64> {
            writer.region().words().iter().map(|word| word.load()).collect()
        };
        let before = words(&writer);
        writer.set_time(7);
        assert_eq!(writer.batch().publish(), 2);
        assert_eq!((words(&writer), writer.next_sequence()), (before, 2));
    }
    check(stream::Writer::on_heap(CAPACITY_BYTES).unwrap());
    check(slots::Writer::on_heap(SLOTS, SLOT_BYTES).unwrap());
}

#[test]
fn a_reader_that_read_everything_is_at_the_position_of_the_writer() {
    fn check<W: Publish>(mut writer: W) {
        let mut reader = writer.reader(Start::Oldest).unwrap();
        let (mut buffer, mut before) = ([0; SLOT_BYTES], 0);
        for length in (0..SLOT_BYTES).step_by(3) {
            writer.publish(1, &vec![1; length]).unwrap();
            assert_eq!(reader.position_bytes(), before);
            assert!(writer.position_bytes() >= before + length as u64);
            assert!(matches!(reader.try_read(&mut buffer).unwrap(), Read::Message(_)));
            before = writer.position_bytes();
            assert_eq!(reader.position_bytes(), before);
        }
        assert!(before > CAPACITY_BYTES as u64, "the ring wraps");
    }
    check(stream::Writer::on_heap(CAPACITY_BYTES).unwrap());
    check(slots::Writer::on_heap(SLOTS, SLOT_BYTES).unwrap());
}
