//! Rings and journals of several users: nothing of another user is taken over or removed silently,
//! and the files of a journal have its permissions.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    path::Path,
};

use nanotape_board::{PLANT_THREAD, trace_path};
use nanotape_harness::Scratch;

use crate::support::{
    Folder, nanotape,
    plants::{DATE, Ring},
    running::objects,
    users::{OTHER, OtherUser, can_give_files, shell},
};

/// A day that was published on a ring.
fn published(folder: &Folder, ring: &Ring) {
    let mut day = folder.path("day.itch50");
    if !Path::new(&day).exists() {
        day = folder.day(2_000, 5);
    }
    let ran = nanotape(["run", "--input", &day, "--date", DATE, "--ring", ring.path()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

fn give(path: &Path) {
    chown(path, Some(OTHER), Some(OTHER)).unwrap();
}

#[test]
fn a_tap_names_the_user_of_a_ring_and_refuses_the_board_of_a_third_one() {
    let (folder, ring) = (Folder::new("users-tap"), Ring::new("users-tap"));
    published(&folder, &ring);
    let tap = || nanotape(["tap", ring.path(), "--from", "oldest", "--format", "csv"]);
    let own = tap();
    assert!(!own.stderr.contains("another user"), "{}", own.stderr);
    if !can_give_files() {
        return;
    }
    give(&ring.0);
    let path = ring.path();
    let mixed = tap();
    let expected = format!(
        "nanotape: {path}.board: belongs to user 0, but the region beside which it is to user \
         {OTHER}: it is not of the same plant; let user 0 or root remove it\n"
    );
    assert_eq!((mixed.status, mixed.stderr.as_str()), (2, expected.as_str()));
    give(&ring.board());
    let reported = tap();
    let expected = format!("nanotape: {path}: the ring belongs to another user: {OTHER}\n");
    assert!(reported.stderr.contains(&expected), "{}", reported.stderr);
    assert_eq!((reported.status, reported.stdout), (own.status, own.stdout));
}

#[test]
fn a_plant_refuses_a_ring_of_another_user_and_a_link() {
    let (folder, ring) = (Folder::new("users-ring"), Ring::new("users-ring"));
    published(&folder, &ring);
    let day = folder.path("day.itch50");
    let run = |more: &[&str]| {
        nanotape([&["run", "--input", &day, "--date", DATE, "--ring", ring.path()], more].concat())
    };
    let (moved, path) = (format!("{}.moved", ring.path()), ring.path());
    fs::rename(&ring.0, &moved).unwrap();
    symlink(&moved, &ring.0).unwrap();
    let user = rustix::process::geteuid().as_raw();
    let expected = format!(
        "nanotape: {path}: is a link of user {user}, expected a regular file; use the path that it \
         leads to\n"
    );
    for refused in [run(&[]), run(&["--replace"])] {
        assert_eq!((refused.status, refused.stderr.as_str()), (2, expected.as_str()));
    }
    fs::rename(&moved, &ring.0).unwrap();
    if !can_give_files() {
        return;
    }
    give(&ring.0);
    let refused = run(&[]);
    let expected = format!(
        "{path}: belongs to user {OTHER}, and this process is of user 0: use another name, or let user \
         {OTHER} or root remove it"
    );
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
    assert_eq!(fs::metadata(&ring.0).unwrap().uid(), OTHER);
    // A plant begins with a board of its own, and a ring on request.
    give(&ring.board());
    assert_eq!(run(&["--replace"]).status, 0);
    for own in [&ring.0, &ring.board()] {
        assert_eq!(fs::metadata(own).unwrap().uid(), 0, "{}", own.display());
    }
}

/// Symptom: status 0 although the board of another user was left, which the next plant on a ring
/// of this name cannot replace.
#[test]
fn parts_of_another_user_are_left_with_status_1() {
    if !can_give_files() {
        return;
    }
    let (folder, other) = (Folder::new("users-remove"), OtherUser::with_a_copy());
    let ring = Ring::new("users-remove");
    for mode in [0o600, 0o644] {
        published(&folder, &ring);
        // What remains after that is of root, in a folder with the sticky bit.
        give(&ring.0);
        fs::set_permissions(ring.board(), Permissions::from_mode(mode)).unwrap();
        let removed = other.nanotape(&["ring", "remove", ring.path(), "--format", "json"]);
        let board = ring.board().display().to_string();
        assert_eq!(removed.status, 1, "{}", removed.stderr);
        let expected =
            format!("nanotape: board not removed: {board}: permission denied: user {OTHER}");
        assert!(removed.stderr.contains(&expected), "{}", removed.stderr);
        assert_eq!(removed.stderr.matches(&board).count(), 1, "{}", removed.stderr);
        let removed = &objects(&removed.stdout)[0];
        assert!(removed["left"].as_array().unwrap().contains(&board.into()), "{removed}");
        assert!(removed["board"].is_null() && !ring.0.exists() && ring.board().exists());
        let leftover = nanotape(["ring", "list", "--format", "json"]);
        assert_eq!(leftover.status, 0);
        fs::remove_file(ring.board()).unwrap();
    }
}

/// Symptom: `snapshots/`, its lock, `runs` and `recorded-from` had the permissions of the umask.
/// With 000 another user removed and forged snapshots; with 077 a reader that the mode admits could
/// not read them.
#[test]
fn the_files_of_a_journal_have_its_mode_whatever_the_umask() {
    let (folder, ring) = (Folder::new("users-journal"), Ring::new("users-journal"));
    published(&folder, &ring);
    let shared = Scratch::new("journals").open_to_all_users();
    let other = can_give_files().then(OtherUser::with_a_copy);
    for (umask, mode) in [("000", "0600"), ("077", "0600"), ("000", "0644"), ("077", "0644")] {
        shared.clear();
        let script = "umask $1; \"$0\" journal record \"$2\" \"$3\" --mode $4 &&
            exec \"$0\" journal snapshot \"$3\" --least 4KB --mode $4";
        let ran = shell(script, &[umask, ring.path(), shared.text(), mode]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let bits = u32::from_str_radix(mode, 8).unwrap();
        let case = format!("umask {umask}, mode {mode}");
        let mut seen = Vec::new();
        check_modes(shared.path(), bits, &case, &mut seen);
        for name in ["runs", "recorded-from", "lock", "snapshots"] {
            assert!(seen.iter().any(|seen| seen == name), "{name} of {seen:?}");
        }
        assert!(seen.iter().any(|seen| seen.ends_with(".snapshot")), "{seen:?}");
        let Some(other) = &other else { continue };
        let stats = other.nanotape(&["stats", shared.text(), "--format", "json"]);
        let verified = other.nanotape(&["journal", "verify", shared.text(), "--books"]);
        let expected = if bits == 0o600 { 2 } else { 0 };
        assert_eq!(
            (stats.status, verified.status),
            (expected, expected),
            "{case}: {}",
            stats.stderr
        );
        let forged = other.shell(
            "cd \"$1\"; touch snapshots/forged; rm -f snapshots/*; echo >>runs; echo >>recorded-from",
            &[shared.text()],
        );
        assert_ne!(forged.status, 0, "{case}");
        let mut after = Vec::new();
        check_modes(shared.path(), bits, &case, &mut after);
        assert_eq!(after, seen, "{case}");
    }
}

/// Symptom: paths that another user chose were printed as they are, with control characters.
#[test]
fn no_path_from_outside_controls_a_terminal() {
    const WILD: &str = "\u{1b}]0;title\u{7}\u{1b}[2J";
    const ESCAPED: &str = "\\u{1b}]0;title\\u{7}\\u{1b}[2J";
    let (folder, ring) = (Folder::new("users-wild"), Ring::new("users-wild"));
    published(&folder, &ring);
    let journal = folder.path("journal");
    let recorded = nanotape(["journal", "record", ring.path(), &journal]);
    assert_eq!(recorded.status, 0, "{}", recorded.stderr);
    // The path of the ring in a journal.
    let mark = format!("{journal}/recorded-from");
    let text = fs::read_to_string(&mark).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&mark, format!("{}\ncreated_ns 1\nring /{WILD}\n", lines[0])).unwrap();
    let other_ring = nanotape(["journal", "record", ring.path(), &journal]);
    // The target of a link.
    let rows = folder.path("rows.csv");
    symlink(folder.path(WILD), &rows).unwrap();
    fs::write(folder.path(WILD), "old").unwrap();
    let exists = nanotape(["inside", &folder.path("day.itch50"), "-o", &rows]);
    // The name of a thread beside a ring.
    let thread = trace_path(&ring.0, PLANT_THREAD);
    fs::rename(&thread, trace_path(&ring.0, WILD)).unwrap();
    let removed = nanotape(["ring", "remove", ring.path()]);
    for (ran, status) in [(&other_ring, 2), (&exists, 2), (&removed, 0)] {
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.status, status, "{said:?}");
        assert!(said.contains(ESCAPED), "{said:?}");
        assert!(!said.contains(['\u{1b}', '\u{7}']), "{said:?}");
    }
}

/// Checks the permissions of everything in a folder, and collects the names.
fn check_modes(folder: &Path, mode: u32, case: &str, seen: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let metadata = entry.metadata().unwrap();
        let expected = if metadata.is_dir() { mode | (mode & 0o444) >> 2 | 0o100 } else { mode };
        let path = entry.path();
        assert_eq!(metadata.mode() & 0o777, expected, "{case}: {}", path.display());
        seen.push(entry.file_name().into_string().unwrap());
        if metadata.is_dir() {
            check_modes(&path, mode, case, seen);
        }
    }
}
