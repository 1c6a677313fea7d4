//! Exports that end early, and what their rows say of a damaged input.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use nanotape_harness::Bounded as _;

use crate::{
    read::Read,
    support::{Folder, nanotape, program},
};

/// The one line of a command that is used wrongly.
fn refused(words: &[&str]) -> String {
    let ran = nanotape(words);
    assert_eq!(ran.status, 2, "{words:?}: {}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    ran.stderr
}

#[test]
fn wrong_usage_is_one_line_with_what_to_do() {
    let folder = Folder::new("export-usage");
    let day = folder.day(2_000, 5);
    let (file, other) = (folder.path("bbo.parquet"), folder.path("bbo.xls"));
    for (words, expected) in [
        (vec!["export", &day, "-o", &file], "--date 2019-12-30"),
        (vec!["export", &day, "--records", "bbo,trades", "-o", &file], "several need a folder"),
        (vec!["export", &day, "-o", &other], ".parquet, .arrow, .csv or .npz"),
        (vec!["export", &day, "-o", "bbo.parquet.zst"], "leave out .gz and .zst"),
        (vec!["export", &day, "-o", "-"], "--format"),
    ] {
        let line = refused(&words);
        assert!(line.contains(expected), "{words:?}: {line}");
    }
    fs::write(&file, "mine").unwrap();
    let line = refused(&["export", &day, "--date", "2019-12-30", "-o", &file]);
    assert!(line.contains("--force"), "{line}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let own = ["export", &day, "--date", "2019-12-30", "-o", &day, "--format", "csv", "--force"];
    let line = refused(&own);
    assert!(line.contains("is the input"), "{line}");
}

#[test]
fn a_feed_without_orders_has_no_table_of_orders() {
    let folder = Folder::new("export-levels");
    let capture = folder.capture("iex-deep", 5_000, 5);
    let to = folder.path("mbo.parquet");
    let line = refused(&["export", &capture, "--records", "mbo", "-o", &to]);
    assert!(line.contains("price levels only"), "{line}");
    assert!(!Path::new(&to).exists());
}

#[test]
fn an_export_that_fails_leaves_no_file() {
    let folder = Folder::new("export-fails");
    let day = folder.day(400_000, 20);
    let to = folder.path("out");
    fs::create_dir(&to).unwrap();
    let files =
        || fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();

    // A file may have 64 KiB only.
    let line = format!(
        "ulimit -f 128; exec '{}' export '{day}' --date 2019-12-30 --records bbo,mbo -o '{to}'",
        program()
    );
    let output = Command::new("sh").args(["-c", &line]).bounded_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(files(), Vec::<std::ffi::OsString>::new());

    // A killed process leaves files of other names, which the next one reports.
    let words = ["export", &day, "--date", "2019-12-30", "--records", "bbo,trades,mbo", "-o", &to];
    let mut child = Command::new(program()).args(words).stderr(Stdio::null()).spawn().unwrap();
    while files().is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = files();
    assert!(left.iter().all(|name| name.to_str().unwrap().ends_with(".partial")), "{left:?}");

    // An interrupt removes them.
    for file in left {
        fs::remove_file(Path::new(&to).join(file)).unwrap();
    }
    let mut child = Command::new(program()).args(words).stderr(Stdio::null()).spawn().unwrap();
    while files().is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).bounded_status().unwrap().success());
    child.wait().unwrap();
    assert_eq!(files(), Vec::<std::ffi::OsString>::new());
}

#[test]
fn strict_writes_nothing_of_a_damaged_input() {
    let folder = Folder::new("export-strict");
    let day = damaged(&folder);
    let to = folder.path("bbo.parquet");
    let words = ["export", &day, "--date", "2019-12-30", "-o", &to, "--strict"];
    let ran = nanotape(words);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("refused by --strict"), "{}", ran.stderr);
    assert!(!Path::new(&to).exists());
}

/// A day of which bytes in the middle are unreadable.
fn damaged(folder: &Folder) -> String {
    let day = folder.day(60_000, 10);
    let mut bytes = fs::read(&day).unwrap();
    let middle = bytes.len() / 2;
    // A price of these bytes is one that books of records can have, too.
    bytes[middle..middle + 20_000].fill(0x5a);
    folder.write("damaged.itch50", &bytes)
}

#[test]
fn rows_that_may_be_wrong_have_the_reason() {
    let folder = Folder::new("export-reasons");
    let day = damaged(&folder);
    let (to, journal) = (folder.path("day/"), folder.path("journal"));
    let date = ["--date", "2019-12-30"];
    let tables = ["--records", "bbo,trades,mbo", "-o", &to];
    let ran = nanotape(["export", &day].iter().chain(&date).chain(&tables));
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let mut reasons = Vec::new();
    for table in ["bbo", "trades", "mbo"] {
        let read = Read::of(&format!("{to}{table}.parquet"));
        assert_eq!(read.metadata["nanotape.is_whole"], "false");
        let of_rows: Vec<String> = read.columns(&["reason"]).into_iter().flatten().collect();
        let first = of_rows.iter().position(|reason| !reason.is_empty()).unwrap();
        assert!(first > of_rows.len() / 10, "rows before the damage are good");
        assert!(of_rows[first..].iter().all(|reason| !reason.is_empty()), "{table}");
        for reason in ["gap", "taint"] {
            assert!(of_rows.iter().any(|other| other == reason), "{table}: no {reason}");
        }
        reasons.push(of_rows);
    }

    // The journal of a plant that read it says the same of each inside.
    let ring = folder.path("ring");
    let run = ["run", "--input", &day, "--ring", &ring, "--journal", &journal];
    let ran = nanotape(run.iter().chain(&date));
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let to = folder.path("journal-bbo.parquet");
    let ran = nanotape(["export", &journal, "-o", &to]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let of_journal: Vec<String> =
        Read::of(&to).columns(&["reason"]).into_iter().flatten().collect();
    assert_eq!(of_journal.len(), reasons[0].len());
    let pairs = of_journal.iter().zip(&reasons[0]).enumerate();
    let other: Vec<_> = pairs.filter(|(_, (found, expected))| found != expected).collect();
    assert!(other.is_empty(), "{} rows differ, first {:?}", other.len(), other.first());
}
