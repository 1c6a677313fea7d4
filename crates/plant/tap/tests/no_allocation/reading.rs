//! A tap with all of its spans on allocates nothing for a record.

use std::fs;

use nanotape_board::trace_path;
use nanotape_feed::Position;
use nanotape_harness::{Scratch, allocations, check_the_counter, eventually};
use nanotape_plant::records::RecordKind;
use nanotape_ring::Start;
use nanotape_synth::{Market, MarketConfig};
use nanotape_tap::Subscription;
use nanotape_trace::spans::{Rate, Request, SpanReader};
use nanotape_wire::{framing::binary_file::Records, itch50::Message};

use crate::publishing::{DAY, MESSAGES, Publishes as _, in_file};

/// Messages between two polls: few enough for the ring.
const BETWEEN_POLLS: u64 = 500;

#[test]
fn a_traced_tap_allocates_nothing_for_a_record() {
    let place = Scratch::folder("tap-allocates");
    let config = MarketConfig { messages: MESSAGES, symbols: 500, ..MarketConfig::default() };
    let mut day = Vec::new();
    Market::new(config).unwrap().write_to(&mut day).unwrap();
    fs::write(place.join(DAY), &day).unwrap();

    let mut plant = in_file(place.path(), "ring");
    let ring = plant.ring().to_owned();
    // DBN's decoder allocates for the others.
    let kinds = [RecordKind::Mbo, RecordKind::Bbo, RecordKind::Trades];
    let subscription = Subscription::to(ring.to_str().unwrap()).from(Start::Oldest);
    let mut tap = subscription.records(kinds).traced().open().unwrap();
    let thread = trace_path(&ring, "tap");
    eventually("the tap has spans", || SpanReader::open(&thread, Start::Newest).is_ok());
    let spans = || SpanReader::open(&thread, Start::Newest).unwrap();
    let rates = vec![Rate::ALL; spans().sites().len()];
    Request::send(&spans(), &rates).unwrap().wait().unwrap();

    let (mut counted, mut records) = (0, 0);
    for (record, number) in Records::new(&day, 0).zip(1..) {
        let message = Message::decode(record.bytes).unwrap();
        let position = Position { number, offset: record.offset };
        assert!(plant.apply(position, message).is_continue());
        if number.is_multiple_of(BETWEEN_POLLS) {
            let before = allocations();
            while tap.poll(|_| records += 1).unwrap() > 0 {}
            tap.written();
            // The stocks are known by then.
            if number > MESSAGES / 2 {
                counted += allocations() - before;
            }
        }
    }
    let written = spans().next_sequence() - 1;
    println!("{counted} allocations, {written} spans of {records} records");
    assert!(written > MESSAGES, "{written} spans");
    assert_eq!(counted, 0);
    check_the_counter();
}
