//! Full file systems, modes and pages.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use nanotape_shm::{
    OwnedRegion, PageLock, Refusal, RegionOptions, RegionPages, RegionSpec, SharedRegion,
};

use crate::{KIND, Place, create, fill, spec};

/// A file system of its own in memory; unmounted at the end.
struct Mount(PathBuf);

impl Mount {
    /// Nothing where this process may not mount.
    fn new(name: &str, kind: &str, options: &str) -> Option<Self> {
        let path = std::env::temp_dir().join(format!("nanotape-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", kind, "-o", options, "none"]).arg(&path);
        let done = mount.output().is_ok_and(|output| output.status.success());
        if done {
            return Some(Self(path));
        }
        crate::skipped(&format!(
            "{kind} cannot be mounted here, so what happens there is not tested"
        ));
        std::fs::remove_dir(&path).unwrap();
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn of_words(path: &Path, words: usize) -> Result<OwnedRegion, nanotape_shm::RegionError> {
    let spec = RegionSpec { words, ..spec() };
    OwnedRegion::create(path, spec, &RegionOptions::default(), |_| ()).map(|made| made.0)
}

#[test]
fn a_region_may_have_no_words() {
    let place = Place::new("no-words");
    of_words(&place.0, 0).unwrap().close();
    let shared = SharedRegion::open(&place.0, KIND).unwrap();
    assert!(shared.words().is_empty() && shared.check().is_ok());
    assert_eq!(std::fs::metadata(&place.0).unwrap().len(), 4096);
}

#[test]
fn a_full_file_system_is_an_error_and_not_a_signal() {
    let Some(mount) = Mount::new("full", "tmpfs", "size=1m") else { return };
    let path = mount.0.join("region");
    let error = of_words(&path, 200_000).unwrap_err();
    let expected = "no space: the region needs 1605632 bytes, but the file system has 1044480 \
                    free; request less, or enlarge it (in containers /dev/shm often has 64 MiB: \
                    --shm-size)";
    assert_eq!(error.to_string(), format!("{}: {expected}", path.display()));
    assert!(!path.exists(), "nothing is left of it");
    let fits = of_words(&path, 100_000).unwrap();
    for word in fits.words() {
        word.store(1);
    }
    let second = of_words(&mount.0.join("second"), 100_000).unwrap_err();
    assert!(matches!(*second.refusal(), Refusal::NoSpace { .. }), "{second}");
    // Not a page is left, for the first bytes of a header either.
    let rest = std::fs::write(mount.0.join("rest"), vec![1; 1 << 20]).unwrap_err();
    assert_eq!(rest.kind(), std::io::ErrorKind::StorageFull);
    let third = of_words(&mount.0.join("third"), 1).unwrap_err();
    let nothing = Refusal::NoSpace { asked_bytes: 8192, free_bytes: 0 };
    assert_eq!(*third.refusal(), nothing);
    drop(fits);
}

#[test]
fn a_file_larger_than_this_process_may_make_is_an_error_and_not_a_signal() {
    let place = Place::new("petabytes");
    let error = of_words(&place.0, 1 << 57).unwrap_err();
    assert!(
        matches!(*error.refusal(), Refusal::NoSpace { .. } | Refusal::System { .. }),
        "{error}"
    );
    assert!(!place.0.exists());
}

#[test]
fn a_region_in_a_file_system_of_huge_pages_has_whole_ones() {
    let Some(mount) = Mount::new("huge", "hugetlbfs", "pagesize=2M") else { return };
    let path = mount.0.join("region");
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
            crate::skipped(&format!(
                "no huge pages are set aside here, so none were used: {error}"
            ));
            assert!(matches!(*error.refusal(), Refusal::NoHugePages { .. }), "{error}");
            assert!(!path.exists());
        }
    }
}

#[test]
fn the_mode_is_exactly_what_was_asked_for_whatever_the_umask() {
    let place = Place::new("mode");
    let mode = || std::fs::metadata(&place.0).unwrap().permissions().mode() & 0o7777;
    for wanted in [0o600, 0o666, 0o640, 0o644] {
        let options = RegionOptions { mode: wanted, ..RegionOptions::default() };
        let (region, _) = OwnedRegion::create(&place.0, spec(), &options, fill).unwrap();
        assert_eq!(mode(), wanted, "{:?}", region.epoch());
    }
    create(&place.0).unwrap().0.close();
    assert_eq!(mode(), 0o600, "by default nobody else, also for a region that was taken over");
}

#[test]
fn wishes_for_pages_are_granted_or_answered() {
    let place = Place::new("pages");
    let options = RegionOptions { lock: true, huge_pages: true, ..RegionOptions::default() };
    let large = RegionSpec { words: 1 << 19, ..spec() };
    let (region, _) = OwnedRegion::create(&place.0, large, &options, fill).unwrap();
    let residency = region.residency();
    println!("{residency}");
    assert_ne!(residency.huge_pages, RegionPages::Small);
    assert_ne!(residency.lock, PageLock::NotAsked);
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
fn huge_pages_are_seen_where_the_file_system_has_them() {
    let Some(mount) = Mount::new("thp", "tmpfs", "size=64m,huge=always") else { return };
    let options = RegionOptions { huge_pages: true, ..RegionOptions::default() };
    let large = RegionSpec { words: 2 << 20, ..spec() };
    let path = mount.0.join("region");
    let (region, _) = OwnedRegion::create(&path, large, &options, fill).unwrap();
    // The kernel may have no memory in one piece left; what it says is shown, not demanded.
    println!("with huge=always: {}", region.residency());
    drop(region);
}
