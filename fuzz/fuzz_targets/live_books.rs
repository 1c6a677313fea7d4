//! From packets of two lines to books: any packets, requests, snapshots and times. No panic, and
//! the books of a subscriber, from the records on the ring, are those of the plant at the end.
//!
//! The input is a list of steps: a byte that chooses the step, one with the time since the last,
//! one with a number or a length, and bytes.
#![no_main]

use std::convert::Infallible;

use libfuzzer_sys::fuzz_target;
use nanotape_book::{Books, DefaultBooks, OrderStore, PriceLevels};
use nanotape_clock::Clock;
use nanotape_engine::BookEngine;
use nanotape_feed::{
    glimpse::GlimpseReader,
    session::{
        GapPolicy, Join, Line, NasdaqReceiver, PacketOrigin, RequestSettings, SessionSettings,
        SnapshotSettings,
    },
};
use nanotape_history::LocalBooks;
use nanotape_live::Delivery;
use nanotape_market::{EventHandler, EventSource, MarketSnapshot};
use nanotape_plant::{
    Publisher,
    records::{Record, RecordBuffer, RecordKinds},
};
use nanotape_ring::{Publish as _, RingSource, Start, stream};
use nanotape_tape::{Item, Progress, Source as _};
use nanotape_types::{Alpha, OrderReferenceNumber, StockLocate};
use nanotape_wire::framing::moldudp64::{PacketWriter, end_of_session};

const MS: u64 = 1_000_000;
const SESSION: Alpha<10> = Alpha::new(*b"FUZZ      ");

/// Bytes of a ring that is not lapped by any input.
const CAPACITY_BYTES: usize = 1 << 20;

/// Steps of an input, at most.
const MOST_STEPS: usize = 200;

fuzz_target!(|input: &[u8]| {
    let mut engine = BookEngine::new(DefaultBooks::with_capacity(1 << 8));
    let clock = Clock::monotonic();
    let publisher = Publisher::on_heap_by(clock, CAPACITY_BYTES, RecordKinds::ALL, 0);
    let mut publisher = publisher.expect("a ring");
    let reader = publisher.writer().reader(Start::Oldest).expect("a reader");
    let mut session = Session(input);
    let _ = engine.run(&mut session, &mut publisher, |_| ()).expect("a session has no error");
    let local = read_back(RingSource::new(reader));
    assert_eq!(orders_of(local.all()), orders_of(engine.books()));
});

/// The books of a subscriber that reads every record.
fn read_back(mut ring: RingSource<stream::Reader>) -> LocalBooks {
    let (mut books, mut buffer) = (LocalBooks::new(), RecordBuffer::default());
    loop {
        let polled = ring.poll(|item| {
            let Item::Message(message) = item else { panic!("nothing is lost: {item:?}") };
            let decoded = buffer.decode(message.sequence, message.type_id, message.payload);
            if let Ok(Some(Record::Mbo(order))) = decoded {
                books.apply(order);
            }
            std::ops::ControlFlow::Continue(())
        });
        if matches!(polled, Ok(Progress::Nothing)) {
            return books;
        }
    }
}

fn orders_of<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
) -> Vec<(StockLocate, OrderReferenceNumber, u32, u32)> {
    let orders = books.in_queue_order().into_iter();
    let order = |(reference, order): (_, nanotape_book::Order)| {
        (order.stock_locate, reference, order.shares.get(), order.price.code())
    };
    orders.map(order).collect()
}

/// A session whose packets are the steps of an input.
struct Session<'a>(&'a [u8]);

impl EventSource for Session<'_> {
    type Summary = ();
    type Error = Infallible;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        _: impl FnMut(&Self),
    ) -> Result<(), Infallible> {
        let Some((&[choices], mut rest)) = self.0.split_first_chunk() else { return Ok(()) };
        let requests = RequestSettings {
            timeout_ns: MS,
            retries: 1,
            messages: 8,
            in_flight: 2,
            ..RequestSettings::default()
        };
        let snapshots = SnapshotSettings { timeout_ns: 50 * MS, attempts: 2, retry_after_ns: MS };
        let settings = SessionSettings {
            join: [Join::Here, Join::Start, Join::Snapshot][usize::from(choices % 3)],
            requests: (choices & 4 > 0).then_some(requests),
            snapshots: (choices & 8 > 0).then_some(snapshots),
            gap_policy: [GapPolicy::Wait, GapPolicy::Flag][usize::from(choices >> 4 & 1)],
            ahead_messages: 64,
            ahead_bytes: 4 << 10,
            ..SessionSettings::default()
        };
        let mut receiver = NasdaqReceiver::new(settings);
        let mut delivery = Delivery::new(handler, 0);
        let mut now_ns = MS;
        for _ in 0..MOST_STEPS {
            let Some((&[step, after_ms, number], after)) = rest.split_first_chunk() else { break };
            now_ns += u64::from(after_ms) * MS / 4;
            if receiver.deadline_ns() <= now_ns {
                receiver.tick(now_ns, &mut delivery);
            }
            let (messages, after) = messages_of(after);
            rest = after;
            let origin = match step % 3 {
                0 => PacketOrigin::Line(Line::A),
                1 => PacketOrigin::Line(Line::B),
                _ => PacketOrigin::Retransmission,
            };
            let times = (now_ns, now_ns);
            match step / 3 % 8 {
                0 => {
                    let bytes = messages.concat();
                    receiver.packet(origin, times, &bytes, &mut delivery);
                }
                1 => {
                    let end = end_of_session(SESSION, number.into());
                    receiver.packet(origin, times, &end, &mut delivery);
                }
                2 => {
                    if let Some(snapshot) = snapshot_of(&messages, number) {
                        let next = snapshot.next;
                        delivery.snapshot = Some(Box::new(snapshot));
                        if !receiver.snapshot(next, now_ns, &mut delivery) {
                            delivery.snapshot = None;
                        }
                    }
                }
                3 => receiver.snapshot_failed(now_ns, &mut delivery),
                _ => {
                    let mut buffer = [0; 1_400];
                    let mut packet = PacketWriter::new(SESSION, number.into(), &mut buffer)
                        .expect("a buffer with room");
                    messages.iter().take_while(|message| packet.push(message)).count();
                    let bytes = packet.finish();
                    receiver.packet(origin, times, bytes, &mut delivery);
                }
            }
        }
        receiver.close(now_ns, &mut delivery);
        Ok(())
    }
}

/// Up to seven messages: a byte with their number, then each after a byte of length.
fn messages_of(bytes: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let Some((&count, mut rest)) = bytes.split_first() else { return (Vec::new(), bytes) };
    let mut messages = Vec::new();
    for _ in 0..count % 8 {
        let Some((&length, after)) = rest.split_first() else { break };
        let (message, after) = after.split_at(usize::from(length).min(after.len()));
        messages.push(message);
        rest = after;
    }
    (messages, rest)
}

/// The snapshot of these messages, whatever a server would make of them.
fn snapshot_of(messages: &[&[u8]], next: u8) -> Option<MarketSnapshot> {
    let mut reader = GlimpseReader::default();
    for message in messages {
        if let Ok(Some(snapshot)) = reader.message(message) {
            return Some(snapshot);
        }
    }
    let end = format!("G{:<20}", next.max(1));
    reader.message(end.as_bytes()).ok()?
}
