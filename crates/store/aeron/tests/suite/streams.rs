//! The receiving side as a stream: its position, its writer, and any batches in any order.

use std::ops::ControlFlow;

use nanotape_aeron::{AeronSink, AeronSinkError, AeronSource, AeronSourceError, BatchError};
use nanotape_clock::UtcNanos;
use nanotape_tape::{Gap, Item, Progress, Sink as _, Source as _, Start, Tape as _, WriterState};
use proptest::prelude::*;

use crate::pipe::{End, MOST};

const NOW: UtcNanos = UtcNanos::of_unix_ns(5);

/// Batches of these numbers of messages, from number 1 on.
fn batches(counts: &[u8]) -> Vec<Vec<u8>> {
    let pipe = End::with_room(usize::MAX);
    let mut sink = AeronSink::new(pipe.clone(), 42, 1);
    for count in counts {
        for _ in 0..*count {
            sink.append(7, NOW, b"seven").unwrap();
        }
        assert!(sink.flush().unwrap());
    }
    pipe.0.batches.take().into()
}

/// What a source visits, until nothing is left.
fn visited(source: &mut AeronSource<End>) -> Vec<Result<u64, Gap>> {
    let mut seen = Vec::new();
    let mut visit = |item: Item<'_>| {
        seen.push(match item {
            Item::Message(message) => Ok(message.sequence),
            Item::Gap(gap) => Err(gap),
            Item::Reused(_) => unreachable!("a ring gives no number twice"),
        });
        ControlFlow::Continue(())
    };
    while source.poll(&mut visit).unwrap() != Progress::Nothing {}
    seen
}

proptest! {
    #[test]
    fn any_batches_in_any_order_are_each_number_once_or_in_a_gap(
        counts in prop::collection::vec(0..9_u8, 1..12),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..30),
    ) {
        let batches = batches(&counts);
        prop_assume!(!batches.is_empty());
        let pipe = End::with_room(0);
        // The numbers that a naive reader of these batches knows, and the first one.
        let (mut first, mut next, mut expected) = (None, 1_u64, Vec::new());
        for index in &order {
            let batch = &batches[index.index(batches.len())];
            pipe.push(batch);
            let decoded = nanotape_aeron::AeronBatch::decode(batch).unwrap();
            let numbers: Vec<u64> = decoded.messages().map(|message| message.sequence).collect();
            if first.is_none() {
                first = Some(numbers[0]);
                next = numbers[0];
            }
            for number in numbers {
                if number > next {
                    expected.push(Err(Gap { from: next, to: number - 1 }));
                }
                if number >= next {
                    expected.push(Ok(number));
                    next = number + 1;
                }
            }
        }
        let mut source = AeronSource::new(pipe);
        prop_assert_eq!(visited(&mut source), expected);
        prop_assert_eq!(source.next_sequence(), next);
        prop_assert_eq!(source.end().unwrap(), next);
    }
}

#[test]
fn a_position_after_what_arrives_skips_and_an_earlier_one_needs_a_journal() {
    let batches = batches(&[3, 3]);
    let pipe = End::with_room(0);
    pipe.push(&batches[0]);
    let mut source = AeronSource::new(pipe.clone());
    assert!(source.begin().unwrap());
    source.seek(Start::Sequence(3)).unwrap();
    source.seek(Start::Newest).unwrap();
    assert_eq!(visited(&mut source), [Ok(3)]);
    for start in [Start::Oldest, Start::Sequence(2)] {
        assert_eq!(source.seek(start), Err(AeronSourceError::Start { start }));
    }
    pipe.push(&batches[1]);
    assert_eq!(visited(&mut source), [Ok(4), Ok(5), Ok(6)]);
}

#[test]
fn the_writer_ends_and_the_next_one_has_another_epoch() {
    let pipe = End::with_room(usize::MAX);
    let mut sink = AeronSink::new(pipe.clone(), 42, 1);
    let mut source = AeronSource::new(pipe.clone());
    assert!(!source.begin().unwrap());
    sink.append(7, NOW, b"one").unwrap();
    assert!(sink.announce(3, WriterState::Dead).unwrap());
    assert_eq!(source.writer().state, WriterState::Alive);
    assert_eq!(visited(&mut source), [Ok(1), Err(Gap { from: 2, to: 2 })]);
    let dead = source.writer();
    assert_eq!(dead.state, WriterState::Dead);
    // An earlier batch that comes again does not bring the writer back.
    pipe.push(&batches(&[1])[0]);
    assert_eq!(visited(&mut source), []);
    assert_eq!(source.writer(), dead);
    sink.append(7, NOW, b"three").unwrap();
    assert!(sink.flush().unwrap());
    assert_eq!(visited(&mut source), [Ok(3)]);
    assert_eq!(source.writer().state, WriterState::Alive);
    assert_ne!(source.writer().epoch, dead.epoch);
}

#[test]
fn foreign_bytes_are_counted_and_a_newer_ring_ends_the_stream() {
    let pipe = End::with_room(usize::MAX);
    pipe.push(b"of another program");
    pipe.push(&batches(&[2])[0]);
    let mut source = AeronSource::new(pipe.clone());
    assert_eq!(visited(&mut source), [Ok(1), Ok(2)]);
    assert_eq!(source.counts().refused, 1);
    let short = BatchError::Truncated { offset: 0, have: 18, need: 32 };
    assert_eq!(source.refusal(), Some(short));
    let mut newer = AeronSink::new(pipe, 43, 1);
    newer.append(7, NOW, b"one").unwrap();
    assert!(newer.flush().unwrap());
    let error = source.poll(|_| ControlFlow::Continue(())).unwrap_err();
    let [then, now] = [42, 43].map(UtcNanos::of_unix_ns);
    assert_eq!(error, AeronSourceError::NewerRing { then, now });
}

#[test]
fn a_sink_refuses_what_it_cannot_send() {
    let pipe = End::with_room(0);
    let mut sink = AeronSink::new(pipe, 42, 5);
    assert_eq!(sink.append(7, NOW, &[0; 96]), Ok(5));
    assert_eq!(sink.append(7, NOW, &[0; 96]), Ok(6), "both fit into a batch");
    assert_eq!(sink.append(7, NOW, &[0; 96]), Err(AeronSinkError::HeldBack { sequence: 7 }));
    assert_eq!((sink.next_sequence(), sink.unsent_from(), sink.unsent()), (7, 5, 2));
    let number = AeronSinkError::Number { sequence: 6, next: 7 };
    assert_eq!(sink.append_at(6, 7, NOW, b""), Err(number));
    assert_eq!(sink.skip_to(6), Err(number));
    assert_eq!(sink.rewind_to(6), Err(AeronSinkError::Sent));
    assert_eq!((sink.rewind_to(7), sink.durable()), (Ok(()), 1));
    let long = AeronSinkError::TooLong { sequence: 7, length: MOST, most: MOST - 48 };
    assert_eq!(sink.append(7, NOW, &[0; MOST]), Err(long));
}
