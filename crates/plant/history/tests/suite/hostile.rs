//! No bytes of a snapshot make a reader panic, and no changed byte is accepted.

use nanotape_harness::Scratch;
use nanotape_history::{SnapshotFile, Snapshots, snapshot::ExcerptMark};
use proptest::prelude::*;

use super::states::{state, steps};

/// The bytes of a snapshot as a file, opened and read completely.
fn read(bytes: &[u8]) -> Result<(), nanotape_history::SnapshotError> {
    read_as("hostile.snapshot", bytes)
}

fn read_as(name: &str, bytes: &[u8]) -> Result<(), nanotape_history::SnapshotError> {
    let folder = Scratch::folder("hostile_snapshot");
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    let opened = SnapshotFile::open(&path)?;
    opened.state().map(|_| ())
}

/// A good snapshot, plain and as the program compresses it.
fn plain_and_packed(steps: &[super::states::Step]) -> (Vec<u8>, Vec<u8>) {
    let folder = Scratch::folder("packed_snapshot");
    let mark = ExcerptMark::default();
    let written = state(steps).write_snapshot(folder.path(), mark, 0o600).unwrap();
    let plain = std::fs::read(&written.path).unwrap();
    let packed = Snapshots::list(folder.path()).unwrap().pack(3, 0).unwrap();
    (plain, std::fs::read(&packed[0].path).unwrap())
}

/// Bytes of a header with its checksum, after a change of one word.
fn forged(plain: &[u8], word: usize, value: u64) -> Vec<u8> {
    let mut bytes = plain.to_vec();
    bytes[word * 8..][..8].copy_from_slice(&value.to_le_bytes());
    let check = nanotape_journal::checksum_bytes(0, &bytes[..248]);
    bytes[248..252].copy_from_slice(&check.to_le_bytes());
    bytes
}

#[test]
fn a_compressed_snapshot_that_unpacks_to_more_than_it_states_is_refused() {
    let (plain, packed) = plain_and_packed(&[(1, 7, false, true, 1, 100)]);
    assert!(read_as("good.snapshot.zst", &packed).is_ok());
    // A gigabyte of zeros after a header that states a hundred bytes, and one that states them.
    let mut bomb = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    let append = |bomb: &mut zstd::stream::write::Encoder<'_, Vec<u8>>, bytes: &[u8]| {
        std::io::Write::write_all(bomb, bytes).unwrap();
    };
    append(&mut bomb, &plain);
    (0..1024).for_each(|_| append(&mut bomb, &[0; 1 << 20]));
    let error = read_as("bomb.snapshot.zst", &bomb.finish().unwrap()).unwrap_err().to_string();
    assert!(error.contains("not as long as its header states"), "{error}");
    // Word 13 is the number of orders.
    let huge = zstd::bulk::compress(&forged(&plain, 13, 1 << 40), 1).unwrap();
    let error = read_as("huge.snapshot.zst", &huge).unwrap_err().to_string();
    assert!(error.contains("more than a compressed snapshot can have"), "{error}");
}

#[test]
fn a_snapshot_that_was_compressed_meanwhile_is_read_under_its_other_name() {
    let folder = Scratch::folder("packed_meanwhile");
    let mark = ExcerptMark::default();
    let written =
        state(&[(1, 7, false, true, 1, 100)]).write_snapshot(folder.path(), mark, 0o640).unwrap();
    let listed = Snapshots::list(folder.path()).unwrap();
    let plain = std::fs::read(&written.path).unwrap();
    assert_eq!(listed.pack(3, 1).unwrap().len(), 0, "the newest stays plain");
    let packed = listed.pack(3, 0).unwrap();
    assert_eq!((packed.len(), packed[0].plain_bytes), (1, plain.len() as u64));
    assert!(!written.path.exists());
    assert_eq!(SnapshotFile::open(&written.path).unwrap().path(), packed[0].path);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&packed[0].path).unwrap().permissions(),
    );
    assert_eq!(mode & 0o7777, 0o640);
    assert!(listed.pack(3, 0).unwrap().is_empty(), "it is compressed once");
    // A killed compression leaves both files: the plain one counts, and both are removed.
    std::fs::write(&written.path, &plain).unwrap();
    let listed = Snapshots::list(folder.path()).unwrap();
    assert_eq!(listed.iter().map(|one| &one.path).collect::<Vec<_>>(), [&written.path]);
    assert_eq!(listed.prune(u64::MAX, false).unwrap().len(), 1);
    assert!(Snapshots::list(folder.path()).unwrap().is_empty());
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
    fn a_changed_or_cut_compressed_snapshot_gives_the_same_or_is_refused(
        steps in steps(), at in any::<prop::sample::Index>(), bit in 0..8_u8
    ) {
        let (plain, good) = plain_and_packed(&steps);
        let at = at.index(good.len());
        prop_assert!(read_as("cut.snapshot.zst", &good[..at]).is_err(), "cut at {}", at);
        let mut bad = good;
        bad[at] ^= 1 << bit;
        // Some bits of a frame's header change nothing that is unpacked.
        let is_same = zstd::decode_all(&bad[..]).is_ok_and(|bytes| bytes == plain);
        prop_assert!(is_same || read_as("bad.snapshot.zst", &bad).is_err(), "byte {}", at);
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
