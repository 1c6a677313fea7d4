//! Rings in files that another program overwrites, and everything that opens them.

use std::os::unix::fs::FileExt as _;

use nanotape_harness::{Random, Scratch};
use nanotape_ring::{AnyReader, RingMonitor, Start};
use nanotape_shm::{HEADER_BYTES, WORD_BYTES};

use super::{Kind, STARTS, Slots, Stream, go_on, hostile_words, publish_some, read_everything};

fn in_a_file<K: Kind>(cases: u64) {
    let place = Scratch::new(K::NAME);
    publish_some(&mut K::create(place.path()).unwrap(), 200);
    let good = std::fs::read(place.path()).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(place.path()).unwrap();
    let words: Vec<u64> = good[HEADER_BYTES..]
        .as_chunks::<WORD_BYTES>()
        .0
        .iter()
        .map(|eight| u64::from_ne_bytes(*eight))
        .collect();
    let (mut samples, mut take_overs) = (0, 0);
    for seed in 0..cases {
        file.write_all_at(&good, 0).unwrap();
        let observer = RingMonitor::open(place.path()).unwrap();
        let old = AnyReader::open(place.path(), Start::Oldest).unwrap();
        let mut random = Random::new(seed ^ 0xf11e);
        let mut hostile = words.clone();
        hostile_words(&mut random, &mut hostile, K::CONTROL_WORDS);
        let bytes: Vec<u8> = hostile.iter().flat_map(|word| word.to_ne_bytes()).collect();
        file.write_all_at(&bytes, HEADER_BYTES as u64).unwrap();
        read_everything(&old);
        samples += u64::from(observer.sample().is_ok());
        let _ =
            RingMonitor::open(place.path()).unwrap().sample().map_err(|error| error.to_string());
        for start in STARTS {
            if let Ok(reader) = AnyReader::open(place.path(), start) {
                read_everything(&reader);
            }
        }
        match K::create(place.path()) {
            Ok(mut writer) => {
                take_overs += 1;
                go_on(&mut writer);
                observer.sample().unwrap();
            }
            Err(error) => drop(error.to_string()),
        }
        read_everything(&old);
    }
    println!("{}: {samples} samples and {take_overs} take-overs of {cases} files", K::NAME);
    assert!(samples > cases / 10 && take_overs > cases / 10);
}

#[test]
fn no_scribble_in_a_file_makes_any_program_panic() {
    in_a_file::<Stream>(1_000);
    in_a_file::<Slots>(1_000);
}
