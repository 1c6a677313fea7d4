//! Regions in files, between processes that are killed, stopped, denied access and given wrong
//! data.
//!
//! A child is this program again, with the test `child` selected and a role in its environment.

#![cfg(not(nanotape_loom))]

mod bus_guard;
mod children;
mod document;
mod heap;
mod hostile;
mod joined;
mod kill_points;
mod owners;
mod permissions;
mod refusals;
mod space;

use std::path::Path;

use nanotape_harness::Scratch;
use nanotape_shm::{JoinedRegion, OwnedRegion, RegionError, RegionOptions, RegionSpec, Word};

const KIND: [u8; 8] = *b"TEST    ";

fn spec() -> RegionSpec {
    RegionSpec { kind: KIND, layout: 3, parameters: [10, 20, 30, 40], words: 1_000 }
}

/// The contents that tests write to a new region; checked by [`is_filled`].
fn fill(words: &[Word]) {
    for (word, value) in words.iter().zip(1..) {
        // Few stores, so that there are few kill points.
        if value % 250 == 1 {
            word.store(value);
        }
    }
}

fn is_filled(words: &[nanotape_shm::ReadWord]) -> bool {
    let expected = (1..).map(|value| if value % 250 == 1 { value } else { 0 });
    words.len() == spec().words && words.iter().zip(expected).all(|(word, e)| word.load() == e)
}

fn create(path: &Path) -> Result<(OwnedRegion, nanotape_shm::Origin), RegionError> {
    OwnedRegion::create(path, spec(), &RegionOptions::default(), fill)
}

fn join(path: &Path) -> Result<(JoinedRegion, bool), RegionError> {
    JoinedRegion::join(path, spec(), &RegionOptions::default(), fill)
}

/// The error without its path.
fn sentence(place: &Scratch, error: &RegionError) -> String {
    let all = error.to_string();
    let path = format!("{}: ", place.path().display());
    let sentence = all.strip_prefix(&path).unwrap_or_else(|| panic!("no path in {all:?}"));
    assert!(!sentence.contains('\n'), "{sentence}");
    sentence.to_owned()
}
