//! Paths that are not UTF-8: as input, as output, as journal and as ring.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use crate::support::{Folder, Ran, nanotape, plants::DATE};

/// The arguments, of which `@` stands for the path.
fn on(path: &Path, arguments: &[&str]) -> Ran {
    let argument = |&text: &&str| match text {
        "@" => path.as_os_str().to_owned(),
        text => OsString::from(text),
    };
    nanotape(arguments.iter().map(argument))
}

/// A folder whose name is no text.
fn odd_folder(folder: &Folder) -> PathBuf {
    let path = Path::new(&folder.path("plain")).with_file_name(OsStr::from_bytes(b"\xffodd\xfe"));
    fs::create_dir(&path).unwrap();
    path
}

#[test]
fn days_and_dbn_files_are_read_from_them() {
    let folder = Folder::new("bytes-inputs");
    let plain = PathBuf::from(folder.day(2_000, 5));
    let odd = odd_folder(&folder).join("day.itch50");
    fs::copy(&plain, &odd).unwrap();
    let insides = on(&plain, &["inside", "@", "--format", "csv"]).stdout;
    let stock = insides.lines().nth(1).unwrap().split(',').nth(1).unwrap();
    let commands: [&[&str]; 6] = [
        &["inside", "@", "--date", DATE, "--format", "csv"],
        &["depth", "@", "--symbols", stock, "--format", "csv"],
        &["trades", "@", "--date", DATE, "--format", "csv"],
        &["book", "@", "--symbols", stock, "--format", "csv"],
        &["check", "@"],
        &["inspect", "@", "--format", "csv"],
    ];
    for arguments in commands {
        let [of_plain, of_odd] = [&plain, &odd].map(|path| on(path, arguments));
        assert_eq!((of_odd.status, of_plain.status), (0, 0), "{arguments:?}: {}", of_odd.stderr);
        assert!(of_odd.stdout == of_plain.stdout, "{arguments:?}");
    }
    // The first record has the time of the run.
    let [of_plain, of_odd] = [&plain, &odd].map(|path| {
        on(path, &["tap", "@", "--date", DATE, "--format", "csv"]).stdout.lines().count()
    });
    assert!(of_plain == of_odd && of_odd > 2_000, "{of_odd}");
    let dbn = odd.with_extension("dbn");
    let convert = ["convert", plain.to_str().unwrap(), "--date", DATE, "-o", "@"];
    assert_eq!(on(&dbn, &convert).status, 0);
    let insides = on(&dbn, &["inside", "@", "--format", "csv"]);
    assert!(insides.status == 0 && insides.stdout.lines().count() > 100, "{}", insides.stderr);
    let missing = on(&odd.with_extension("none"), &["inside", "@"]);
    assert!(missing.status == 2 && missing.stderr.contains("odd"), "{}", missing.stderr);
}

#[test]
fn a_plant_its_ring_and_its_journal_can_have_them() {
    let folder = Folder::new("bytes-plant");
    let day = folder.day(2_000, 5);
    let odd = odd_folder(&folder);
    let (ring, journal) = (odd.join("ring"), odd.join("journal"));
    let run = ["run", "--input", &day, "--date", DATE, "--capacity", "1MiB", "--ring", "@"];
    let mut arguments: Vec<OsString> = run.map(OsString::from).to_vec();
    arguments[8].clone_from(&ring.clone().into());
    arguments.extend(["--journal".into(), journal.clone().into()]);
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let commands: [&[&str]; 5] = [
        &["ring", "stat", "@"],
        &["ring", "verify", "@"],
        &["ring", "dump", "@", "--count", "1"],
        &["stat", "@", "--interval", "0"],
        &["trace", "list", "@"],
    ];
    for arguments in commands {
        let ran = on(&ring, arguments);
        assert!(ran.status == 0 && !ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
    }
    let of_day = on(Path::new(&day), &["inside", "@", "--format", "csv"]).stdout;
    for arguments in [&["inside", "@", "--format", "csv"][..], &["journal", "verify", "@"]] {
        let ran = on(&journal, arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        assert!(arguments[0] != "inside" || ran.stdout == of_day, "the answers differ");
    }
    // The rows have a receive time of their own in the ring, and the records of the journal.
    let rows = |path: &Path| {
        let ran =
            on(path, &["tap", "@", "--from", "oldest", "--records", "bbo", "--format", "csv"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stdout
    };
    assert!(rows(&ring).lines().count() > 100 && rows(&ring) == rows(&journal));
    let ran = on(&ring, &["ring", "remove", "@"]);
    assert_eq!((ran.status, ring.exists()), (0, false), "{}", ran.stderr);
}
