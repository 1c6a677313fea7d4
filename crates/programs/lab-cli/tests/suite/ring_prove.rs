//! `nanotape ring prove`: killed writers, frozen readers, and no files left.

use std::path::Path;

use nanotape_harness::{eventually, skipped};
use rustix::process::Signal;

use crate::support::{
    nanotape,
    running::{Running, json},
};

#[test]
fn every_message_is_accounted_for_although_writers_are_killed_and_readers_frozen() {
    for kind in ["stream", "slots"] {
        let ran = nanotape([
            "ring",
            "prove",
            "--seconds",
            "2",
            "--readers",
            "3",
            "--capacity",
            "256KiB",
            "--kill-writer-every",
            "0.5",
            "--freeze-reader-every",
            "0.7",
            "--kind",
            kind,
            "--format",
            "json",
        ]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        let proved = json(&ran.stdout);
        assert_eq!((&proved["kind"], &proved["good"]), (&kind.into(), &true.into()));
        assert!(proved["kills"].as_u64() > Some(0) && proved["freezes"].as_u64() > Some(0));
        let published = proved["published"].as_u64().unwrap();
        let readers = proved["readers"].as_array().unwrap();
        assert_eq!(readers.len(), 3);
        for reader in readers {
            let count = |name| reader[name].as_u64().unwrap();
            assert_eq!(count("read") + count("lost"), published, "{reader}");
            assert_eq!([count("torn"), count("repeated"), count("unaccounted")], [0; 3]);
        }
    }
}

#[test]
fn prove_that_is_interrupted_leaves_nothing_behind() {
    let mut prove = Running::start_fed(&["ring", "prove", "--seconds", "600", "--readers", "1"]);
    let region = format!("/dev/shm/nanotape-prove-{}", prove.process.id());
    if !Path::new("/dev/shm").is_dir() {
        skipped("there is no /dev/shm here");
        return;
    }
    eventually("the region of the proof", || {
        assert!(prove.process.try_wait().unwrap().is_none(), "it ended before it began");
        Path::new(&region).exists()
    });
    prove.signal(Signal::INT);
    let (status, said, complained) = prove.end();
    assert_eq!((status, complained.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("every reader accounted for every message"), "{said}");
    assert!(!Path::new(&region).exists());
}

#[test]
fn wrong_usage_of_the_proof_is_status_2_and_one_line() {
    for (options, expected) in [
        (["--capacity", "4096", "--kind", "slots"].as_slice(), "8 slots need 8704 bytes"),
        (&["--kill-writer-every", "0.001"], "at least 0.05 seconds"),
    ] {
        let ran = nanotape([&["ring", "prove"], options].concat());
        assert_eq!(ran.status, 2, "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{options:?}: {}", ran.stderr);
    }
    let help = nanotape(["ring", "prove", "--help"]);
    assert!(help.status == 0 && help.stdout.contains("Examples:\n  nanotape ring "), "{help:?}");
}
