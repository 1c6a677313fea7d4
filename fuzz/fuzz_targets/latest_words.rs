//! Any words in place of a map: every operation of every reader and writer, with those that were
//! there before and those that come after, returns a result or an error.
//!
//! The input is a list of positions and words, written over a map that was in use, and the keys of
//! the operations.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use nanotape_latest::{LatestReader, LatestSpec, LatestWriter};
use nanotape_shm::{JoinedRegion, Word};

const SPECS: [(u64, usize, usize); 4] = [(1, 1, 0), (6, 1, 1), (20, 2, 5), (9, 1, 30)];

fuzz_target!(|input: &[u8]| {
    let [which, input @ ..] = input else { return };
    let (entries, key_words, value_words) = SPECS[usize::from(which % 4)];
    let spec = LatestSpec { entries, key_words, value_words, writers: 3, value_layout: 0 };
    let region = JoinedRegion::on_heap(spec.region().expect("a map of this size can exist"));
    let mut writer = LatestWriter::on(region.clone()).expect("the map is empty");
    let key = |number: u64| vec![number % 32; key_words];
    for number in 0..entries {
        let _ = writer.insert(&key(number), &vec![number; value_words]).expect("it fits");
    }
    let mut gone = writer.another().expect("numbers are free");
    gone.set_patience(Duration::ZERO);
    let _ = gone.remove(&key(0)).expect("nothing is locked");
    drop(gone);
    writer.set_patience(Duration::from_micros(100));
    let reader = writer.reader();
    for change in input.chunks(11) {
        lay(region.words(), change);
        let number = u64::from(change[0]);
        everything(&mut writer, &reader, &key(number), value_words);
    }
    if let Ok(mut next) = LatestWriter::on(region) {
        next.set_patience(Duration::from_micros(100));
        everything(&mut next, &reader, &key(1), value_words);
    }
});

/// Writes a word: two bytes choose the position, one the kind of change, eight are the word.
fn lay(words: &[Word], change: &[u8]) {
    let [low, high, how, rest @ ..] = change else { return };
    let word = &words[usize::from(u16::from_le_bytes([*low, *high])) % words.len()];
    let value = rest.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    word.store(match how % 4 {
        // Any word, one near the current one, a small one, or another word of the map.
        0 => value,
        1 => word.load().wrapping_add(value & 0xff).wrapping_sub(0x80),
        2 => value & 0x1f | (value & 0x1f_0000) << 32,
        _ => words[value as usize % words.len()].load(),
    });
}

fn everything(writer: &mut LatestWriter, reader: &LatestReader, key: &[u64], value_words: usize) {
    let mut value = vec![0; value_words];
    let _ = reader.get(key, &mut value);
    let _ = reader.for_each(|_, _, _| ());
    let _ = reader.verify();
    reader.salvage(|_| ());
    let (_, _, _) = (reader.len(), reader.recovered(), reader.unfinished());
    let _ = writer.insert(key, &value);
    let _ = writer.update(key, |value| value.fill(7));
    let _ = writer.compare_and_update(key, 1, &value);
    let _ = writer.update_each(key, |_, value| value.fill(8));
    let _ = writer.remove(key);
    let _ = writer.another();
}
