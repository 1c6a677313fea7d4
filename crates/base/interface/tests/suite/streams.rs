//! Calls through the streams themselves: both rings, and a journal.

use nanotape_harness::Scratch;
use nanotape_interface::{InPlaceSink, UtcNanos, WriteError};
use nanotape_journal::{Appender, AppenderOptions, Tailer, TailerSource};
use nanotape_ring::{Publish as _, RingSource, Start, slots, stream};
use nanotape_tape::{Item, Source};
use proptest::{
    collection::vec,
    strategy::{Strategy, ValueTree as _},
    test_runner::TestRunner,
};

use crate::{
    calls::{Call, Recorded},
    generated::greetings_2::{GreetingsWriter, dispatch},
};

/// The same calls in each run.
fn calls() -> Vec<Call> {
    let mut runner = TestRunner::deterministic();
    let calls = vec(Call::any().prop_map(Call::within_fields), 300).new_tree(&mut runner);
    calls.unwrap().current()
}

/// Makes each call, and reads each message.
fn through<W: InPlaceSink<Error: std::fmt::Debug>, S: Source<Error: std::fmt::Debug>>(
    mut sink: W,
    mut source: S,
    has_times: bool,
) {
    for (index, call) in (1_u64..).zip(calls()) {
        let ts = UtcNanos::new(index as i64 * 1_000);
        let mut writer = GreetingsWriter::new(&mut sink, UtcNanos::new(0));
        let written: Result<u64, WriteError<W::Error>> = call.make(writer.at(ts));
        assert_eq!(written.unwrap(), index);
        let mut seen = None;
        let _ = source
            .poll_one(|item| {
                let Item::Message(message) = item else { panic!("{item:?}") };
                assert_eq!(message.sequence, index);
                assert_eq!(message.ts, has_times.then_some(ts));
                assert_eq!((message.type_id, message.payload.to_vec()), call.bytes());
                seen = Some(dispatch(&message, &mut Recorded));
            })
            .unwrap();
        assert_eq!(seen, Some(Ok(call)));
    }
}

#[test]
fn calls_go_through_a_stream_ring() {
    let writer = stream::Writer::on_heap(1 << 16).unwrap();
    let reader = writer.reader(Start::Oldest).unwrap();
    through(writer, RingSource::new(reader), false);
}

#[test]
fn calls_go_through_a_slot_ring() {
    let writer = slots::Writer::on_heap(64, 512).unwrap();
    let reader = writer.reader(Start::Oldest).unwrap();
    through(writer, RingSource::new(reader), false);
}

#[test]
fn calls_go_through_a_journal() {
    let place = Scratch::on_disk("interface");
    let appender = Appender::open(place.path(), &AppenderOptions::default()).unwrap();
    let tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
    through(appender, TailerSource::new(tailer), true);
}

/// A writer is a handler: it copies a journal, and unknown messages keep their times.
#[test]
fn a_dispatcher_with_a_writer_copies_a_journal() {
    let place = Scratch::on_disk("interface-copy");
    std::fs::create_dir_all(place.path()).unwrap();
    let [from, to] = ["from", "to"].map(|name| place.path().join(name));
    let mut appender = Appender::open(&from, &AppenderOptions::default()).unwrap();
    for (index, call) in (1..).zip(calls()) {
        let ts = UtcNanos::new(index * 1_000);
        call.make(&mut GreetingsWriter::new(&mut appender, ts)).unwrap();
    }
    let mut copy = Appender::open(&to, &AppenderOptions::default()).unwrap();
    let mut source = TailerSource::new(Tailer::open(&from, Start::Oldest).unwrap());
    let mut copied = TailerSource::new(Tailer::open(&to, Start::Oldest).unwrap());
    let now = UtcNanos::new(7);
    for call in calls() {
        let mut read = None;
        let _ = source
            .poll_one(|item| {
                let Item::Message(message) = item else { panic!("{item:?}") };
                let mut writer = GreetingsWriter::new(&mut copy, now);
                dispatch(&message, &mut writer).unwrap().unwrap();
                read = Some((message.ts, message.type_id, message.payload.to_vec()));
            })
            .unwrap();
        let (ts, type_id, payload) = read.unwrap();
        let ts = if matches!(call, Call::Unknown { .. }) { ts } else { Some(now) };
        let _ = copied
            .poll_one(|item| {
                let Item::Message(message) = item else { panic!("{item:?}") };
                let found = (message.ts, message.type_id, message.payload.to_vec());
                assert_eq!(found, (ts, type_id, payload));
            })
            .unwrap();
    }
}
