//! A map that replaces another one: every entry is there, and nothing else happens to the old one.

use std::{fs, ops::ControlFlow, os::unix::fs::PermissionsExt as _};

use nanotape_harness::Scratch;
use nanotape_latest::{LatestError, LatestReader, LatestSpec, LatestWriter, Replacement};
use nanotape_shm::{Refusal, RegionOptions};

fn filled(place: &Scratch, spec: LatestSpec) -> LatestWriter {
    let options = RegionOptions { mode: 0o640, ..RegionOptions::default() };
    let mut writer = LatestWriter::join(place.path(), spec, &options).unwrap();
    for key in 0..spec.entries {
        let _ = writer.insert(&[key], &[10 * key]).unwrap();
    }
    writer
}

fn double(old: &[u64], new: &mut [u64]) {
    new.copy_from_slice(&[old[0], 7]);
}

#[test]
fn a_larger_map_takes_the_place_with_every_entry() {
    let place = Scratch::new("latest-replacement");
    let old_spec = crate::spec(300);
    drop(filled(&place, old_spec));
    let reader = LatestReader::open(place.path()).unwrap();
    // What a killed process left is no obstacle.
    let beside = nanotape_shm::beside(place.path(), ".upgrade");
    drop(LatestWriter::join(&beside, crate::spec(2), &RegionOptions::default()).unwrap());

    let spec = LatestSpec { entries: 400, value_words: 2, value_layout: 1 << 48, ..old_spec };
    let mut last = 0;
    let replacement = Replacement::of(place.path()).unwrap();
    let written = replacement.write(spec, double, |copied| {
        last = copied;
        ControlFlow::Continue(())
    });
    assert_eq!((written, last), (Ok(Some(300)), 300));
    assert!(!beside.exists());
    assert_eq!(fs::metadata(place.path()).unwrap().permissions().mode() & 0o777, 0o640);

    let error = reader.region().check().unwrap_err();
    assert_eq!(*error.refusal(), Refusal::Replaced);
    let new = LatestReader::open(place.path()).unwrap();
    assert_eq!((new.spec(), new.len()), (spec, 300));
    assert!(new.verify().unwrap().is_clean());
    for key in 0..300 {
        let mut value = [0; 2];
        assert_eq!(new.get(&[key], &mut value).unwrap(), Some(1));
        assert_eq!(value, [10 * key, 7]);
    }
    // The new map has writers again.
    let mut writer = LatestWriter::join(place.path(), spec, &RegionOptions::default()).unwrap();
    let _ = writer.insert(&[301], &[1, 2]).unwrap();
}

#[test]
fn a_map_that_is_not_replaced_is_as_before() {
    let place = Scratch::new("latest-not-replaced");
    let spec = crate::spec(20);
    let writer = filled(&place, spec);
    assert_eq!(Replacement::of(place.path()).unwrap_err(), LatestError::Alive { writers: 1 });
    drop(writer);

    let beside = nanotape_shm::beside(place.path(), ".upgrade");
    let stop =
        |copied| if copied == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let same = |old: &[u64], new: &mut [u64]| new.copy_from_slice(old);
    let stopped = Replacement::of(place.path()).unwrap().write(spec, same, stop);
    assert_eq!(stopped, Ok(None));
    let small = Replacement::of(place.path())
        .unwrap()
        .write(crate::spec(19), same, |_| ControlFlow::Continue(()));
    assert_eq!(small, Err(LatestError::Full { entries: 19 }));
    assert!(!beside.exists());

    // While it lasts, no process becomes a writer.
    let replacement = Replacement::of(place.path()).unwrap();
    let error = LatestWriter::open(place.path(), &RegionOptions::default()).unwrap_err();
    assert!(matches!(error, LatestError::Region(_)), "{error}");
    drop(replacement);

    let reader = LatestReader::open(place.path()).unwrap();
    assert_eq!((reader.spec(), reader.len()), (spec, 20));
    assert!(LatestWriter::join(place.path(), spec, &RegionOptions::default()).is_ok());
}
