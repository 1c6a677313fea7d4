//! The capacity: as many keys fit as were promised, never more, and no error if one fits.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use nanotape_harness::campaign;
use nanotape_latest::{Insertion, LatestError, LatestSpec, LatestWriter};

#[test]
fn threads_together_insert_as_many_keys_as_were_promised_and_no_more() {
    for entries in [1, 7, 500, 3_000] {
        let spec = LatestSpec { writers: 9, ..crate::spec(entries) };
        let first = LatestWriter::on_heap(spec, entries).unwrap();
        let (new, full) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for number in 0..8 {
                let mut writer = first.another().unwrap();
                let (new, full) = (&new, &full);
                scope.spawn(move || {
                    for key in 0..entries {
                        match writer.insert(&[key << 8 | number], &[key]) {
                            Ok(Insertion::New) => new.fetch_add(1, Ordering::Relaxed),
                            Err(LatestError::Full { .. }) => full.fetch_add(1, Ordering::Relaxed),
                            other => panic!("{other:?}"),
                        };
                    }
                });
            }
        });
        assert_eq!((new.into_inner(), full.into_inner()), (entries, 7 * entries));
        let integrity = first.reader().verify().unwrap();
        assert!(integrity.is_clean() && integrity.entries == entries, "{integrity:?}");
    }
}

#[test]
fn a_map_of_one_entry_is_never_full_for_its_only_key() {
    let first = LatestWriter::on_heap(crate::spec(1), 1).unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            let mut writer = first.another().unwrap();
            scope.spawn(move || {
                for round in 0..campaign(20_000) {
                    let _ = writer.insert(&[1], &[round]).unwrap();
                    let _ = writer.remove(&[1]).unwrap();
                }
            });
        }
    });
    assert!(first.reader().verify().unwrap().is_clean() && first.reader().is_empty());
}

#[test]
fn rooms_that_a_writer_has_and_does_not_use_are_for_others() {
    let mut first = LatestWriter::on_heap(crate::spec(2_000), 1).unwrap();
    let mut second = first.another().unwrap();
    // Gets many rooms, and uses one.
    let _ = first.insert(&[0], &[0]).unwrap();
    for key in 1..2_000 {
        assert_eq!(second.insert(&[key], &[key]).unwrap(), Insertion::New);
    }
    let full = LatestError::Full { entries: 2_000 };
    assert_eq!(second.insert(&[2_000], &[0]).unwrap_err(), full);
    assert_eq!(first.insert(&[2_000], &[0]).unwrap_err(), full);
    assert_eq!(first.insert(&[1_999], &[0]).unwrap(), Insertion::Replaced);
    // The room of what the first one removes is the second one's too.
    assert!(first.remove(&[5]).unwrap());
    assert_eq!(second.insert(&[2_000], &[0]).unwrap(), Insertion::New);
    assert!(first.reader().verify().unwrap().is_clean());
}
