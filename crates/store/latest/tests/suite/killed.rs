//! A writer that is killed before each of its stores, in turn, and what the next one finds.
//!
//! A child is this program again, with the test `child` selected and a role in its environment.

use std::{fs, os::unix::process::ExitStatusExt as _, path::Path, process::Stdio};

use nanotape_harness::{Peer, Scratch, Task, say};
use nanotape_latest::{LatestReader, LatestSpec, LatestWriter};
use nanotape_shm::{RegionOptions, kill_points};

/// Few entries, two in a group, so that many keys are not in the group of their hash.
const SPEC: LatestSpec =
    LatestSpec { entries: 12, key_words: 1, value_words: VALUE_WORDS, writers: 3, value_layout: 0 };

const VALUE_WORDS: usize = 5;

/// Keys that are there before.
const KEYS: u64 = 9;

/// What a child does, for each key of the test.
const ROLES: [&str; 3] = ["insert", "update", "remove"];

fn open(path: &Path) -> LatestWriter {
    LatestWriter::join(path, SPEC, &RegionOptions::default()).unwrap()
}

fn fill(path: &Path) {
    let mut writer = open(path);
    for key in 0..KEYS {
        let _ = writer.insert(&[key], &[key; VALUE_WORDS]).unwrap();
    }
}

/// Does the task of a process; does nothing in a normal test run.
#[test]
fn child() {
    let Some(Task { role, path, number, .. }) = Task::of_this_process() else { return };
    let (role, key) = role.split_once(' ').unwrap();
    let key = [key.parse::<u64>().unwrap()];
    let mut writer = open(&path);
    kill_points::arm(number);
    match role {
        "insert" => drop(writer.insert(&key, &[100; VALUE_WORDS]).unwrap()),
        "update" => drop(writer.update(&key, |value| value.fill(200)).unwrap()),
        "remove" => drop(writer.remove(&key).unwrap()),
        other => panic!("no role {other}"),
    }
    say(format!("survived {} stores", kill_points::disarm()));
    std::mem::forget(writer);
}

/// The value of a key; 0 if it is not there.
fn value(reader: &LatestReader, key: u64) -> u64 {
    let mut value = [0; VALUE_WORDS];
    let found = reader.get(&[key], &mut value).unwrap();
    assert_eq!(value, [value[0]; VALUE_WORDS], "half of a value");
    found.map_or(0, |_| value[0])
}

#[test]
fn a_writer_killed_at_any_store_leaves_the_entry_as_before_or_after() {
    at_every_store_of_all("latest-kill", false);
}

#[test]
fn a_writer_that_is_there_goes_on_whenever_another_one_is_killed() {
    at_every_store_of_all("latest-kill-beside", true);
}

fn at_every_store_of_all(name: &str, is_beside: bool) {
    let (place, filled) = (Scratch::new(name), Scratch::new(&format!("{name}-filled")));
    let mut all = 0;
    fill(filled.path());
    for role in ROLES {
        // Keys in the group of their hash, and others; new ones for insertions.
        let keys = if role == "insert" { 20..24 } else { 1..5_u64 };
        for key in keys {
            all += at_every_store(&place, &filled, role, key, is_beside);
        }
    }
    println!("killed at each of {all} stores");
    assert!(all > 150, "{all}");
}

/// Kills the role at every store; returns how many it has. Another writer `is_beside` it, or the
/// next one comes afterwards.
fn at_every_store(place: &Scratch, filled: &Scratch, role: &str, key: u64, is_beside: bool) -> u64 {
    let after = match role {
        "insert" => 100,
        "update" => 200,
        _ => 0,
    };
    for number in 1.. {
        // The same hashes each time, and so the same stores.
        place.clear();
        fs::copy(filled.path(), place.path()).unwrap();
        let beside = is_beside.then(|| open(place.path()));
        let task = Task::new(&format!("{role} {key}"), place.path()).number(number);
        let mut command = task.command("killed::child");
        command.stderr(Stdio::null());
        let mut peer = Peer::start(command);
        let said = peer.receive_or_end();
        let status = peer.end();
        let reader = LatestReader::open(place.path()).unwrap();
        let before = if role == "insert" { 0 } else { key };
        // Before anybody recovers anything.
        let seen = value(&reader, key);
        assert!(seen == before || seen == after, "{role} {key}, store {number}: {seen}");
        if said.is_none() {
            assert_eq!(status.signal(), Some(9), "{role} {key}, store {number}");
        }
        if let Some(mut writer) = beside {
            // It finishes what it finds locked, and the next writer with the number the rest.
            for other in 0..KEYS {
                let updated = writer.update(&[other], |_| ()).unwrap();
                assert_eq!(updated.is_some(), value(&reader, other) != 0 || other == 0);
            }
            let _ = writer.insert(&[30], &[30; VALUE_WORDS]).unwrap();
            assert!(writer.remove(&[30]).unwrap());
            assert_eq!(open(place.path()).number(), 2);
        }
        // The next writer with the number finishes it.
        let mut writer = open(place.path());
        let recovered = value(&reader, key);
        assert!(recovered == seen || recovered == after, "{role} {key}, store {number}");
        let verified = reader.verify().unwrap();
        assert!(verified.is_clean(), "{role} {key}, store {number}: {verified:?}");
        for other in (0..KEYS).filter(|other| *other != key) {
            assert_eq!(value(&reader, other), other, "{role} {key}, store {number}");
        }
        // Everything goes on.
        let _ = writer.insert(&[key], &[7; VALUE_WORDS]).unwrap();
        assert_eq!(value(&reader, key), 7);
        assert!(writer.remove(&[key]).unwrap());
        assert!(reader.verify().unwrap().is_clean());
        if let Some(said) = said {
            assert_eq!(said, format!("survived {} stores", number - 1));
            return number - 1;
        }
    }
    unreachable!("the loop ends after the last store")
}
