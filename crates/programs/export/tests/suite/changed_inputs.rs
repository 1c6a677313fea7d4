//! A dataset whose inputs changed: a day of other bytes does not exist.

use std::fs;

use crate::{
    many_days::{day_of, results},
    support::{Folder, nanotape},
};

const LAYOUTS: [&[&str]; 2] = [&[], &["--partition", "symbol"]];

/// Records a day in a journal.
fn record(folder: &Folder, day: &str, journal: &str, more: &[&str]) {
    let ring = folder.path("ring");
    let run =
        ["run", "--input", day, "--date", "2019-12-30", "--ring", &ring, "--journal", journal];
    let ran = nanotape(run.iter().chain(more));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn a_journal_with_another_run_and_another_journal_are_other_inputs() {
    let folder = Folder::new("export-journals");
    let day = day_of(&folder, "days/12302019.itch", "1");
    let other = day_of(&folder, "other/12302019.itch", "2");
    for (number, layout) in LAYOUTS.iter().enumerate() {
        let (journal, to) = (folder.path("12302019"), folder.path(&format!("to{number}/")));
        record(&folder, &day, &journal, &[]);
        let run = |more: &[&str]| {
            let words = ["export", &journal, "--of-a-day", "-o", &to];
            let ran = nanotape(words.iter().chain(*layout).chain(more));
            (ran.status, ran.stderr)
        };
        let exists = || run(&[]).1.contains("its files exist");
        let is_refused = || {
            let (status, said) = run(&[]);
            status != 0 && said.contains("which changed since")
        };
        assert_eq!(run(&[]).0, 0);
        assert!(exists());
        // A copy has the bytes, and other times.
        let copy = folder.path("copy");
        fs::rename(&journal, &copy).unwrap();
        fs::create_dir(&journal).unwrap();
        for file in fs::read_dir(&copy).unwrap() {
            let file = file.unwrap().path();
            if file.is_file() {
                fs::copy(&file, format!("{journal}/{}", file.file_name().unwrap().display()))
                    .unwrap();
            }
        }
        assert!(exists());
        record(&folder, &day, &journal, &["--until", "12:00"]);
        assert!(is_refused());
        assert_eq!(run(&["--force"]).0, 0);
        assert!(exists());
        fs::remove_dir_all(&journal).unwrap();
        record(&folder, &other, &journal, &[]);
        assert!(is_refused());
        fs::remove_dir_all(&journal).unwrap();
        fs::remove_dir_all(&copy).unwrap();
    }
}

/// The packets of a pcap file up to about half of them, with its header, and all of its bytes.
fn half_of(capture: &[u8]) -> &[u8] {
    assert_eq!(capture[..4], 0xa1b2_3c4d_u32.to_le_bytes(), "a pcap file with nanoseconds");
    let mut at = 24;
    while at < capture.len() / 2 {
        let length = capture[at + 8..at + 12].try_into().unwrap();
        at += 16 + u32::from_le_bytes(length) as usize;
    }
    &capture[..at]
}

#[test]
fn a_piece_that_was_completed_makes_another_input() {
    let folder = Folder::new("export-pieces");
    let whole = fs::read(folder.capture("iex-deep", 20_000, 5)).unwrap();
    let half = half_of(&whole);
    let rest = [&whole[..24], &whole[half.len()..]].concat();
    let (first, piece) = (folder.write("20191230.pcap", half), folder.path("piece.pcap"));
    for (number, layout) in LAYOUTS.iter().enumerate() {
        let to = folder.path(&format!("to{number}/"));
        fs::write(&piece, half_of(&rest)).unwrap();
        let run = || {
            let words = ["export", &first, "--piece", &piece, "--of-a-day", "-o", &to];
            let ran = nanotape(words.iter().chain(*layout));
            (ran.status, ran.stderr)
        };
        assert_eq!(run().0, 0);
        assert!(run().1.contains("its files exist"));
        fs::write(&piece, half_of(&rest)).unwrap();
        assert!(run().1.contains("its files exist"));
        fs::write(&piece, &rest).unwrap();
        let (status, said) = run();
        assert!(status != 0 && said.contains("which changed since"), "{said}");
    }
}

#[test]
fn a_day_in_a_folder_of_days_that_changed_is_failed() {
    let folder = Folder::new("export-changed-day");
    let (days, to) = (folder.path("days"), folder.path("to"));
    let day = day_of(&folder, "days/12302019.itch", "1");
    let state = || results(&nanotape(["export", &days, "-o", &to]), &days).remove(0)[1].clone();
    assert_eq!([state(), state()], ["written", "exists"]);
    let changed = fs::metadata(&day).unwrap().modified().unwrap();
    let mut bytes = fs::read(&day).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&day, bytes).unwrap();
    // Tools that copy keep the time of modification.
    fs::File::options().write(true).open(&day).unwrap().set_modified(changed).unwrap();
    assert_eq!(state(), "failed");
}
