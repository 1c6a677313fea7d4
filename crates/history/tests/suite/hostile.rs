//! No bytes of a snapshot make a reader panic, and no changed byte is accepted.

use nanotape_harness::Scratch;
use nanotape_history::{SnapshotFile, snapshot::ExcerptMark};
use proptest::prelude::*;

use super::states::{state, steps};

/// The bytes of a snapshot as a file, opened and read completely.
fn read(bytes: &[u8]) -> Result<(), nanotape_history::SnapshotError> {
    let file = Scratch::new("hostile_snapshot");
    std::fs::write(file.path(), bytes).unwrap();
    let opened = SnapshotFile::open(file.path())?;
    opened.state().map(|_| ())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_changed_or_cut_snapshot_is_refused(
        steps in steps(), at in any::<prop::sample::Index>(), bit in 0..8_u8
    ) {
        let folder = Scratch::folder("changed_snapshot");
        let mark = ExcerptMark::default();
        let written = state(&steps).write_snapshot(folder.path(), mark, 0o600).unwrap();
        let good = std::fs::read(&written.path).unwrap();
        prop_assert!(read(&good).is_ok());
        let mut bad = good.clone();
        let at = at.index(bad.len());
        bad[at] ^= 1 << bit;
        prop_assert!(read(&bad).is_err(), "byte {}", at);
        prop_assert!(read(&good[..at]).is_err(), "cut at {}", at);
    }

    #[test]
    fn any_bytes_after_a_good_beginning_are_refused(
        tail in prop::collection::vec(any::<u8>(), 0..2_000)
    ) {
        let mut bytes = b"nanosnap".to_vec();
        bytes.extend(nanotape_history::snapshot::LAYOUT.to_le_bytes());
        bytes.extend(tail);
        prop_assert!(read(&bytes).is_err());
    }
}
