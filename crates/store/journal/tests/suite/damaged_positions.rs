//! Whatever bytes of a named tailer's file are changed, no reader continues elsewhere without an
//! error, and pruning removes nothing that was not read.

use std::{fs, path::Path};

use nanotape_harness::{Random, Scratch};
use nanotape_journal::{
    Appender, AppenderOptions, NamedTailer, PruneOptions, Resumed, Start, Tail, prune,
};
use nanotape_shm::HEADER_BYTES;

/// Excerpts in the journal, and the next one of the tailer: in a segment in the middle.
const EXCERPTS: u64 = 3000;
const NEXT: u64 = 1500;

/// Bytes of the header that have a meaning, and of the words.
const HEADER: usize = 128;
const WORDS: usize = 88;

fn journal(place: &Scratch) -> Vec<u8> {
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(place.path(), &options).unwrap();
    for number in 1..=EXCERPTS {
        appender.append(1, number, &[7; 100]).unwrap();
    }
    appender.close().unwrap();
    let (mut tailer, _) = NamedTailer::open(place.path(), "books", Start::Oldest).unwrap();
    for _ in 1..NEXT {
        assert!(matches!(tailer.next().unwrap(), Tail::Excerpt(_)));
    }
    tailer.done();
    drop(tailer);
    fs::read(place.path().join("tailers/books")).unwrap()
}

/// Checks what a changed file does; returns whether it was noticed.
fn check(place: &Path, bytes: &[u8], what: &str) -> bool {
    let file = place.join("tailers/books");
    fs::write(&file, bytes).unwrap();
    // Everything before the last segment is selected.
    let all = PruneOptions { keep_bytes: Some(0), is_dry_run: true, ..PruneOptions::default() };
    let pruned = prune(place, &all);
    if let Ok(pruned) = &pruned {
        let last = pruned.segments.last().map_or(0, |segment| segment.next_sequence);
        assert!(last <= NEXT, "{what}: prune would remove what was not read, up to {last}");
    }
    match NamedTailer::open(place, "books", Start::Newest) {
        Ok((tailer, resumed)) => {
            assert_eq!(resumed, Resumed::At(NEXT), "{what}: continues elsewhere");
            assert_eq!(tailer.next_sequence(), NEXT, "{what}");
            false
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with(file.to_str().unwrap()), "{what}: {text}");
            assert!(fs::read(&file).unwrap() == bytes, "{what}: the file is left as it is");
            let error = pruned.map_or_else(|error| error.to_string(), |_| text);
            assert!(error.starts_with(file.to_str().unwrap()), "{what}: {error}");
            true
        }
    }
}

#[test]
fn a_changed_byte_of_a_position_is_an_error_or_changes_nothing() {
    let place = Scratch::new("changed-position");
    let good = journal(&place);
    let (mut noticed, mut trials) = (0, 0);
    for at in (0..HEADER).chain(HEADER_BYTES..HEADER_BYTES + WORDS) {
        for mask in [1, 2, 4, 8, 16, 32, 64, 128, 0xff, good[at]] {
            let mut bad = good.clone();
            bad[at] ^= mask;
            let was_noticed = check(place.path(), &bad, &format!("byte {at} with {mask:#x}"));
            (trials, noticed) = (trials + 1, noticed + u32::from(was_noticed));
        }
    }
    println!("{trials} changed bytes: {noticed} are errors, the others change no position");
    assert!(noticed > trials / 3, "{noticed} of {trials}");
    assert!(!check(place.path(), &good, "the good file"));
}

#[test]
fn several_changed_bytes_of_a_position_are_an_error_or_change_nothing() {
    const SEED: u64 = 16;
    let place = Scratch::new("scribbled-position");
    let good = journal(&place);
    let mut random = Random::new(SEED);
    let (mut noticed, trials) = (0, 2000);
    for trial in 0..trials {
        let mut bad = good.clone();
        let start = match random.index(2) {
            0 => random.index(HEADER),
            _ => HEADER_BYTES + random.index(WORDS),
        };
        let bytes = random.between(1, 12);
        let bytes = random.bytes(bytes);
        bad[start..start + bytes.len()].copy_from_slice(&bytes);
        if random.index(10) == 0 {
            bad.truncate(random.index(bad.len()));
        }
        let what = format!("seed {SEED}, trial {trial}: {} bytes at {start}", bytes.len());
        // A file without bytes was never finished, and one of zeros is that of a loss of power.
        if bad.iter().any(|&byte| byte != 0) && bad.len() > 24 {
            noticed += u32::from(check(place.path(), &bad, &what));
        }
    }
    println!(
        "{trials} scribbles, seed {SEED}: {noticed} are errors, the others change no position"
    );
}
