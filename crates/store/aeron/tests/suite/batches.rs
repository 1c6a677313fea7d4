//! The bytes of a batch.

use nanotape_aeron::{
    AeronBatch, BATCH_HEADER_BYTES, BatchError, BatchOutcome, BatchPacker, BatchUnpacker, Packed,
    RECORD_HEADER_BYTES,
};
use nanotape_clock::UtcNanos;
use nanotape_tape::{Gap, Item, WriterState};
use proptest::prelude::*;
use std::ops::ControlFlow;

const SENT: UtcNanos = UtcNanos::of_unix_ns(77);

/// Messages from a number on, one payload each.
fn batch(first: u64, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut packer = BatchPacker::new(42, 1 << 20, 1 << 20);
    packer.clear(first);
    for (number, payload) in (first..).zip(payloads) {
        let ts = (number % 2 == 0).then_some(UtcNanos::of_unix_ns(number));
        assert_eq!(packer.push(number, number as u16, ts, payload), Packed::Added);
    }
    packer.finish(WriterState::Alive, SENT).to_vec()
}

/// One payload of one byte each.
fn short(first: u64, count: u64) -> Vec<u8> {
    let payloads: Vec<Vec<u8>> = (first..first + count).map(|number| vec![number as u8]).collect();
    batch(first, &payloads)
}

/// The numbers of messages, and gaps, that come out.
fn polled(unpacker: &mut BatchUnpacker) -> (Vec<u64>, Vec<Gap>) {
    let (mut numbers, mut gaps) = (Vec::new(), Vec::new());
    let _ = unpacker.poll(|item| {
        match item {
            Item::Message(message) => numbers.push(message.sequence),
            Item::Gap(gap) => gaps.push(gap),
            Item::Reused(_) => unreachable!(),
        }
        ControlFlow::Continue(())
    });
    (numbers, gaps)
}

#[test]
fn a_batch_has_the_bytes_of_its_format() {
    let bytes = batch(6, &[b"abc".to_vec()]);
    let mut expected = b"NTAB\x01\x00\x01\x00".to_vec();
    for word in [42_u64, 6, 77] {
        expected.extend(word.to_le_bytes());
    }
    expected.extend(b"\x03\0\0\0\x06\0\0\0");
    expected.extend(6_u64.to_le_bytes());
    expected.extend(b"abc\0\0\0\0\0");
    assert_eq!(bytes, expected);
}

proptest! {
    #[test]
    fn what_is_packed_comes_out(
        first in 1..1_u64 << 61,
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..40),
    ) {
        let bytes = batch(first, &payloads);
        let decoded = AeronBatch::decode(&bytes).unwrap();
        let header = decoded.header();
        prop_assert_eq!((header.first, header.created_ns, header.sent), (first, 42, SENT));
        let seen: Vec<_> = decoded.messages().collect();
        prop_assert_eq!(seen.len(), payloads.len());
        for ((number, payload), message) in (first..).zip(&payloads).zip(seen) {
            let ts = (number % 2 == 0).then_some(UtcNanos::of_unix_ns(number));
            prop_assert_eq!((message.sequence, message.type_id), (number, number as u16));
            prop_assert_eq!((message.ts, message.payload), (ts, &payload[..]));
        }
    }

    #[test]
    fn a_changed_batch_is_refused_or_says_what_it_has(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = batch(6, &[vec![1; 20], vec![], vec![3; 7]]);
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        match AeronBatch::decode(&bytes) {
            Ok(decoded) => {
                let (mut length, mut count) = (BATCH_HEADER_BYTES, 0);
                for message in decoded.messages() {
                    length += (RECORD_HEADER_BYTES + message.payload.len()).next_multiple_of(8);
                    count += 1;
                }
                prop_assert_eq!(count, decoded.header().count);
                prop_assert_eq!(length, bytes.len());
            }
            Err(BatchError::Truncated { offset, have, need }) => {
                prop_assert!(have < need && offset + have == bytes.len());
            }
            Err(_) => {}
        }
    }
}

#[test]
fn each_mistake_is_named_with_its_offset() {
    let good = batch(6, &[vec![1; 3], vec![2; 8]]);
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        AeronBatch::decode(&bytes).unwrap_err()
    };
    assert_eq!(with(0, b'X'), BatchError::Magic { found: *b"XTAB" });
    assert_eq!(with(4, 2), BatchError::Version { found: 2 });
    assert_eq!(with(5, 1), BatchError::State { found: 1, count: 2 });
    assert_eq!(with(5, 9), BatchError::State { found: 9, count: 2 });
    assert_eq!(with(6, 1), BatchError::Unexpected { offset: 56 });
    assert_eq!(with(6, 3), BatchError::Truncated { offset: 80, have: 0, need: 16 });
    assert_eq!(with(16, 0), BatchError::Numbers { first: 0, count: 2 });
    assert_eq!(with(23, 0xff), BatchError::Numbers { first: 0xff << 56 | 6, count: 2 });
    assert_eq!(with(32, 0x80), BatchError::Truncated { offset: 32, have: 48, need: 144 });
    assert_eq!(
        with(35, 0xff),
        BatchError::Truncated {
            offset: 32,
            have: 48,
            need: 16 + ((0xff_usize << 24 | 3).next_multiple_of(8)),
        }
    );
    assert_eq!(with(31, 0x80), BatchError::Time { offset: 24 });
    assert_eq!(with(47, 0x80), BatchError::Time { offset: 40 });
    assert_eq!(with(38, 1), BatchError::Unexpected { offset: 38 });
    assert_eq!(with(52, 1), BatchError::Unexpected { offset: 51 });
    for length in 0..good.len() {
        AeronBatch::decode(&good[..length]).unwrap_err();
    }
    let long = vec![0; (16 << 20) + 1];
    assert_eq!(AeronBatch::decode(&long).unwrap_err(), BatchError::TooLong { have: long.len() });
}

#[test]
fn messages_share_a_batch_up_to_its_usual_length_and_a_long_one_has_its_own() {
    let mut packer = BatchPacker::new(1, 128, 1_024);
    // 32 of the batch, 16 and 24 of each message.
    assert_eq!(packer.push(1, 7, None, &[0; 24]), Packed::Added);
    assert_eq!(packer.push(2, 7, None, &[0; 24]), Packed::Added);
    assert_eq!(packer.push(3, 7, None, &[0; 1]), Packed::Full);
    assert_eq!(packer.finish(WriterState::Alive, SENT).len(), 112);
    packer.clear(3);
    assert_eq!(packer.push(3, 7, None, &[0; 976]), Packed::Added);
    assert_eq!(packer.push(4, 7, None, &[]), Packed::Full);
    assert_eq!(packer.finish(WriterState::Alive, SENT).len(), 1_024);
    packer.clear(4);
    assert_eq!(packer.push(4, 7, None, &[0; 977]), Packed::TooLong { most: 976 });
    assert_eq!(packer.push(5, 7, None, &[]), Packed::Added);
    assert_eq!(packer.push(7, 7, None, &[]), Packed::Full, "its numbers are consecutive");
}

#[test]
fn numbers_come_once_and_in_order_whatever_is_repeated_or_lost() {
    let mut unpacker = BatchUnpacker::new();
    assert_eq!(unpacker.take(&short(10, 3)), BatchOutcome::Taken);
    assert_eq!(polled(&mut unpacker), (vec![10, 11, 12], vec![]));
    assert_eq!(unpacker.take(&short(9, 3)), BatchOutcome::Repeated);
    assert_eq!(unpacker.take(&short(11, 4)), BatchOutcome::Taken);
    assert_eq!(polled(&mut unpacker), (vec![13, 14], vec![]));
    assert_eq!(unpacker.take(&short(17, 1)), BatchOutcome::Taken);
    assert_eq!(polled(&mut unpacker), (vec![17], vec![Gap { from: 15, to: 16 }]));
    // Without messages, it shows that the last ones were lost.
    assert_eq!(unpacker.take(&short(20, 0)), BatchOutcome::Taken);
    assert_eq!(polled(&mut unpacker), (vec![], vec![Gap { from: 18, to: 19 }]));
    assert_eq!((unpacker.counts().repeated, unpacker.counts().batches), (5, 5));
    assert_eq!((unpacker.next_sequence(), unpacker.end()), (20, 20));
}

#[test]
fn a_visitor_that_stops_gets_the_rest_later() {
    let mut unpacker = BatchUnpacker::new();
    unpacker.continue_at(3);
    assert_eq!(unpacker.take(&short(5, 3)), BatchOutcome::Taken);
    let mut seen = Vec::new();
    while unpacker.is_pending() {
        let _ = unpacker.poll(|item| {
            seen.push(match item {
                Item::Message(message) => (message.sequence, message.sequence),
                Item::Gap(gap) => (gap.from, gap.to),
                Item::Reused(_) => unreachable!(),
            });
            ControlFlow::Break(())
        });
    }
    assert_eq!(seen, [(3, 4), (5, 5), (6, 6), (7, 7)]);
}

#[test]
fn another_ring_is_skipped_or_ends_the_stream() {
    let of_ring = |created_ns: u64| {
        let mut bytes = short(1, 2);
        bytes[8..16].copy_from_slice(&created_ns.to_le_bytes());
        bytes
    };
    let mut unpacker = BatchUnpacker::new();
    assert_eq!(
        unpacker.take(b"of another program"),
        BatchOutcome::Refused(BatchError::Truncated { offset: 0, have: 18, need: 32 })
    );
    assert_eq!((unpacker.next_sequence(), unpacker.created_ns()), (0, None));
    assert_eq!(unpacker.take(&of_ring(42)), BatchOutcome::Taken);
    assert_eq!(polled(&mut unpacker).0, [1, 2]);
    assert_eq!(unpacker.take(&of_ring(41)), BatchOutcome::OlderRing { created_ns: 41 });
    assert_eq!(unpacker.take(&of_ring(43)), BatchOutcome::NewerRing { created_ns: 43 });
    let counts = unpacker.counts();
    assert_eq!((counts.refused, counts.other_rings, counts.batches), (1, 2, 1));
    assert_eq!(unpacker.next_sequence(), 3);
}
