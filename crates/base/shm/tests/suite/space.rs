//! Full file systems, modes and pages.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use nanotape_harness::{Mount, Scratch, skipped};
use nanotape_shm::{
    HEADER_BYTES, OwnedRegion, OwnerState, PageLock, Refusal, RegionNode, RegionOptions,
    RegionPages, RegionSpec, SharedRegion,
};

use crate::{KIND, create, fill, spec};

fn of_words(path: &Path, words: usize) -> Result<OwnedRegion, nanotape_shm::RegionError> {
    let spec = RegionSpec { words, ..spec() };
    OwnedRegion::create(path, spec, &RegionOptions::default(), |_| ()).map(|made| made.0)
}

#[test]
fn a_region_may_have_no_words() {
    let place = Scratch::new("no-words");
    of_words(place.path(), 0).unwrap().close();
    let shared = SharedRegion::open(place.path(), KIND).unwrap();
    assert!(shared.words().is_empty() && shared.check().is_ok());
    assert_eq!(std::fs::metadata(place.path()).unwrap().len(), 4096);
}

#[test]
fn a_full_file_system_is_an_error_and_not_a_signal() {
    let Some(mount) = Mount::new("tmpfs", "size=1m") else { return };
    let path = mount.path().join("region");
    let error = of_words(&path, 200_000).unwrap_err();
    let expected = "no space: the region needs 1605632 bytes, but 1044480 are free; request less, \
                    or make room";
    assert_eq!(error.to_string(), format!("{}: {expected}", path.display()));
    assert!(!path.exists(), "nothing is left of it");
    let fits = of_words(&path, 100_000).unwrap();
    for word in fits.words() {
        word.store(1);
    }
    let second = of_words(&mount.path().join("second"), 100_000).unwrap_err();
    assert!(matches!(*second.refusal(), Refusal::NoSpace { .. }), "{second}");
    // No page is left, not even for the first bytes of a header.
    let rest = std::fs::write(mount.path().join("rest"), vec![1; 1 << 20]).unwrap_err();
    assert_eq!(rest.kind(), std::io::ErrorKind::StorageFull);
    let third = of_words(&mount.path().join("third"), 1).unwrap_err();
    let nothing = Refusal::NoSpace { needed_bytes: 8192, free_bytes: 0 };
    assert_eq!(*third.refusal(), nothing);
    drop(fits);
}

#[test]
fn a_file_larger_than_this_process_may_make_is_an_error_and_not_a_signal() {
    let place = Scratch::new("petabytes");
    let error = of_words(place.path(), 1 << 57).unwrap_err();
    assert!(
        matches!(*error.refusal(), Refusal::NoSpace { .. } | Refusal::System { .. }),
        "{error}"
    );
    assert!(!place.path().exists());
}

#[test]
fn a_region_in_a_file_system_of_huge_pages_has_whole_ones() {
    let Some(mount) = Mount::new("hugetlbfs", "pagesize=2M") else { return };
    let path = mount.path().join("region");
    match create(&path) {
        Ok((owned, _)) => {
            let pages = RegionPages::FileSystem { page_bytes: 2 << 20 };
            assert_eq!(owned.residency().huge_pages, pages);
            assert_eq!(std::fs::metadata(&path).unwrap().len(), 2 << 20);
            let shared = SharedRegion::open(&path, KIND).unwrap();
            assert!(crate::is_filled(shared.words()));
            drop(owned);
            assert_eq!(create(&path).unwrap().0.epoch(), 2);
        }
        Err(error) => {
            skipped(format!("no huge pages are set aside here, so none were used: {error}"));
            assert!(matches!(*error.refusal(), Refusal::NoHugePages { .. }), "{error}");
            assert!(!path.exists());
        }
    }
}

#[test]
fn the_mode_is_exactly_the_requested_one_whatever_the_umask() {
    let place = Scratch::new("mode");
    let mode = || std::fs::metadata(place.path()).unwrap().permissions().mode() & 0o7777;
    for wanted in [0o600, 0o666, 0o640, 0o644] {
        let options = RegionOptions { mode: wanted, ..RegionOptions::default() };
        let (region, _) = OwnedRegion::create(place.path(), spec(), &options, fill).unwrap();
        assert_eq!(mode(), wanted, "{:?}", region.epoch());
    }
    create(place.path()).unwrap().0.close();
    assert_eq!(mode(), 0o600, "by default no other user, also for a region that was taken over");
}

#[test]
fn wishes_for_pages_are_granted_or_answered() {
    let place = Scratch::new("pages");
    let options = RegionOptions { lock: true, huge_pages: true, ..RegionOptions::default() };
    let large = RegionSpec { words: 1 << 19, ..spec() };
    let (region, _) = OwnedRegion::create(place.path(), large, &options, fill).unwrap();
    let residency = region.residency();
    println!("{residency}");
    assert_ne!(residency.huge_pages, RegionPages::Small);
    assert_ne!(residency.lock, PageLock::NotRequested);
    if let RegionPages::NoneGiven { setting: Some(setting) } = &residency.huge_pages {
        let expected = format!(
            "small pages (the kernel provided no huge pages: shmem_enabled in \
             /sys/kernel/mm/transparent_hugepage/ is {setting}, and a file system gives them if \
             mounted with huge=)"
        );
        assert_eq!(residency.huge_pages.to_string(), expected);
    }
    let plain = OwnedRegion::on_heap(spec()).residency();
    assert_eq!(plain.to_string(), "small pages, not locked in memory");
}

#[test]
fn pages_are_on_the_requested_node_and_a_node_that_does_not_exist_is_refused() {
    let place = Scratch::new("node");
    let on = |node| {
        let options = RegionOptions { node: Some(node), ..RegionOptions::default() };
        OwnedRegion::create(place.path(), RegionSpec { words: 1 << 19, ..spec() }, &options, |_| ())
    };
    let nodes = nanotape_host::System::default().memory_nodes();
    // A node without memory refuses.
    let mut found = 0;
    for &node in &nodes {
        let region = match on(node) {
            Ok((region, _)) => region,
            Err(error) => {
                assert!(nodes.len() > 1, "{error}");
                continue;
            }
        };
        let text = region.residency().to_string();
        println!("{text}");
        match region.residency().node {
            RegionNode::Bound { bytes: Some(bytes), elsewhere_bytes: 0, .. } => {
                assert_eq!(bytes, (4 << 20) + HEADER_BYTES as u64);
                assert!(text.contains(&format!(", 4100 KiB on node {node}, ")), "{text}");
            }
            RegionNode::Bound { bytes: None, .. } => {}
            placed => assert_eq!((placed, nodes.len()), (RegionNode::Only { node }, 1)),
        }
        found += 1;
    }
    assert!(found > 0);
    nanotape_shm::remove(place.path()).unwrap();
    for node in [nodes[nodes.len() - 1] + 1, 1_024, u32::MAX] {
        let error = on(node).unwrap_err().to_string();
        assert!(error.contains(&format!(": memory node {node} does not exist")), "{error}");
        assert!(!place.path().exists(), "a refused region leaves no file");
    }
}

#[test]
fn a_copy_has_the_creation_time_of_its_original_and_may_end_like_it() {
    let place = Scratch::new("copied");
    let options = RegionOptions { created_ns: Some(77), ..RegionOptions::default() };
    let (region, _) = OwnedRegion::create(place.path(), spec(), &options, fill).unwrap();
    assert_eq!(region.share().created_ns(), 77);
    // A reader in the process of the owner does not keep the lock.
    let reader = region.share();
    region.abandon();
    assert_eq!(reader.owner().state, OwnerState::Dead);
    let (region, _) = create(place.path()).unwrap();
    assert_eq!(region.share().created_ns(), 77, "a take-over does not change it");
}

#[test]
fn huge_pages_are_seen_where_the_file_system_has_them() {
    let Some(mount) = Mount::new("tmpfs", "size=64m,huge=always") else { return };
    let options = RegionOptions { huge_pages: true, ..RegionOptions::default() };
    let large = RegionSpec { words: 2 << 20, ..spec() };
    let path = mount.path().join("region");
    let (region, _) = OwnedRegion::create(&path, large, &options, fill).unwrap();
    // The kernel may lack contiguous memory; its result is printed, not required.
    println!("with huge=always: {}", region.residency());
    drop(region);
}
