//! A region that is truncated while it is mapped, with the guard and without.

use std::{fs::OpenOptions, os::unix::process::ExitStatusExt as _, path::Path};

use nanotape_harness::Scratch;
use nanotape_shm::{OwnedRegion, Refusal, RegionOptions, SharedRegion, guard_against_truncation};

use crate::{KIND, children::start, create, fill, spec};

/// In a child: truncates the file of its own mappings, for reading and for writing, and uses them.
pub(crate) fn read_what_was_cut(path: &Path, guarded: bool, say: fn(String)) {
    if guarded {
        guard_against_truncation().unwrap();
        guard_against_truncation().unwrap();
    }
    let long = nanotape_shm::RegionSpec { words: 100_000, ..spec() };
    let options = RegionOptions::default();
    let (owned, _) = OwnedRegion::create(path, long, &options, fill).unwrap();
    owned.words()[99_999].store(5);
    // As many as a program may have, or a journal's appender whose pretoucher is not scheduled.
    let others = (0..500).map_while(|_| SharedRegion::open(path, KIND).ok());
    let mut others: Vec<_> = others.collect();
    // Where few files can be open, some are left for what follows.
    others.truncate(others.len() - 10);
    assert!(others.len() > 100);
    let reader = SharedRegion::open(path, KIND).unwrap();
    assert!(!reader.is_lost() && reader.check().is_ok());
    OpenOptions::new().write(true).open(path).unwrap().set_len(8192).unwrap();
    say("about to read".to_owned());
    assert_eq!(reader.words()[99_999].load(), 0);
    assert!(reader.is_lost());
    // The remaining part is unchanged, the truncated part is zeros on every page.
    assert_eq!(reader.words()[0].load(), 1);
    assert!(reader.words()[1_000..].iter().all(|word| word.load() == 0));
    // The owner's mapping is separate: it is lost when it is used.
    assert!(!owned.share().is_lost());
    owned.words()[50_000].store(9);
    assert_eq!(owned.words()[50_000].load(), 9);
    assert!(owned.share().is_lost());
    assert!(matches!(*owned.check().unwrap_err().refusal(), Refusal::Truncated { .. }));
    say(reader.check().unwrap_err().to_string());
}

#[test]
fn a_guarded_process_outlives_the_truncation_of_its_region_and_reports_it() {
    let place = Scratch::new("guarded");
    let mut child = start("guarded", place.path(), 0);
    assert_eq!(child.receive(), "about to read");
    let said = child.receive();
    let expected = "the file was truncated to 8192 bytes while in use, but the region needs \
                    804096; data read from it is no longer valid";
    assert_eq!(said, format!("{}: {expected}", place.path().display()));
    assert!(child.end().success());
}

#[test]
fn without_the_guard_the_kernel_ends_the_process() {
    let place = Scratch::new("unguarded");
    let mut child = start("unguarded", place.path(), 0);
    assert_eq!(child.receive(), "about to read");
    assert_eq!(child.receive_or_end(), None);
    assert_eq!(child.end().signal(), Some(7), "SIGBUS");
}

#[test]
fn a_cut_file_is_seen_without_touching_its_pages() {
    let place = Scratch::new("cut");
    let (owned, _) = create(place.path()).unwrap();
    let reader = SharedRegion::open(place.path(), KIND).unwrap();
    OpenOptions::new().write(true).open(place.path()).unwrap().set_len(4096).unwrap();
    for error in [reader.check().unwrap_err(), owned.check().unwrap_err()] {
        let expected = Refusal::Truncated { file_bytes: 4096, region_bytes: 12_096 };
        assert_eq!(*error.refusal(), expected);
    }
    assert!(!reader.is_lost(), "the guard is not installed here");
}
