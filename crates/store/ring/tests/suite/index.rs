//! The index of a stream ring has an entry near every message, however messages are published.
//!
//! A reader that joins, or that was lapped, begins at an entry. Only a reader that is already there
//! can read messages between two entries.

use nanotape_ring::{
    Batched as _, Publish as _, Read, Start, Subscribe as _,
    stream::{FIELDS, MIN_CAPACITY_BYTES, Writer},
};

const CAPACITY_WORDS: u64 = MIN_CAPACITY_BYTES as u64 / 8;

const BLOCK_WORDS: u64 = CAPACITY_WORDS / 64;

/// A frame of eight bytes of payload.
const FRAME_WORDS: u64 = 3;

/// The limit of messages in a batch.
const LONGEST: u64 = (CAPACITY_WORDS / 2 + 4) / FRAME_WORDS - 1;

fn publish_batch(writer: &mut Writer, count: u64) {
    let mut batch = writer.batch();
    for value in 0..count {
        batch.push(1, &value.to_ne_bytes()).unwrap();
    }
    batch.publish();
}

/// Positions of all entries that point to existing frames, and of the end.
fn boundaries(writer: &Writer) -> Vec<u64> {
    let word = |name| FIELDS.iter().find(|field| field.2 == name).unwrap().0 / 8;
    let load = |at: usize| writer.region().words()[at].load();
    let oldest = load(word("reserved")).saturating_sub(CAPACITY_WORDS);
    let committed = load(word("committed"));
    let entries = (0..64).map(|block| load(word("index") + 2 * block));
    let mut all: Vec<u64> =
        entries.filter(|position| (oldest..=committed).contains(position)).collect();
    all.push(committed);
    all.sort_unstable();
    all
}

#[test]
fn entries_are_a_block_and_a_message_apart_at_most_also_with_batches() {
    let mut writer = Writer::on_heap(MIN_CAPACITY_BYTES).unwrap();
    for round in 0..400 {
        publish_batch(&mut writer, 1 + round * 7 % LONGEST);
        let most = boundaries(&writer).windows(2).map(|pair| pair[1] - pair[0]).max();
        // The end of a lap may have padding, shorter than a message.
        let allowed = BLOCK_WORDS + 2 * FRAME_WORDS;
        assert!(most <= Some(allowed), "round {round}: entries are {most:?} words apart");
    }
}

#[test]
fn a_reader_that_joins_finds_half_of_the_ring_but_for_some_blocks_whatever_is_begun() {
    let mut writer = Writer::on_heap(MIN_CAPACITY_BYTES).unwrap();
    for round in 0..100 {
        publish_batch(&mut writer, LONGEST);
        let mut begun = writer.batch();
        for value in 0..LONGEST {
            begun.push(1, &value.to_ne_bytes()).unwrap();
        }
        drop(begun);
        let mut reader = writer.reader(Start::Oldest).unwrap();
        let mut read = 0;
        while let Read::Message(_) = reader.try_read(&mut [0; 8]).unwrap() {
            read += 1;
        }
        assert_eq!(reader.next_sequence(), writer.next_sequence());
        let least = (CAPACITY_WORDS / 2 - 4 * BLOCK_WORDS) / FRAME_WORDS;
        assert!(read >= least, "round {round}: {read} of at least {least}");
    }
}
