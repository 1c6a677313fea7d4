//! A map whose words are changed by a program that is not a writer of it.

use std::{fs::File, os::unix::fs::FileExt as _, time::Duration};

use nanotape_harness::{Random, Scratch, campaign};
use nanotape_latest::{LatestReader, LatestWriter};
use nanotape_shm::{HEADER_BYTES, RegionOptions};

use crate::any_widths;

#[test]
fn words_of_any_content_do_no_harm() {
    let place = Scratch::new("latest-hostile");
    let mut random = Random::new(47);
    let (mut good, mut refused) = (0, 0);
    for _ in 0..campaign(100) {
        place.clear();
        let entries = 1 + random.below(20);
        let spec = any_widths(entries, &mut random);
        let mut writer = LatestWriter::join(place.path(), spec, &RegionOptions::default()).unwrap();
        writer.set_patience(Duration::from_micros(10));
        let reader = LatestReader::open(place.path()).unwrap();
        let file = File::options().write(true).open(place.path()).unwrap();
        let words = (spec.bytes().unwrap() as usize - HEADER_BYTES) / 8;
        for _ in 0..60 {
            let word = random.index(words);
            let content = match random.below(4) {
                0 => random.number(),
                1 => random.below(5),
                2 => random.below(20) | random.below(20) << 48,
                _ => u64::MAX,
            };
            file.write_all_at(&content.to_ne_bytes(), (HEADER_BYTES + 8 * word) as u64).unwrap();
            let key = vec![random.below(30); spec.key_words];
            let mut value = vec![1; spec.value_words];
            let outcomes = [
                writer.insert(&key, &value).map(|_| ()),
                writer.update(&key, |value| value.fill(2)).map(|_| ()),
                writer.remove(&key).map(|_| ()),
                reader.get(&key, &mut value).map(|_| ()),
                reader.for_each(|_, _, _| ()),
                reader.verify().map(|_| ()),
                writer.another().map(|_| ()),
            ];
            for outcome in outcomes {
                match outcome {
                    Ok(()) => good += 1,
                    Err(error) => {
                        assert_eq!(error.to_string().lines().count(), 1, "{error}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(good > 1_000 && refused > 100, "{good} good, {refused} refused");
}
