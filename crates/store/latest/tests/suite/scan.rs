//! Changes of groups, and changes on conditions.

use nanotape_harness::Random;
use nanotape_latest::{Insertion, LatestReader, LatestSpec, LatestWriter, is_one_change};

const SPEC: LatestSpec =
    LatestSpec { entries: 40, key_words: 1, value_words: 2, writers: 2, value_layout: 0 };

type Entries = Vec<(Vec<u64>, Vec<u64>)>;

fn all(reader: &LatestReader) -> Vec<(u64, Entries)> {
    let mut copy = reader.group_entries();
    let groups = 0..reader.groups();
    let group = |group| {
        reader.copy_group(group, &mut copy).unwrap();
        assert_eq!(reader.group_version(group).unwrap(), copy.version());
        let entries = copy.entries().map(|(_, key, value)| (key.to_vec(), value.to_vec()));
        (copy.version(), entries.collect())
    };
    groups.map(group).collect()
}

#[test]
fn a_group_has_another_version_whenever_its_entries_are_others() {
    let mut writer = LatestWriter::on_heap(SPEC, 7).unwrap();
    let reader = writer.reader();
    let mut random = Random::new(1);
    let (mut before, mut single) = (all(&reader), 0);
    for _ in 0..3_000 {
        let key = [random.below(40)];
        match random.below(3) {
            0 => drop(writer.remove(&key).unwrap()),
            1 => drop(writer.insert(&key, &[random.number(), 0]).unwrap()),
            _ => drop(writer.update(&key, |value| value[0] += 1).unwrap()),
        }
        let after = all(&reader);
        let mut seen = 0;
        for ((version, entries), (later, later_entries)) in before.iter().zip(&after) {
            seen += later_entries.len();
            assert!(entries == later_entries || version != later);
            single += u64::from(is_one_change(*version, *later));
        }
        assert_eq!(seen as u64, reader.len());
        if let Some(group) = reader.group_with(&key).unwrap() {
            assert!(after[group].1.iter().any(|(found, _)| *found == key));
        }
        before = after;
    }
    assert!(single > 2_000, "{single}");
}

#[test]
fn a_change_on_a_condition_is_made_or_leaves_the_version() {
    let mut writer = LatestWriter::on_heap(SPEC, 7).unwrap();
    let raise = |to: u64| {
        move |value: &mut [u64]| {
            let is_less = value[0] < to;
            value[0] = value[0].max(to);
            is_less
        }
    };
    assert_eq!(writer.insert_or_update(&[1], &[5, 0], raise(5)).unwrap(), Some(Insertion::New));
    assert_eq!(writer.insert_or_update(&[1], &[4, 0], raise(4)).unwrap(), None);
    let replaced = writer.insert_or_update(&[1], &[6, 0], raise(6)).unwrap();
    assert_eq!(replaced, Some(Insertion::Replaced));
    assert_eq!(writer.update_if(&[1], raise(3)).unwrap(), Some(false));
    assert_eq!(writer.update_if(&[1], raise(7)).unwrap(), Some(true));
    assert_eq!(writer.update_if(&[2], raise(7)).unwrap(), None);
    let mut value = [0; 2];
    assert_eq!((writer.get(&[1], &mut value).unwrap(), value), (Some(3), [7, 0]));
    assert!(!writer.remove_if(&[1], |value| value[0] == 6).unwrap());
    assert!(!writer.remove_if(&[2], |_| true).unwrap());
    assert_eq!(writer.reader().len(), 1);
    assert!(writer.remove_if(&[1], |value| value == [7, 0]).unwrap());
    assert_eq!(writer.reader().len(), 0);
    assert!(writer.reader().verify().unwrap().is_clean());
}
