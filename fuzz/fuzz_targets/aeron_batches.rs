//! Any bytes as batches of an Aeron stream: no panic, a valid batch packs to the same bytes, and
//! each number comes once and in order, or is in a gap.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use nanotape_aeron::{AeronBatch, BatchOutcome, BatchPacker, BatchUnpacker, Packed};
use nanotape_tape::Item;

fuzz_target!(|bytes: &[u8]| {
    let mut unpacker = BatchUnpacker::new();
    let (mut rest, mut next) = (bytes, 0);
    // Each batch begins with its length.
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (batch, after) = after.split_at(length);
        rest = after;
        again(batch);
        if unpacker.take(batch) == BatchOutcome::Taken && next == 0 {
            next = unpacker.next_sequence();
        }
        let _ = unpacker.poll(|item| {
            let (from, to) = match item {
                Item::Message(message) => (message.sequence, message.sequence),
                Item::Gap(gap) => (gap.from, gap.to),
                Item::Reused(_) => panic!("a number twice"),
            };
            assert!(from == next && from <= to);
            next = to + 1;
            ControlFlow::Continue(())
        });
        assert_eq!(unpacker.next_sequence(), next);
    }
});

fn again(bytes: &[u8]) {
    let Ok(batch) = AeronBatch::decode(bytes) else { return };
    let header = batch.header();
    let mut packer = BatchPacker::new(header.created_ns, 1 << 20, 1 << 20);
    packer.clear(header.first);
    for message in batch.messages() {
        let packed = packer.push(message.sequence, message.type_id, message.ts, message.payload);
        assert_eq!(packed, Packed::Added);
    }
    assert_eq!(packer.count(), header.count);
    assert!(packer.finish(header.writer, header.sent) == bytes);
}
