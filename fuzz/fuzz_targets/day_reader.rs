//! The day decoder on any bytes: no panic, every byte is accounted for, and the split into blocks
//! makes no difference.
//!
//! The first two bytes of the input choose how the rest is cut into blocks.
#![no_main]

mod seen;

use libfuzzer_sys::fuzz_target;
use nanotape_feed::{Block, Damage, DayDecoder, DayEnd, Position};
use seen::Seen;

fuzz_target!(|input: &[u8]| {
    let [first, second, bytes @ ..] = input else { return };
    let whole = decode(bytes, &[usize::MAX]);
    let sizes = [1 + usize::from(*first) * 7, 1 + usize::from(*second)];
    assert_eq!(decode(bytes, &sizes), whole);
    accounts_for_every_byte(bytes, &whole);
});

fn decode(bytes: &[u8], sizes: &[usize]) -> (Seen, DayEnd) {
    let (mut seen, mut decoder) = (Seen::default(), DayDecoder::new());
    let (mut start, mut end) = (0, 0usize);
    for &size in sizes.iter().cycle() {
        end = end.saturating_add(size).min(bytes.len());
        let is_last = end == bytes.len();
        let block = Block { offset: start as u64, bytes: &bytes[start..end], is_last };
        let step = decoder.decode(block, &mut seen);
        start += step.used_bytes;
        if let Some(end) = step.end {
            return (seen, end);
        }
        assert!(!is_last, "the last block ends the day");
    }
    unreachable!("there are sizes")
}

/// Messages are in order, do not overlap except where a damage reports it, and reach the end.
fn accounts_for_every_byte(bytes: &[u8], (seen, end): &(Seen, DayEnd)) {
    let mut last = Position { number: 0, offset: 0 };
    let mut last_end = 0;
    for (position, message) in &seen.messages {
        assert!(position.number > last.number, "numbers grow");
        let is_first = last.number == 0;
        assert!(is_first || position.offset > last.offset, "offsets grow");
        if position.offset < last_end {
            let bytes = last_end - position.offset;
            let short = Damage::Short { offset: position.offset, bytes };
            assert!(seen.damage.contains(&short), "records do not overlap in silence");
        }
        (last, last_end) = (*position, position.offset + 2 + message.len() as u64);
    }
    let last = last_end;
    assert!(last <= bytes.len() as u64);
    match *end {
        DayEnd::EndOfFile if seen.damage.is_empty() => assert_eq!(last, bytes.len() as u64),
        DayEnd::Cut { offset, needed_bytes, present_bytes } => {
            assert_eq!(offset + present_bytes, bytes.len() as u64);
            assert!(needed_bytes > present_bytes);
        }
        _ => {}
    }
}
