//! Several writers and readers of one map, each in a thread.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use nanotape_harness::{Random, SetAtEnd};
use nanotape_latest::{Insertion, LatestError, LatestSpec, LatestWriter};

#[test]
fn nothing_is_lost_of_what_several_writers_add() {
    const EACH: u64 = 30_000;
    let first = LatestWriter::on_heap(crate::spec(50), 3).unwrap();
    let reader = first.reader();
    thread::scope(|scope| {
        for number in 0..3 {
            let mut writer = first.another().unwrap();
            scope.spawn(move || {
                let mut random = Random::new(number);
                for _ in 0..EACH {
                    let key = [random.below(50)];
                    // Whoever comes first inserts it.
                    while writer.update(&key, |value| value[0] += 1).unwrap().is_none() {
                        let _ = writer.insert(&key, &[0]).unwrap();
                    }
                }
            });
        }
    });
    let mut sum = 0;
    reader.for_each(|_, value, _| sum += value[0]).unwrap();
    // An insertion that replaced another one's may have set it back.
    assert!(sum <= 3 * EACH && sum > 3 * EACH - 1_000, "{sum}");
    assert!(reader.verify().unwrap().is_clean());
}

#[test]
fn a_reader_never_has_half_of_a_value() {
    let spec = LatestSpec { value_words: 6, ..crate::spec(4) };
    let mut first = LatestWriter::on_heap(spec, 3).unwrap();
    for key in 0..4 {
        let _ = first.insert(&[key], &[0; 6]).unwrap();
    }
    let ends = AtomicBool::new(false);
    let ends = &ends;
    thread::scope(|scope| {
        for _ in 0..2 {
            let mut writer = first.another().unwrap();
            scope.spawn(move || {
                let mut random = Random::new(5);
                while !ends.load(Ordering::Relaxed) {
                    let number = random.number();
                    let _ = writer.update(&[number % 4], |value| value.fill(number)).unwrap();
                }
            });
        }
        let _end = SetAtEnd(ends);
        let reader = first.reader();
        let mut value = [0; 6];
        for round in 0..200_000 {
            let found = reader.get(&[round % 4], &mut value).unwrap();
            assert!(found.is_some() && value.iter().all(|word| *word == value[0]), "{value:?}");
            let is_whole = |value: &[u64], _| value.iter().all(|word| *word == value[0]);
            assert_eq!(reader.get_with(&[round % 4], is_whole).unwrap(), Some(true));
        }
    });
    assert!(first.reader().verify().unwrap().is_clean());
}

#[test]
fn keys_that_come_and_go_are_there_once_or_not() {
    let first = LatestWriter::on_heap(crate::spec(30), 3).unwrap();
    thread::scope(|scope| {
        for number in 0..3 {
            let mut writer = first.another().unwrap();
            scope.spawn(move || {
                let mut random = Random::new(number);
                for _ in 0..20_000 {
                    let key = [random.below(28)];
                    if random.below(2) == 0 {
                        let _ = writer.insert(&key, &[number]).unwrap();
                    } else {
                        let _ = writer.remove(&key).unwrap();
                    }
                }
            });
        }
    });
    let verified = first.reader().verify().unwrap();
    assert!(verified.is_clean(), "{verified:?}");
}

#[test]
fn a_writer_that_is_stopped_inside_an_update_keeps_nothing_from_readers() {
    let mut first = LatestWriter::on_heap(crate::spec(100), 3).unwrap();
    for key in 0..100 {
        let _ = first.insert(&[key], &[key]).unwrap();
    }
    let mut second = first.another().unwrap();
    let (inside, outside) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        let stopped = scope.spawn(|| {
            let update = |value: &mut [u64]| {
                value[0] = 1_000;
                inside.wait();
                outside.wait();
            };
            first.update(&[7], update).unwrap()
        });
        inside.wait();
        let reader = second.reader();
        let mut value = [0];
        assert_eq!(reader.get(&[7], &mut value).unwrap(), Some(1));
        assert_eq!(value, [7]);
        second.set_patience(Duration::from_millis(20));
        let busy = second.update(&[7], |value| value[0] += 1).unwrap_err();
        assert!(matches!(busy, LatestError::Busy { owner: 1, .. }), "{busy}");
        // Others are not concerned, unless they are in its group.
        let updated = (0..100).filter(|key| second.update(&[*key], |_| ()).is_ok()).count();
        assert!(updated >= 98, "{updated}");
        outside.wait();
        assert_eq!(stopped.join().unwrap(), Some(2));
        assert_eq!(second.update(&[7], |value| value[0] += 1).unwrap(), Some(3));
        assert_eq!(reader.get(&[7], &mut value).unwrap(), Some(3));
        assert_eq!(value, [1_001]);
    });
}

#[test]
fn a_map_has_as_many_writers_as_it_was_made_for() {
    let first = LatestWriter::on_heap(crate::spec(3), 3).unwrap();
    let others: Vec<_> = (0..3).map(|_| first.another().unwrap()).collect();
    assert_eq!(first.another().unwrap_err(), LatestError::Writers { most: 4 });
    drop(others);
    let mut second = first.another().unwrap();
    assert_eq!(second.number(), 2);
    assert_eq!(second.insert(&[1], &[2]).unwrap(), Insertion::New);
}
