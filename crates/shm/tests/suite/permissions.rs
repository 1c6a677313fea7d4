//! What another user can do with a region, and the errors for what it cannot do.

use std::os::unix::process::CommandExt as _;

use nanotape_harness::{Scratch, Task, copy_for_all_users, skipped};
use nanotape_shm::{OwnedRegion, RegionOptions};

use crate::{
    children::{CHILD, start_as},
    fill, sentence, spec,
};

/// A user without files.
const NOBODY: u32 = 65_534;

#[test]
fn another_user_may_what_the_mode_says_and_is_told_who_owns_it() {
    if !rustix::process::geteuid().is_root() {
        skipped("only root can start a process of another user");
        return;
    }
    let place = Scratch::new("others").open_to_all_users();
    let program = copy_for_all_users(&std::env::current_exe().unwrap());
    for mode in [0o600, 0o644] {
        place.clear();
        let options = RegionOptions { mode, ..RegionOptions::default() };
        let (region, _) = OwnedRegion::create(place.path(), spec(), &options, fill).unwrap();
        region.close();
        let mut command = Task::new("try", place.path()).command_of(program.path(), CHILD);
        command.uid(NOBODY).gid(NOBODY);
        let mut other = start_as(command);
        let path = place.path().display();
        let refused = |operation, advice| {
            format!(
                "{path}: permission denied: user 65534 cannot {operation} it, because it belongs \
                 to user 0 and has mode {mode:04o}; {advice}"
            )
        };
        let to_read =
            "its writer can allow reading with --mode 0640 (its group) or 0644 (all users)";
        let to_write = "run as that user, or use another name";
        let read = if mode == 0o600 { refused("read", to_read) } else { "fine".to_owned() };
        let mut hear = || other.hear();
        assert_eq!(hear(), read, "open");
        assert_eq!(hear(), refused("write", to_write), "create");
        assert_eq!(hear(), read, "inspect");
        assert_eq!(hear(), refused("write", to_write), "remove");
        let residency = hear();
        assert!(
            residency.starts_with("small pages, not locked in memory (")
                && residency.ends_with("; its limit is 4096 bytes: RLIMIT_MEMLOCK)"),
            "{residency}"
        );
        assert_eq!(hear(), "fine", "removes its own");
        let too_large = "own: cannot reserve the bytes of it: File too large (os error 27)";
        assert_eq!(hear(), too_large, "and no SIGXFSZ");
        assert!(other.end().success());
    }
}

#[test]
fn a_region_of_another_user_is_taken_over_only_with_the_mode_that_was_asked_for() {
    if !rustix::process::geteuid().is_root() {
        skipped("only root can give a region to another user");
        return;
    }
    let place = Scratch::new("left-by-another");
    let with = |mode| RegionOptions { mode, ..RegionOptions::default() };
    let (region, _) = OwnedRegion::create(place.path(), spec(), &with(0o666), fill).unwrap();
    region.close();
    std::os::unix::fs::chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let expected = "cannot be taken over: it belongs to user 65534 and has mode 0666, but user 0 \
                    requested mode 0600; remove it first, request mode 0666, or use another name";
    let refused = OwnedRegion::create(place.path(), spec(), &with(0o600), fill).unwrap_err();
    assert_eq!(sentence(&place, &refused), expected);
    let (kind, layout) = (spec().kind, spec().layout);
    let refused = OwnedRegion::take_over(place.path(), kind, layout, &with(0o600)).unwrap_err();
    assert_eq!(sentence(&place, &refused), expected);
    let epoch =
        |mode| OwnedRegion::create(place.path(), spec(), &with(mode), fill).unwrap().0.epoch();
    assert_eq!(epoch(0o666), 2, "and nothing was stored before");
    // A new one of this user replaces it.
    let (replaced, _) = OwnedRegion::replace(place.path(), spec(), &with(0o600), fill).unwrap();
    assert_eq!((replaced.epoch(), mode_of(&place)), (1, 0o600));
}

fn mode_of(place: &Scratch) -> u32 {
    nanotape_shm::inspect(place.path()).unwrap().mode
}
