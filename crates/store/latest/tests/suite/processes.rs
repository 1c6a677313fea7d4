//! Processes that update one map, while some of them are killed, and others stopped.
//!
//! Each process adds to a word of its own in every value. Before and after each addition it writes
//! how many it has begun and done, so that the sum of its words is known to one addition, whenever
//! it was killed.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use nanotape_harness::{Peer, Random, Scratch, Task, campaign, say};
use nanotape_latest::{LatestReader, LatestSpec, LatestWriter};
use nanotape_shm::RegionOptions;

const PROCESSES: u64 = 4;

const SPEC: LatestSpec = LatestSpec {
    entries: 40,
    key_words: 1,
    value_words: PROCESSES as usize,
    writers: 6,
    value_layout: 0,
};

/// Keys of the map: a few more come and go.
const KEYS: u64 = 30;

fn open(folder: &Path) -> LatestWriter {
    LatestWriter::join(&folder.join("map"), SPEC, &RegionOptions::default()).unwrap()
}

fn counts(folder: &Path, process: u64) -> PathBuf {
    folder.join(format!("counts-{process}"))
}

/// Adds until it is killed; does nothing in a normal test run.
#[test]
fn child() {
    let Some(Task { path, number, .. }) = Task::of_this_process() else { return };
    let mut writer = open(&path);
    writer.set_patience(Duration::from_secs(60));
    let mut options = File::options();
    let file =
        options.create(true).truncate(false).write(true).open(counts(&path, number)).unwrap();
    let mut done = sum(&writer.reader(), number);
    let write = |begun: u64, done: u64| {
        let both = [begun, done].map(u64::to_ne_bytes);
        file.write_all_at(both.as_flattened(), 0).unwrap();
    };
    write(done, done);
    say("adds");
    let mut random = Random::new(done ^ number << 32);
    loop {
        let key = [random.below(KEYS)];
        write(done + 1, done);
        let added = writer.update(&key, |value| value[number as usize] += 1).unwrap();
        assert!(added.is_some());
        done += 1;
        write(done, done);
        // Others come and go in the rooms between them.
        let passing = [100 + random.below(6)];
        if random.below(2) == 0 {
            let _ = writer.insert(&passing, &[0; PROCESSES as usize]).unwrap();
        } else {
            let _ = writer.remove(&passing).unwrap();
        }
    }
}

/// What a process has added.
fn sum(reader: &LatestReader, process: u64) -> u64 {
    let mut sum = 0;
    reader.for_each(|_, value, _| sum += value[process as usize]).unwrap();
    sum
}

fn start(folder: &Path, process: u64) -> Peer {
    let mut command = Task::new("add", folder).number(process).command("processes::child");
    command.stderr(Stdio::inherit());
    let mut peer = Peer::start(command);
    assert_eq!(peer.receive(), "adds");
    peer
}

/// Checks that a process that was killed has done what it wrote, or one addition more.
fn check(folder: &Path, reader: &LatestReader, process: u64) {
    let mut both = [0; 16];
    File::open(counts(folder, process)).unwrap().read_exact_at(&mut both, 0).unwrap();
    let (begun, done) = both.split_at(8);
    let [begun, done] = [begun, done].map(|it| u64::from_ne_bytes(it.try_into().unwrap()));
    let found = sum(reader, process);
    assert!((done..=begun).contains(&found), "process {process}: {done}, {found}, {begun}");
}

#[test]
fn the_sum_of_all_is_exact_whoever_is_killed_or_stopped() {
    let scratch = Scratch::folder("latest-processes");
    let folder = scratch.path();
    let mut first = open(folder);
    for key in 0..KEYS {
        let _ = first.insert(&[key], &[0; PROCESSES as usize]).unwrap();
    }
    let reader = first.reader();
    let mut peers: Vec<Peer> = (0..PROCESSES).map(|process| start(folder, process)).collect();
    let mut random = Random::new(47);
    let (mut kills, mut stops) = (0, 0);
    for _ in 0..campaign(60) {
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        let process = random.below(PROCESSES);
        let peer = &mut peers[process as usize];
        if random.below(3) == 0 {
            peer.stop();
            std::thread::sleep(Duration::from_millis(random.below(20)));
            // Readers go on.
            let _ = sum(&reader, process);
            peer.resume();
            stops += 1;
        } else {
            peer.kill();
            check(folder, &reader, process);
            peers[process as usize] = start(folder, process);
            kills += 1;
        }
    }
    for (process, peer) in (0..).zip(&mut peers) {
        peer.kill();
        check(folder, &reader, process);
    }
    // Whoever has the numbers next finishes what is left.
    let others: Vec<_> = (0..5).map(|_| open(folder)).collect();
    let verified = reader.verify().unwrap();
    assert!(verified.is_clean(), "{verified:?}");
    let all: u64 = (0..PROCESSES).map(|process| sum(&reader, process)).sum();
    println!(
        "{kills} kills, {stops} stops, {all} additions, {} locks recovered",
        reader.recovered()
    );
    assert!(kills > 20 && stops > 5 && all > 1_000);
    drop(others);
}
