//! One appender at a time, even if the file that names the appender is removed or replaced.

use std::{
    fs,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering},
    },
};

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions, RollCycle, Start, Tail, Tailer, repair};
use nanotape_shm::{OwnedRegion, RegionOptions, RegionSpec};

fn options(has_pretoucher: bool) -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        ahead_bytes: 0,
        has_pretoucher,
        ..AppenderOptions::default()
    }
}

/// Names of files, without the regions that state owners.
fn segments(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.contains(".segment"));
    names.sort();
    names
}

fn count(path: &Path) -> u64 {
    let mut tailer = Tailer::open(path, Start::Oldest).unwrap();
    let mut count = 0;
    while let Tail::Excerpt(_) = tailer.next().unwrap() {
        count += 1;
    }
    count
}

#[test]
fn a_second_appender_is_refused_although_the_lock_was_removed() {
    for (excerpts, has_pretoucher) in [(0, false), (1, false), (3, false), (3, true)] {
        let place = Scratch::new("removed-lock");
        let mut appender = Appender::open(place.path(), &options(has_pretoucher)).unwrap();
        for number in 1..=excerpts {
            appender.append(1, number, b"first").unwrap();
            if number == 2 {
                appender.roll().unwrap();
            }
        }
        // A pretoucher might be creating one.
        let before = if has_pretoucher { Vec::new() } else { segments(place.path()) };
        for _ in 0..2 {
            fs::remove_file(place.path().join("appender")).unwrap();
            let error = Appender::open(place.path(), &options(false)).unwrap_err();
            assert!(error.to_string().contains("another process"), "{error}");
        }
        assert!(
            repair(place.path(), false, |_, _| ()).is_err(),
            "nor may a repair change anything"
        );
        if !has_pretoucher {
            assert_eq!(segments(place.path()), before);
        }
        assert_eq!(appender.append(1, 9, b"more").unwrap(), excerpts + 1);
        appender.roll().unwrap();
        assert_eq!(appender.append(1, 9, b"more").unwrap(), excerpts + 2);
        assert_eq!(count(place.path()), excerpts + 2);
        appender.close().unwrap();
        let appender = Appender::open(place.path(), &options(false)).unwrap();
        assert_eq!(appender.next_sequence(), excerpts + 3);
    }
}

#[test]
fn a_lock_that_another_process_makes_of_zeros_is_not_removed() {
    let place = Scratch::new("zeros");
    fs::create_dir(place.path()).unwrap();
    let path = place.path().join("appender");
    // The state while an appender replaces the file: locked, and full of zeros.
    let spec = RegionSpec { kind: *b"ANOTHER ", layout: 1, parameters: [0; 4], words: 1 };
    let (other, _) = OwnedRegion::create(&path, spec, &RegionOptions::default(), |_| ()).unwrap();
    fs::File::options().write(true).open(&path).unwrap().write_all_at(&[0; 4096], 0).unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    let error = Appender::open(place.path(), &options(false)).unwrap_err();
    assert!(error.to_string().contains("appender"), "{error}");
    assert_eq!(fs::metadata(&path).unwrap().ino(), before);
    drop(other);
    fs::write(&path, [0; 4096]).unwrap();
    Appender::open(place.path(), &options(false)).unwrap();
}

#[test]
fn of_two_appenders_that_find_a_lock_of_zeros_one_is_refused() {
    const ROUNDS: usize = 300;
    let barrier = Barrier::new(2);
    let (open, both) = (AtomicU64::new(0), AtomicU64::new(0));
    let places: Vec<Scratch> = (0..ROUNDS).map(|_| Scratch::new("race")).collect();
    for place in &places {
        fs::create_dir(place.path()).unwrap();
        fs::write(place.path().join("appender"), [0; 4096]).unwrap();
    }
    let run = || {
        for place in &places {
            barrier.wait();
            let opened = Appender::open(place.path(), &options(false));
            if opened.is_ok() {
                open.fetch_add(1, Ordering::SeqCst);
            }
            barrier.wait();
            if open.load(Ordering::SeqCst) > 1 {
                both.fetch_add(1, Ordering::SeqCst);
            }
            barrier.wait();
            if opened.is_ok() {
                open.fetch_sub(1, Ordering::SeqCst);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(run);
        scope.spawn(run);
    });
    assert_eq!(both.into_inner(), 0, "two appenders at a time");
}
