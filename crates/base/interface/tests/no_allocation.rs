//! A call allocates nothing on its way into a ring or a journal, and neither does its dispatch,
//! also of an earlier version; writers and dispatchers make no system call.
//!
//! The harness counts: see `CountingAllocator` and `without_system_calls`.

#[allow(dead_code, reason = "one method is enough")]
#[path = "suite/generated/greetings_1.rs"]
mod greetings_1;
#[path = "suite/generated/greetings_2.rs"]
mod greetings_2;

use std::hint::black_box;

use greetings_1::Greetings as _;
use greetings_2::{Greetings, GreetingsWriter, dispatch};
use nanotape_harness::{
    CountingAllocator, Scratch, Task, allocations, check_the_counter, check_without_system_calls,
    without_system_calls,
};
use nanotape_interface::{
    InPlaceSink, Message, UtcNanos,
    types::{
        Alpha, MatchNumber, Maybe, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Price8,
        SecondsSinceMidnight, Shares, StockLocate, Symbol, TotalShares, TrackingNumber,
    },
};
use nanotape_journal::{Appender, AppenderOptions, RollCycle, Tail, Tailer};
use nanotape_ring::{Publish as _, Read, Start, Subscribe as _, stream};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Calls of each kind.
const CALLS: u64 = 200_000;

/// Adds up what was read.
#[derive(Default)]
struct Sum(u64);

impl Greetings for Sum {
    type Output = ();

    fn met(&mut self, _: StockLocate, _: Price4, count: u64, _: Shares, _: Alpha<13>, _: i16) {
        self.0 += count;
    }

    fn said(&mut self, _: Alpha<6>, _: i32, _: NanosSinceMidnight, _: u16, text: &[u8]) {
        self.0 += text.len() as u64;
    }

    fn left(&mut self) {}

    fn everything(
        &mut self,
        _: u8,
        _: u16,
        _: u32,
        _: u64,
        _: i8,
        _: i16,
        _: i32,
        _: i64,
        _: TrackingNumber,
        _: OrderReferenceNumber,
        _: Maybe<OrderReferenceNumber>,
        _: MatchNumber,
        _: TotalShares,
        _: Maybe<Price4>,
        _: Price8,
        _: SecondsSinceMidnight,
        _: Symbol,
        _: Mpid,
        _: Alpha<34>,
        _: &[u8],
    ) {
    }

    fn unknown(&mut self, _: &Message<'_>) {}
}

/// A message of each kind: of this version, with a tail, of an earlier version, unknown.
fn write<S: InPlaceSink<Error: std::fmt::Debug>>(sink: &mut S, number: u64) {
    let ts = UtcNanos::new(number as i64);
    let (locate, price) = (StockLocate::new(7), Price4::new(10_000));
    greetings_1::GreetingsWriter::new(sink, ts).met(locate, price, number).unwrap();
    let mut writer = GreetingsWriter::new(sink, ts);
    let place = Alpha::new(*b"there        ");
    writer.met(locate, price, number, Shares::new(3), place, -1).unwrap();
    let time = NanosSinceMidnight::from_hms(9, 30, 0);
    writer.said(Alpha::new(*b"sender"), -3, time, 7, b"thirteen here").unwrap();
    let unknown = Message { sequence: 1, type_id: 0x999, ts: None, payload: b"later" };
    writer.unknown(&unknown).unwrap();
}

/// Four messages.
const EXPECTED: u64 = CALLS * (CALLS - 1) + 13 * CALLS;

#[test]
fn calls_through_a_ring_allocate_nothing_and_make_no_system_call() {
    let mut writer = stream::Writer::on_heap(1 << 16).unwrap();
    let mut reader = writer.reader(Start::Oldest).unwrap();
    let (mut buffer, mut sum) = (vec![0; 4096], Sum::default());
    let mut through = || {
        for number in 0..CALLS {
            write(&mut writer, number);
            while let Read::Message(read) = reader.try_read(&mut buffer).unwrap() {
                let payload = &buffer[..read.length as usize];
                let (sequence, type_id) = (read.sequence, read.type_id);
                let message = Message { sequence, type_id, ts: None, payload };
                dispatch(&message, &mut sum).unwrap();
            }
        }
    };
    if let Some(task) = Task::of_this_process() {
        without_system_calls(&task, || {
            through();
            Ok(())
        });
    }
    check_the_counter();
    let before = allocations();
    through();
    assert_eq!(allocations(), before);
    assert_eq!(black_box(sum.0), EXPECTED);
    check_without_system_calls(
        "calls_through_a_ring_allocate_nothing_and_make_no_system_call",
        |_| (),
    );
}

#[test]
fn calls_into_a_journal_allocate_nothing() {
    let place = Scratch::on_disk("interface-quiet");
    let options = AppenderOptions {
        segment_bytes: 256 << 20,
        roll_cycle: RollCycle::Size,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(place.path(), &options).unwrap();
    // The first one begins a segment.
    appender.append(1, 1, b"").unwrap();
    let mut tailer = Tailer::open(place.path(), Start::Sequence(2)).unwrap();
    let (mut buffer, mut sum) = (vec![0; 4096], Sum::default());
    check_the_counter();
    let before = allocations();
    for number in 0..CALLS {
        write(&mut appender, number);
        while let Tail::Excerpt(excerpt) = tailer.next().unwrap() {
            let payload = &mut buffer[..excerpt.len()];
            excerpt.copy_to(payload);
            let (sequence, type_id) = (excerpt.sequence(), excerpt.type_id());
            let message = Message { sequence, type_id, ts: None, payload };
            dispatch(&message, &mut sum).unwrap();
        }
    }
    assert_eq!(allocations(), before);
    assert_eq!(black_box(sum.0), EXPECTED);
}
