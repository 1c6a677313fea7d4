//! Rings on the heap with content of the fuzzer's choice, and all operations of a reader on them.
#![allow(dead_code, reason = "each target uses a part of it")]

use nanotape_ring::{Publish, Read, Rejoin, Start, Subscribe, slots, stream};
use nanotape_shm::{OwnedRegion, Word};

/// Calls of each method: errors show at the beginning, at a lap, or after the ring has wrapped.
const CALLS: usize = 30;

/// A stream ring that has lapped, and the number of its next message.
pub(crate) fn stream_ring() -> (OwnedRegion, u64) {
    copy(stream::Writer::on_heap(4096).expect("a size that rings have"))
}

/// A slot ring that has lapped, and the number of its next message.
pub(crate) fn slot_ring() -> (OwnedRegion, u64) {
    copy(slots::Writer::on_heap(16, 100).expect("a size that rings have"))
}

/// A separate region without a writer: the words of a ring that was in use.
fn copy(mut writer: impl Publish) -> (OwnedRegion, u64) {
    for length in [0, 8, 100, 3, 60, 17].into_iter().cycle().take(120) {
        writer.publish(length as u16, &[length as u8; 100][..length]).expect("it fits");
    }
    let used = writer.region();
    let region = OwnedRegion::on_heap(*used.spec());
    for (word, used) in region.words().iter().zip(used.words()) {
        word.store(used.load());
    }
    (region, writer.next_sequence())
}

/// Writes the input over the ring. Of every eleven bytes, two choose the position, one the kind of
/// change, and eight are a word. Half of the positions are among the words before the messages.
pub(crate) fn lay(region: &OwnedRegion, input: &[u8]) {
    let words = region.words();
    for entry in input.chunks_exact(11) {
        let (place, how) = (usize::from(entry[0]) | usize::from(entry[1]) << 8, entry[2]);
        let end = if how & 1 == 0 { words.len().min(176) } else { words.len() };
        let word: &Word = &words[place % end];
        let value = entry[3..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        word.store(match how >> 1 & 3 {
            // Any word, one near the current word, or another word of the ring.
            0 => value,
            1 => word.load().wrapping_add(value & 0xff).wrapping_sub(0x80),
            2 => word.load().wrapping_add(value),
            _ => words[value as usize % words.len()].load(),
        });
    }
}

/// Where to start: the usual positions, and one from the input.
pub(crate) fn starts(input: &[u8]) -> [Start; 6] {
    let chosen = input.last_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    [
        Start::Oldest,
        Start::Newest,
        Start::Sequence(1),
        Start::Sequence(115),
        Start::Sequence(chosen),
        Start::Sequence(chosen % 130),
    ]
}

/// Calls every method of a reader; none may panic or hang.
pub(crate) fn read_everything(reader: &(impl Subscribe + Clone)) {
    let mut buffer = [0; 6000];
    for (rejoin, size) in [(Rejoin::Oldest, 6000), (Rejoin::Halfway, 300), (Rejoin::Newest, 7)] {
        let buffer = &mut buffer[..size];
        let mut other = reader.clone();
        other.set_rejoin(rejoin);
        for call in 0..CALLS {
            let expected = other.next_sequence();
            let read = match call % 3 {
                0 => other.try_read(buffer).map(|read| match read {
                    Read::Message(received) => {
                        assert_eq!(received.sequence, expected);
                        assert!(received.length as usize <= size);
                        Read::Message(1)
                    }
                    Read::Empty => Read::Empty,
                    Read::Lapped(lapped) => Read::Lapped(lapped),
                }),
                1 => other.read_batch(buffer, |received, bytes| {
                    assert_eq!(received.length as usize, bytes.len());
                }),
                _ => other.try_visit(|message| {
                    let copied = message.copy_to(&mut [0; 100]);
                    assert!(copied <= 100 && message.word(usize::MAX) == 0);
                    1
                }),
            };
            match read {
                Ok(Read::Message(count)) => {
                    assert!(count > 0 && other.next_sequence() == expected + count);
                }
                Ok(Read::Empty) => assert_eq!(other.next_sequence(), expected),
                Ok(Read::Lapped(lapped)) => {
                    assert_eq!((lapped.from, lapped.to + 1), (expected, other.next_sequence()));
                    assert!(lapped.count() > 0);
                }
                Err(error) => drop(error.to_string()),
            }
        }
    }
    let mut other = reader.clone();
    let _ = (other.seek(Start::Oldest), other.seek(Start::Newest), other.next_sequence());
}
