//! Every operation of a map beside the same one of a standard map.

use std::collections::BTreeMap;

use nanotape_harness::{Random, campaign};
use nanotape_latest::{Insertion, LatestError, LatestReader, LatestSpec, LatestWriter};

/// All entries of a map.
fn contents(reader: &LatestReader) -> BTreeMap<Vec<u64>, (Vec<u64>, u32)> {
    let mut all = BTreeMap::new();
    reader
        .for_each(|key, value, version| {
            let found = (value.to_vec(), version);
            assert_eq!(all.insert(key.to_vec(), found), None, "{key:?} twice");
        })
        .unwrap();
    all
}

fn words(random: &mut Random, count: usize) -> Vec<u64> {
    (0..count).map(|_| random.number()).collect()
}

/// A key of a few, so that they come again.
fn key(random: &mut Random, count: usize, kinds: u64) -> Vec<u64> {
    let kind = random.below(kinds);
    (0..count as u64).map(|word| kind * 1_000 + word).collect()
}

#[test]
fn a_map_is_as_a_naive_one_after_any_operations() {
    for seed in 0..campaign(300) {
        let mut random = Random::new(seed);
        let spec = LatestSpec {
            entries: 1 + random.below(60),
            key_words: 1 + random.index(3),
            value_words: random.index(5),
            writers: 1 + random.below(3) as u32,
            value_layout: 0,
        };
        let mut writer = LatestWriter::on_heap(spec, random.number()).unwrap();
        let reader = writer.reader();
        let mut naive: BTreeMap<Vec<u64>, (Vec<u64>, u32)> = BTreeMap::new();
        let kinds = 1 + random.below(2 * spec.entries);
        for _ in 0..400 {
            let key = key(&mut random, spec.key_words, kinds);
            let value = words(&mut random, spec.value_words);
            let there = naive.get(&key).cloned();
            match random.below(5) {
                0 | 1 => match (writer.insert(&key, &value), &there) {
                    (Ok(Insertion::Replaced), Some((_, version))) => {
                        naive.insert(key, (value, version + 1));
                    }
                    (Ok(Insertion::New), None) => {
                        naive.insert(key, (value, 1));
                    }
                    (Err(LatestError::Full { entries }), None) => {
                        assert_eq!((entries, naive.len() as u64), (spec.entries, spec.entries));
                    }
                    (other, there) => panic!("seed {seed}: {other:?}, {there:?}"),
                },
                2 => {
                    let updated = writer.update(&key, |now| now.copy_from_slice(&value)).unwrap();
                    assert_eq!(updated, there.as_ref().map(|(_, version)| version + 1));
                    if let Some(version) = updated {
                        naive.insert(key, (value, version));
                    }
                }
                3 => {
                    let version = 1 + random.below(3) as u32;
                    let updated = writer.compare_and_update(&key, version, &value).unwrap();
                    match (updated, there) {
                        (None, None) => {}
                        (Some(Ok(next)), Some((_, now))) if now == version => {
                            assert_eq!(next, version + 1);
                            naive.insert(key, (value, next));
                        }
                        (Some(Err(found)), Some((_, now))) if now != version => {
                            assert_eq!(found, now);
                        }
                        (other, there) => panic!("seed {seed}: {other:?}, {there:?}"),
                    }
                }
                _ => assert_eq!(writer.remove(&key).unwrap(), naive.remove(&key).is_some()),
            }
            let key = self::key(&mut random, spec.key_words, kinds);
            let mut value = vec![0; spec.value_words];
            let found = reader.get(&key, &mut value).unwrap().map(|version| (value, version));
            assert_eq!(found.as_ref(), naive.get(&key), "seed {seed}");
        }
        assert_eq!(contents(&reader), naive, "seed {seed}");
        assert_eq!(reader.len(), naive.len() as u64);
        let verified = reader.verify().unwrap();
        assert!(verified.is_clean(), "seed {seed}: {verified:?}");
    }
}

#[test]
fn any_keys_fit_as_many_as_were_promised() {
    for entries in [1, 2, 3, 10, 1_000] {
        let mut writer = LatestWriter::on_heap(crate::spec(entries), 7).unwrap();
        for round in 0..3 {
            for key in 0..entries {
                let inserted = writer.insert(&[key << 40 | round], &[key]).unwrap();
                assert_eq!(inserted, Insertion::New);
            }
            let full = writer.insert(&[u64::MAX], &[0]).unwrap_err();
            assert_eq!(full, LatestError::Full { entries });
            assert_eq!(full.to_string().lines().count(), 1);
            assert!(writer.reader().verify().unwrap().is_clean());
            for key in 0..entries {
                assert!(writer.remove(&[key << 40 | round]).unwrap());
            }
            assert!(writer.reader().is_empty());
            assert!(writer.reader().verify().unwrap().is_clean());
        }
    }
}

#[test]
fn many_keys_together_are_read_and_changed_as_one_by_one() {
    for key_words in [1, 2, 3] {
        let spec =
            LatestSpec { entries: 500, key_words, value_words: 1, writers: 1, value_layout: 0 };
        let mut writer = LatestWriter::on_heap(spec, 5).unwrap();
        for number in 0..500 {
            let _ = writer.insert(&vec![number; key_words], &[number]).unwrap();
        }
        for count in [0, 1, 5, 12, 13, 400] {
            let keys: Vec<u64> =
                (0..count).flat_map(|number| vec![number * 3; key_words]).collect();
            let mut changed = Vec::new();
            let found = writer.update_each(&keys, |number, value| {
                value[0] += 1_000;
                changed.push(number as u64);
            });
            let expected: Vec<u64> = (0..count).filter(|number| number * 3 < 500).collect();
            assert_eq!((found.unwrap(), &changed), (expected.len(), &expected));
            let mut read = Vec::new();
            let reader = writer.reader();
            let each = |number: usize, version: Option<u32>, value: &[u64]| {
                read.push((number as u64, version.map(|_| value[0] % 1_000)));
            };
            reader.get_each(&keys, &mut [0], each).unwrap();
            let value = |number: u64| (number * 3 < 500).then_some(number * 3);
            let expected: Vec<_> = (0..count).map(|number| (number, value(number))).collect();
            assert_eq!(read, expected);
        }
        assert!(writer.reader().verify().unwrap().is_clean());
    }
}
