//! What a reader receives of a day that is cut or damaged: all good records, and a report of the
//! rest.

use nanotape_feed::{Damage, DayDecoder, DayEnd, hidden_in, source::Block};
use proptest::prelude::*;

use crate::support::{Seen, decode, end_of_messages, framed, messages, offsets};

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
fn a_record_of_length_zero_ends_the_session_at_the_end() {
    let all = messages(2);
    let mut bytes = framed(&all);
    let offset = bytes.len() as u64;
    bytes.extend_from_slice(&[0, 0]);
    let (seen, end) = decode(&bytes);
    assert_eq!(end, DayEnd::EndOfSession { offset, bytes_follow: false });
    assert_eq!(seen.bodies(), all);
    assert!(seen.damage.is_empty());
}

#[test]
fn a_length_of_zero_with_records_after_it_is_damage() {
    let all = messages(20);
    let good = framed(&all);
    for zeros in [2, 3, 512, 4_096, 300_000] {
        let bytes = [&good[..], &vec![0; zeros], &good].concat();
        let (seen, end) = decode(&bytes);
        assert_eq!(end, DayEnd::EndOfFile, "{zeros} zeros");
        assert_eq!(seen.bodies(), [all.clone(), all.clone()].concat(), "{zeros} zeros");
        let (offset, bytes) = (good.len() as u64, zeros as u64);
        assert_eq!(seen.damage, [Damage::Lost { offset, bytes }]);
    }
}

#[test]
fn zeros_are_padding_after_the_last_event_and_damage_elsewhere() {
    let mut all = messages(3);
    let cut_short = [&framed(&all)[..], &[0; 700]].concat();
    let (seen, end) = decode(&cut_short);
    assert_eq!((seen.bodies(), end), (all.clone(), DayEnd::EndOfFile));
    let offset = cut_short.len() as u64 - 700;
    assert_eq!(seen.damage, [Damage::Lost { offset, bytes: 700 }]);

    all.push(end_of_messages());
    let good = framed(&all);
    let offset = good.len() as u64;
    let expected = DayEnd::EndOfSession { offset, bytes_follow: true };
    let (seen, end) = decode(&[&good[..], &[0; 700]].concat());
    assert_eq!((seen.bodies(), end), (all.clone(), expected));
    assert!(seen.damage.is_empty());
    let (seen, end) = decode(&[&good[..], &[0, 0], b"what is this?"].concat());
    assert_eq!((seen.bodies(), end), (all, expected));
    assert_eq!(seen.damage, [Damage::Lost { offset: offset + 2, bytes: 13 }]);
}

fn second<T>((_, second): (usize, T)) -> T {
    second
}

#[test]
fn an_unknown_type_swallows_nothing() {
    let all = messages(3_000);
    let good = framed(&all);
    let starts = offsets(&all);
    let at = starts[100];
    // Lengths that lead to the start of each later record, up to the longest possible.
    let reachable = starts[101..].iter().take_while(|&&next| next - at - 2 <= 65_535);
    for &next in
        reachable.enumerate().filter(|(place, _)| *place < 40 || place % 20 == 0).map(second)
    {
        let length = (next - at - 2) as u16;
        for tag in [0xc4, b'z'] {
            let mut bytes = good.clone();
            bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
            bytes[at + 2] = tag;
            let (seen, end) = decode(&bytes);
            assert_eq!(end, DayEnd::EndOfFile);
            let is_carried = tag == b'z' && next == starts[101];
            assert_eq!(seen.messages.len(), all.len() - usize::from(!is_carried), "{length}");
            assert_eq!(seen.damage.is_empty(), is_carried, "{length}");
        }
    }
}

#[test]
fn where_both_lengths_lead_on_nothing_is_swallowed() {
    let all = messages(3_000);
    let good = framed(&all);
    let starts = offsets(&all);
    let at = starts[100];
    // Replaces the right length by every length that leads to a later record.
    let reachable = starts[102..].iter().take_while(|&&next| next - at - 2 <= 65_535);
    for &next in
        reachable.enumerate().filter(|(place, _)| *place < 40 || place % 20 == 0).map(second)
    {
        let mut bytes = good.clone();
        bytes[at..at + 2].copy_from_slice(&((next - at - 2) as u16).to_be_bytes());
        let (seen, _) = decode(&bytes);
        assert_eq!(seen.messages.len(), all.len(), "length {}", next - at - 2);
        assert_eq!(seen.damage.len(), 1);
    }
    // The same for types: a delete whose type has the length of two deletes.
    let deletes: Vec<_> = messages(100).into_iter().filter(|message| message[0] == b'D').collect();
    let mut bytes = framed(&deletes);
    bytes[21 * 50 + 2] = b'Q';
    let (seen, end) = decode(&bytes);
    assert_eq!(end, DayEnd::EndOfFile);
    assert_eq!(seen.messages.len(), 99, "the delete after it is not a part of it");
}

#[test]
fn deleted_bytes_cost_no_message_that_is_whole() {
    let all = messages(20);
    let good = framed(&all);
    let starts = offsets(&all);
    for at in 0..good.len() {
        for count in 1..=8.min(good.len() - at) {
            let bytes = [&good[..at], &good[at + count..]].concat();
            let (seen, end) = decode(&bytes);
            for (message, &start) in all.iter().zip(&starts) {
                let is_whole = start + 2 + message.len() <= at || start >= at + count;
                if is_whole {
                    let offset = if start < at { start } else { start - count } as u64;
                    let there = seen.messages.iter().find(|(_, place, _)| *place == offset);
                    let body = there.map(|(.., body)| body);
                    assert_eq!(body, Some(message), "{count} bytes deleted at {at}");
                }
            }
            let is_reported = !seen.damage.is_empty() || matches!(end, DayEnd::Cut { .. });
            let is_at_the_end = at + count == good.len() && starts.contains(&at);
            assert!(is_reported || is_at_the_end, "{count} bytes deleted at {at}: {end:?}");
        }
    }
}

#[test]
fn a_record_that_begins_inside_the_one_before_is_named() {
    let all = messages(4);
    let good = framed(&all);
    // The last three bytes of the second add.
    let at = offsets(&all)[4] - 3;
    let (seen, _) = decode(&[&good[..at], &good[at + 3..]].concat());
    assert_eq!(seen.messages.len(), all.len());
    assert_eq!(seen.damage, [Damage::Short { offset: at as u64, bytes: 3 }]);
}

#[test]
fn a_message_that_hides_the_next_can_be_found() {
    let all = messages(4);
    let good = framed(&all);
    // Removes, from the middle of an add, as many bytes as the delete after next has.
    let (add, execution, delete) = (offsets(&all)[3], offsets(&all)[4], offsets(&all)[5]);
    let bytes = [&good[..add + 17], &good[delete..]].concat();
    assert_eq!(execution - add - 17, 21, "the delete fills the add up");
    let (seen, end) = decode(&bytes);
    assert_eq!((seen.damage.len(), end), (0, DayEnd::EndOfFile), "nothing contradicts itself");
    let (_, offset, body) = &seen.messages[3];
    let (damage, inner) = hidden_in(body, *offset).unwrap();
    assert_eq!(damage, Damage::Hidden { offset: add as u64 + 17, bytes: 21 });
    assert_eq!(inner.as_bytes(), all[5]);
    for message in &all {
        assert_eq!(hidden_in(message, 0), None);
    }
}

#[test]
fn single_messages_between_damaged_ones_are_delivered() {
    let all = messages(40);
    let mut bytes = framed(&all);
    for (number, start) in offsets(&all).into_iter().enumerate() {
        if number >= 20 && number % 2 == 0 {
            bytes[start..start + 3].fill(0xff);
        }
    }
    let (seen, _) = decode(&bytes);
    let whole = all.iter().enumerate().filter(|(number, _)| *number < 20 || number % 2 == 1);
    assert_eq!(seen.bodies(), whole.map(|(_, message)| message.clone()).collect::<Vec<_>>());
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
    // Removes bytes from inside record 3 to inside record 5: their bytes, and both lengths between.
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
fn any_garbage_is_read_in_time_that_grows_with_its_length_alone() {
    // At every third byte: valid starts that no record follows, or one unknown record after
    // another.
    for pattern in
        [&b"\0\x13D\0\x24A\0\x1fE"[..], b"\0\x01z", b"\x01\xffz\0\x13D", b"\0\0", b"\0\x02"]
    {
        let garbage = pattern.repeat((4 << 20) / pattern.len());
        let (seen, _) = decode(&garbage);
        assert!(seen.messages.len() <= garbage.len() / 3, "{pattern:?}");
    }
}

#[test]
fn new_message_types_are_carried_and_counted() {
    let mut all = messages(2);
    all.insert(2, b"znew message type of 2031".to_vec());
    all.insert(3, vec![b'y'; 512]);
    // More of them in a row than one chain has.
    all.extend((0..200).map(|number| vec![b'w'; 1 + number]));
    all.extend(messages(2));
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

/// Decodes as a source delivers: in blocks of any size, the unused bytes first.
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
        damages in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..4u8, any::<u8>(), 1usize..600),
            0..8,
        ),
        cut in any::<prop::sample::Index>(),
        sizes in prop::collection::vec(prop_oneof![1usize..200, 50_000usize..300_000], 1..5),
    ) {
        let mut bytes = framed(&messages(count));
        for (place, kind, value, length) in damages {
            let place = place.index(bytes.len().max(1));
            let end = (place + length).min(bytes.len());
            match kind {
                0 => bytes[place..end].iter_mut().take(1).for_each(|byte| *byte = value),
                1 => bytes[place..end].fill(if value % 2 == 0 { 0 } else { value }),
                2 => drop(bytes.drain(place..end)),
                _ => drop(bytes.splice(place..place, vec![value; length])),
            }
        }
        bytes.truncate(bytes.len() - cut.index(bytes.len().max(1)).min(bytes.len()) % 100);
        let (seen, end) = decode(&bytes);
        let mut last_end = 0;
        for (_, offset, body) in &seen.messages {
            // Records overlap only where a damage reports it.
            let short = Damage::Short { offset: *offset, bytes: last_end.max(*offset) - offset };
            prop_assert!(last_end <= *offset || seen.damage.contains(&short));
            last_end = offset + 2 + body.len() as u64;
        }
        prop_assert_eq!(decode_in_blocks(&bytes, &sizes), (seen, end));
    }
}
