//! Any words in place of a ring: every method of every reader, attached before and after they are
//! written, returns a result or an error.
//!
//! The input is a list of positions and words, written over a ring that was in use.
#![no_main]

mod ring;

use libfuzzer_sys::fuzz_target;
use nanotape_ring::{Start, slots, stream};
use ring::{lay, read_everything, slot_ring, starts, stream_ring};

fuzz_target!(|input: &[u8]| {
    let [which, input @ ..] = input else { return };
    if which % 2 == 0 {
        let (region, _) = stream_ring();
        let before = [Start::Oldest, Start::Newest, Start::Sequence(1)]
            .map(|start| stream::Reader::join(region.share(), start).expect("the ring is sound"));
        lay(&region, input);
        before.iter().for_each(read_everything);
        for start in starts(input) {
            if let Ok(reader) = stream::Reader::join(region.share(), start) {
                read_everything(&reader);
            }
        }
    } else {
        let (region, _) = slot_ring();
        let before = [Start::Oldest, Start::Newest, Start::Sequence(1)]
            .map(|start| slots::Reader::join(region.share(), start).expect("the ring is sound"));
        lay(&region, input);
        before.iter().for_each(read_everything);
        for start in starts(input) {
            if let Ok(reader) = slots::Reader::join(region.share(), start) {
                read_everything(&reader);
            }
        }
    }
});
