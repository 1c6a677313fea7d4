//! Arbitrary bytes instead of a header: a refusal or a region, never a panic.

use std::fs;

use nanotape_harness::{Scratch, skipped};
use nanotape_shm::{
    FORMAT_VERSION, HEADER_BYTES, Header, MAGIC, OwnedRegion, Refusal, RegionOptions, SharedRegion,
    inspect, remove,
};
use proptest::prelude::*;

use crate::{KIND, create, fill, sentence, spec};

/// Opens, inspects, takes over and removes the file at the path.
fn everything(place: &Scratch) {
    if let Ok(region) = SharedRegion::open(place.path(), KIND) {
        let _ = (region.owner(), region.check(), region.epoch());
        assert!(region.words().iter().all(|word| word.load() < u64::MAX));
    }
    if let Ok(info) = inspect(place.path()) {
        let _ = info.owner().map(|owner| owner.started.to_string());
        let _ = info.refusal.map(|refusal| refusal.to_string());
    }
    let _ = create(place.path());
    let _ = OwnedRegion::take_over(place.path(), KIND, 3, &RegionOptions::default());
    let _ = remove(place.path());
}

/// Numbers that break sizes.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..16u64,
        (0..64u32).prop_map(|shift| 1 << shift),
        (0..64u32).prop_map(|shift| (1u64 << shift).wrapping_neg()),
        Just(u64::from_ne_bytes(MAGIC)),
        Just(1_000),
        Just(12_096),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_scribble_over_a_header_makes_anything_panic(
        scribbles in prop::collection::vec((0usize..16, word()), 1..4),
        cut in prop_oneof![4 => Just(usize::MAX), 1 => 0usize..13_000],
    ) {
        let place = Scratch::new("scribble");
        create(place.path()).unwrap().0.close();
        let mut bytes = fs::read(place.path()).unwrap();
        for (number, value) in scribbles {
            bytes[number * 8..number * 8 + 8].copy_from_slice(&value.to_ne_bytes());
        }
        bytes.truncate(cut);
        place.clear();
        fs::write(place.path(), bytes).unwrap();
        everything(&place);
    }

    #[test]
    fn no_file_makes_anything_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..5_000),
        is_marked in any::<bool>(),
    ) {
        let place = Scratch::new("any-file");
        let mut bytes = bytes;
        if is_marked && bytes.len() >= MAGIC.len() {
            bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        }
        fs::write(place.path(), bytes).unwrap();
        everything(&place);
    }

    #[test]
    fn a_header_that_is_taken_agrees_with_itself(words in prop::collection::vec(word(), 16)) {
        let mut bytes = vec![0; HEADER_BYTES];
        for (number, value) in words.iter().enumerate() {
            bytes[number * 8..number * 8 + 8].copy_from_slice(&value.to_ne_bytes());
        }
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&nanotape_shm::BYTE_ORDER_MARK.to_ne_bytes());
        bytes[16..24].copy_from_slice(&FORMAT_VERSION.to_ne_bytes());
        if let Ok(header) = Header::parse(&bytes) {
            prop_assert_eq!(header.spec.words as u64 * 8 + 4096, words[5]);
        }
    }
}

#[test]
fn a_file_of_holes_costs_its_reader_no_memory_and_its_next_owner_an_error() {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};
    let place = Scratch::new("holes");
    create(place.path()).unwrap().0.close();
    // More than any machine has, and less than it can address.
    let bytes = 1u64 << 45;
    let file = fs::OpenOptions::new().write(true).open(place.path()).unwrap();
    file.write_all_at(&bytes.to_ne_bytes(), 40).unwrap();
    file.write_all_at(&(bytes / 8 - 512).to_ne_bytes(), 48).unwrap();
    if let Err(error) = file.set_len(bytes) {
        skipped(format!("this file system has no such files: {error}"));
        return;
    }
    let before = file.metadata().unwrap().blocks();
    match SharedRegion::open(place.path(), KIND) {
        Ok(region) => assert_eq!(region.words()[1_000].load(), 0),
        Err(error) => assert_eq!(
            sentence(&place, &error),
            "cannot map it: Cannot allocate memory (os error 12)"
        ),
    }
    let options = RegionOptions::default();
    let refused = OwnedRegion::take_over(place.path(), KIND, 3, &options).unwrap_err();
    assert!(matches!(*refused.refusal(), Refusal::NoSpace { .. }), "{refused}");
    assert!(file.metadata().unwrap().blocks() < before + 100);
}

#[test]
fn a_header_that_changes_under_a_reader_moves_no_bounds() {
    let place = Scratch::new("live-scribble");
    let (owned, _) =
        OwnedRegion::create(place.path(), spec(), &RegionOptions::default(), fill).unwrap();
    let reader = SharedRegion::open(place.path(), KIND).unwrap();
    let scribble = vec![0xff; HEADER_BYTES];
    use std::os::unix::fs::FileExt as _;
    fs::OpenOptions::new()
        .write(true)
        .open(place.path())
        .unwrap()
        .write_all_at(&scribble, 0)
        .unwrap();
    assert_eq!(reader.words().len(), 1_000);
    let owner = reader.owner();
    assert_eq!((owner.pid, owner.epoch), (0, u64::MAX));
    assert_eq!(owner.started.to_string(), "at an unknown time");
    drop(owned);
    assert!(SharedRegion::open(place.path(), KIND).is_err());
}
