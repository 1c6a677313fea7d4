//! What a reader gets of a day that is cut or damaged: everything that was good, and a word on the
//! rest.

mod support;

use nanotape_feed::{Damage, DayDecoder, DayEnd, source::Block};
use proptest::prelude::*;
use support::{Seen, decode, framed, messages};

#[test]
fn a_whole_day_ends_at_the_end_of_the_file() {
    let all = messages(5);
    let (seen, end) = decode(&framed(&all));
    assert_eq!(end, DayEnd::EndOfFile);
    assert_eq!(seen.bodies(), all);
    let first: Vec<_> = seen.messages.iter().map(|&(n, offset, _)| (n, offset)).take(3).collect();
    assert_eq!(first, [(1, 0), (2, 38), (3, 71)]);
    assert!(seen.damage.is_empty());
    assert_eq!(decode(&[]).1, DayEnd::EndOfFile);
}

#[test]
fn a_record_of_length_zero_ends_the_session() {
    let all = messages(2);
    let mut bytes = framed(&all);
    let offset = bytes.len() as u64;
    bytes.extend_from_slice(&[0, 0]);
    let (seen, end) = decode(&bytes);
    assert_eq!(end, DayEnd::EndOfSession { offset, bytes_follow: false });
    assert_eq!(seen.bodies(), all);
    bytes.extend_from_slice(&framed(&all));
    let (seen, end) = decode(&bytes);
    assert_eq!(end, DayEnd::EndOfSession { offset, bytes_follow: true });
    assert_eq!(seen.bodies(), all);
}

#[test]
fn a_cut_at_any_byte_gives_everything_before_it() {
    let all = messages(3);
    let bytes = framed(&all);
    for length in 0..bytes.len() {
        let (seen, end) = decode(&bytes[..length]);
        let whole = all.len().min(seen.messages.len());
        assert_eq!(seen.bodies(), all[..whole], "cut at {length}");
        assert!(seen.damage.is_empty(), "cut at {length}");
        let offset = framed(&all[..whole]).len();
        if offset == length {
            assert_eq!(end, DayEnd::EndOfFile);
            continue;
        }
        let present_bytes = (length - offset) as u64;
        let needed_bytes = if present_bytes < 2 { 2 } else { 2 + all[whole].len() as u64 };
        let offset = offset as u64;
        assert_eq!(end, DayEnd::Cut { offset, needed_bytes, present_bytes }, "cut at {length}");
    }
}

#[test]
fn a_damaged_length_costs_no_message() {
    let all = messages(4);
    let good = framed(&all);
    let mut offset = 0;
    for (index, message) in all.iter().enumerate() {
        for length in [0u16, 1, 7, 35, 37, 292, 40_000, u16::MAX] {
            let mut bytes = good.clone();
            bytes[offset..offset + 2].copy_from_slice(&length.to_be_bytes());
            let (seen, end) = decode(&bytes);
            assert_eq!(seen.bodies(), all, "length {length} at record {index}");
            let expected = Damage::Length {
                offset: offset as u64,
                tag: message[0],
                expected_bytes: message.len() as u16,
                actual_bytes: length,
            };
            assert_eq!(seen.damage, [expected]);
            assert_eq!(end, DayEnd::EndOfFile);
        }
        offset += 2 + message.len();
    }
}

#[test]
fn a_damaged_type_costs_one_message_at_most() {
    let all = messages(4);
    let good = framed(&all);
    let mut offset = 0;
    for (index, message) in all.iter().enumerate() {
        // A type of another length, and one that is not in the table.
        for (tag, carried) in [(b'Q', false), (b'z', true)] {
            let mut bytes = good.clone();
            bytes[offset + 2] = tag;
            let (seen, end) = decode(&bytes);
            assert_eq!(end, DayEnd::EndOfFile);
            assert_eq!(seen.messages.len(), all.len() - usize::from(!carried));
            assert_eq!(
                seen.messages.last().unwrap().0,
                all.len() as u64 - u64::from(index == all.len() - 1 && !carried)
            );
            assert_eq!(seen.damage.len(), usize::from(!carried), "type {tag} at record {index}");
        }
        offset += 2 + message.len();
    }
}

#[test]
fn a_scribbled_stretch_is_skipped_to_the_next_record() {
    let all = messages(8);
    let good = framed(&all);
    // From inside record 3 to inside record 5: their bytes, and both lengths between them.
    let start = framed(&all[..3]).len();
    let end_of_damage = framed(&all[..6]).len();
    let mut bytes = good.clone();
    bytes[start..end_of_damage].fill(0xee);
    let (seen, end) = decode(&bytes);
    let kept: Vec<_> = all[..3].iter().chain(&all[6..]).cloned().collect();
    assert_eq!(seen.bodies(), kept);
    let bytes = (end_of_damage - start) as u64;
    assert_eq!(seen.damage, [Damage::Lost { offset: start as u64, bytes }]);
    assert_eq!(end, DayEnd::EndOfFile);
}

#[test]
fn bytes_that_are_no_day_are_skipped_whole() {
    let (seen, end) = decode(&[0xee; 500_000]);
    assert!(seen.messages.is_empty());
    assert_eq!(seen.damage, [Damage::Lost { offset: 0, bytes: 500_000 }]);
    assert_eq!(end, DayEnd::EndOfFile);
}

#[test]
fn new_message_types_are_carried_and_counted() {
    let mut all = messages(2);
    all.insert(2, b"znew message type of 2031".to_vec());
    all.push(b"z".to_vec());
    let (seen, end) = decode(&framed(&all));
    assert_eq!(seen.bodies(), all);
    assert!(seen.damage.is_empty());
    assert_eq!(end, DayEnd::EndOfFile);
}

#[test]
fn a_handler_can_stop() {
    let all = messages(3);
    let bytes = framed(&all);
    let mut seen = Seen { stop_after: Some(4), ..Seen::default() };
    let block = Block { offset: 0, bytes: &bytes, is_last: true };
    let step = DayDecoder::new().decode(block, &mut seen);
    assert_eq!(step.end, Some(DayEnd::Stopped));
    assert_eq!(step.used_bytes, framed(&all[..4]).len());
}

/// Decodes as a source would hand it out: in blocks of any size, the unused bytes first.
fn decode_in_blocks(bytes: &[u8], sizes: &[usize]) -> (Seen, DayEnd) {
    let mut seen = Seen::default();
    let mut decoder = DayDecoder::new();
    let (mut start, mut end) = (0, 0);
    for &size in sizes.iter().cycle() {
        end = (end + size.max(1)).min(bytes.len());
        let is_last = end == bytes.len();
        let block = Block { offset: start as u64, bytes: &bytes[start..end], is_last };
        let step = decoder.decode(block, &mut seen);
        start += step.used_bytes;
        if let Some(end) = step.end {
            return (seen, end);
        }
        assert!(!is_last, "the last block ends the day");
        let unused = end - start;
        assert!(unused < nanotape_feed::source::MAX_UNUSED_BYTES, "{unused} bytes left unused");
    }
    unreachable!("sizes are not empty")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_split_into_blocks_does_not_matter(
        count in 1u64..2000,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        sizes in prop::collection::vec(prop_oneof![1usize..200, 50_000usize..300_000], 1..5),
    ) {
        let mut bytes = framed(&messages(count));
        for (place, value) in flips {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        bytes.truncate(bytes.len() - cut.index(bytes.len()) % 100);
        prop_assert_eq!(decode_in_blocks(&bytes, &sizes), decode(&bytes));
    }
}
