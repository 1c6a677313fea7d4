//! What another user can do with a region, and the errors for what it cannot do.

use std::{
    fs,
    os::unix::{
        fs::{chown, symlink},
        process::CommandExt as _,
    },
};

use nanotape_harness::{Scratch, Task, copy_for_all_users, skipped};
use nanotape_shm::{Origin, OwnedRegion, Refusal, RegionError, RegionOptions, SharedRegion};

use crate::{
    children::{CHILD, start_as},
    fill, sentence, spec,
};

/// A user without files.
const NOBODY: u32 = 65_534;

#[test]
fn another_user_may_do_what_the_mode_allows_and_errors_name_the_owner() {
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
        let mut receive = || other.receive();
        assert_eq!(receive(), read, "open");
        assert_eq!(receive(), refused("write", to_write), "create");
        assert_eq!(receive(), read, "inspect");
        assert_eq!(receive(), refused("write", to_write), "remove");
        let residency = receive();
        assert!(
            residency.starts_with("small pages, not locked in memory (")
                && residency.ends_with("; its limit is 4096 bytes: RLIMIT_MEMLOCK)"),
            "{residency}"
        );
        assert_eq!(receive(), "fine", "removes its own");
        let too_large = "own: cannot reserve the bytes of it: File too large (os error 27)";
        assert_eq!(receive(), too_large, "and no SIGXFSZ");
        assert!(other.end().success());
    }
}

/// Symptom: a region that another user left under the name was taken over if it had the requested
/// mode. That user could have kept it mapped, and have written what readers read.
#[test]
fn a_region_of_another_user_is_never_taken_over() {
    if !rustix::process::geteuid().is_root() {
        skipped("only root can give a region to another user");
        return;
    }
    let place = Scratch::new("left-by-another");
    let with = |mode| RegionOptions { mode, ..RegionOptions::default() };
    let (kind, layout) = (spec().kind, spec().layout);
    for mode in [0o600, 0o666] {
        place.clear();
        let (region, _) = OwnedRegion::create(place.path(), spec(), &with(mode), fill).unwrap();
        region.close();
        chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let before = fs::read(place.path()).unwrap();
        let refuse = |outcome: Result<(OwnedRegion, Origin), RegionError>| {
            let expected = "belongs to user 65534, and this process is of user 0: use another name, \
                            or let user 65534 or root remove it";
            assert_eq!(sentence(&place, &outcome.unwrap_err()), expected);
            assert!(fs::read(place.path()).unwrap() == before, "nothing is stored");
        };
        refuse(OwnedRegion::create(place.path(), spec(), &with(mode), fill));
        refuse(OwnedRegion::replace_zeros(place.path(), spec(), &with(mode), fill));
        refuse(OwnedRegion::take_over(place.path(), kind, layout, &with(mode)));
        // Every user may read it whom its mode admits.
        assert_eq!(SharedRegion::open(place.path(), kind).unwrap().epoch(), 1);
        assert_eq!(nanotape_shm::inspect(place.path()).unwrap().user, NOBODY);
    }
    // A file that another user began, or that is empty, is not completed either.
    for content in [&b""[..], &[0; 8]] {
        place.clear();
        fs::write(place.path(), content).unwrap();
        chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let refused = OwnedRegion::create(place.path(), spec(), &with(0o600), fill).unwrap_err();
        let (user, owner) = (0, NOBODY);
        assert_eq!(*refused.refusal(), Refusal::OfAnotherUser { user, owner });
        assert_eq!(fs::read(place.path()).unwrap(), content);
    }
    // The user of the folder is trusted with the files in it, if the mode is the requested one.
    let folder = Scratch::folder("folder-of-another");
    let inside = folder.join("region");
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let (region, _) = OwnedRegion::create(&inside, spec(), &with(0o644), fill).unwrap();
    region.close();
    chown(&inside, Some(NOBODY), Some(NOBODY)).unwrap();
    assert!(OwnedRegion::create(&inside, spec(), &with(0o600), fill).is_err());
    let (region, _) = OwnedRegion::create(&inside, spec(), &with(0o644), fill).unwrap();
    assert_eq!(region.epoch(), 2);
    // A new one of this user replaces it on request.
    place.clear();
    let (region, _) = OwnedRegion::create(place.path(), spec(), &with(0o666), fill).unwrap();
    region.close();
    chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let (replaced, _) = OwnedRegion::replace(place.path(), spec(), &with(0o600), fill).unwrap();
    assert_eq!((replaced.epoch(), mode_of(&place)), (1, 0o600));
    assert_eq!(nanotape_shm::inspect(place.path()).unwrap().user, 0);
}

/// Symptom: with a link under the name of a region, the file behind it was opened: another user
/// chose which one.
#[test]
fn a_link_is_never_opened() {
    let (place, target) = (Scratch::new("link"), Scratch::new("target"));
    let options = RegionOptions::default();
    let (region, _) = OwnedRegion::create(target.path(), spec(), &options, fill).unwrap();
    region.close();
    let before = fs::read(target.path()).unwrap();
    let (kind, layout) = (spec().kind, spec().layout);
    let user = rustix::process::geteuid().as_raw();
    let missing = target.path().with_extension("missing");
    for leads_to in [target.path(), &missing] {
        place.clear();
        symlink(leads_to, place.path()).unwrap();
        let made = [
            OwnedRegion::create(place.path(), spec(), &options, fill),
            OwnedRegion::replace(place.path(), spec(), &options, fill),
            OwnedRegion::replace_zeros(place.path(), spec(), &options, fill),
            OwnedRegion::take_over(place.path(), kind, layout, &options),
        ];
        let made = made.map(|outcome| outcome.map(|_| ()));
        let read = [
            SharedRegion::open(place.path(), kind).map(|_| ()),
            nanotape_shm::inspect(place.path()).map(|_| ()),
            nanotape_shm::remove(place.path()).map(|_| ()),
        ];
        for outcome in made.into_iter().chain(read) {
            let expected = format!(
                "is a link of user {user}, expected a regular file; use the path that it leads to"
            );
            assert_eq!(sentence(&place, &outcome.unwrap_err()), expected);
        }
        assert!(fs::symlink_metadata(place.path()).unwrap().is_symlink());
    }
    assert!(fs::read(target.path()).unwrap() == before && !missing.exists());
    // A region that is replaced by a link to itself is at another path now.
    place.clear();
    let (owned, _) = OwnedRegion::create(place.path(), spec(), &options, fill).unwrap();
    let reader = owned.share();
    reader.check().unwrap();
    fs::rename(place.path(), &missing).unwrap();
    symlink(&missing, place.path()).unwrap();
    assert_eq!(*reader.check().unwrap_err().refusal(), Refusal::Replaced);
    fs::remove_file(&missing).unwrap();
}

fn mode_of(place: &Scratch) -> u32 {
    nanotape_shm::inspect(place.path()).unwrap().mode
}
