//! The publisher over an outlet that holds back, and the receiver of what it sends.

use std::{rc::Rc, time::Duration};

use nanotape_aeron::{
    AeronBatch, AeronSource, FanOut, FanOutEvent, FanOutOptions, FanOutSummary, Reception,
    ReceptionEvent,
};
use nanotape_ring::{Publish as _, RingSource, Start, stream};
use nanotape_tape::{Gap, Item, Progress, ShutdownFlag, Source as _, Tape as _, WriterState};

use crate::pipe::{End, MOST};

const CAPACITY: usize = 1 << 16;

fn publish(writer: &mut stream::Writer, count: u64) {
    for _ in 0..count {
        let number = writer.next_sequence();
        writer.publish(number as u16, &payload(number)).unwrap();
    }
}

fn payload(number: u64) -> Vec<u8> {
    vec![number as u8; (number % 90) as usize]
}

/// A ring in this process, and a reader of all of its messages.
fn ring(count: u64) -> (stream::Writer, RingSource<stream::Reader>) {
    let mut writer = stream::Writer::on_heap(CAPACITY).unwrap();
    let source = RingSource::new(writer.reader(Start::Oldest).unwrap());
    publish(&mut writer, count);
    (writer, source)
}

/// Publishes until the writer of the source has ended.
fn publish_all(
    source: RingSource<stream::Reader>,
    pipe: &End,
) -> (FanOutSummary, Vec<FanOutEvent>) {
    let options = FanOutOptions {
        created_ns: 42,
        through_restarts: false,
        linger: Duration::ZERO,
        strategy: None,
        shutdown: ShutdownFlag::new(),
    };
    let mut fan_out = FanOut::new(source, pipe.clone(), options);
    let mut events = Vec::new();
    fan_out.run(|event| events.push(event)).unwrap();
    (fan_out.summary(), events)
}

/// Receives everything that is in the pipe, onto a ring: the numbers, the gaps, and the end.
fn received(pipe: &End) -> (Vec<u64>, Vec<Gap>, Option<WriterState>) {
    let mut source = AeronSource::new(pipe.clone());
    assert!(source.begin().unwrap(), "nothing was sent");
    let mut sink = stream::Writer::on_heap(1 << 22).unwrap();
    sink.skip_to(source.next_sequence()).unwrap();
    let mut reader = RingSource::new(sink.reader(Start::Newest).unwrap());
    let mut gaps = Vec::new();
    let end = Reception::new(source, false, &ShutdownFlag::new()).run(&mut sink, |event| {
        if let ReceptionEvent::Lost(gap) = event {
            gaps.push(gap);
        }
    });
    let (mut numbers, mut seen) = (Vec::new(), Vec::new());
    let mut visit = |item: Item<'_>| match item {
        Item::Message(message) => {
            assert_eq!(message.payload, payload(message.sequence));
            assert_eq!(message.type_id, message.sequence as u16);
            numbers.push(message.sequence);
        }
        Item::Gap(gap) => seen.push(gap),
        Item::Reused(_) => unreachable!("a ring gives no number twice"),
    };
    while reader.poll_one(&mut visit).unwrap() == Progress::Read {}
    // A gap at the end is reported with the next message.
    assert!(gaps.starts_with(&seen), "{gaps:?}, {seen:?}");
    (numbers, gaps, end.unwrap())
}

#[test]
fn a_ring_comes_out_as_it_went_in() {
    let (writer, source) = ring(500);
    let pipe = End::with_room(usize::MAX);
    drop(writer);
    let (summary, events) = publish_all(source, &pipe);
    assert_eq!((summary.published, summary.lost, summary.unsent), (500, 0, 0));
    assert!(summary.batches < 250, "messages share batches: {summary:?}");
    let gone = FanOutEvent::WriterGone(WriterState::Closed);
    assert_eq!(events, [FanOutEvent::Subscribed, gone]);
    let expected = ((1..=500).collect(), vec![], Some(WriterState::Closed));
    assert_eq!(received(&pipe), expected);
}

#[test]
fn what_a_ring_overwrites_while_a_batch_is_held_back_is_a_gap_that_is_counted() {
    let (writer, source) = ring(300);
    let pipe = End::with_room(3);
    // At the tenth attempt the writer of the ring has gone on, which it could at any time.
    let (mut writer, weak, mut attempts) = (Some(writer), Rc::downgrade(&pipe.0), 0);
    *pipe.0.held_back.borrow_mut() = Box::new(move || {
        attempts += 1;
        if let Some(mut writer) = writer.take_if(|_| attempts == 10) {
            publish(&mut writer, 20_000);
            weak.upgrade().unwrap().room.set(usize::MAX);
        }
    });
    let (summary, events) = publish_all(source, &pipe);
    let lost: Vec<Gap> = events
        .iter()
        .filter_map(|event| if let FanOutEvent::Lost(gap) = event { Some(*gap) } else { None })
        .collect();
    let count: u64 = lost.iter().map(|gap| gap.count()).sum();
    assert!(count > 10_000 && summary.held_back >= 10, "{summary:?}");
    assert_eq!((summary.lost, summary.published), (count, 20_300 - count));
    let (numbers, gaps, _) = received(&pipe);
    assert_eq!(gaps, lost);
    let is_lost = |number: &u64| lost.iter().any(|gap| (gap.from..=gap.to).contains(number));
    assert_eq!(numbers, (1..=20_300).filter(|number| !is_lost(number)).collect::<Vec<_>>());
}

#[test]
fn a_message_that_no_batch_holds_is_left_out_and_counted() {
    let (mut writer, source) = ring(1);
    writer.publish(2, &[0; MOST]).unwrap();
    publish(&mut writer, 1);
    drop(writer);
    let pipe = End::with_room(usize::MAX);
    let (summary, events) = publish_all(source, &pipe);
    let long = FanOutEvent::TooLong { sequence: 2, length: MOST, most: MOST - 48 };
    assert!(events.contains(&long), "{events:?}");
    assert_eq!((summary.published, summary.lost), (2, 1));
    let expected = (vec![1, 3], vec![Gap { from: 2, to: 2 }], Some(WriterState::Closed));
    assert_eq!(received(&pipe), expected);
}

#[test]
fn without_a_subscriber_nothing_is_sent_and_the_rest_is_counted() {
    let (writer, source) = ring(100);
    drop(writer);
    let pipe = End::with_room(usize::MAX);
    pipe.0.has_subscriber.set(false);
    let (summary, events) = publish_all(source, &pipe);
    assert_eq!(events[0], FanOutEvent::NoSubscriber);
    assert_eq!((summary.published, summary.lost, summary.unsent), (0, 0, 100));
    assert!(pipe.0.batches.borrow().is_empty());
}

#[test]
fn batches_that_come_twice_are_one_stream_and_the_end_shows_what_was_lost() {
    let (writer, source) = ring(400);
    drop(writer);
    let pipe = End::with_room(usize::MAX);
    publish_all(source, &pipe);
    let mut batches: Vec<Vec<u8>> = pipe.0.batches.take().into();
    let end = batches.pop().unwrap();
    batches.retain(|batch| AeronBatch::decode(batch).unwrap().header().count > 0);
    for batch in &batches[..batches.len() - 2] {
        pipe.push(batch);
        pipe.push(batch);
    }
    pipe.push(&end);
    let (numbers, gaps, state) = received(&pipe);
    let last = *numbers.last().unwrap();
    assert!(last < 400 && numbers == (1..=last).collect::<Vec<_>>(), "{numbers:?}");
    assert_eq!((gaps, state), (vec![Gap { from: last + 1, to: 400 }], Some(WriterState::Closed)));
}

#[test]
fn what_changes_while_no_message_arrives_is_reported() {
    let pipe = End::with_room(1);
    let (writer, ring) = ring(2);
    drop(writer);
    publish_all(ring, &pipe);
    let mut source = AeronSource::new(pipe.clone());
    assert!(source.begin().unwrap());
    let mut sink = stream::Writer::on_heap(1 << 16).unwrap();
    let shutdown = ShutdownFlag::new();
    let mut events = Vec::new();
    pipe.0.has_subscriber.set(false);
    // Each event causes the next one.
    let end = Reception::new(source, true, &shutdown).run(&mut sink, |event| {
        events.push(event);
        match event {
            ReceptionEvent::Refused { batches: 2, .. } => shutdown.request(),
            ReceptionEvent::NoPublisher => pipe.push(b"no batch"),
            ReceptionEvent::Refused { .. } => pipe.0.has_subscriber.set(true),
            ReceptionEvent::Publisher => pipe.0.has_subscriber.set(false),
            other => panic!("{other:?}"),
        }
    });
    assert!(matches!(end, Ok(None)));
    assert_eq!(events.len(), 5);
}
