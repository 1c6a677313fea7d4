//! An appender in memory that makes segments of pruned ones is killed before some of its stores,
//! most of which clear the old content. The next appender finds everything that was committed, and
//! nothing of what the files contained before.

use std::path::Path;

use nanotape_harness::{Scratch, campaign, mixed, survives};
use nanotape_journal::{Appender, PruneOptions, Start, Tail, Tailer, prune};
use nanotape_shm::kill_points;

use crate::{
    damage::assert_clean,
    processes::{
        children::{command, make_word, read_word, word_to_write},
        killed_at_every_store::options,
        records::{check, payload},
    },
};

const KILLS: u64 = 40;

/// The segment with which a child ends if it is not killed.
const LAST: u64 = 9;

const WRITER: u16 = 11;

fn append(appender: &mut Appender) -> u64 {
    let next = appender.next_sequence();
    appender.append(WRITER, next, &payload(next, WRITER)).unwrap()
}

/// In a child: appends and keeps two segments, until it is killed.
pub(crate) fn reuse_and_die(path: &Path, fatal: u64) {
    let committed = word_to_write(&path.join("committed"));
    let journal = path.join("journal");
    let mut appender = Appender::open(&journal, &options()).unwrap();
    kill_points::arm(fatal);
    let mut segment = 0;
    while appender.segment() < LAST {
        committed.words()[0].store(append(&mut appender));
        if appender.segment() > segment {
            segment = appender.segment();
            let keep_bytes = Some(2 << 16);
            prune(&journal, &PruneOptions { keep_bytes, ..PruneOptions::default() }).unwrap();
        }
    }
    assert!(kill_points::disarm() < fatal, "it was not killed because it was done");
}

/// Checks all excerpts, which have no gap; returns the last number.
fn read(journal: &Path) -> u64 {
    let mut tailer = Tailer::open(journal, Start::Oldest).unwrap();
    let mut next = tailer.next_sequence();
    loop {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => {
                check(&excerpt);
                assert_eq!(excerpt.sequence(), next);
                next += 1;
            }
            Tail::Nothing => return next - 1,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_appender_killed_while_it_clears_a_pruned_segment_leaves_nothing_of_it() {
    let Some(place) = Scratch::in_memory("reusing") else { return };
    let (path, journal) = (place.path(), place.path().join("journal"));
    let mut with_parts = 0;
    for kill in 0..campaign(KILLS) {
        let _ = std::fs::remove_dir_all(path);
        std::fs::create_dir(path).unwrap();
        make_word(&path.join("committed"));
        // The first segments are new; clearing one takes 8192 stores.
        let fatal = 9_000 + mixed(kill) % 40_000;
        assert!(!survives(command("reuse and die", path, fatal, "")), "store {fatal}");
        let names = std::fs::read_dir(&journal).unwrap().map(|entry| entry.unwrap().file_name());
        with_parts +=
            u64::from(names.into_iter().any(|name| name.to_string_lossy().ends_with(".part")));
        let committed = read_word(&path.join("committed"));
        let last = read(&journal);
        assert!((committed..=committed + 1).contains(&last), "{committed}, {last}: store {fatal}");
        let mut next = Appender::open(&journal, &options()).unwrap();
        assert_eq!(next.next_sequence(), last + 1);
        let end = next.segment() + 2;
        while next.segment() < end {
            append(&mut next);
        }
        assert_eq!(read(&journal), next.next_sequence() - 1);
        next.close().unwrap();
        assert_clean(&journal);
    }
    println!("{with_parts} of {KILLS} were killed while there were files in preparation");
    assert!(with_parts > KILLS / 4);
}
