//! Readers of a recorded journal that is damaged: everything before the damage comes out, names are
//! found without the list of runs, and nothing waits for a pipe.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nanotape_journal::{RECORDED_FROM, RUNS, SNAPSHOTS};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::{
    journal_beside::Recorded,
    support::{Ran, nanotape, nanotape_fed},
};

/// Commands that print rows of a journal.
const ROWS: [&[&str]; 5] =
    [&["journal", "dump"], &["convert"], &["tap", "--strict"], &["inside"], &["trades"]];

fn rows(command: &[&str], journal: &str, options: &[&str]) -> Ran {
    nanotape([command, &[journal, "--format", "csv"], options].concat())
}

fn make_fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn names_are_those_of_the_definitions_if_the_list_of_runs_is_damaged() {
    let recorded = Recorded::new("readers-names");
    let journal = recorded.journal.clone();
    let path = Path::new(&journal).join(RUNS);
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().nth(9).unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    let symbol = words[2];
    let from = ["--from", "12:00", "--until", "14:00"];
    let of_stock = [&from[..], &["--symbols", symbol]].concat();
    let commands = &ROWS[1..4];
    let expected: Vec<String> = commands
        .iter()
        .flat_map(|command| [rows(command, &journal, &from), rows(command, &journal, &of_stock)])
        .map(|ran| ran.stdout)
        .collect();
    assert!(expected.iter().all(|rows| rows.lines().count() > 10));
    let changed = text.replace(line, &line.replace("stock ", "stocc "));
    let without = text.replace(&format!("{line}\n"), "");
    let first = format!("{}\n", text.lines().next().unwrap());
    for bad in [None, Some(changed), Some(without), Some(first), Some(String::new())] {
        match &bad {
            None => fs::remove_file(&path).unwrap(),
            Some(bad) => fs::write(&path, bad).unwrap(),
        }
        let found = commands.iter().flat_map(|command| {
            [rows(command, &journal, &from), rows(command, &journal, &of_stock)]
        });
        for (found, expected) in found.zip(&expected) {
            assert_eq!(found.stdout, *expected, "{bad:?}: {}", found.stderr);
        }
    }
}

#[test]
fn everything_before_a_damaged_segment_comes_out_whichever_it_is() {
    let recorded = Recorded::new("readers-header");
    let journal = recorded.journal.clone();
    let whole: Vec<Ran> = ROWS.iter().map(|command| rows(command, &journal, &[])).collect();
    let segments = |journal: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(journal).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<_> =
            entries.filter(|path| path.extension().is_some_and(|end| end == "segment")).collect();
        all.sort();
        all
    };
    let count = segments(&journal).len();
    assert!(count > 5, "{count}");
    let mut before = vec![0; ROWS.len()];
    for damaged in 1..count {
        for is_pipe in [false, true] {
            let segment = &segments(&journal)[damaged];
            let bytes = fs::read(segment).unwrap();
            fs::remove_file(segment).unwrap();
            if is_pipe {
                make_fifo(segment);
            } else {
                fs::write(segment, b"").unwrap();
            }
            for (at, command) in ROWS.iter().enumerate() {
                let ran = rows(command, &journal, &[]);
                let reported = format!("segment {damaged}, {command:?}: {}", ran.stderr);
                assert_eq!(ran.status, 1, "{reported}");
                assert!(ran.stderr.contains(segment.to_str().unwrap()), "{reported}");
                assert!(whole[at].stdout.starts_with(&ran.stdout), "{reported}");
                let rows = ran.stdout.lines().count();
                // As many for both kinds of damage, and more for each later segment.
                assert!(if is_pipe { rows == before[at] } else { rows > before[at] }, "{reported}");
                before[at] = rows;
            }
            fs::remove_file(segment).unwrap();
            fs::write(segment, bytes).unwrap();
        }
    }
}

#[test]
fn nothing_waits_for_a_pipe_or_reads_a_device_beside_the_segments() {
    let recorded = Recorded::new("readers-special");
    let journal = recorded.journal.clone();
    let path = Path::new(&journal);
    let snapshot = fs::read_dir(path.join(SNAPSHOTS))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "snapshot"))
        .unwrap();
    for file in [path.join(RUNS), path.join(RECORDED_FROM), snapshot.clone()] {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        for is_pipe in [true, false] {
            if is_pipe {
                make_fifo(&file);
            } else {
                std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
            }
            for command in ["verify", "repair", "stat"] {
                let options: &[&str] = if command == "repair" { &["--dry-run"] } else { &[] };
                let ran = nanotape([&["journal", command, &journal], options].concat());
                assert!((0..=2).contains(&ran.status), "{command}: {ran:?}");
            }
            for command in &ROWS[1..] {
                let ran = rows(command, &journal, &["--from", "12:00"]);
                assert!((0..=2).contains(&ran.status), "{command:?}: {ran:?}");
                let has_rows = ran.stdout.lines().count() > 1;
                assert!(has_rows || ran.status > 0, "{command:?}: {ran:?}");
            }
            assert_eq!(nanotape_fed(["journal", "append", &journal], b"x\n").status, 2);
            if file == snapshot {
                let ran = nanotape(["journal", "upkeep", &journal, "--compress"]);
                assert!(ran.stderr.contains("not a file: remove it"), "{ran:?}");
            }
            fs::remove_file(&file).unwrap();
        }
        fs::write(&file, bytes).unwrap();
    }
}
