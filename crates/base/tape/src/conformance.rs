//! The test suite for every implementation of [`Source`] and [`Sink`], which the tests of each
//! crate run with [`conformance!`](crate::conformance).

use std::{fmt::Debug, ops::ControlFlow};

use nanotape_clock::UtcNanos;

use crate::{
    Follow, Gap, InPlaceSink, Item, MessageRoom as _, Progress, Sink, Source, Start, Step, Tape,
    WriterState,
};

/// A kind of stream under test.
pub trait Subject {
    /// The writer.
    type Sink: Sink<Error: Debug> + InPlaceSink<Error = <Self::Sink as Sink>::Error>;
    /// The reader.
    type Source: Source<Error: Debug> + Debug;

    /// Whether its messages have times.
    const HAS_TIMES: bool;

    /// Whether its writer can take messages back.
    const TAKES_BACK: bool;

    /// An empty stream that no other test uses. It is removed with the value.
    fn new(test: &str) -> Self;

    /// Becomes the writer; creates the stream if this is its first writer. Dropping a writer closes
    /// the stream.
    fn sink(&self) -> Self::Sink;

    /// A new reader.
    fn source(&self, start: Start) -> Result<Self::Source, <Self::Source as Tape>::Error>;

    /// Makes the stream lose messages or numbers after those that were appended; may use
    /// [`append`].
    fn lose(&self, sink: &mut Self::Sink);
}

/// Defines a module with one test for each check of the suite.
#[macro_export]
macro_rules! conformance {
    ($name:ident: $subject:ty) => {
        mod $name {
            #[allow(unused_imports, reason = "the subject may be a full path")]
            use super::*;

            $crate::conformance!(@ $subject:
                messages_are_read_whole_and_in_order
                messages_written_in_place_are_read
                a_source_is_shown_without_its_messages
                a_break_stops_after_the_item
                every_start_is_found
                a_reader_continues_where_another_stopped
                numbers_that_are_gone_are_gaps
                numbers_that_the_writer_skips_are_gaps
                a_number_below_the_next_one_is_refused
                what_is_taken_back_is_written_again
                a_follower_reads_what_each_writer_left
            );
        }
    };
    (@ $subject:ty: $($check:ident)*) => {$(
        #[test]
        fn $check() {
            $crate::conformance::$check::<$subject>();
        }
    )*};
}

/// The payload of the message with this type.
fn payload(type_id: u16) -> Vec<u8> {
    (0..type_id * 7 % 90).map(|at| (at * 31 + type_id) as u8).collect()
}

fn time(type_id: u16) -> UtcNanos {
    UtcNanos::new(1_000 * i64::from(type_id))
}

/// Appends messages of these types.
pub fn append(sink: &mut impl Sink<Error: Debug>, types: impl IntoIterator<Item = u16>) {
    for type_id in types {
        sink.append(type_id, time(type_id), &payload(type_id)).unwrap();
    }
}

/// A stream with its writer and messages of the types 1 to `count`, which are their numbers too.
fn filled<S: Subject>(test: &str, count: u16) -> (S, S::Sink) {
    let subject = S::new(test);
    let mut sink = subject.sink();
    append(&mut sink, 1..=count);
    (subject, sink)
}

/// Checks an item that must be the next one; returns the number after it.
fn check<S: Subject>(item: &Item<'_>, next: u64) -> u64 {
    match *item {
        Item::Message(message) => {
            assert_eq!(message.sequence, next);
            assert_eq!(message.payload, payload(message.type_id), "message {next}");
            assert_eq!(message.ts, S::HAS_TIMES.then(|| time(message.type_id)));
            next + 1
        }
        Item::Gap(Gap { from, to }) => {
            assert!(from == next && to >= from, "{from} to {to}, expected {next}");
            to + 1
        }
        Item::Reused(reused) => panic!("{reused:?}, expected {next}"),
    }
}

/// Reads up to `end` without waiting; returns how many numbers are in gaps.
fn read_to<S: Subject>(source: &mut S::Source, end: u64) -> u64 {
    let mut missing = 0;
    while source.next_sequence() < end {
        let mut next = source.next_sequence();
        let progress = source.poll(|item| {
            next = check::<S>(&item, next);
            missing += if let Item::Gap(gap) = item { gap.count() } else { 0 };
            ControlFlow::Continue(())
        });
        assert_eq!((progress.unwrap(), source.next_sequence()), (Progress::Read, next));
    }
    missing
}

/// A reader gets each message once, whole and in order, and is idle after that.
pub fn messages_are_read_whole_and_in_order<S: Subject>() {
    let (subject, mut sink) = filled::<S>("whole", 0);
    let mut source = subject.source(Start::Oldest).unwrap();
    assert_eq!((source.next_sequence(), source.end().unwrap()), (1, 1));
    for last in [1, 2, 30, 80] {
        assert_eq!(source.poll(|_| unreachable!()).unwrap(), Progress::Nothing);
        append(&mut sink, source.next_sequence() as u16..=last);
        assert_eq!(source.end().unwrap(), u64::from(last) + 1);
        assert_eq!(read_to::<S>(&mut source, u64::from(last) + 1), 0);
    }
}

/// A message that is written in place, by words and from bytes, is the message with these bytes.
/// Room that is dropped leaves nothing.
pub fn messages_written_in_place_are_read<S: Subject>() {
    let (subject, mut sink) = filled::<S>("place", 3);
    for type_id in 4..=40 {
        let bytes = payload(type_id);
        for is_kept in [false, true] {
            let mut room = sink.reserve(type_id, time(type_id), bytes.len()).unwrap();
            // Two words, if there are as many, and the rest from bytes.
            let words = bytes.as_chunks::<8>().0.first_chunk::<2>();
            if let Some(words) = words {
                room.set_words(if is_kept { *words } else { [[0xFF; 8]; 2] });
            }
            let first = words.map_or(0, |words| words.len());
            room.write(first, &bytes[8 * first..]);
            if is_kept {
                assert_eq!(room.commit().unwrap(), u64::from(type_id));
            }
        }
    }
    let mut source = subject.source(Start::Oldest).unwrap();
    assert_eq!(read_to::<S>(&mut source, 41), 0);
}

/// `{:?}` of a source has no buffer of messages.
pub fn a_source_is_shown_without_its_messages<S: Subject>() {
    let (subject, _sink) = filled::<S>("shown", 60);
    let mut source = subject.source(Start::Oldest).unwrap();
    assert_eq!(read_to::<S>(&mut source, 61), 0);
    let shown = format!("{source:?}");
    let message = format!("{:?}", payload(60));
    assert!(message.len() > 100 && !shown.contains(&message[1..60]), "{shown}");
}

/// An item after which the visitor stops is read, and the one after it is not.
pub fn a_break_stops_after_the_item<S: Subject>() {
    let (subject, _sink) = filled::<S>("break", 40);
    let mut source = subject.source(Start::Oldest).unwrap();
    for next in 1..=40 {
        let mut seen = next;
        let progress = match next % 2 {
            0 => source.poll_one(|item| seen = check::<S>(&item, next)),
            _ => source.poll(|item| {
                seen = check::<S>(&item, seen);
                ControlFlow::Break(())
            }),
        };
        assert_ne!(progress.unwrap(), Progress::Nothing);
        assert_eq!((seen, source.next_sequence()), (next + 1, next + 1));
    }
    assert_eq!(source.poll_one(|_| unreachable!()).unwrap(), Progress::Nothing);
}

/// Each start is at its documented position, both for opening a reader and for a seek. A start that
/// does not exist is an error, and the reader keeps its position.
pub fn every_start_is_found<S: Subject>() {
    let (subject, _sink) = filled::<S>("start", 20);
    let mut seeker = subject.source(Start::Newest).unwrap();
    let mut found = |start| {
        let opened = subject.source(start).ok().map(|source| source.next_sequence());
        let before = seeker.next_sequence();
        let sought = seeker.seek(start);
        match opened {
            Some(sequence) => {
                sought.unwrap();
                assert_eq!(seeker.next_sequence(), sequence, "{start:?}");
            }
            None => assert!(sought.is_err() && seeker.next_sequence() == before, "{start:?}"),
        }
        opened
    };
    assert_eq!((found(Start::Oldest), found(Start::Newest)), (Some(1), Some(21)));
    for sequence in [1, 2, 13, 20, 21] {
        assert_eq!(found(Start::Sequence(sequence)), Some(sequence));
    }
    assert_eq!((found(Start::Sequence(22)), found(Start::Sequence(1 << 40))), (None, None));
    for (nanos, sequence) in [(0, 1), (7_000, 7), (7_001, 8), (20_000, 20), (20_001, 21)] {
        let expected = S::HAS_TIMES.then_some(sequence);
        assert_eq!(found(Start::Time(UtcNanos::new(nanos))), expected, "{nanos}");
    }
    let mut source = subject.source(Start::Sequence(13)).unwrap();
    read_to::<S>(&mut source, 21);
    source.seek(Start::Sequence(5)).unwrap();
    assert_eq!(read_to::<S>(&mut source, 21), 0);
}

/// A reader continues at the next number of another reader.
pub fn a_reader_continues_where_another_stopped<S: Subject>() {
    let (subject, mut sink) = filled::<S>("resume", 30);
    let mut next = 1;
    for stop in [4, 30, 31, 50] {
        if stop == 50 {
            append(&mut sink, 31..=60);
        }
        let mut source = subject.source(Start::Sequence(next)).unwrap();
        while source.next_sequence() < stop {
            let progress = source.poll_one(|item| next = check::<S>(&item, next));
            assert_ne!(progress.unwrap(), Progress::Nothing);
        }
        assert_eq!(source.next_sequence(), next);
    }
    assert_eq!(next, 50);
}

/// Missing numbers are reported once, in order; existing messages are read.
pub fn numbers_that_are_gone_are_gaps<S: Subject>() {
    let (subject, mut sink) = filled::<S>("gaps", 10);
    let mut early = subject.source(Start::Oldest).unwrap();
    subject.lose(&mut sink);
    append(&mut sink, [7]);
    let mut late = subject.source(Start::Sequence(1)).unwrap();
    for source in [&mut early, &mut late] {
        let end = source.end().unwrap();
        assert!(end > 12 && read_to::<S>(source, end) > 0);
        assert_eq!((source.next_sequence(), source.end().unwrap()), (end, end));
    }
}

/// Numbers that the writer leaves out are gaps of exactly these numbers, also for the next writer.
pub fn numbers_that_the_writer_skips_are_gaps<S: Subject>() {
    let (subject, mut sink) = filled::<S>("skips", 3);
    let early = subject.source(Start::Oldest).unwrap();
    sink.append_at(9, 9, time(9), &payload(9)).unwrap();
    sink.skip_to(10).unwrap();
    sink.skip_to(12).unwrap();
    append(&mut sink, [12]);
    sink.skip_to(15).unwrap();
    assert_eq!(sink.next_sequence(), 15);
    append(&mut sink, [15]);
    drop(sink);
    let mut sink = subject.sink();
    sink.append_at(20, 20, time(20), &payload(20)).unwrap();
    let within = subject.source(Start::Sequence(6)).unwrap();
    let at_start = subject.source(Start::Sequence(1)).unwrap();
    let gaps = [(4, 8), (10, 11), (13, 14), (16, 19)];
    for (mut source, first) in [(early, 4), (at_start, 4), (within, 6)] {
        let (mut next, mut found) = (source.next_sequence(), Vec::new());
        while source.next_sequence() < 21 {
            let progress = source.poll(|item| {
                if let Item::Gap(Gap { from, to }) = item {
                    found.push((from, to));
                }
                next = check::<S>(&item, next);
                ControlFlow::Continue(())
            });
            assert_eq!(progress.unwrap(), Progress::Read);
        }
        let expected: Vec<_> = gaps.iter().map(|&(from, to)| (first.max(from), to)).collect();
        assert_eq!(joined(&found), expected);
    }
}

/// Neighbouring gaps as one: a stream may report a gap in parts.
fn joined(gaps: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for &(from, to) in gaps {
        match joined.last_mut() {
            Some(last) if last.1 + 1 == from => last.1 = to,
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// A number that was passed is refused, and nothing changes.
pub fn a_number_below_the_next_one_is_refused<S: Subject>() {
    let (subject, mut sink) = filled::<S>("below", 5);
    assert!(sink.append_at(5, 5, time(5), &payload(5)).is_err());
    assert!(sink.skip_to(3).is_err());
    assert!(sink.skip_to(u64::MAX).is_err() && sink.rewind_to(7).is_err());
    assert_eq!(sink.next_sequence(), 6);
    assert!((1..=6).contains(&sink.durable()), "{}", sink.durable());
    append(&mut sink, [6]);
    let mut source = subject.source(Start::Oldest).unwrap();
    assert_eq!(read_to::<S>(&mut source, 7), 0);
}

/// Messages that the writer takes back are gone, and those after them have their numbers. Readers
/// that passed them learn that.
pub fn what_is_taken_back_is_written_again<S: Subject>() {
    let (subject, mut sink) = filled::<S>("back", 10);
    let [mut far, mut near] = [11, 4].map(|end| {
        let mut source = subject.source(Start::Oldest).unwrap();
        while source.next_sequence() < end {
            let next = source.next_sequence();
            let _ = source.poll_one(|item| assert_eq!(check::<S>(&item, next), next + 1)).unwrap();
        }
        source
    });
    if !S::TAKES_BACK {
        assert!(sink.rewind_to(6).is_err());
        assert_eq!(sink.next_sequence(), 11);
        return;
    }
    sink.rewind_to(6).unwrap();
    assert_eq!(sink.next_sequence(), 6);
    assert!(sink.durable() <= 6);
    append(&mut sink, 106..=112);
    let mut reused = Vec::new();
    while reused.is_empty() {
        let polled = far.poll_one(|item| match item {
            Item::Reused(item) => reused.push((item.from, item.to)),
            item => panic!("{item:?}"),
        });
        assert!(polled.unwrap() != Progress::Nothing || reused.is_empty());
        far.check().unwrap();
    }
    assert_eq!((reused, far.next_sequence()), (vec![(6, 10)], 6));
    let mut whole = subject.source(Start::Oldest).unwrap();
    for (source, first) in [(&mut far, 6), (&mut near, 4), (&mut whole, 1)] {
        let mut types = Vec::new();
        while source.next_sequence() < 13 {
            let _ = source
                .poll(|item| {
                    // A reader that is before them may have read some already.
                    if let Item::Message(message) = item {
                        types.retain(|&(sequence, _)| sequence < message.sequence);
                        types.push((message.sequence, message.type_id));
                    }
                    ControlFlow::Continue(())
                })
                .unwrap();
            source.check().unwrap();
        }
        let of = |sequence| if sequence < 6 { sequence as u16 } else { sequence as u16 + 100 };
        let expected: Vec<_> = (first..13).map(|sequence| (sequence, of(sequence))).collect();
        assert_eq!(types, expected);
    }
}

/// A follower reads the messages of a writer, reports its end, and continues with the next writer.
pub fn a_follower_reads_what_each_writer_left<S: Subject>() {
    let subject = S::new("follow");
    let mut sink = subject.sink();
    let mut follow = Follow::new(subject.source(Start::Oldest).unwrap());
    let mut epochs = Vec::new();
    for first in [1, 4, 7] {
        append(&mut sink, first..first + 3);
        let writer = follow.tape().writer();
        assert_eq!(writer.state, WriterState::Alive);
        epochs.push(writer.epoch);
        drop(sink);
        let mut next = u64::from(first);
        loop {
            let step = follow.step(|item| {
                next = check::<S>(&item, next);
                ControlFlow::Continue(())
            });
            match step.unwrap() {
                Step::Read | Step::Idle => {}
                step => break assert_eq!(step, Step::Gone(WriterState::Closed)),
            }
        }
        assert_eq!(next, u64::from(first) + 3);
        sink = subject.sink();
    }
    epochs.dedup();
    assert_eq!(epochs.len(), 3, "each writer has an epoch of its own");
}
