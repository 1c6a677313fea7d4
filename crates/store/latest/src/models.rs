//! Loom models: readers and writers of one group, and writers that die at every store.

use std::{path::Path, time::Duration};

use loom::thread;
use nanotape_shm::models::{Case, Survivor, check_every_site, death};

use crate::{
    LatestReader, LatestSpec, LatestWriter,
    account::{claimed, work},
    edges::{LOCK, REDO, ROOM},
    patience::Patience,
    reader::accounts,
};

/// A map with one group.
fn map() -> LatestWriter {
    let spec = LatestSpec { entries: 1, key_words: 1, value_words: 2, writers: 2, value_layout: 0 };
    let mut first = LatestWriter::on_heap(spec, 1).unwrap();
    let _ = first.insert(&[7], &[1, 1]).unwrap();
    first
}

/// The value of a key, with its version.
fn read(reader: &LatestReader, key: u64) -> String {
    let mut value = [0; 2];
    match reader.get(&[key], &mut value) {
        Ok(Some(version)) => format!("{} {} version {version}", value[0], value[1]),
        Ok(None) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// An update by a thread beside a reader.
fn beside_a_reader() -> Case {
    const ALLOWED: &[&str] = &["1 1 version 1", "2 2 version 2"];
    Case::new("latest: an update beside a reader", ALLOWED, || {
        let mut writer = map();
        let reader = writer.reader();
        let reads = thread::spawn(move || read(&reader, 7));
        let _ = writer.update(&[7], |value| value.fill(2)).unwrap();
        reads.join().unwrap()
    })
}

/// The same with a writer that dies after some stores; the next one changes the value again.
fn killed_beside_a_reader(stores: u32) -> Case {
    const ALLOWED: &[&str] = &[
        "1 1 version 1, then 3 3 version 2",
        "1 1 version 1, then 3 3 version 3",
        "2 2 version 2, then 3 3 version 3",
    ];
    let allowed = match stores {
        // Before the change is complete in the slot, and from then on.
        0..=9 => &ALLOWED[..1],
        _ => &ALLOWED[1..],
    };
    Case::new(format!("latest: an update that ends after {stores} stores"), allowed, move || {
        let mut writer = map();
        let mut next = writer.another().unwrap();
        let reader = writer.reader();
        let reads = thread::spawn({
            let reader = reader.clone();
            move || read(&reader, 7)
        });
        death::after(Some(stores));
        let _ = writer.update(&[7], |value| value.fill(2));
        drop(writer);
        let seen = reads.join().unwrap();
        death::after(None);
        let _ = next.update(&[7], |value| value.fill(3)).unwrap();
        format!("{seen}, then {}", read(&reader, 7))
    })
}

/// Two writers that add to one value.
fn two_writers() -> Case {
    Case::new("latest: two updates", &["3 3 version 3"], || {
        let mut first = map();
        let mut second = first.another().unwrap();
        let reader = first.reader();
        let add = |value: &mut [u64]| value.iter_mut().for_each(|word| *word += 1);
        let other = thread::spawn(move || second.update(&[7], add).unwrap());
        let _ = first.update(&[7], add).unwrap();
        let _ = other.join().unwrap();
        read(&reader, 7)
    })
}

/// A group as a reader has it at one moment, without a search.
fn seen(reader: &LatestReader, group: usize) -> String {
    let group = reader.view().read(group, |seen| {
        let mut value = [0; 2];
        let stamp = seen.value(0, &mut value);
        format!("{} {} version {}", value[0], value[1], stamp as u32)
    });
    group.unwrap_or_else(|error| error.to_string())
}

/// A reader, while the value changes twice: the second change uses the slot of the first one.
fn two_updates() -> Case {
    const ALLOWED: &[&str] = &["1 1 version 1", "2 2 version 2", "3 3 version 3"];
    Case::new("latest: two updates beside a reader", ALLOWED, || {
        let mut writer = map();
        let reader = writer.reader();
        let reads = thread::spawn(move || seen(&reader, 0));
        for number in [2, 3] {
            let _ = writer.update(&[7], |value| value.fill(number)).unwrap();
        }
        reads.join().unwrap()
    })
}

/// Two groups that have the same lock words, so that a change of the first one could be taken for
/// one of the second.
fn two_groups() -> Case {
    const ALLOWED: &[&str] = &["1 1 version 1", "2 2 version 2"];
    Case::new("latest: two groups in turn beside a reader", ALLOWED, || {
        let spec =
            LatestSpec { entries: 10, key_words: 1, value_words: 2, writers: 1, value_layout: 0 };
        let mut writer = LatestWriter::on_heap(spec, 1).unwrap();
        let in_group = |group| (0..).find(|key| writer.reader().view().home(&[*key]) == group);
        let keys = [0, 1].map(|group| in_group(group).unwrap());
        for key in keys {
            let _ = writer.insert(&[key], &[1, 1]).unwrap();
        }
        let reader = writer.reader();
        let reads = thread::spawn(move || seen(&reader, 1));
        for key in keys {
            let _ = writer.update(&[key], |value| value.fill(2)).unwrap();
        }
        reads.join().unwrap()
    })
}

/// A group that is changed, then locked and opened as it was.
fn opened_as_it_was() -> Case {
    const ALLOWED: &[&str] = &["1 1 version 1", "2 2 version 2"];
    Case::new("latest: opened without a change", ALLOWED, || {
        let mut writer = map();
        let mut second = writer.another().unwrap();
        let reader = writer.reader();
        let reads = thread::spawn(move || seen(&reader, 0));
        let _ = writer.update(&[7], |value| value.fill(2)).unwrap();
        let _ = second.compare_and_update(&[7], 9, &[8, 8]).unwrap();
        reads.join().unwrap()
    })
}

/// A reader beside the process that finishes a complete change of a dead writer.
fn beside_a_recovery() -> Case {
    const ALLOWED: &[&str] = &["2 2 version 2", "3 3 version 3"];
    Case::new("latest: a reader beside a recovery", ALLOWED, || {
        let mut writer = map();
        let mut next = writer.another().unwrap();
        let reader = writer.reader();
        death::after(Some(10));
        let _ = writer.update(&[7], |value| value.fill(2));
        drop(writer);
        death::after(None);
        let reads = thread::spawn(move || seen(&reader, 0));
        let _ = next.update(&[7], |value| value.fill(3)).unwrap();
        reads.join().unwrap()
    })
}

/// A key that is removed, and another one in its room, beside a reader.
fn room_that_is_used_again() -> Case {
    const ALLOWED: &[&str] = &["1 1 version 1", "none"];
    Case::new("latest: another key in the room of one", ALLOWED, || {
        let mut writer = map();
        let reader = writer.reader();
        let reads = thread::spawn(move || read(&reader, 7));
        assert!(writer.remove(&[7]).unwrap());
        let _ = writer.insert(&[8], &[5, 5]).unwrap();
        reads.join().unwrap()
    })
}

/// Two writers that need the one room of a map.
fn one_room_for_two() -> Case {
    Case::new("latest: one room for two writers", &["1 claimed"], || {
        let spec =
            LatestSpec { entries: 1, key_words: 1, value_words: 0, writers: 2, value_layout: 0 };
        let mut first = LatestWriter::on_heap(spec, 1).unwrap();
        let mut second = first.another().unwrap();
        let reader = first.reader();
        let take = |writer: &mut LatestWriter, key: u64| {
            let patience = Patience::new(Duration::MAX);
            let (hand, _) = writer.hand(&patience);
            // Full, if the other one was first and has used it; or else it may take the room away.
            if hand.take_rooms(&[key]).is_ok() && hand.begin(work::INSERT, 0, 0) {
                hand.end(1);
            }
        };
        let other = thread::spawn(move || take(&mut second, 8));
        take(&mut first, 7);
        other.join().unwrap();
        let claimed: i64 = accounts(reader.view()).map(claimed).sum();
        format!("{claimed} claimed")
    })
}

/// A writer that finds the map full beside the insertion of its key.
fn full_beside_an_insertion() -> Case {
    const ALLOWED: &[&str] = &["None", "Some(Present)"];
    Case::new("latest: full beside an insertion of the same key", ALLOWED, || {
        let spec =
            LatestSpec { entries: 1, key_words: 1, value_words: 0, writers: 2, value_layout: 0 };
        let mut first = LatestWriter::on_heap(spec, 1).unwrap();
        let mut second = first.another().unwrap();
        let patience = Patience::new(Duration::MAX);
        let _ = first.hand(&patience).0.take_rooms(&[7]).unwrap();
        let other = thread::spawn(move || {
            let patience = Patience::new(Duration::MAX);
            let found = second.hand(&patience).0.is_full_without(&[7]);
            found.map_or_else(|error| error.to_string(), |found| format!("{found:?}"))
        });
        let _ = first.insert(&[7], &[]).unwrap();
        other.join().unwrap()
    })
}

fn cases() -> Vec<Case> {
    // Before and after the lock, the complete change, a part of it in the group, and the end.
    let killed = [1, 2, 9, 10, 12, 15].map(killed_beside_a_reader);
    let mut cases = vec![
        beside_a_reader(),
        two_updates(),
        two_groups(),
        two_writers(),
        one_room_for_two(),
        full_beside_an_insertion(),
        opened_as_it_was(),
        beside_a_recovery(),
        room_that_is_used_again(),
    ];
    cases.extend(killed);
    cases
}

#[test]
fn every_model_has_its_outcomes() {
    cases().iter().for_each(Case::check);
}

const SURVIVORS: &[Survivor] = &[
    (
        "latest.room",
        "rooms.rs reclaim",
        "the rooms of an account are in one word, and nothing else follows from it",
    ),
    (
        "latest.room",
        "rooms.rs lock_rooms",
        "the accounts are added twice, and the fences of the first time are enough for the second",
    ),
    (
        "latest.room",
        "rooms.rs accounts",
        "the search that follows has a fence before its second load of each lock word",
    ),
    (
        "latest.room",
        "recover.rs open_all",
        "needs three writers: one that died, one that recovers it, and the next one",
    ),
];

#[test]
fn every_ordering_is_needed_at_every_site() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    check_every_site(&source, &[LOCK, REDO, ROOM], &cases(), SURVIVORS);
}
