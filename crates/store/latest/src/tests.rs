//! Writers that are stopped within an operation, and damaged words: what others can do meanwhile.
//!
//! A stopped writer is a thread in the closure of an update, which keeps its group.

use std::{
    sync::{Barrier, mpsc::channel},
    thread,
    time::Duration,
};

use nanotape_shm::Word;

use crate::{
    Insertion, LatestError, LatestSpec, LatestWriter,
    layout::{GROUP_HEAD, Layout},
};

/// So many words that a group has one entry.
const WORDS: usize = 29;

const VALUE: [u64; WORDS] = [7; WORDS];

/// Keys for this group.
fn chosen(writer: &LatestWriter, group: usize) -> impl Iterator<Item = u64> + use<> {
    let reader = writer.reader();
    (0..).filter(move |key| reader.view().home(&[*key]) == group)
}

/// A map of eight groups, and keys for group 2; the first three are there, in groups 2, 3 and 4.
fn map() -> (LatestWriter, Vec<u64>) {
    let spec =
        LatestSpec { entries: 6, key_words: 1, value_words: WORDS, writers: 4, value_layout: 0 };
    let mut first = LatestWriter::on_heap(spec, 1).unwrap();
    first.set_patience(Duration::from_millis(20));
    let keys: Vec<u64> = chosen(&first, 2).take(5).collect();
    for key in &keys[..3] {
        assert_eq!(first.insert(&[*key], &VALUE).unwrap(), Insertion::New);
    }
    (first, keys)
}

/// Runs `then` while a writer is stopped in an update of a key.
fn while_stopped(writer: &mut LatestWriter, key: u64, then: impl FnOnce()) {
    let (go, gone) = channel::<()>();
    let inside = Barrier::new(2);
    thread::scope(|scope| {
        let inside = &inside;
        let stopped = scope.spawn(move || {
            let update = |_: &mut [u64]| {
                inside.wait();
                gone.recv().unwrap();
            };
            assert!(writer.update(&[key], update).unwrap().is_some());
        });
        inside.wait();
        then();
        go.send(()).unwrap();
        stopped.join().unwrap();
    });
}

fn is_clean(writer: &LatestWriter) -> bool {
    let integrity = writer.reader().verify().unwrap();
    println!("{integrity:?}");
    integrity.is_clean()
}

fn word(writer: &LatestWriter, group: usize, word: usize) -> &Word {
    let layout = Layout::new(writer.spec()).unwrap();
    &writer.words()[layout.group(group) + word]
}

#[test]
fn a_writer_goes_on_after_an_insertion_that_could_not_be_undone() {
    let (mut first, keys) = map();
    let mut second = first.another().unwrap();
    let mut third = first.another().unwrap();
    // Counts in group 2, finds group 3 busy, and then group 2 too.
    while_stopped(&mut second, keys[1], || {
        let update = |_: &mut [u64]| {
            let busy = first.insert(&[keys[3]], &VALUE).unwrap_err();
            assert!(matches!(busy, LatestError::Busy { .. }), "{busy}");
        };
        assert!(third.update(&[keys[0]], update).unwrap().is_some());
    });
    assert_eq!(first.get(&[keys[3]], &mut [0; WORDS]).unwrap(), None);
    assert_eq!(first.insert(&[keys[3]], &VALUE).unwrap(), Insertion::New);
    assert!(is_clean(&first));
}

#[test]
fn a_key_is_removed_although_a_count_before_it_is_busy() {
    let (mut first, keys) = map();
    let mut second = first.another().unwrap();
    while_stopped(&mut second, keys[0], || {
        assert!(first.remove(&[keys[2]]).unwrap());
        assert_eq!(first.get(&[keys[2]], &mut [0; WORDS]).unwrap(), None);
        // Updates go on; the next removal ends this one first.
        assert!(first.update(&[keys[1]], |value| value[0] = 8).unwrap().is_some());
        let busy = first.remove(&[keys[1]]).unwrap_err();
        assert!(matches!(busy, LatestError::Busy { owner: 2, .. }), "{busy}");
    });
    assert!(first.remove(&[keys[1]]).unwrap() && is_clean(&first));
}

#[test]
fn a_number_with_work_that_cannot_be_finished_is_not_taken() {
    let (mut first, keys) = map();
    let mut second = first.another().unwrap();
    while_stopped(&mut second, keys[0], || {
        let mut third = first.another().unwrap();
        third.set_patience(Duration::from_millis(5));
        assert!(third.remove(&[keys[2]]).unwrap());
        drop(third);
        assert_eq!(first.another().unwrap().number(), 4);
    });
    assert_eq!(first.another().unwrap().number(), 3);
    assert!(is_clean(&first));
    // What others have begun is finished too where all rooms are needed.
    for key in chosen(&first, 5).take(4) {
        assert_eq!(first.insert(&[key], &VALUE).unwrap(), Insertion::New);
    }
}

#[test]
fn a_damaged_count_is_an_error_and_not_an_endless_search() {
    let (mut first, keys) = map();
    word(&first, 2, 1).store(0);
    let busy = first.insert(&[keys[2]], &VALUE).unwrap_err();
    assert!(matches!(busy, LatestError::Busy { owner: 0, .. }), "{busy}");
    word(&first, 2, 1).store(u64::MAX);
    assert_eq!(first.insert(&[keys[3]], &VALUE).unwrap(), Insertion::New);
    assert!(!is_clean(&first));
}

#[test]
fn a_value_without_its_sum_is_replaced_and_not_updated() {
    let (mut first, keys) = map();
    word(&first, 2, GROUP_HEAD + 5).store(99);
    let damaged = first.update(&[keys[0]], |value| value[0] += 1).unwrap_err();
    assert!(damaged.is_bad_data() && matches!(damaged, LatestError::Damaged { .. }), "{damaged}");
    assert!(!is_clean(&first));
    assert_eq!(first.insert(&[keys[0]], &VALUE).unwrap(), Insertion::Replaced);
    assert!(is_clean(&first));
}

#[test]
fn keys_that_were_chosen_for_one_group_fit_too() {
    let spec =
        LatestSpec { entries: 200, key_words: 1, value_words: 1, writers: 2, value_layout: 0 };
    let mut writer = LatestWriter::on_heap(spec, 9).unwrap();
    let keys: Vec<u64> = chosen(&writer, 0).take(201).collect();
    for key in &keys[..200] {
        assert_eq!(writer.insert(&[*key], &[key + 1]).unwrap(), Insertion::New);
    }
    let full = writer.insert(&[keys[200]], &[0]).unwrap_err();
    assert_eq!(full, LatestError::Full { entries: 200 });
    let mut value = [0];
    for key in &keys[..200] {
        assert_eq!(writer.get(&[*key], &mut value).unwrap(), Some(1));
        assert_eq!(value, [key + 1]);
    }
    assert!(is_clean(&writer));
    for key in &keys[..200] {
        assert!(writer.remove(&[*key]).unwrap());
    }
    assert!(is_clean(&writer));
}
